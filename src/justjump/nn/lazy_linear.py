"""Linear maps that take the number of features from the first rows that they see."""

import warnings
from typing import Any

from torch import Tensor
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter

from justjump.nn.feature_linear import FeatureLinear
from justjump.nn.grouped_linear import GroupedLinear
from justjump.nn.init import glorot_
from justjump.ops import SparseMatrix

UNKNOWN = -1  # the number of features that PyG's models are given to find it out


class _Lazy(LazyModuleMixin):
    """After the first call, or after loading weights and a call, a module is of the class that it stands for."""

    weight: Any

    def __init__(self, *sizes: Any, **options: Any) -> None:
        with warnings.catch_warnings():  # torch says that its lazy modules are new, since 2020
            warnings.simplefilter("ignore", UserWarning)
            super().__init__(*sizes, **options)  # type: ignore[misc]
        self.weight = UninitializedParameter()

    def reset_parameters(self) -> None:
        if hasattr(self, "_parameters") and not self.has_uninitialized_params():  # type: ignore[misc]
            super().reset_parameters()  # type: ignore[misc]


class LazyFeatureLinear(_Lazy, FeatureLinear):
    """A :class:`FeatureLinear` of any number of features."""

    cls_to_become = FeatureLinear

    def __init__(self, out_features: int) -> None:
        super().__init__(1, out_features)

    def initialize_parameters(self, x: Tensor | SparseMatrix, dropout_p: float = 0.0) -> None:
        self.in_features = x.shape[1]
        if self.has_uninitialized_params():
            self.weight.materialize((x.shape[1], self.bias.numel()))
            self.reset_parameters()


class LazyGroupedLinear(_Lazy, GroupedLinear):
    """A :class:`GroupedLinear` of one group, without bias, of any number of input channels, as a layer begins with."""

    cls_to_become = GroupedLinear

    def __init__(self, out_channels: int) -> None:
        super().__init__(1, out_channels, groups=1, bias=False)
        self.in_channels = UNKNOWN

    def initialize_parameters(self, x: Tensor) -> None:
        self.in_channels = x.shape[1]
        if self.has_uninitialized_params():
            self.weight.materialize((1, x.shape[1], self.out_channels))
            glorot_(self.weight)


def layer_projection(in_channels: int, out_channels: int, groups: int, learned: float = 1.0) -> GroupedLinear:
    """The projection of a layer, which may find out the size of its input."""
    if in_channels != UNKNOWN:
        return GroupedLinear(in_channels, out_channels, groups, bias=False, learned=learned)
    if groups != 1:
        raise ValueError(f"groups={groups} needs in_channels: give their number, or choose groups=1")
    return LazyGroupedLinear(out_channels)
