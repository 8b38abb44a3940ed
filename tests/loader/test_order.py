"""The order of nodes and the numbers of epochs."""

import torch
from torch.utils.data import BatchSampler

from justjump.loader.order import Counted, Order, shuffled


def test_a_permutation_per_seed_and_epoch() -> None:
    orders = [tuple(shuffled(30, seed, epoch).tolist()) for seed in (0, 1) for epoch in (0, 1)]
    assert len(set(orders)) == 4
    assert all(sorted(order) == list(range(30)) for order in orders)
    assert orders[1] == tuple(shuffled(30, 0, 1).tolist())


def test_the_state_of_torchs_generator_plays_no_part() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    order = shuffled(30, 5, 6)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert torch.equal(shuffled(30, 5, 6), order)


def test_each_iteration_is_an_epoch() -> None:
    counted = Counted(Order(4, shuffle=True, seed=7))
    first, second = list(counted), list(counted)
    assert [(epoch, place) for epoch, place, _ in first] == [(0, i) for i in range(4)]
    assert [node for _, _, node in second] == shuffled(4, 7, 1).tolist()
    counted.set_epoch(0)
    iter(counted)  # not advanced: no epoch
    assert list(counted) == first
    assert len(counted) == 4


def test_batches_of_another_sampler() -> None:
    counted = Counted(BatchSampler([5, 6, 7], batch_size=2, drop_last=False), batches=True)
    assert list(counted) == [[(0, 0, 5), (0, 0, 6)], [(0, 1, 7)]]
    assert counted.batch_size == 2
    assert len(counted) == 2
