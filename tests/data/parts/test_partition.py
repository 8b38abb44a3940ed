"""A graph in parts is the graph: every array of a part is a piece of what the whole graph has."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from justjump.data import DataError, Graph, Preprocessing, load
from justjump.data.labels import find_labels
from justjump.data.parts import Part, Parts, open_parts
from justjump.nn import DNAConv, GATConv, GCNConv
from justjump.ops import Adjacency, SparseMatrix
from made_graphs import made_graph, made_graphs, peoples_graphs


def whole(parts: Parts) -> Adjacency:
    """The graph with self-loops, as training on the whole graph has it."""
    graph = parts.to_graph()
    weight = None if graph.edge_weight is None else torch.from_numpy(graph.edge_weight)
    return Adjacency.build(torch.from_numpy(graph.edge_index), weight, graph.num_nodes).with_self_loops()


def local_weights(part: Part) -> torch.Tensor:
    """The weights of ``normalized("gcn")``, from what the part holds alone."""
    degree = torch.from_numpy(part.degree)
    scale = torch.where(degree > 0, degree, 1).pow(-0.5) * (degree > 0)
    target = torch.repeat_interleave(torch.from_numpy(np.diff(part.rowptr)))
    weight = torch.ones(part.num_edges) if part.weight is None else torch.from_numpy(part.weight)
    return scale[target] * weight * scale[torch.from_numpy(part.col).long()]


def check_against_whole(parts: Parts) -> None:
    """Each part's edges, weights, degrees and features are those of the whole graph at its place."""
    adj, it = whole(parts), parts.manifest
    assert adj.num_edges == it.num_edges
    normal = adj.normalized("gcn").weight
    assert normal is not None
    x = parts.to_graph().features
    sparse = SparseMatrix.from_scipy(x) if isinstance(x, csr_matrix) else None
    for part in parts:
        edges = slice(part.first_edge, part.first_edge + part.num_edges)
        everyone = np.concatenate([np.arange(part.begin, part.end), part.halo])
        assert np.array_equal(everyone[part.col], adj.col[edges])
        assert np.array_equal(part.rowptr + part.first_edge, adj.rowptr[part.begin : part.end + 1])
        assert (part.weight is None) == (adj.weight is None)
        if part.weight is not None:
            assert np.array_equal(part.weight, adj.weight[edges])  # type: ignore[index]
        assert torch.equal(local_weights(part), normal[edges])
        matrix = SparseMatrix(
            (part.num_nodes, part.num_nodes + part.num_halo), torch.from_numpy(part.rowptr), torch.from_numpy(part.col)
        )
        for name in ("colptr", "row", "position"):
            assert np.array_equal(getattr(part, name), getattr(matrix, name)), name
            assert getattr(part, name).dtype == np.int32
        inside = [
            bool((part.col[a:b] < part.num_nodes).all()) for a, b in zip(part.rowptr, part.rowptr[1:], strict=False)
        ]
        assert part.interior.tolist() == inside
        if sparse is not None:
            own = sparse.take(torch.arange(part.begin, part.end))
            pointer, row, position = part.features_by_column
            assert isinstance(part.features, csr_matrix)
            assert np.array_equal(part.features.indices, own.col)
            assert part.first_entry == int(sparse.rowptr[part.begin])
            assert all(map(np.array_equal, (pointer, row, position), (own.colptr, own.row, own.position)))


def check_exchange(parts: Parts) -> None:
    """What part p sends to part q is what q expects of p, in this order, and nobody sends to itself."""
    moved = 0
    everyone = list(parts)
    for q, reader in enumerate(everyone):
        for p, owner in enumerate(everyone):
            wanted = reader.halo[reader.receive_from(p)]
            assert np.array_equal(owner.send_to(q) + owner.begin, wanted)
            assert p != q or not len(wanted)
            moved += len(wanted)
    assert moved == parts.manifest.num_halo


def check_nodes(parts: Parts, graph: Graph) -> None:
    """Labels, masks, names and features of all nodes, found by their original numbers."""
    original = parts.collect("original")
    assert np.array_equal(np.sort(original), np.arange(graph.num_nodes))
    for part in parts:  # the original order within a part
        assert (np.diff(part.original) > 0).all()
    again = parts.to_graph()
    assert np.array_equal(again.labels, graph.labels[original], equal_nan=graph.task != "multiclass")
    assert (again.task, again.class_names) == (graph.task, graph.class_names)
    assert (again.masks is None) == (graph.masks is None)
    for mine, given_mask in zip(again.masks or (), graph.masks or (), strict=True):
        assert np.array_equal(mine, given_mask[original])
    names = None if graph.node_names is None else tuple(graph.node_names[node] for node in original)
    assert again.node_names == names
    features = parts.manifest.preprocessing.apply(graph.features)
    assert isinstance(again.features, csr_matrix) == isinstance(features, csr_matrix)
    assert (abs(again.features - features[original])).max() == 0


def check_edges(parts: Parts, graph: Graph) -> None:
    """The same edges and weights, in new numbers, without regard to self-loops."""
    new = np.empty(graph.num_nodes, np.int64)
    new[parts.collect("original")] = np.arange(graph.num_nodes)
    weight = None if graph.edge_weight is None else torch.from_numpy(graph.edge_weight)
    expected = Adjacency.build(torch.from_numpy(new[graph.edge_index]), weight, graph.num_nodes).with_self_loops()
    found = whole(parts)
    assert torch.equal(found.rowptr, expected.rowptr)
    assert torch.equal(found.col, expected.col)
    assert (found.weight is None) == (expected.weight is None)
    assert found.weight is None or torch.equal(found.weight, expected.weight)  # type: ignore[arg-type]


def check_all(parts: Parts, graph: Graph) -> None:
    check_against_whole(parts)
    check_exchange(parts)
    check_nodes(parts, graph)
    check_edges(parts, graph)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Directed or not, weighted or not, with loops and repeated edges, isolated nodes and labels of every kind."""
    nodes = draw(st.integers(1, 7))
    random = np.random.RandomState(draw(st.integers(0, 10_000)))
    edges = random.randint(0, nodes, (2, draw(st.integers(0, 30))))
    if draw(st.booleans()):
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    weight = random.rand(edges.shape[1]).astype(np.float32) if draw(st.booleans()) else None
    if weight is not None:
        weight[random.rand(len(weight)) < 0.3] = 0
    features: Any = random.randn(nodes, 3).astype(np.float32)
    if draw(st.booleans()):
        features = csr_matrix(features * (random.rand(nodes, 3) < 0.3))
    task = draw(st.sampled_from(["multiclass", "multilabel", "regression"]))
    y = random.randint(-1, 3, nodes) if task == "multiclass" else random.randint(0, 2, (nodes, 2)).astype(np.float32)
    if task != "multiclass":
        y[random.rand(nodes, 2) < 0.2] = np.nan
    labels = find_labels(y, task)  # type: ignore[arg-type]
    role = random.randint(-1, 3, nodes)
    masks = (role == 0, role == 1, role == 2) if draw(st.booleans()) else None
    names = tuple(f"ä{number}" * (number % 3) for number in range(nodes)) if draw(st.booleans()) else None
    return Graph(
        edges, features, labels.values, labels.names, edge_weight=weight, masks=masks, node_names=names,
        task=labels.task,
    )  # fmt: skip


@pytest.mark.slow
@given(
    graph=graphs(), parts=st.integers(1, 9), method=st.sampled_from(["metis", "hash", "given"]), seed=st.integers(0, 9)
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_parts_are_the_graph(
    graph: Graph, parts: int, method: Any, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if method == "given":  # often with empty parts
        method = np.random.RandomState(seed).randint(0, parts, graph.num_nodes)
    folder = tmp_path_factory.mktemp("parts")
    graph.partition(parts, folder, method, scale="standard")
    found = open_parts(folder)
    assert len(found) == parts
    check_all(found, graph)


@pytest.mark.parametrize("method", ["metis", "hash"])
@pytest.mark.parametrize("name", ["customers", "papers", "missing values", "weighted and directed", "no edges"])
def test_graphs_of_people(name: str, method: str, tmp_path: Path) -> None:
    graph = peoples_graphs()[name]
    parts = graph.partition(5, tmp_path / "parts", method)
    check_all(open_parts(tmp_path / "parts"), graph)
    assert parts.manifest.preprocessing == Preprocessing.fit(graph.features, "auto", graph.feature_names)


@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression"])
def test_every_task_with_missing_labels(task: str, tmp_path: Path) -> None:
    graph = made_graph(task, nodes=60)
    check_all(graph.partition(3, tmp_path / "parts", "hash"), graph)


def test_cora_gets_few_cut_edges_by_metis(tmp_path: Path) -> None:
    graph = load("cora")
    metis, hashed = (graph.partition(8, tmp_path / method, method) for method in ("metis", "hash"))
    assert metis.manifest.num_cut < 0.2 * hashed.manifest.num_cut
    assert np.diff(metis.manifest.ranges).max() < 1.2 * graph.num_nodes / 8
    check_against_whole(metis)
    check_exchange(metis)
    check_edges(metis, graph)


def test_the_same_graph_gives_the_same_files(tmp_path: Path) -> None:
    graph = load("cora")
    one, two = (graph.partition(3, tmp_path / name) for name in ("one", "two"))
    other = graph.partition(3, tmp_path / "other", seed=1)
    assert one.manifest.digest == two.manifest.digest != other.manifest.digest
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize("layer", ["dna", "gcn", "gat"])
def test_layers_on_parts_give_the_rows_of_the_whole_graph_bit_for_bit(layer: str, tmp_path: Path) -> None:
    """What a part holds is enough for a layer: its own rows, the halo, and the weights of the whole graph."""
    torch.manual_seed(0)
    conv: Any = {"dna": DNAConv(16, heads=4, groups=8), "gcn": GCNConv(16, 16), "gat": GATConv(16, 16)}[layer].eval()
    parts = peoples_graphs()["weighted and directed"].partition(3, tmp_path / "parts")
    x = torch.randn(300, 2, 16) if layer == "dna" else torch.randn(300, 16)
    expected = conv(x, whole(parts))
    for part in parts:
        shape = part.num_nodes, part.num_nodes + part.num_halo
        edges = torch.from_numpy(part.rowptr), torch.from_numpy(part.col)
        weight = torch.from_numpy(part.weight) if layer == "gat" and part.weight is not None else local_weights(part)
        adj = Adjacency._trusted(shape, *edges, weight, "gcn")
        local = torch.from_numpy(np.concatenate([np.arange(part.begin, part.end), part.halo]))
        assert torch.equal(conv(x[local], adj)[: part.num_nodes], expected[part.begin : part.end])


@pytest.mark.parametrize("method", ["metis", "hash"])
@pytest.mark.parametrize("outward", [False, True])
def test_one_hub(method: str, outward: bool, tmp_path: Path) -> None:
    """All edges lead to one node, or from it: a part with nearly all edges, or parts that all read one row."""
    leaves, hub = np.arange(1, 200), np.zeros(199, int)
    edges = np.stack([hub, leaves] if outward else [leaves, hub])
    weight = np.random.RandomState(0).rand(199)
    graph = Graph(edges, np.random.RandomState(1).randn(200, 2), np.zeros(200, int), ("a",), edge_weight=weight)
    parts = graph.partition(4, tmp_path / "parts", method)
    check_all(parts, graph)
    if outward:
        assert parts.manifest.num_halo == 3
    else:
        assert parts.manifest.num_halo == parts.manifest.num_cut


def test_components_have_no_boundary(tmp_path: Path) -> None:
    pairs = np.array([[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4]])
    graph = Graph(pairs, np.eye(6), np.zeros(6, int), ("a",))
    parts = graph.partition(3, tmp_path / "parts", np.array([2, 2, 0, 0, 1, 1]))
    assert parts.manifest.num_halo == parts.manifest.num_cut == 0
    assert [part.original.tolist() for part in parts] == [[2, 3], [4, 5], [0, 1]]
    check_all(parts, graph)


def test_whole_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds 6 whole graphs"):
        made_graphs(6).partition(2, tmp_path / "parts", "hash")


@pytest.mark.parametrize("parts", [0, -1, 5000])
def test_numbers_of_parts_that_are_none(parts: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"parts={parts} must be a number from 1 to 4096"):
        load("cora").partition(parts, tmp_path / "parts", "hash")


def test_own_self_loops_keep_their_weights(tmp_path: Path) -> None:
    graph = Graph(
        np.array([[0, 1, 1], [0, 1, 1]]), np.eye(3), np.zeros(3, int), ("a",), edge_weight=np.array([3, 4, 5])
    )
    parts = graph.partition(2, tmp_path / "parts", np.array([0, 1, 1]))
    assert parts.manifest.given_loops == 2
    assert parts.to_graph().edge_weight.tolist() == [3, 5, 1]  # type: ignore[union-attr]
    check_all(parts, replace(graph, edge_weight=np.array([3, 4, 5])))
