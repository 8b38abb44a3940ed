"""Initialisation that several layers share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

if TYPE_CHECKING:
    from justjump.nn.config import Projection
    from justjump.nn.grouped_linear import GroupedLinear


def reset_parameters(module: nn.Module) -> None:
    """Initialise a module and all its parts anew, where they know how."""
    for part in reversed(list(module.modules())):  # parts first: a whole may set them its own way
        reset = getattr(part, "reset_parameters", None)
        if callable(reset):
            reset()


def reset_projection(lin: GroupedLinear, projection: Projection) -> None:
    """Initialise the projection of a layer in one of the ways of :class:`~justjump.nn.ModelConfig`."""
    if projection == "uniform":
        lin.reset_parameters()
    elif projection == "linear":
        bound = 1 / math.sqrt(lin.in_channels)
        nn.init.uniform_(lin.weight, -bound, bound)
    else:
        glorot_(lin.weight, blocks=lin.groups if projection == "whole" else 1)


def glorot_(weight: Tensor, blocks: int = 1) -> None:
    """Uniform in +-sqrt(6 / (in + out)), in and out being the last two sizes, in place; a lazy weight waits.

    If the weight is a number of blocks of one matrix, in and out are those of the matrix.
    """
    if is_lazy(weight):
        return
    bound = math.sqrt(6 / (blocks * (weight.size(-2) + weight.size(-1))))
    nn.init.uniform_(weight, -bound, bound)
