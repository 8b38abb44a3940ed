"""What a graph chooses: the share of h(0)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from justjump.data import load
from justjump.train import fit
from justjump.train.choices import LARGER_SHARE
from neighbor_graphs import NODES, chosen_share, graph_of, made


def test_what_was_chosen_stays_and_so_do_deep_networks_and_other_tasks() -> None:
    graph = made(0.6, "random")
    assert chosen_share(graph) == 0.5
    assert chosen_share(graph, initial_share=0.2) == 0.2
    assert chosen_share(graph, layers=5) is None
    assert chosen_share(graph, update="none") is None
    numbers = graph_of(np.asarray(graph.features), graph.edge_index, graph.labels + 0.5)
    assert numbers.task == "regression"
    assert chosen_share(numbers) is None


def test_fit_uses_it_and_a_run_remembers_it(tmp_path: Path) -> None:
    graph = made(0.6, "random")
    run = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False, output=tmp_path / "run")
    assert run.model.config.initial_share == 0.5
    again = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False, output=tmp_path / "run")
    assert again.val_loss == run.val_loss
    explicit = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False, initial_share=0.5)
    assert explicit.val_loss == run.val_loss, "the choice draws no random numbers of the training"


def test_a_saved_run_keeps_the_share_that_it_was_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version of justjump that would choose otherwise returns the run as it is."""
    graph = made(0.6, "random")
    sizes: dict[str, Any] = {"hidden": 16, "groups": 1, "heads": 1, "max_epochs": 2, "progress": False}
    former = fit(graph, **sizes, initial_share=0.3, output=tmp_path / "run")
    again = fit(graph, **sizes, output=tmp_path / "run")
    assert (again.config.initial_share, again.val_loss) == (0.3, former.val_loss)
    assert "initial_share" not in capsys.readouterr().err
    assert fit(graph, **sizes).config.initial_share == LARGER_SHARE
    assert "initial_share: 0.5, since neighbours add little" in capsys.readouterr().err
    assert fit(graph, **sizes, batch_size=256).config.initial_share == LARGER_SHARE


def test_unknown_labels_and_a_graph_without_edges() -> None:
    graph = made(0.6, "random")
    known = replace(graph, labels=np.where(np.arange(NODES) % 10 > 0, graph.labels, -1))
    assert chosen_share(known) == LARGER_SHARE
    assert chosen_share(replace(graph, edge_index=np.zeros((2, 0), np.int64))) == LARGER_SHARE


def test_it_does_not_depend_on_the_number_of_threads() -> None:
    graph = made(0.6, "random", sparse=True)
    found = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            run = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False)
        finally:
            torch.set_num_threads(before)
        found.append((run.model.config.initial_share, run.val_loss))
    assert found[0] == found[1]


def test_a_few_nodes_decide_nothing() -> None:
    """Sure is who has seen many: on Cora's papers neighbours matter, and of ten nodes nobody knows."""
    assert chosen_share(load("cora")) is None
    rng = np.random.default_rng(0)
    few = graph_of(rng.normal(size=(20, 2)), rng.integers(0, 20, (2, 40)), np.arange(20) % 2)
    assert chosen_share(few) is None
