"""What `justjump train` prints about its runs."""

import io

import numpy as np
from rich.console import Console

from justjump.experiments.report import confusion_table, report
from justjump.train import fit
from made_graphs import made_graph


def printed(graph, results) -> str:
    console = Console(file=io.StringIO(), width=100, soft_wrap=True, highlight=False)
    report(graph, results, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_measures_and_confusion_of_classes() -> None:
    graph = made_graph("multiclass")
    runs = [fit(graph, layers=1, hidden=16, seed=seed, max_epochs=3).to_dict() for seed in (0, 1)]
    text = printed(graph, runs)
    first = text.splitlines()[0]
    mean = 50 * sum(run["test_accuracy"] for run in runs)
    assert first.startswith(f"accuracy: {mean:.1f} +- ")
    assert first.endswith("(2 splits)")
    for word in ("balanced accuracy", "macro-F1", "ROC-AUC", "log loss", "calibration error", "nodes"):
        assert word in text


def test_other_tasks_have_their_own_measures() -> None:
    graph = made_graph("regression")
    text = printed(graph, [fit(graph, layers=1, hidden=16, max_epochs=2).to_dict()])
    assert text.startswith("R2: ")
    assert "MAE" in text
    assert "accuracy" not in text


def test_the_confusion_table_is_in_percent_of_the_row() -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(confusion_table(["a[b]", "a very long name of a class"], np.array([[3, 1], [0, 0]])))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "a[b]" in text
    assert "75" in text
    assert "a very long n…" in text
