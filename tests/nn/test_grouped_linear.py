"""GroupedLinear is a block-diagonal linear layer."""

import pytest
import torch

from helpers import assert_same
from justjump.nn import GroupedLinear


@pytest.mark.parametrize(("sizes", "groups"), [((8, 8), 4), ((8, 12), 4), ((8, 8), 1), ((6, 3), 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_is_a_linear_layer_with_a_sparse_weight(sizes: tuple[int, int], groups: int, bias: bool) -> None:
    ours, theirs = GroupedLinear(*sizes, groups, bias), torch.nn.Linear(*sizes, bias=bias)
    with torch.no_grad():
        theirs.weight.copy_(torch.block_diag(*ours.weight).T)
        if ours.bias is not None:
            theirs.bias.copy_(ours.bias)
    for shape in ((5,), (2, 3)):
        x = torch.randn(*shape, sizes[0])
        assert_same(ours(x), theirs(x))
    assert ours.weight.abs().max() <= (groups / sizes[0]) ** 0.5
    assert repr(ours) == f"GroupedLinear({sizes[0]}, {sizes[1]}, groups={groups})"


@pytest.mark.parametrize(("groups", "message"), [(3, "groups=3 does not divide in_channels=8"), (0, "groups=0 must")])
def test_groups_that_do_not_divide_are_refused(groups: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GroupedLinear(8, 9, groups=groups)
