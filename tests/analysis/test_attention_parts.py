"""What the edges of a graph in parts attend to is what those of the whole graph do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from justjump.analysis import commands
from justjump.analysis.attention_parts import attention_of_parts
from justjump.analysis.attention_statistics import Box, By, attention_statistics
from justjump.data import Parts, load
from justjump.train import Run, RunError, prepare


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    part = np.arange(2708) % 4 % 3 * 2  # two of five are empty
    return load("cora").partition(5, tmp_path_factory.mktemp("cora") / "parts", method=part)


def numbers(box: Box) -> list[float]:
    return [box.mean, box.low, box.q1, box.median, box.q3, box.high, box.largest]


@pytest.mark.parametrize("by", ["all", "head", "class", "layer"])
def test_it_is_that_of_the_whole_graph(runs: tuple[Path, Path], parts: Parts, tmp_path: Path, by: By) -> None:
    run = Run.load(runs[0])
    expected = attention_statistics(run.model, prepare(load("cora"), run.preprocessing), by, classes=7)
    found = attention_of_parts(run, parts, by, scratch=tmp_path)
    assert [(box.layer, box.head, box.label, box.given_to, box.count) for box in found] == [
        (box.layer, box.head, box.label, box.given_to, box.count) for box in expected
    ]
    for one, other in zip(found, expected, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=5e-4)  # a weight may be in the bin beside


def test_the_command_and_what_it_refuses(
    runs: tuple[Path, Path], parts: Parts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (str(parts.folder), False, None)
    commands.attention(runs[0], "layer", None, tmp_path / "boxes.png", None, *options, scratch=tmp_path / "new")
    assert len(pd.read_parquet(tmp_path / "boxes.parquet")) == 5
    assert capsys.readouterr().out.startswith("layer 1: median h(0) ")
    with pytest.raises(RunError, match="--weights looks at the whole graph in memory: leave it out for a graph in par"):
        commands.attention(runs[0], "all", None, tmp_path / "boxes.png", tmp_path / "w.parquet", *options)
    with pytest.raises(ValueError, match="model='gcn' has no attention"):
        commands.attention(runs[1], "all", None, tmp_path / "boxes.png", None, *options)
    with pytest.raises(ValueError, match="is a graph in parts, and this command needs the whole graph in memory"):
        commands.influence_of_one([runs[0]], "5", 2, tmp_path / "one", *options)
