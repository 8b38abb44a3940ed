from __future__ import annotations

import importlib.util
import io
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from helpers import sparse_features
from justjump.data import read_graph


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[1] / "scripts" / "embed_cora.py"
    spec = importlib.util.spec_from_file_location("embed_cora", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_same_bytes_every_time(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1]])
    nodes = pd.DataFrame({"nodeId": [30, 10, 20], "subject": [0, 6, 2], "features": list(features)})
    citations = pd.DataFrame({"sourceNodeId": [10, 10, 20, 30], "targetNodeId": [20, 20, 10, 10]})
    with zipfile.ZipFile(tmp_path / "package.whl", "w") as wheel:
        for part, table in (("nodes", nodes), ("rels", citations)):
            buffer = io.BytesIO()
            table.to_parquet(buffer)
            wheel.writestr(f"graphdatascience/resources/cora/cora_{part}.parquet.gzip", buffer.getvalue())
    outputs = [tmp_path / "first.npz", tmp_path / "second.npz"]
    for output in outputs:
        monkeypatch.setattr(sys, "argv", ["embed", "--wheel", str(tmp_path / "package.whl"), "--output", str(output)])
        script.main()
    assert outputs[0].read_bytes() == outputs[1].read_bytes()

    graph = read_graph(outputs[0])
    np.testing.assert_array_equal(sparse_features(graph).toarray(), features)
    assert graph.labels.tolist() == [0, 6, 2]
    assert graph.class_names == script.CLASS_NAMES
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
