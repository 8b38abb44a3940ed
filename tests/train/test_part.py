"""The nodes or graphs of a split, as a network computes them."""

import numpy as np
import pytest
import torch

from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import prepare
from justjump.train.part import Part, output_of_all
from made_graphs import made_graph, made_graphs

CONFIG = ModelConfig(layers=2, hidden=16, heads=4, groups=4)


@pytest.mark.parametrize("graph", [made_graph("regression", 60), made_graphs(12)], ids=["nodes", "graphs"])
def test_a_part_has_the_rows_of_the_whole(graph) -> None:
    inputs = prepare(graph)
    model = NodeClassifier(CONFIG, graph.num_features, graph.num_classes).eval()
    rows = np.flatnonzero(graph.labelled)[1::3]
    part = Part.of(inputs, rows)
    torch.testing.assert_close(part.output(model, inputs), output_of_all(model, inputs)[rows], atol=1e-6, rtol=1e-5)
    assert torch.equal(part.labels, torch.from_numpy(graph.labels[rows]))


def test_graphs_do_not_see_each_other() -> None:
    graph = made_graphs(6)
    model = NodeClassifier(CONFIG, graph.num_features, 2).eval()
    whole = output_of_all(model, prepare(graph))
    assert whole.shape == (6, 2)
    torch.testing.assert_close(whole, output_of_all(model, prepare(made_graphs(12)))[:6], atol=1e-6, rtol=1e-5)
