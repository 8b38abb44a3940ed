"""The operations that work in blocks agree with the oracle, gradients included."""

from importlib import import_module
from itertools import product

import pytest
import torch
from torch import Tensor

from helpers import assert_same, gradients, random_graph
from justjump import ops
from justjump.ops import Adjacency, SparseMatrix, blocks, reference


@pytest.fixture(params=[16, 2**22], ids=["tiny-blocks", "one-block"])
def _block_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", request.param)


def leaves(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.usefixtures("_block_size")
@pytest.mark.parametrize("edges", [0, 40])
@pytest.mark.parametrize("dropout", [0.0, 0.8])
def test_dna_attention(edges: int, dropout: float) -> None:
    adj = Adjacency.build(random_graph(9, edges, isolated=2), num_nodes=9)
    query, key, value = inputs = leaves((9, 3, 5), (9, 4, 3, 5), (9, 4, 3, 5))
    weight = torch.rand(edges, dtype=torch.float64, requires_grad=True)
    seed = torch.tensor(123)
    ours = ops.dna_attention(query, key, value, adj, weight, dropout, seed)
    theirs, _ = reference.dna_attention(query, key, value, adj.rowptr, adj.col, weight, dropout, seed)
    assert_same(ours, theirs, 1e-12)
    inputs = [*inputs, weight]
    for a, b in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert_same(a, b, 1e-12)


@pytest.mark.usefixtures("_block_size")
def test_spmm_rectangular() -> None:
    row, col = torch.randint(7, (30,)), torch.randint(5, (30,))
    matrix = SparseMatrix.from_entries((7, 5), row, col, torch.rand(30, dtype=torch.float64))
    (x,) = leaves((5, 6))
    ours, theirs = ops.spmm(matrix, x), matrix.to_dense() @ x
    assert_same(ours, theirs, 1e-12)
    assert_same(*gradients(ours, [x]), *gradients(theirs, [x]), 1e-12)


def test_spmm_is_a_well_formed_custom_op() -> None:
    matrix = SparseMatrix.from_entries((7, 5), torch.randint(7, (30,)), torch.randint(5, (30,)))
    (x,) = leaves((5, 6))
    weight = torch.rand(30, dtype=torch.float64)
    structure = (matrix.rowptr, matrix.col, None, matrix.colptr, matrix.row, matrix.position)
    weights = [(weight, None), (weight, weight[matrix.position]), (None, None)]
    for (own, other), dropout_p in product(weights, (0.0, 0.5)):
        arguments = (*structure, own, other, dropout_p, torch.tensor(3), x)
        torch.library.opcheck(torch.ops.justjump.spmm.default, arguments)
    assert torch.autograd.gradcheck(lambda x: ops.spmm(matrix, x, weight), (x,))


@pytest.mark.parametrize("own_weight", [False, True])
@pytest.mark.parametrize("is_native", [False, True])
def test_spmm_drops_entries(own_weight: bool, is_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = SparseMatrix.from_entries((40, 20), torch.randint(40, (300,)), torch.randint(20, (300,)))
    if own_weight:
        matrix.weight = torch.rand(300, dtype=torch.float64)
    monkeypatch.setattr(import_module("justjump.ops.spmm"), "is_native", lambda *_: is_native)
    (x,) = leaves((20, 6))
    torch.manual_seed(0)
    ours = ops.spmm(matrix, x, dropout_p=0.3)
    torch.manual_seed(0)
    weight = torch.ones(300, dtype=torch.float64) if matrix.weight is None else matrix.weight
    dropped = ops.dropout(weight[None], 0.3)[0]
    assert 0 < int((dropped == 0).sum()) < 200
    theirs = ops.spmm(matrix, x, dropped)
    assert_same(ours, theirs, 1e-12)
    assert_same(*gradients(ours, [x]), *gradients(theirs, [x]), 1e-12)


def test_spmm_with_learned_weights() -> None:
    adj = Adjacency.build(random_graph(6, 20), num_nodes=6)
    (x,) = leaves((6, 3))
    weight = torch.rand(20, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: ops.spmm(adj, x, w), (x, weight))

    def dropped(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        return ops.spmm(adj, x, w, dropout_p=0.5)

    assert torch.autograd.gradcheck(dropped, (x, weight))


def test_spmm_refuses_a_wrong_shape() -> None:
    adj = Adjacency.build(random_graph(6, 20), num_nodes=6)
    with pytest.raises(ValueError, match=r"x has shape \[5, 3\], expected \[6, d\]"):
        ops.spmm(adj, torch.randn(5, 3))


def test_gradcheck() -> None:
    adj = Adjacency.build(random_graph(5, 12), num_nodes=5)
    weight = torch.rand(12, dtype=torch.float64)
    seed = torch.tensor(5)
    inputs = leaves((5, 2, 3), (5, 3, 2, 3), (5, 3, 2, 3))
    assert torch.autograd.gradcheck(lambda q, k, v: ops.dna_attention(q, k, v, adj, weight, 0.4, seed), inputs)
    inputs = leaves((5, 2, 3), (5, 2), (5, 2))
    assert torch.autograd.gradcheck(lambda x, s, t: ops.gat_attention(x, s, t, adj, 0.2, 0.4, seed), inputs)


def test_dropout() -> None:
    x = torch.ones(400, 50)
    out = ops.dropout(x, 0.5)
    assert set(out.unique().tolist()) == {0.0, 2.0}
    assert abs(out.mean() - 1) < 0.03
    assert ops.dropout(x, 0.5, training=False) is x
    torch.manual_seed(1)
    first = ops.dropout(x, 0.5)
    torch.manual_seed(1)
    assert torch.equal(first, ops.dropout(x, 0.5))
    assert not torch.equal(first, ops.dropout(x, 0.5))
