"""In which order nodes come, and which batch of which epoch they are in."""

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Sampler

from justjump.ops.sample import absorb

# Of one node in a batch: the epoch, its place in the epoch (or its batch), and its number.
Numbered = tuple[int, int, int]


def shuffled(n: int, seed: int, epoch: int) -> Tensor:
    """A permutation of n numbers: a function of seed and epoch.

    >>> torch.equal(shuffled(9, seed=1, epoch=2), shuffled(9, seed=1, epoch=2))
    True
    """
    generator = torch.Generator().manual_seed(absorb(0, seed, epoch) >> 1)
    return torch.randperm(n, generator=generator)


class Order(Sampler[int]):
    """The numbers 0 .. n - 1, shuffled anew in each epoch or not."""

    def __init__(self, n: int, shuffle: bool, seed: int) -> None:
        self.n, self.shuffle, self.seed, self.epoch = n, shuffle, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        yield from shuffled(self.n, self.seed, self.epoch).tolist() if self.shuffle else range(self.n)

    def __len__(self) -> int:
        return self.n


class Counted(Sampler[Any]):
    """What another sampler gives, with the epoch and the place in it: all that a worker needs to know.

    Workers that stay from epoch to epoch learn the epoch from what they are asked for. One iteration is one epoch.

    Args:
        sampler: of node numbers, or of lists of them (``batches=True``)
    """

    def __init__(self, sampler: Iterable[Any], batches: bool = False) -> None:
        self.sampler, self.batches, self.epoch = sampler, batches, 0

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration is."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        # torch makes iterators that it does not use: only one that is advanced is an epoch.
        epoch, self.epoch = self.epoch, self.epoch + 1
        if isinstance(self.sampler, Order):
            self.sampler.set_epoch(epoch)
        for place, item in enumerate(self.sampler):
            yield [(epoch, place, int(node)) for node in item] if self.batches else (epoch, place, int(item))

    def __len__(self) -> int:
        if not isinstance(self.sampler, Sized):
            raise TypeError(f"{type(self.sampler).__name__} has no length")
        return len(self.sampler)

    def __getattr__(self, name: str) -> Any:  # such as batch_size and drop_last of a sampler of batches
        if name.startswith("__") or name == "sampler":
            raise AttributeError(name)
        return getattr(self.sampler, name)
