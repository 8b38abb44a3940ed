"""The plan of a network on a graph in parts."""

import json
from pathlib import Path

import numpy as np
import pytest

from justjump.data import load
from justjump.experiments.parts_plan import show_parts_plan
from justjump.nn import ModelConfig
from justjump.train import Protocol


def test_it_is_that_of_the_largest_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = load("cora").partition(3, tmp_path / "parts", method=np.minimum(np.arange(2708) // 500, 2))
    config = ModelConfig(layers=2, hidden=16, heads=8)
    show_parts_plan(parts.folder, config, Protocol(), 2, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["part"], found["nodes"]) == (2, 1708)
    assert found["layers"][0]["edges"] == parts[2].num_edges > found["layers"][1]["edges"]
    rows = sum(len(parts[p].send_to(q)) for p in range(3) for q in range(3) if (p == 0) != (q == 0))
    assert found["epoch_bytes"] == 3 * 2 * rows * 16 * 4
    show_parts_plan(parts.folder, config, Protocol(), 2, as_json=False)
    said = capsys.readouterr().out
    assert "cora in 3 parts: dna 2/16/16/8 on" in said
    assert "the largest part has 1708 nodes, and reads" in said
    assert "2 workers send" in said
    with pytest.raises(ValueError, match="norm='batch'"):
        show_parts_plan(parts.folder, ModelConfig(norm="batch"), Protocol(), 2, as_json=False)
