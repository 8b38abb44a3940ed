"""The graphs of the layers of a mini-batch."""

from dataclasses import replace

import pytest
import torch

from helpers import assert_same, random_graph
from justjump.ops import Adjacency, Hops, Sample, Sampler


def _graph(weighted: bool = True) -> Adjacency:
    edge_index = random_graph(50, 300, isolated=4)
    weight = torch.rand(edge_index.size(1)) if weighted else None
    return Adjacency.build(edge_index, weight, 50).with_self_loops().normalized("gcn")


def test_layers_are_prefixes() -> None:
    adj, seeds = _graph(), torch.tensor([7, 49, 0])
    hops = Hops(adj, Sampler(adj, [3, 2, 4], keep_loops=True)(seeds))
    assert len(hops) == 3
    assert [part.shape for part in hops] == [
        (hops.sizes[2], hops.sizes[3]), (hops.sizes[1], hops.sizes[2]), (3, hops.sizes[1])
    ]  # fmt: skip
    for part in hops:
        if part.num_edges:
            assert int(part.col.max()) < part.shape[1]
    assert hops.layer(3) is hops.layer(3)
    with pytest.raises(ValueError, match="there is no graph for layer 4"):
        hops.layer(4)


def test_all_neighbours_have_the_weights_of_the_whole_graph() -> None:
    adj, seeds = _graph(), torch.tensor([7, 49, 0, 7])
    sample = Sampler(adj, [-1, -1], keep_loops=True)(seeds)
    dense = adj.to_dense()
    for part in Hops(adj, sample):
        nodes = sample.nodes[: part.shape[1]]
        if len(set(nodes.tolist())) == len(nodes):
            assert torch.equal(part.to_dense(), dense[nodes[: part.shape[0]]][:, nodes])
        else:  # a node that is there twice reads from its first place
            assert_same(part.to_dense().sum(1), dense[nodes[: part.shape[0]]].sum(1))


@pytest.mark.parametrize("replace", [False, True])
def test_sampled_sums_are_right_on_average(replace: bool) -> None:
    adj, x = _graph(), torch.randn(50, 3)
    nodes = torch.arange(50)
    exact = adj.to_dense() @ x
    sampler, draws = Sampler(adj, [2], replace, keep_loops=True), []
    for batch in range(400):
        sample = sampler(nodes, batch)
        draws.append(Hops(adj, sample).layer(1).to_dense() @ x[sample.nodes])
    drawn = torch.stack(draws)  # [400, 50, 3]
    error, spread = drawn.mean(0) - exact, drawn.std(0) / 400**0.5
    certain = spread < 1e-6  # no more than two neighbours
    assert 0 < int(certain.sum()) < certain.numel()
    assert error[certain].abs().max() < 1e-5
    assert (error / spread)[~certain].abs().max() < 4.5
    assert (error / spread)[~certain].square().mean() < 1.4


def test_nodes_without_a_neighbour_keep_their_loop() -> None:
    adj = _graph()
    sample = Sampler(adj, [0], keep_loops=True)(torch.arange(50))
    part = Hops(adj, sample).layer(1)
    assert torch.equal(part.to_dense(), torch.diag(adj.to_dense().diag()))


def test_a_graph_without_weights_is_refused() -> None:
    adj = Adjacency.build(random_graph(9, 20), num_nodes=9).with_self_loops()
    with pytest.raises(ValueError, match="is not normalised"):
        Hops(adj, Sampler(adj, [1], keep_loops=True)(torch.tensor([0])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"col": [-1]}, "col holds -1"),
        ({"col": [10**9]}, "col holds 1000000000"),
        ({"rowptr": [0, 200_000]}, "rowptr must ascend"),
        ({"rowptr": [0, 1, 1]}, "rowptr holds 3 numbers"),
        ({"edge": [-1]}, "edge holds -1"),
        ({"edge": [0, 1]}, "do not fit each other"),
        ({"nodes": [0, 50]}, "nodes holds 50"),
        ({"edge": [0.5]}, "edge is torch.float32 of shape .*, expected a vector of integers"),
        ({"nodes": [0.0, 1.0]}, "nodes is torch.float32 of shape .*, expected a vector of integers"),
        ({"nodes": [0]}, "do not fit each other"),
        ({"num_nodes": [1]}, "rowptr holds 2 numbers"),
        ({"num_nodes": [1, 3]}, "do not fit each other"),
    ],
)
def test_a_sample_that_nobody_drew_is_refused(change: dict[str, list[float]], message: str) -> None:
    fields = {"nodes": [0, 1], "rowptr": [0, 1], "col": [0], "edge": [0], "num_nodes": [1, 1], "num_edges": [1]}
    values = {name: torch.tensor(x) if "num" not in name else x for name, x in (fields | change).items()}
    with pytest.raises(ValueError, match=message):
        Hops(_graph(), Sample(**values))  # type: ignore[arg-type]


def test_a_layer_reads_no_node_of_a_later_hop() -> None:
    sample = Sampler(_graph(), [2, 2], keep_loops=True)(torch.arange(3))
    col = sample.col.clone()
    col[0] = len(sample.nodes) - 1
    with pytest.raises(ValueError, match="col holds"):
        Hops(_graph(), replace(sample, col=col))
