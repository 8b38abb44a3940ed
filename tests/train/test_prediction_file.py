"""Files of predictions, written in blocks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from justjump.train import prediction_file
from justjump.train.prediction_file import Block, Columns, write_predictions


def test_large_blocks_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicted = np.random.default_rng(0).random((10, 2)).astype(np.float32)
    columns = Columns("node", "multiclass", ("a", "b"), named=False, roles=True)
    blocks = [Block(range(7), predicted[:7], ["train"] * 7), Block(range(7, 10), predicted[7:], ["", "val", ""])]
    write_predictions(tmp_path / "once.csv", columns, blocks)
    monkeypatch.setattr(prediction_file, "BLOCK_VALUES", 5)
    for name in ("cut.csv", "cut.parquet"):
        write_predictions(tmp_path / name, columns, blocks)
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "once.csv").read_bytes()
    table = pd.read_parquet(tmp_path / "cut.parquet")
    assert list(table) == ["node", "class", "probability", "split", "a", "b"]
    assert table["node"].tolist() == list(range(10))
    assert table["class"].tolist() == ["ab"[one] for one in predicted.argmax(1)]
    assert table["split"].fillna("-").tolist()[6:] == ["train", "-", "val", "-"]
    assert np.array_equal(table[["a", "b"]].to_numpy(), predicted)
