"""Several graphs as one."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from justjump.data import DataError, Graph
from justjump.data.join import join

EDGE = torch.tensor([[0, 1], [1, 0]])


def small(y: object, nodes: int = 2, features: int = 3) -> Data:
    return Data(x=torch.ones(nodes, features), edge_index=EDGE, y=None if y is None else torch.tensor(y))


def test_edges_point_into_their_own_graph() -> None:
    graph = Graph.of([small(1), small([0], nodes=3)])
    assert graph.batch is not None
    assert graph.batch.tolist() == [0, 0, 1, 1, 1]
    assert graph.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert (graph.labels.tolist(), graph.task) == ([1, 0], "multiclass")


def test_graphs_may_have_several_labels_or_numbers() -> None:
    assert Graph.of([small([[1, 1, 0]]), small([[0, 1, 0]])]).task == "multilabel"
    assert Graph.of([small([0.5]), small([1.5])]).task == "regression"


def test_a_dataset_of_one_graph_is_that_graph() -> None:
    assert Graph.of([small([0, 1])]).batch is None
    assert Graph.of([small([1])]).num_graphs == 1


def test_a_batch_with_a_label_per_graph_is_its_graphs() -> None:
    graphs = [small([1]), small([0], nodes=3)]
    graph = Graph.of(Batch.from_data_list(graphs))
    assert (graph.num_graphs, graph.labels.tolist()) == (2, [1, 0])
    several = Graph.of(Batch.from_data_list([small([1, 1, 0]), small([0, 1, 0])]))
    assert (several.task, several.labels.tolist()) == ("multilabel", [[1, 1, 0], [0, 1, 0]])
    assert Graph.of(Batch.from_data_list([small([0, 1]), small([1, 1])])).batch is None, "nodes have these labels"
    assert Graph.of(Batch.from_data_list([small(None), small(None)]), whole=True).num_graphs == 2
    data = Data(x=torch.ones(3, 2), edge_index=EDGE, y=torch.tensor([0, 1]), batch=torch.tensor([0, 0, 1]))
    with pytest.raises(DataError, match=r"y has the shape \[2\] for 3 nodes: .* if whole graphs .* pass a list"):
        Graph.of(data)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "no graphs in the list"),
        ([small(0), small(None)], "graph 1 of the list has no y"),
        ([small([0, 1]), small([0, 1])], "one per node: a list means whole graphs"),
        ([small(0), small(0, features=4)], "graph 1 has 4 features per node, graph 0 has 3"),
        ([small(0), Graph.from_pyg(small(None))], r"is a Graph, .* join graphs with Graph.from_graphs\(graphs, labels"),
        ([small(0), 3], "graph 1 of the list is a int, expected a PyG Data"),
        ([small([[0.5, 1]]), small([[1.5]])], "graph 1 has 1 labels, graph 0 has 2"),
        ([small(0), Data(edge_index=EDGE, y=torch.tensor([1]))], r"graph 1 of the list: data\.x is missing"),
    ],
)
def test_bad_lists(graphs: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Graph.of(graphs)


def test_labels_must_be_as_many_as_graphs() -> None:
    one = Graph.from_pyg(small(None))
    with pytest.raises(DataError, match="1 graphs, but 2 labels"):
        join([one], np.array([0, 1]))
    with pytest.raises(DataError, match="no graphs"):
        join([], np.array([]))
