"""The part of a Data that a sample is."""

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from helpers import random_graph
from justjump.loader.select import Selection, induced
from justjump.ops import Adjacency, Sampler


def test_one_entry_per_node_or_edge_is_cut() -> None:
    data = Data(
        x=torch.arange(12.0).view(6, 2), edge_index=torch.tensor([[0, 1, 2, 5], [1, 2, 5, 0]]), y=torch.arange(6),
        edge_attr=torch.arange(8.0).view(4, 2), edge_weight=torch.arange(4.0), train_mask=torch.arange(6) < 3,
        names=[str(i) for i in range(6)], ages=np.arange(6), title="six nodes", scale=torch.tensor([1.0, 2, 3]),
        num_nodes=6,
    )  # fmt: skip
    nodes, edges = torch.tensor([5, 2]), torch.tensor([2])
    part = Selection(data)(nodes, torch.tensor([[1], [0]]), edges)
    assert part.x.tolist() == [[10, 11], [4, 5]]
    assert part.y.tolist() == [5, 2]
    assert part.train_mask.tolist() == [False, True]
    assert part.names == ["5", "2"]
    assert part.ages.tolist() == [5, 2]
    assert part.edge_attr.tolist() == [[4, 5]]
    assert part.edge_weight.tolist() == [2]
    assert part.edge_index.tolist() == [[1], [0]]
    assert (part.title, part.scale.tolist(), part.num_nodes) == ("six nodes", [1, 2, 3], 2)
    assert data.num_nodes == 6


def test_sparse_features_are_cut_by_rows() -> None:
    x = torch.randn(6, 3) * (torch.rand(6, 3) < 0.5)
    data = Data(x=x.to_sparse(), edge_index=torch.empty(2, 0, dtype=torch.int64))
    nodes = torch.tensor([4, 4, 0])
    part = Selection(data)(nodes, data.edge_index, torch.empty(0, dtype=torch.int64))
    assert part.x.is_sparse
    assert torch.equal(part.x.to_dense(), x[nodes])


def test_induced_edges_are_all_edges_between_the_nodes() -> None:
    edge_index = random_graph(30, 200)
    adj = Adjacency.build(edge_index, num_nodes=30)
    sample = Sampler(adj, [2, 1])(torch.tensor([3, 8]))
    found, positions = induced(adj.rowptr, adj.col, sample)
    assert torch.equal(sample.nodes[found], adj.edge_index[:, positions])
    expected, _ = subgraph(sample.nodes, adj.edge_index)
    assert sorted(sample.nodes[found].T.tolist()) == sorted(expected.T.tolist())
