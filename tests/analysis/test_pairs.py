"""The graph of pairs holds the edges of the whole graph."""

import numpy as np
import pytest

from helpers import random_graph
from justjump.analysis.hops import balls
from justjump.analysis.pairs import PairGraph
from justjump.ops import Adjacency


@pytest.mark.parametrize("copies", [1, 3])
def test_every_copy_of_a_pair_has_the_edges_of_its_node(copies: int) -> None:
    whole = Adjacency.build(random_graph(12, 20), num_nodes=12).with_self_loops().normalized("gcn")
    rowptr, col = whole.rowptr.numpy().astype(np.int64), whole.col.numpy()
    ball = balls(rowptr, col, np.array([3, 7]), hops=2)
    part = PairGraph(whole, rowptr, col, ball).toward(hops=1, copies=copies)
    assert part.shape == (copies * ball.sizes[1], copies * ball.sizes[2])
    assert part.weight is not None
    assert whole.weight is not None
    for row in range(part.shape[0]):
        pair, copy = divmod(row, copies)
        mine, theirs = slice(*part.rowptr[row : row + 2]), slice(*rowptr[ball.nodes[pair] : ball.nodes[pair] + 2])
        sources, of_copy = np.divmod(part.col[mine].numpy(), copies)
        assert (of_copy == copy).all()
        assert (ball.start[sources] == ball.start[pair]).all()
        assert ball.nodes[sources].tolist() == col[theirs].tolist()
        assert part.weight[mine].tolist() == whole.weight[theirs].tolist()
