"""How far influence spreads."""

import numpy as np

from justjump.analysis import Influence
from justjump.analysis.receptive_field import ReceptiveFields, effective_receptive_field


def test_the_effective_receptive_field() -> None:
    assert effective_receptive_field(np.full(10, 0.1)) == 9
    assert effective_receptive_field(np.array([0.9, 0.1])) == 1
    assert effective_receptive_field(np.array([1.0])) == 1
    assert effective_receptive_field(np.zeros(3)) == 0


def test_fields_of_many_nodes_in_blocks() -> None:
    near = Influence(np.array([0, 1]), np.array([0.95, 0.05]), np.array([0, 1]))
    far = Influence(np.array([2, 1, 0]), np.array([0.2, 0.3, 0.5]), np.array([0, 1, 2]))
    both = ReceptiveFields.joined([ReceptiveFields.of([near], layers=2), ReceptiveFields.of([far, near], layers=2)])
    np.testing.assert_allclose(both.by_hop, [[0.95, 0.05, 0], [0.2, 0.3, 0.5], [0.95, 0.05, 0]])
    assert both.field.tolist() == [1, 3, 1]
    assert both.reach.tolist() == [2, 3, 2]
