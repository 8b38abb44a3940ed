"""A part is some rows of the whole graph."""

import numpy as np
import pytest
import torch

from justjump.ops import SparseMatrix
from justjump.train.inputs import prepare
from justjump.train.parts.local import LocalPart

from .conftest import Make, random_graph


@pytest.mark.parametrize("weighted", [False, True])
def test_edges_are_those_of_the_whole_graph(make_parts: Make, weighted: bool) -> None:
    parts = make_parts(random_graph(weighted=weighted))
    whole = prepare(parts.to_graph(), "none").adj.with_self_loops().normalized("gcn")
    chosen = torch.arange(0, 60, 3)
    toward = whole.toward(chosen)
    before = 0
    for number in range(4):
        local = LocalPart(parts[number], gcn=True, dtype=torch.float32)
        part, adj = local.part, local.adj
        numbers = torch.from_numpy(np.concatenate([np.arange(part.begin, part.end), part.halo]))
        edges = slice(adj.first, adj.first + adj.num_edges)
        assert torch.equal(numbers[adj.col.long()], whole.col[edges].long())
        torch.testing.assert_close(adj.weight, whole.weight[edges], rtol=1e-6, atol=0)  # type: ignore[index]
        assert adj.with_self_loops() is adj
        assert adj.normalized("gcn") is adj
        mine = torch.from_numpy(np.flatnonzero(np.isin(np.arange(part.begin, part.end), chosen.numpy())))
        some = local.toward(mine, before)
        edges = slice(before, before + some.num_edges)
        assert torch.equal(numbers[some.col.long()], toward.col[edges].long())
        torch.testing.assert_close(some.weight, toward.weight[edges], rtol=1e-6, atol=0)  # type: ignore[index]
        for graph in (adj, some):  # what is taken from disk and by filters is what sorting gives
            given = graph._structure["csc"]
            assert all(map(torch.equal, given, graph._by_columns()))
        before += some.num_edges
    assert before == toward.num_edges


def test_sparse_features_are_numbered_as_in_the_whole(make_parts: Make) -> None:
    parts = make_parts(random_graph(sparse=True))
    whole = prepare(parts.to_graph(), "none").x
    assert isinstance(whole, SparseMatrix)
    for number in (0, 2, 3):
        x = LocalPart(parts[number], gcn=False, dtype=torch.float32).features
        assert isinstance(x, SparseMatrix)
        assert x.first == int(whole.rowptr[parts[number].begin])
        assert torch.equal(x.weight, whole.weight[x.first : x.first + x.num_entries])  # type: ignore[index,arg-type]
        assert all(map(torch.equal, x._structure["csc"], x._by_columns()))
