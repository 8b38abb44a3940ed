"""Standard to packed layout and back, by the native kernels, as operations of torch."""

from torch import Tensor

from justjump.ops import native
from justjump.ops.operation import operation


@operation("justjump::pack")
def pack(x: Tensor, heads: int, channels: int, stride: int) -> Tensor:
    out = native.empty(x, x.size(0), stride)
    native.run("Pack", x.dtype, heads=heads, channels=channels, standard=native.readable(x), packed=out)
    return out


@operation("justjump::unpack")
def unpack(x: Tensor, heads: int, channels: int, stride: int) -> Tensor:
    out = native.empty(x, x.size(0), heads * channels)
    native.run("Unpack", x.dtype, heads=heads, channels=channels, standard=out, packed=native.readable(x))
    return out


@pack.register_fake
def _(x, heads, channels, stride):  # type: ignore[no-untyped-def]
    return x.new_empty(x.size(0), stride)


@unpack.register_fake
def _(x, heads, channels, stride):  # type: ignore[no-untyped-def]
    return x.new_empty(x.size(0), heads * channels)


# The padding is zero in both directions, so each is the other's adjoint.
pack.register_gradient(lambda *_: (), lambda grad, _, sizes: (unpack(grad, *sizes),))
unpack.register_gradient(lambda *_: (), lambda grad, _, sizes: (pack(grad, *sizes),))
