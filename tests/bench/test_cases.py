"""Both sides of a case compute the same, on the datasets or on random graphs of their size."""

import pytest
import torch

from justjump.bench.cases import CASES, build, graph_for


@pytest.mark.parametrize("name", ["layer-cora", "step-cora"])
def test_both_sides_compute_the_same(name: str) -> None:
    graph = graph_for("cora", synthetic=False)
    outputs = []
    for side in ("ours", "pyg"):
        step = build(CASES[name], side, graph)
        step.layer.eval()  # type: ignore[attr-defined]
        with torch.no_grad():
            outputs.append(step())
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-4)


def test_synthetic_graphs_have_the_counts_of_the_paper() -> None:
    graph = graph_for("amazon_photo", synthetic=True)
    assert (graph.num_nodes, graph.edge_index.shape[1]) == (7650, 2 * 119081)
