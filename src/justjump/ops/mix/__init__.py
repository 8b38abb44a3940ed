"""Two representations mixed, and ReLU, in one pass over the rows."""

from torch import Tensor

from justjump.ops.mix import native, reference
from justjump.ops.operation import is_traced
from justjump.ops.plan import is_native


def mix_relu(x: Tensor, other: Tensor, share: float) -> Tensor:
    """``relu((1 - share) * x + share * other)``. ``[R, d], [R, d] -> [R, d]``

    >>> import torch
    >>> mix_relu(torch.tensor([[4.0, -4.0]]), torch.tensor([[8.0, 0.0]]), 0.25)
    tensor([[5., 0.]])
    """
    if x.dim() != 2 or x.shape != other.shape:
        shapes = f"{list(x.shape)} and {list(other.shape)}"
        raise ValueError(f"x and other have shapes {shapes}, expected the same [rows, channels]")
    if is_traced(x, other) and not is_native(x, other):
        return reference.mix_relu(x, other, share)
    mixed: Tensor = native.mix_relu(x, other, share)
    return mixed


__all__ = ["mix_relu"]
