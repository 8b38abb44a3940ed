"""The linear map that features go through first."""

import math

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.ops import SparseMatrix


class FeatureLinear(nn.Module):
    """A linear map of dense or sparse features, with dropout of the features. ``[N, in] -> [N, out]``

    The weight is ``[in, out]``: a product with sparse rows reads it as it is.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor | SparseMatrix, dropout_p: float = 0.0) -> Tensor:
        if isinstance(x, SparseMatrix):  # zeros stay zeros, so dropping the entries is all
            return ops.spmm(x, self.weight, dropout_p=dropout_p) + self.bias
        return ops.dropout(x, dropout_p) @ self.weight + self.bias
