"""Linear map in groups of channels."""

import math

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.sizes import check_count, check_divides


class GroupedLinear(nn.Module):
    r"""A linear map with a block-diagonal weight matrix: ``in * out / groups`` weights.

    Args:
        in_channels: size of each input row
        out_channels: size of each output row
        groups: number of blocks; divides both sizes
        bias: add a learned vector
        learned: share b of the learned weight in the map (1 - b) I + b W (GCNII's identity mapping; Chen et al., 2020)

    Shapes:
        ``[..., in_channels] -> [..., out_channels]``, weight ``[groups, in / groups, out / groups]``

    >>> GroupedLinear(128, 128, groups=16).weight.shape
    torch.Size([16, 8, 8])
    """

    def __init__(
        self, in_channels: int, out_channels: int, groups: int = 1, bias: bool = True, learned: float = 1.0
    ) -> None:
        super().__init__()
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels), ("groups", groups)):
            check_count(name, value)
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            check_divides("groups", groups, name, value)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.groups = groups
        if learned != 1 and in_channels != out_channels:
            sizes = f"{in_channels} of them cannot become {out_channels}"
            raise ValueError(f"learned={learned} keeps the channels: {sizes}")
        self.learned = learned
        self.weight = nn.Parameter(torch.empty(groups, in_channels // groups, out_channels // groups))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight.size(1))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    @property
    def blocks(self) -> Tensor:
        """The blocks of the map. ``[groups, in / groups, out / groups]``"""
        if self.learned == 1:
            return self.weight
        identity = torch.eye(self.weight.size(1), dtype=self.weight.dtype, device=self.weight.device)
        return torch.lerp(identity, self.weight, self.learned)

    def forward(self, x: Tensor) -> Tensor:
        return ops.grouped_linear(x, self.blocks, self.bias)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, groups={self.groups})"
