"""The loader beside PyG's."""

import inspect
from typing import Any

import pytest
import torch
import torch_geometric.loader
from torch.utils.data import BatchSampler, SequentialSampler
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import SAGEConv

from helpers import random_graph, sparse_features
from justjump.data import load
from justjump.loader import NeighborLoader
from justjump.ops import Adjacency, Sample, native, spmm
from specification import needs_kernels


def graph(nodes: int = 60) -> Data:
    edge_index = random_graph(nodes, 400, isolated=3)
    return Data(
        x=torch.randn(nodes, 4), y=torch.arange(nodes), edge_index=edge_index, edge_weight=torch.rand(400),
        edge_attr=torch.randn(400, 2), train_mask=torch.arange(nodes) % 2 == 0,
    )  # fmt: skip


def contents(loader: NeighborLoader, epochs: int = 2) -> list[Any]:
    return [[(b.n_id.tolist(), b.e_id.tolist(), b.x.tolist()) for b in loader] for _ in range(epochs)]


def test_arguments_are_those_of_pyg() -> None:
    theirs = list(inspect.signature(torch_geometric.loader.NeighborLoader).parameters)
    ours = list(inspect.signature(NeighborLoader).parameters)
    assert [name for name in ours if name != "seed"] == theirs


def test_a_batch_is_a_part_of_the_graph() -> None:
    data = graph()
    loader = NeighborLoader(data, [3, 2], input_nodes=data.train_mask, batch_size=8)
    assert len(loader) == 4
    for number, batch in enumerate(loader):
        assert isinstance(batch, Data)
        assert batch.batch_size == (8 if number < 3 else 6)
        assert torch.equal(batch.input_id, batch.n_id[: batch.batch_size])
        assert torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.y, batch.n_id)
        assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])
        assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert sum(batch.num_sampled_nodes) == batch.num_nodes
        assert sum(batch.num_sampled_edges) == batch.num_edges
        assert len(batch.num_sampled_nodes) == 3


def test_input_id_is_the_place_among_numbers() -> None:
    batch = next(iter(NeighborLoader(graph(), [1], input_nodes=torch.tensor([9, 4, 7]), batch_size=3)))
    assert batch.input_id.tolist() == [0, 1, 2]
    assert batch.n_id[:3].tolist() == [9, 4, 7]


def test_a_layer_of_pyg_takes_a_batch() -> None:
    """All neighbours: the first rows are those of the whole graph."""
    data, conv = graph(), SAGEConv(4, 5)
    expected = conv(data.x, data.edge_index)
    for batch in NeighborLoader(data, [-1], batch_size=16):
        out = conv(batch.x, batch.edge_index)[: batch.batch_size]
        assert torch.allclose(out, expected[batch.n_id[: batch.batch_size]], atol=1e-6)


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_depend_on_seed_and_epoch(shuffle: bool) -> None:
    data = graph()
    loader = NeighborLoader(data, [2, 2], batch_size=16, shuffle=shuffle, seed=4)
    first, second = contents(loader)
    assert first != second
    assert contents(NeighborLoader(data, [2, 2], batch_size=16, shuffle=shuffle, seed=4)) == [first, second]
    assert contents(NeighborLoader(data, [2, 2], batch_size=16, shuffle=shuffle, seed=5), 1) != [first]
    loader.set_epoch(1)
    assert contents(loader, 1) == [second]
    with pytest.raises(TypeError, match="seed='4' must be a whole number, or None to draw one"):
        NeighborLoader(data, [2, 2], seed="4")  # type: ignore[arg-type]
    sizes = [16, 16, 16, 12]
    assert sorted(n for (ids, _, _), size in zip(first, sizes, strict=True) for n in ids[:size]) == list(range(60))


def test_torchs_seed_is_the_default() -> None:
    made = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        made.append(contents(NeighborLoader(graph(), [2], batch_size=16, shuffle=True), 1)[0][0][0])
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2},
        {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 3},
        {"num_workers": 2, "filter_per_worker": False},
    ],
)
def test_any_number_of_workers_gives_the_same_batches(options: dict[str, Any]) -> None:
    data = graph()
    expected = contents(NeighborLoader(data, [3, 2], batch_size=16, shuffle=True, seed=4))
    assert contents(NeighborLoader(data, [3, 2], batch_size=16, shuffle=True, seed=4, **options)) == expected


@pytest.mark.slow
def test_spawned_workers_give_the_same_batches() -> None:
    data = graph()
    expected = contents(NeighborLoader(data, [3], batch_size=30, seed=4), 1)
    spawned = NeighborLoader(data, [3], num_workers=1, multiprocessing_context="spawn", batch_size=30, seed=4)
    assert contents(spawned, 1) == expected


@needs_kernels
def test_workers_do_not_hang_after_threads_were_used() -> None:
    """A forked worker has none of the threads that its parent has started."""
    data = graph()
    big = Adjacency.build(random_graph(2000, 50_000), num_nodes=2000).with_self_loops().normalized("gcn")
    torch.set_num_threads(2)
    native.set_threads(2)
    try:
        spmm(big, torch.randn(2000, 64))
        torch.randn(400, 400) @ torch.randn(400, 400)
        loader = NeighborLoader(data, [3, 2], batch_size=16, num_workers=1, seed=4, timeout=60)
        found = contents(loader, 1)
    finally:
        native.set_threads(None)
        torch.set_num_threads(1)
    assert found == contents(NeighborLoader(data, [3, 2], batch_size=16, seed=4), 1)


def test_a_justjump_graph_with_sparse_features() -> None:
    cora = load("cora")
    loader = NeighborLoader(cora, [4], batch_size=500, num_workers=1, seed=0)
    batch = next(iter(loader))
    assert batch.x.is_sparse
    assert torch.equal(batch.x.to_dense(), torch.from_numpy(sparse_features(cora)[batch.n_id.numpy()].toarray()))
    assert torch.equal(batch.y, torch.from_numpy(cora.labels)[batch.n_id])


def test_induced_and_transforms() -> None:
    data = graph()
    kept: list[Sample] = []

    def keep(sample: Sample) -> Sample:
        kept.append(sample)
        return sample

    loader = NeighborLoader(
        data, [2], batch_size=5, subgraph_type="induced", transform=lambda b: b.update({"seen": True}),
        transform_sampler_output=keep,
    )  # fmt: skip
    batch = next(iter(loader))
    assert batch.seen
    assert "num_sampled_edges" not in batch
    assert torch.equal(kept[0].nodes, batch.n_id)
    inside = torch.isin(data.edge_index, batch.n_id).all(0)
    assert sorted(batch.e_id.tolist()) == inside.nonzero()[:, 0].tolist()
    old_name = NeighborLoader(data, [2], batch_size=5, directed=False)
    assert "num_sampled_edges" not in next(iter(old_name))
    assert "num_neighbors=[2]" in repr(old_name)


def test_samplers_of_torch() -> None:
    data = graph()
    plain = contents(NeighborLoader(data, [2], batch_size=16, seed=1), 1)
    by_sampler = NeighborLoader(data, [2], batch_size=16, seed=1, sampler=SequentialSampler(range(60)))
    assert contents(by_sampler, 1) == plain
    batches = BatchSampler(range(60), 20, drop_last=False)
    loader = NeighborLoader(data, [2], batch_sampler=batches, seed=1)
    loader.set_epoch(3)
    assert [batch.n_id[:20].tolist() for batch in loader] == [list(range(i, i + 20)) for i in (0, 20, 40)]
    orders = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(3)
        shuffled = NeighborLoader(data, [2], batch_size=60, shuffle=True, generator=generator, seed=1)
        orders.append(contents(shuffled, 1))
    assert orders[0] == orders[1]
    assert len(NeighborLoader(data, [1], batch_size=16, drop_last=True)) == 3


def test_a_batch_by_places() -> None:
    loader = NeighborLoader(graph(), [2], input_nodes=[5, 6, 7], seed=0)
    assert loader([2, 0]).n_id[:2].tolist() == [7, 5]
    assert loader(torch.tensor([1])).input_id.tolist() == [1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"time_attr": "time"}, ValueError, "time_attr='time' is not supported"),
        ({"weight_attr": "edge_weight"}, ValueError, "weight_attr='edge_weight' is not supported"),
        ({"disjoint": True}, ValueError, "disjoint=True is not supported"),
        ({"subgraph_type": "bidirectional"}, ValueError, "choose 'directional' or 'induced'"),
        ({"num_neighbors": [2, -3]}, ValueError, r"num_neighbors=\[2, -3\] holds -3"),
        ({"num_neighbors": {"a": [1]}}, ValueError, "num_neighbors={'a': .* must be a list"),
        ({"num_neighbors": 10}, ValueError, "num_neighbors=10 must be a list"),
        ({"batchsize": 8}, TypeError, "NeighborLoader has no argument 'batchsize': did you mean batch_size"),
        ({"input_nodes": "train"}, ValueError, r"input_nodes='train' must be node numbers \[n\] or a mask \[60\]"),
        ({"input_nodes": [60]}, ValueError, "input_nodes holds node 60, but there are 60 nodes"),
        ({"input_nodes": torch.ones(3, dtype=torch.bool)}, ValueError, r"a mask of shape \[3\], expected \[60\]"),
        ({"input_nodes": [0.5]}, ValueError, "input_nodes is torch.float32"),
        ({"data": HeteroData()}, TypeError, "data is HeteroData, expected a torch_geometric Data .*to_homogeneous"),
        ({"data": Data(x=torch.eye(2))}, ValueError, "data has no edge_index"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "exclude each other"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        NeighborLoader(**{"data": graph(), "num_neighbors": [2], **options})
