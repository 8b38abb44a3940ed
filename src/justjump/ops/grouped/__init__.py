"""Linear map with a block-diagonal matrix."""

from torch import Tensor

from justjump.ops.grouped import native, reference
from justjump.ops.layout import Layout, pack, unpack
from justjump.ops.plan import is_native


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Group j of the output sees group j of the input only.

    ``[..., g * c_in], [g, c_in, c_out], [g * c_out] -> [..., g * c_out]``
    """
    groups, c_in, c_out = map(int, weight.shape)  # torch.jit would make tensors of them
    if x.dim() < 2 or groups == 1 or c_in != c_out or not is_native(x, weight):
        return reference.grouped_linear(x, weight, bias)
    # With one head per group, the kernel's lanes are the groups.
    layout = Layout(groups, c_out, x.dtype)
    rows = native.packed_linear(pack(x, layout).flatten(0, -2), weight, bias, groups)
    return unpack(rows, layout).view(x.shape)
