"""Small graphs in parts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from justjump import files
from justjump.data import Graph
from justjump.data.parts import Parts

Make = Callable[..., Parts]


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk; tests/test_files.py tests that writers do."""
    monkeypatch.setattr(files, "_sync", lambda path: None)


def random_graph(
    nodes: int = 60, edges: int = 200, features: int = 9, seed: int = 0, weighted: bool = False, sparse: bool = False
) -> Graph:
    """Directed, with isolated nodes."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((nodes, features)).astype(np.float32)
    dense[rng.random(dense.shape) < (0.7 if sparse else 0.0)] = 0
    ends = max(1, nodes - nodes // 10)
    return Graph(
        edge_index=rng.integers(0, ends, (2, edges)),
        features=scipy.sparse.csr_matrix(dense) if sparse else dense,
        labels=np.arange(nodes) % 3,
        class_names=("a", "b", "c"),
        edge_weight=rng.random(edges).astype(np.float32) if weighted else None,
        name="random",
    )


@pytest.fixture
def make_parts(tmp_path: Path) -> Make:
    """A graph in parts by a vector of parts; by default, part 1 of 4 is empty."""

    def make(graph: Graph | None = None, part: np.ndarray | None = None, parts: int = 4) -> Parts:
        graph = random_graph() if graph is None else graph
        if part is None:
            part = np.random.default_rng(1).choice([p for p in range(parts) if p != 1], graph.num_nodes)
        folder = tmp_path / f"parts-{len(list(tmp_path.iterdir()))}"
        return graph.partition(parts, folder, method=part, scale="none")

    return make
