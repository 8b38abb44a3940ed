from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, issparse, random
from torch_geometric.data import Data, HeteroData

from helpers import array_features, sparse_features
from justjump.data import DataError, Graph, Table, load
from justjump.data.errors import DataWarning

EDGES = torch.tensor([[0, 1, 2, 2], [1, 0, 1, 2]])


def _csr(tensor: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its CSR tensors a beta
        return tensor.to_sparse_csr()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]
)
def test_dense_data(dtype: torch.dtype) -> None:
    mask = torch.tensor([True, False, False])
    data = Data(
        x=torch.eye(3).to(dtype),
        edge_index=EDGES,
        y=torch.tensor([1, -1, 0]),
        edge_weight=torch.tensor([[1.0], [2], [3], [4]]),
        train_mask=mask,
        val_mask=mask.roll(1),
        test_mask=mask.roll(2),
    )
    graph = Graph.from_pyg(data, name="mine")
    assert graph.name == "mine"
    np.testing.assert_array_equal(graph.features, np.eye(3))
    np.testing.assert_array_equal(graph.edge_index, EDGES)
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [1, 2, 3, 4]
    assert graph.labels.tolist() == [1, -1, 0]
    assert graph.class_names == ("0", "1")
    assert graph.masks is not None
    assert np.array(graph.masks).tolist() == np.eye(3, dtype=bool).tolist()


def test_data_is_left_alone_and_shares_no_memory() -> None:
    data = Data(x=torch.eye(3, requires_grad=True), edge_index=EDGES.clone(), y=torch.zeros(3, 1, dtype=torch.int32))
    before = copy.deepcopy(data)
    graph = Graph.from_pyg(data)
    array_features(graph)[:] = 7
    graph.edge_index[:] = 0
    graph.labels[:] = 0
    assert data.keys() == before.keys()
    for key in before.keys():  # noqa: SIM118  # a Data object is not a dictionary
        assert torch.equal(data[key], before[key])


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_sparse_features_stay_sparse(layout: str) -> None:
    dense = torch.tensor([[0.0, 2, 0], [0, 0, 0], [1, 0, 3]])
    graph = Graph.from_pyg(Data(x=dense.to_sparse_coo() if layout == "coo" else _csr(dense), edge_index=EDGES))
    assert isinstance(graph.features, csr_matrix)
    np.testing.assert_array_equal(graph.features.toarray(), dense)
    assert graph.labels.tolist() == [-1, -1, -1]
    assert graph.num_classes == 0


class _SparseTensor:
    """What of `torch_sparse.SparseTensor` is used."""

    def __init__(self, row: torch.Tensor, column: torch.Tensor, value: torch.Tensor | None) -> None:
        self._coo = row, column, value

    def coo(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        return self._coo


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["coo", "csr", "torch_sparse"])
def test_adj_t_holds_targets_as_rows(form: str, weighted: bool) -> None:
    source, target = EDGES
    weight = torch.tensor([1.0, 2, 3, 4]) if weighted else torch.ones(4)
    coo = torch.sparse_coo_tensor(torch.stack([target, source]), weight, (3, 3), check_invariants=True)
    adj_t = {
        "coo": lambda: coo,
        "csr": lambda: _csr(coo),
        "torch_sparse": lambda: _SparseTensor(target, source, weight if weighted else None),
    }[form]()
    graph = Graph.from_pyg(Data(x=torch.eye(3), adj_t=adj_t))
    got = {(int(s), int(t)): i for i, (s, t) in enumerate(graph.edge_index.T)}
    assert set(got) == {(int(s), int(t)) for s, t in EDGES.T}
    if not weighted:
        assert graph.edge_weight is None
    else:
        assert graph.edge_weight is not None
        assert [graph.edge_weight[got[int(s), int(t)]] for s, t in EDGES.T] == [1, 2, 3, 4]


def test_round_trip() -> None:
    graph = load("cora")
    mask = graph.labels == 0
    graph = Graph(
        graph.edge_index,
        graph.features,
        graph.labels,
        tuple("0123456"),
        "cora",
        np.arange(graph.edge_index.shape[1]),
        masks=(mask, ~mask, mask & False),
    )
    data = graph.to_pyg()
    assert data.validate()
    assert data.is_undirected()
    assert data.num_nodes == 2708
    again = Graph.from_pyg(data, "cora")
    assert issparse(again.features)
    assert (sparse_features(again) != sparse_features(graph)).nnz == 0
    for key in ("edge_index", "labels", "edge_weight"):
        np.testing.assert_array_equal(getattr(again, key), getattr(graph, key))
    assert again.class_names == graph.class_names
    np.testing.assert_array_equal(np.array(again.masks), np.array(graph.masks))


def test_missing_masks_are_empty() -> None:
    graph = Graph.from_pyg(Data(x=torch.eye(3), edge_index=EDGES, train_mask=torch.ones(3, dtype=torch.bool)))
    assert graph.masks is not None
    assert [mask.sum() for mask in graph.masks] == [3, 0, 0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HeteroData(), r"got HeteroData.*to_homogeneous"),
        ("cora", r"got str: read it first, with justjump.load\(name\) or justjump.read_graph\(path\)"),
        (torch.eye(3), r"got Tensor: make a Data\(x=..., edge_index=..., y=...\)"),
        (Data(x=torch.eye(3), edge_index=EDGES, y=["a", "b", "a"]), "data.y is a list and no tensor of numbers"),
        (Data(edge_index=EDGES), "data.x is missing"),
        (Data(x=torch.eye(3)), "neither edge_index nor adj_t"),
        (Data(x=torch.eye(3), adj_t=torch.eye(3)), "adj_t must be a sparse matrix"),
        (Data(x=torch.eye(3), edge_index=EDGES, y=torch.ones(3, 3, 3)), "give each class a number"),
        (Data(x=torch.eye(3), edge_index=EDGES, y=torch.tensor([0, 1])), r"y has the shape .2. for 3 nodes"),
        (Data(x=torch.eye(3), edge_index=EDGES, train_mask=torch.ones(3, 10, dtype=torch.bool)), "one column"),
        (Data(x=torch.eye(2), edge_index=EDGES), "edge_index must lie in"),
    ],
)
def test_errors(data: Data, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Graph.from_pyg(data)


def test_one_number_per_edge_is_a_weight() -> None:
    data = Data(x=torch.eye(3), edge_index=EDGES, edge_attr=torch.arange(EDGES.shape[1]))
    graph = Graph.from_pyg(data)
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == list(range(EDGES.shape[1]))
    data.edge_attr = data.edge_attr[:, None].double()
    assert Graph.from_pyg(data).edge_weight is not None
    data.edge_weight = torch.ones(EDGES.shape[1])
    assert set(Graph.from_pyg(data).edge_weight.tolist()) == {1}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (torch.ones(EDGES.shape[1], 4), "data.edge_attr is ignored: it has 4 values per edge"),
        (-torch.ones(EDGES.shape[1]), "data.edge_attr is ignored: .* these are finite and not negative"),
        (torch.full((EDGES.shape[1],), torch.inf), "data.edge_attr is ignored: .* set data.edge_weight"),
    ],
)
def test_other_attributes_of_edges_are_said_to_be_ignored(attributes: torch.Tensor, message: str) -> None:
    with pytest.warns(DataWarning, match=message):
        graph = Graph.from_pyg(Data(x=torch.eye(3), edge_index=EDGES, edge_attr=attributes))
    assert graph.edge_weight is None


def test_missing_features() -> None:
    x = torch.tensor([[1.0, torch.nan], [2, 3], [4, 5]])
    assert np.isnan(array_features(Graph.from_pyg(Data(x=x, edge_index=EDGES)))[0, 1])


def test_a_table_goes_to_pyg_as_numbers() -> None:
    table = Table.of({"age": [30, None, 50], "city": ["a", "b", "a"]})
    graph = Graph(EDGES.numpy(), table, np.array([0, 1, 0]), ("u", "v"))
    assert graph.to_pyg().x.tolist() == [[30, 0, 1, 0, 0], [40, 1, 0, 1, 0], [50, 0, 1, 0, 0]]


def test_features_may_be_a_scipy_matrix() -> None:
    matrix = random(5, 4, 0.5, format="csr", random_state=0, dtype=np.float32)
    labels = torch.tensor([0, 1, 0, 1, -1])
    for kind in ("csr", "csc", "coo"):
        graph = Graph.of(Data(x=matrix.asformat(kind), edge_index=EDGES, y=labels))
        assert graph.num_nodes == 5
        assert isinstance(graph.features, csr_matrix)
        assert (graph.features != matrix).nnz == 0
