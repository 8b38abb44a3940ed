"""Errors are one line and exit code 2, or a traceback if one asks for it."""

from pathlib import Path

import pytest

from command_line import justjump


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--dataset", "corra"], "there is no dataset 'corra': did you mean cora?"),
        (["train", "--dataset", "cora", "--groups", "6"], "--groups 6 does not divide --hidden 128"),
        (["train", "--dataset", "cora", "--groups", "3", "--hidden", "24"], "--groups 3 does not divide --heads 8"),
        (["train", "--dataset", "cora", "--model", "mlp"], "mlp"),
        (["train"], "name either --dataset or --graph"),
        (["train", "--graph", "/nowhere.npz"], "/nowhere.npz does not exist"),
        (["train", "--dataset", "cora", "--watch", "f1"], "f1"),
        (["train", "--dataset", "cora", "--patience", "0"], "--patience 0 must be at least 1"),
        (
            ["train", "--dataset", "cora", "--batch-size", "9", "--fanout", "2", "--layers", "3"],
            "--fanout 2 must have one number per layer, and the network has --layers 3",
        ),
        (["train", "--dataset", "cora", "--task", "regression"], "--task regression needs numbers"),
        (["train", "--dataset", "cora", "--no-stratified", "--calibrate", "--device", "xpu"], "--device xpu "),
        (["sweep", "--dataset", "cora", "--grid", "grid.json"], "--grid grid.json: No such file"),
        (["predict", "/nowhere", "--graph", "cora", "--output", "x.csv"], "/nowhere holds no run"),
        (["train", "--dataset", "cora", "--layer", "3"], "--layer"),
        (["fly"], "fly"),
        (["train", "--dataset", "cora", "--output", "/dev/null/x"], "--output /dev/null/x cannot be created"),
        (["train", "--graph", "mygraph"], "mygraph does not exist"),
        (["train", "--dataset", "cora", "--directed"], "--directed is for --graph"),
        (["train", "--dataset", "cora", "--layers", "two"], "'--layers': 'two' "),
        (["attention", "runs/dna", "--by", "foo"], "'--by': 'foo' is not one of 'all'"),
        (["sweep", "--dataset", "cora", "--search", "2", "--grid", "small"], "leave out --search or --grid"),
        (["sweep", "--dataset", "cora", "--model", "foo"], "no model 'foo': choose from all, gcn, gat, dna, gcn-none"),
        (["reproduce", "--dataset", "cora", "--store", __file__], "test_init.py is a file: a store is a folder"),
        (["results", "nowhere"], "there is no store at nowhere"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = justjump(*arguments, code=2, cwd=tmp_path)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_debug_shows_the_traceback() -> None:
    assert "Traceback" in justjump("train", "--dataset", "cora", "--groups", "6", "--debug", code=1).stderr
