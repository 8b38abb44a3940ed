"""Linear map with a block-diagonal matrix, the obvious way."""

import torch
from torch import Tensor


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""Linear map with a block-diagonal matrix: group j of the output sees group j of the input only.

    Args:
        x: ``[..., g * c_in]``
        weight: ``[g, c_in, c_out]``
        bias: ``[g * c_out]``

    Returns:
        ``[..., g * c_out]``
    """
    groups, c_in, c_out = weight.shape
    if groups == 1:
        out = x @ weight[0]
    else:
        rows = x.reshape(-1, groups, c_in).transpose(0, 1)  # [g, rows, c_in]
        out = torch.bmm(rows, weight).transpose(0, 1).reshape(*x.shape[:-1], groups * c_out)
    return out if bias is None else out + bias
