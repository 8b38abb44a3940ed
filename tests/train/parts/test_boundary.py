"""Who owns which parts, and what travels between them."""

import numpy as np
import pytest
import torch

from justjump.train.parts.boundary import Boundary, Filling, Returning, dealt

from .conftest import Make, Turns, in_turns


def test_parts_are_dealt_evenly() -> None:
    for parts in range(1, 9):
        for workers in range(1, parts + 1):
            owned = dealt(parts, workers)
            assert [part for own in owned for part in own] == list(range(parts))
            assert max(map(len, owned)) - min(map(len, owned)) <= 1
    with pytest.raises(ValueError, match="3 workers cannot share 2 parts: choose 1 to 2 workers"):
        dealt(2, 3)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_rows_go_to_their_readers_and_gradients_back(make_parts: Make, world: int) -> None:
    parts = make_parts()
    readers = np.zeros(60)
    for part in parts:
        readers[part.halo] += 1

    def work(transport: Turns) -> None:
        boundary = Boundary(parts, dealt(4, world), transport)
        rows = {}
        for p in boundary.own:
            rows[p] = torch.full((parts[p].num_nodes + parts[p].num_halo, 2), -1.0)
            rows[p][: parts[p].num_nodes] = torch.arange(parts[p].begin, parts[p].end)[:, None].float()

        def fill(p: int, first: int, source: torch.Tensor, chosen: torch.Tensor | None) -> None:
            assert first >= parts[p].num_nodes
            values = source if chosen is None else source[chosen]
            rows[p][first : first + len(values)] = values

        filling = Filling(boundary, rows.__getitem__, fill)
        for _ in boundary.own:
            filling.send()
        filling.finish()
        for p in boundary.own:
            assert torch.equal(rows[p][parts[p].num_nodes :, 0], torch.from_numpy(parts[p].halo).float())
        ones = {p: torch.ones_like(rows[p]) for p in boundary.own}
        returning = Returning(boundary, ones.__getitem__)
        for _ in boundary.own:
            returning.send()
        returning.finish()
        for p in boundary.own:
            expected = 1 + torch.from_numpy(readers[parts[p].begin : parts[p].end]).float()
            assert torch.equal(ones[p][: parts[p].num_nodes, 1], expected)

    in_turns(world, work)
