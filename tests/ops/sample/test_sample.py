"""The native sampler beside the obvious one."""

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from helpers import random_graph
from justjump.ops import Adjacency, Sample, Sampler, native
from justjump.ops.sample import reference
from specification import needs_kernels, switch_kernels_off

# Empty rows, isolated nodes, a hub, self-loops, repeated edges, both widths of indices.
GRAPHS = {
    "random": random_graph(40, 200, isolated=7),
    "no edges": torch.empty(2, 0, dtype=torch.int64),
    "hub": torch.stack([torch.arange(3000) % 40, torch.zeros(3000, dtype=torch.int64)]),
    "star": torch.stack([torch.zeros(39, dtype=torch.int64), torch.arange(1, 40)]),
}


def as_lists(sample: Sample) -> tuple[list[int], ...]:
    tensors = (sample.nodes, sample.rowptr, sample.col, sample.edge)
    return (*(x.tolist() for x in tensors), sample.num_nodes, sample.num_edges)


def obvious(sampler: Sampler, nodes: Sequence[int], *batch: int) -> tuple[list[int], ...]:
    adj, key = sampler.adj, reference.absorb(0, sampler.seed, *batch)
    always = None if sampler.always is None else sampler.always.numpy()
    return reference.sample(adj.rowptr.numpy(), adj.col.numpy(), always, nodes, sampler.fanout, sampler.replace, key)


@needs_kernels
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("keep_loops", [False, True])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("fanout", [[3, 2], [-1, 0, 5], [2000], [0]])
def test_equals_the_reference(name: str, keep_loops: bool, replace: bool, fanout: list[int]) -> None:
    adj = Adjacency.build(GRAPHS[name], num_nodes=40)
    sampler = Sampler(adj.with_self_loops() if keep_loops else adj, fanout, replace, seed=5, keep_loops=keep_loops)
    for batch, nodes in enumerate(([0, 39, 7, 7, 0], [3], [], list(range(40)))):
        assert as_lists(sampler(torch.tensor(nodes, dtype=torch.int64), batch)) == obvious(sampler, nodes, batch)


@needs_kernels
@settings(max_examples=60)
@given(data=st.data())
def test_any_graph_and_fanout(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 12))
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    edges = data.draw(st.lists(ends, max_size=40))
    adj = Adjacency.build(torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(), num_nodes=nodes)
    keep_loops, replace = data.draw(st.booleans()), data.draw(st.booleans())
    adj = adj.with_self_loops() if keep_loops else adj
    fanout = data.draw(st.lists(st.integers(-1, 6), min_size=1, max_size=3))
    sampler = Sampler(adj, fanout, replace, data.draw(st.integers(-(2**63), 2**64)), keep_loops)
    seeds = data.draw(st.lists(st.integers(0, nodes - 1), max_size=6))
    sample = sampler(torch.tensor(seeds, dtype=torch.int64), 1, 2)
    assert as_lists(sample) == obvious(sampler, seeds, 1, 2)
    check_sample(sampler, sample, seeds)


def check_sample(sampler: Sampler, sample: Sample, seeds: list[int]) -> None:
    """What holds for every sample, whatever it was drawn by."""
    adj, targets = sampler.adj, len(sample.rowptr) - 1
    assert sample.nodes[: len(seeds)].tolist() == seeds
    assert len(set(sample.nodes.tolist())) == len(sample.nodes) - len(seeds) + len(set(seeds))
    assert (len(sample.nodes), len(sample.edge)) == (sum(sample.num_nodes), sum(sample.num_edges))
    assert targets == sum(sample.num_nodes[:-1])
    target = torch.arange(targets).repeat_interleave(sample.rowptr.diff())
    assert torch.equal(adj.col[sample.edge].long(), sample.nodes[sample.col])
    assert torch.equal(adj.target[sample.edge].long(), sample.nodes[target])
    hop = torch.arange(len(sample.num_nodes)).repeat_interleave(torch.tensor(sample.num_nodes))
    assert bool((hop[sample.col] <= hop[target] + 1).all())
    if not sampler.replace:
        pairs = list(zip(target.tolist(), sample.edge.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)


def test_all_neighbours_are_all_edges() -> None:
    adj = Adjacency.build(GRAPHS["random"], num_nodes=40)
    for replace in (False, True):
        sample = Sampler(adj, [-1], replace)(torch.arange(40))
        assert torch.equal(sample.edge, torch.arange(adj.num_edges))
        assert torch.equal(sample.col, adj.col.long())


@needs_kernels
def test_any_number_of_threads_and_any_order_of_calls(threads: Callable[[int | None], None]) -> None:
    adj = Adjacency.build(random_graph(3000, 60_000), num_nodes=3000)
    sampler, nodes = Sampler(adj, [10, 5]), torch.arange(2000)  # more edges than one thread takes
    threads(1)
    expected = [as_lists(sampler(nodes, batch)) for batch in range(3)]
    threads(3)
    assert [as_lists(sampler(nodes, batch)) for batch in (2, 0, 1)] == [expected[i] for i in (2, 0, 1)]
    assert expected[0] != expected[1]
    assert as_lists(Sampler(adj, [10, 5], seed=1)(nodes, 0)) != expected[0]


@needs_kernels
def test_wide_indices_give_the_same_sample() -> None:
    adj = Adjacency.build(GRAPHS["random"], num_nodes=40)
    wide = Adjacency.build(GRAPHS["random"].clone(), num_nodes=40)
    wide._rowptr, wide._col = wide._rowptr.long(), wide._col.long()
    nodes = torch.tensor([1, 2, 3])
    assert as_lists(Sampler(wide, [2, 2])(nodes)) == as_lists(Sampler(adj, [2, 2])(nodes))


def test_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    adj, nodes = Adjacency.build(GRAPHS["random"], num_nodes=40), torch.tensor([5, 1])
    fast = as_lists(Sampler(adj, [4, 3], seed=9)(nodes))
    switch_kernels_off(monkeypatch)
    assert as_lists(Sampler(adj, [4, 3], seed=9)(nodes)) == fast


def _subsets(n: int, k: int, draws: int) -> Counter[tuple[int, ...]]:
    adj = Adjacency.build(torch.stack([torch.arange(n), torch.zeros(n, dtype=torch.int64)]))
    sampler = Sampler(adj, [k], seed=3)
    return Counter(tuple(sampler(torch.tensor([0]), batch).edge.tolist()) for batch in range(draws))


@pytest.mark.parametrize(("n", "k"), [(5, 2), (5, 3), (6, 1), (6, 5)])
def test_every_subset_is_as_likely_as_any_other(n: int, k: int) -> None:
    counts = _subsets(n, k, 3000)
    found = [counts[subset] for subset in combinations(range(n), k)]
    assert sum(found) == 3000
    assert chisquare(found).pvalue > 0.001


def test_every_edge_of_a_hub_is_as_likely_as_any_other() -> None:
    hub = torch.stack([torch.arange(2000), torch.zeros(2000, dtype=torch.int64)])
    adj, seeds = Adjacency.build(hub), torch.tensor([0])
    for replace in (False, True):
        sampler = Sampler(adj, [50], replace)
        edges = torch.cat([sampler(seeds, batch).edge for batch in range(800)])
        assert chisquare(np.bincount(edges.numpy(), minlength=2000)).pvalue > 0.001


def test_nodes_draw_independently() -> None:
    """Two nodes with the same neighbours: all pairs of their choices are equally likely."""
    source, target = torch.arange(4).repeat(2), torch.tensor([4, 5]).repeat_interleave(4)
    sampler = Sampler(Adjacency.build(torch.stack([source, target])), [1])
    pairs = Counter(tuple((sampler(torch.tensor([4, 5]), b).edge % 4).tolist()) for b in range(3200))
    assert chisquare([pairs[i, j] for i in range(4) for j in range(4)]).pvalue > 0.001


def test_a_sampler_can_be_sent_to_another_process() -> None:
    sampler, nodes = Sampler(Adjacency.build(GRAPHS["random"], num_nodes=40), [3]), torch.tensor([4, 2])
    expected = as_lists(sampler(nodes))
    again: Sampler = pickle.loads(pickle.dumps(sampler))
    assert as_lists(again(nodes)) == expected


@pytest.mark.parametrize(
    ("nodes", "fanout", "message"),
    [
        (torch.tensor([40]), [2], "nodes holds node 40, but there are 40 nodes"),
        (torch.tensor([-1]), [2], "nodes holds node -1"),
        (torch.tensor([0.5]), [2], "nodes is torch.float32"),
        (torch.tensor([[0]]), [2], r"of shape \[1, 1\]"),
        (torch.tensor([0]), [], "must be a list with a number of neighbours for each hop"),
        (torch.tensor([0]), "15", "must be a list"),
        (torch.tensor([0]), [2, -2], "holds -2: a number of neighbours is 0 or more, or -1"),
        (torch.tensor([0]), [True], "holds True"),
        (torch.tensor([0]), [1.5], "holds 1.5"),
        (torch.tensor([0]), [10**30], "holds 1e\\+30, expected at most 2147483647: -1 takes all"),
        (torch.tensor([0]), [2**62], "expected at most 2147483647"),
    ],
)
def test_what_does_not_fit_is_refused(nodes: Tensor, fanout: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampler(Adjacency.build(GRAPHS["random"], num_nodes=40), fanout)(nodes)


def test_parts_and_loops_are_checked() -> None:
    adj = Adjacency.build(GRAPHS["random"], num_nodes=40)
    with pytest.raises(ValueError, match="is a part of a graph"):
        Sampler(adj.toward([1]), [2])
    with pytest.raises(TypeError, match=r"adj is of type Tensor, expected an Adjacency: make one with Adjacency.build"):
        Sampler(GRAPHS["random"], [2])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="call with_self_loops"):
        Sampler(adj, [2], keep_loops=True)


@needs_kernels
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"last": 5}, "last is beyond the nodes"),
        ({"first": 2, "last": 1}, "no range of nodes"),
        ({"nodes": torch.zeros(2, dtype=torch.int32)}, "no room for all sources"),
        ({"place": torch.zeros(2, dtype=torch.int32)}, r"place has shape \[1, 2\], expected \[1, 3\]"),
        ({"always": torch.zeros(2, dtype=torch.int32)}, "always has shape"),
        ({"local": torch.zeros(2, dtype=torch.int32)}, "local has shape"),
        ({"found": torch.zeros(2, dtype=torch.int32)}, "found has shape"),
        ({"fanout": 1}, "ptr does not fit the fanout"),
        ({"fanout": 2**63 - 1}, "fanout leaves no room"),
        ({"fanout": -5}, "fanout must be at least 0"),
        ({"threads": 0}, "threads must be at least 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changed: dict[str, object], message: str) -> None:
    rowptr, col = torch.tensor([0, 3, 3, 3], dtype=torch.int32), torch.tensor([0, 1, 2], dtype=torch.int32)
    ptr = torch.tensor([0, 3])
    fields = {
        "rowptr": native.index("rowptr", rowptr), "col": native.index("col", col), "ptr": native.index("ptr", ptr),
        "first": 0, "last": 1, "place": torch.full((3,), -1, dtype=torch.int32), "fanout": -1,
    }  # fmt: skip
    sizes = {"nodes": 4, "edge": 3, "local": 3, "found": 1}
    fields |= {name: torch.zeros(size, dtype=torch.int32) for name, size in sizes.items()}
    with pytest.raises(ValueError, match=message):
        native.run("SampleHop", torch.int32, **{**fields, **changed})
    native.run("SampleHop", torch.int32, **fields)
    assert int(fields["found"]) == 4


@needs_kernels
def test_a_pointer_whose_differences_wrap_around_is_refused() -> None:
    rowptr, col = torch.tensor([0, 1, 2, 3, 4], dtype=torch.int32), torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    fields = {name: torch.zeros(0, dtype=torch.int32) for name in ("edge", "local")}
    ptr = torch.tensor([0, 2**62, -(2**63), -(2**62), 0])
    with pytest.raises(ValueError, match="ptr does not ascend"):  # four times 2^62 is 2^64, which is 0
        native.run(
            "SampleHop", torch.int32, rowptr=native.index("rowptr", rowptr), col=native.index("col", col),
            ptr=native.index("ptr", ptr), first=0, last=4, fanout=2**62,
            replace=True, nodes=torch.arange(4, dtype=torch.int32), place=torch.arange(4, dtype=torch.int32),
            found=torch.zeros(1, dtype=torch.int32), **fields,
        )  # fmt: skip


@needs_kernels
def test_kernels_of_indices_take_indices_alone() -> None:
    with pytest.raises(TypeError, match="take torch.int32 or torch.int64, not torch.float32"):
        native.run("SampleHop", torch.float32)
