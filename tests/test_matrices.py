"""Broken matrices of scipy and torch are refused before anything converts them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from justjump.data import DataError, Graph
from justjump.matrices import ascends, check_tensor, checked_scipy
from justjump.ops import Adjacency, SparseMatrix

M = 2**63 - 1
WRAPPING = [0, M, -M - 1, -1, 4]  # all of its differences are 0 or more, if they wrap around
POINTERS = ([0, 10**9, -5, 1, 4], WRAPPING, [0, 1, 2, 3, 9], [1, 1, 2, 3, 4], [0, 1, 2, 4])


def compressed(kind: str, pointer: list[int], index: list[int] | None = None) -> Any:
    matrix = scipy.sparse.eye(4, format="csr").asformat(kind)
    if kind == "bsr":
        matrix = scipy.sparse.bsr_matrix(np.eye(4), blocksize=(1, 1))
    matrix.indptr, matrix.indices = np.array(pointer), np.array([0, 1, 2, 3] if index is None else index)
    return matrix


@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_broken_pointers_of_scipy(kind: str, pointer: list[int]) -> None:
    for use in (Adjacency.build, SparseMatrix.from_scipy):
        with pytest.raises(ValueError, match="index pointer"):
            use(compressed(kind, pointer))
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        Graph(np.zeros((2, 0), np.int64), compressed(kind, pointer), np.zeros(4, np.int64), ("a",))


@pytest.mark.parametrize("index", [[0, 1, 2, 10**9], [0, 1, 2, -1], [0, 1, 2]])
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_broken_indices_of_scipy(kind: str, index: list[int]) -> None:
    with pytest.raises(ValueError, match="index of the matrix holds|index pointer"):
        SparseMatrix.from_scipy(compressed(kind, [0, 1, 2, 3, 4], index))


@pytest.mark.parametrize("field", ["row", "col"])
def test_broken_entries_of_scipy(field: str) -> None:
    matrix = scipy.sparse.coo_matrix(np.eye(4))
    setattr(matrix, field, np.array([0, 1, 10**9, 3]))
    for use in (Adjacency.build, SparseMatrix.from_scipy):
        with pytest.raises(ValueError, match=f"{field} of the matrix holds 1000000000, expected numbers from 0 to 3"):
            use(matrix)
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        Graph(np.zeros((2, 0), np.int64), matrix, np.zeros(4, np.int64), ("a",))


def test_other_formats_of_scipy() -> None:
    rows = scipy.sparse.lil_matrix(np.eye(4))
    rows.rows[0] = [10**9]
    with pytest.raises(ValueError, match="index of the matrix holds 1000000000"):
        Adjacency.build(rows)
    rows.rows[0] = [0, 1, 2]
    with pytest.raises(ValueError, match="other numbers of indices"):
        Adjacency.build(rows)
    for kind in ("dia", "dok", "lil", "bsr", "coo", "csc"):
        assert Adjacency.build(scipy.sparse.eye(4).asformat(kind)).num_edges == 4


def test_unused_room_is_left_out() -> None:
    matrix = scipy.sparse.csr_matrix(np.eye(4))
    matrix.indices, matrix.data = (
        np.append(matrix.indices, [10**6, -3]).astype(np.int32),
        np.append(matrix.data, [7, 8]),
    )
    assert torch.equal(SparseMatrix.from_scipy(matrix).to_dense(), torch.eye(4, dtype=torch.float64))
    assert len(matrix.indices) == 6  # the caller's matrix stays as it was


def tensors(pointer: list[int], index: list[int]) -> list[torch.Tensor]:
    ends, ones, blocks = (torch.tensor(pointer), torch.tensor(index)), torch.ones(4), torch.ones(4, 1, 1)
    options: dict[str, Any] = {"size": (4, 4), "check_invariants": False}
    return [
        torch.sparse_csr_tensor(*ends, ones, **options),
        torch.sparse_csc_tensor(*ends, ones, **options),
        torch.sparse_bsr_tensor(*ends, blocks, **options),
        torch.sparse_bsc_tensor(*ends, blocks, **options),
    ]


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
@pytest.mark.parametrize("pointer", POINTERS[:4])
def test_broken_tensors(pointer: list[int]) -> None:
    from torch_geometric.data import Data

    for matrix in tensors(pointer, [0, 1, 2, 3]):
        with pytest.raises(ValueError, match="index pointer"):
            Adjacency.build(matrix)
        with pytest.raises(DataError, match="index pointer"):
            Graph.from_pyg(Data(x=torch.eye(4), adj_t=matrix))
    for matrix in tensors([0, 1, 2, 3, 4], [0, 1, 2, 10**9]):
        with pytest.raises(ValueError, match="index of the matrix holds 1000000000"):
            Adjacency.build(matrix)


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
def test_whole_tensors() -> None:
    for matrix in tensors([0, 1, 2, 3, 4], [0, 1, 2, 3]):
        check_tensor(matrix)
        assert Adjacency.build(matrix).num_edges == 4
    wrong = torch.sparse_coo_tensor(torch.tensor([[0, 10**9], [1, 3]]), torch.ones(2), (4, 4), check_invariants=False)
    with pytest.raises(ValueError, match="row of the matrix holds 1000000000"):
        Adjacency.build(wrong)


def test_more_or_fewer_dimensions() -> None:
    with pytest.raises(ValueError, match="expected rows and columns"):
        checked_scipy(scipy.sparse.coo_array(np.ones(3)))


def test_ascending_integers_of_every_type() -> None:
    for kind in "bhilBHIL":
        most = np.iinfo(kind).max
        assert ascends(np.array([0, 0, 3, most], kind))
        assert not ascends(np.array([0, most, 1], kind))
        least = np.iinfo(kind).min
        assert not ascends(np.array([0, most, least, least, 3], kind))
    assert not ascends(np.array([], int))
