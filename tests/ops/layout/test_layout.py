"""The packed layout: the same bits as the obvious version, there and back."""

import pytest
import torch

from justjump.ops import native
from justjump.ops.layout import Layout, pack, reference, unpack
from justjump.ops.layout import native as native_layout
from specification import DTYPES, NO_KERNELS, check_operation, random

if not native.available():
    pytest.skip(NO_KERNELS, allow_module_level=True)


# Rows of 32, 64 and 128 powers of two in each direction are transposed in the registers of one of the instruction sets.
@pytest.mark.parametrize("channels", [1, 2, 4, 5, 8, 12, 16])
@pytest.mark.parametrize("heads", [1, 3, 4, 8, 16, 20])
def test_there_and_back(isa: str, heads: int, channels: int) -> None:
    for dtype in DTYPES:
        layout = Layout(heads, channels, dtype)
        sizes = (heads, channels, layout.stride)
        for rows in (0, 1, 70):
            x = random(rows, layout.width, dtype=dtype)
            packed = pack(x, layout)
            assert torch.equal(packed, reference.pack(x, *sizes))
            assert torch.equal(unpack(packed, layout), x)
            assert torch.equal(reference.unpack(packed, *sizes), x)
            noise = random(rows, layout.stride, dtype=dtype)  # the padding plays no part on the way back
            assert torch.equal(unpack(noise, layout), reference.unpack(noise, *sizes))


def test_sizes_of_a_row() -> None:
    layout = Layout(3, 5, torch.float32)
    assert (layout.padded, layout.stride, layout.width) == (4, 32, 15)
    assert Layout(3, 5, torch.float64).stride == 24
    assert Layout(8, 16, torch.float32) == Layout(8, 16, torch.float32)


def test_rows_of_any_shape_and_strides() -> None:
    layout = Layout(4, 2, torch.float64)
    assert pack(torch.ones(0, 2, 8, dtype=torch.float64), layout).shape == (0, 2, 8)
    x = random(5, 3, 8)
    assert torch.equal(pack(x, layout).flatten(0, 1), pack(x.flatten(0, 1), layout))
    rows = x[:, 1]
    for lie in (rows, torch._neg_view(-rows), rows.T.contiguous().T, rows.flip(0)):
        assert torch.equal(pack(lie, layout), pack(lie.clone().contiguous(), layout))


def test_gradients_of_every_order() -> None:
    layout = Layout(3, 2, torch.float64)
    x = random(4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: pack(x, layout), (x,))
    assert torch.autograd.gradcheck(lambda x: unpack(x, layout), (random(4, layout.stride).requires_grad_(),))
    assert torch.autograd.gradgradcheck(lambda x: unpack(pack(x.sin(), layout), layout), (x,))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pack", "unpack"])
def test_operations_are_well_formed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(3, 5, torch.float64)
    x = random(4, 15).requires_grad_()
    check_operation(monkeypatch, native_layout, name, lambda: unpack(pack(x, layout), layout).sum().backward())
