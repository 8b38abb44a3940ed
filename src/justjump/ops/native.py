"""The native CPU kernels: typed calls on torch tensors.

Every function here checks shapes, dtypes, devices and strides and allocates its outputs; none takes part in autograd.
Index arrays (``rowptr``, ``col``, ``colptr``, ``row``, ``position``) are trusted: they come from an
:class:`~justjump.ops.adjacency.Adjacency`, which has validated them. Of those only shape and end points are checked.

Packed layout. A row of d = H * C channels is stored as ``[C, P]`` with the head fastest, P = the power of two >= H, and
zero padded to ``row_stride(H, C, dtype)``, a multiple of 64 bytes. A head row ``[P]`` holds one number a head. The
padding of every packed input must be zero; the padding of every output is.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from justjump.ops.reference import dropout_threshold

_native: Any = None
_fixed_threads: int | None = None
_failure = ""
_SUFFIX = {torch.float32: "_f32", torch.float64: "_f64"}
_MASK64 = 2**64 - 1


def _openmp_addresses() -> tuple[int, int] | None:
    """Entry points of the OpenMP runtime torch has loaded; a second one would fight it for the cores."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    loaded = dict.fromkeys(line.split()[-1] for line in lines if "omp" in line.rsplit("/", 1)[-1])
    torch_tree = str(Path(torch.__file__).parent)
    for path in sorted(loaded, key=lambda path: not path.startswith(torch_tree)):
        try:
            library = ctypes.CDLL(path)
            parallel, thread_num = library.GOMP_parallel, library.omp_get_thread_num
        except (OSError, AttributeError):
            continue
        addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in (parallel, thread_num)]
        return addresses[0] or 0, addresses[1] or 0
    return None


def _load() -> None:
    global _native, _failure
    forced = os.environ.get("JUSTJUMP_ISA")
    if forced == "none":
        _failure = "JUSTJUMP_ISA=none switches the native kernels off"
        return
    try:
        from justjump import _native as module
    except ImportError as error:
        _failure = f"the native module could not be imported: {error}"
        warnings.warn(
            f"justjump runs without its native kernels, many times slower: {_failure}. Install a C++ compiler and "
            "justjump again, or set JUSTJUMP_ISA=none to go on without this warning.",
            stacklevel=2,
        )
        return
    addresses = _openmp_addresses()
    if addresses is not None:
        module.use_openmp(*addresses)
    if forced:
        try:
            module.set_isa(forced)
        except ValueError as error:
            raise ValueError(f"JUSTJUMP_ISA={forced}: {error}") from None
    _native = module


_load()


def available() -> bool:
    """Whether the native kernels can be called."""
    return _native is not None


def why_not() -> str:
    """Why they cannot, or an empty string."""
    return _failure


def isa() -> str:
    """The instruction set in use: avx512, avx2 or baseline."""
    return str(_module().isa())


def available_isas() -> list[str]:
    """The instruction sets this machine and build have, best first."""
    return list(_module().available_isas())


def set_isa(name: str) -> None:
    """Use another instruction set from now on. Results of two of them differ in the last bits."""
    _module().set_isa(name)


def thread_backend() -> str:
    """``openmp`` where torch's own runtime runs the kernels, else ``pool``."""
    return str(_module().thread_backend())


def padded_heads(heads: int) -> int:
    """P, the power of two at or above H.

    >>> [padded_heads(h) for h in (1, 3, 8)]
    [1, 4, 8]
    """
    return 1 << (heads - 1).bit_length()


def row_stride(heads: int, channels: int, dtype: torch.dtype) -> int:
    """Numbers in a packed row.

    >>> row_stride(8, 16, torch.float32), row_stride(3, 5, torch.float32)
    (128, 32)
    """
    _at_least_one("heads", heads)
    _at_least_one("channels", channels)
    lanes = 64 // dtype.itemsize
    return -(-channels * padded_heads(heads) // lanes) * lanes


def pack(x: Tensor, heads: int) -> Tensor:
    """Standard to packed layout. ``[R, H * C] -> [R, stride]``"""
    call = _kernel("repack", x)
    _rows("x", x, x.dtype)
    if heads < 1 or x.size(1) % heads or x.size(1) == 0:
        raise ValueError(f"heads={heads} does not divide the {x.size(1)} channels of x")
    channels = x.size(1) // heads
    out = x.new_empty(x.size(0), row_stride(heads, channels, x.dtype))
    call(x.size(0), heads, channels, True, x.data_ptr(), x.stride(0), out.data_ptr(), out.stride(0), threads())
    return out


def unpack(x: Tensor, heads: int, channels: int) -> Tensor:
    """Packed to standard layout. ``[R, stride] -> [R, H * C]``"""
    call = _kernel("repack", x)
    _rows("x", x, x.dtype, None, row_stride(heads, channels, x.dtype))
    out = x.new_empty(x.size(0), heads * channels)
    call(x.size(0), heads, channels, False, x.data_ptr(), x.stride(0), out.data_ptr(), out.stride(0), threads())
    return out


class Csr(NamedTuple):
    """Edges by target, as in :class:`~justjump.ops.adjacency.Adjacency`."""

    rowptr: Tensor  # [N + 1]
    col: Tensor  # [E]


class Csc(NamedTuple):
    """The same edges by source, with the CSR position of each."""

    colptr: Tensor  # [M + 1]
    row: Tensor  # [E]
    position: Tensor  # [E]


def dna_forward(
    csr: Csr,
    weight: Tensor | None,
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor] | None,
    bias: Tensor | None,
    *,
    heads: int,
    channels: int,
    scale: float,
    dropout_p: float = 0.0,
    seed: int = 0,
    return_attention: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Attention of every edge to the T former representations of its source, summed by target.

    ``values=None`` is the folded form: keys are the values, scores are ``scale * (query . key + bias)``, and the
    sum of the weights is returned too.

    Args:
        csr: N targets
        weight: ``[E]``, None for ones
        query: ``[N, stride]`` packed
        keys, values: T tensors ``[M, stride]``, packed, each with a row stride of its own
        bias: ``[N, P]``, with ``values=None`` only

    Returns:
        ``[N, stride]``, the sums of the weights ``[N, P]`` or None, the weights before dropout ``[E, T, H]`` or None
    """
    call = _kernel("dna", query)
    layout = _Layout(heads, channels, query)
    common, nodes = _dna_arguments(csr, None, weight, query, keys, values, bias, layout, scale, dropout_p, seed)
    out = query.new_empty(nodes, layout.stride)
    total = None if bias is None else query.new_empty(nodes, layout.padded)
    attention = query.new_empty(csr.col.numel(), len(keys), heads) if return_attention else None
    if len(keys) == 0:
        return out.zero_(), None if total is None else total.zero_(), attention
    none: list[int] = []
    call(
        *common, out.data_ptr(), _address(total), _address(attention),
        0, 0, 0, 0, 0, none, none, none, none, False, threads(),
    )  # fmt: skip
    return out, total, attention


def dna_backward(
    csr: Csr,
    csc: Csc,
    weight: Tensor | None,
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor] | None,
    bias: Tensor | None,
    grad_out: Tensor,
    grad_total: Tensor | None,
    *,
    heads: int,
    channels: int,
    scale: float,
    dropout_p: float = 0.0,
    seed: int = 0,
    grad_keys: Sequence[Tensor] | None = None,
    grad_values: Sequence[Tensor] | None = None,
    accumulate: bool = False,
    need_query: bool = True,
    need_history: bool = True,
    need_weight: bool = False,
) -> tuple[Tensor | None, Tensor | None, list[Tensor] | None, list[Tensor] | None, Tensor | None]:
    """Gradients of :func:`dna_forward`, with the arguments of that call.

    ``grad_keys`` and ``grad_values`` are T tensors like the keys to write to, or with ``accumulate`` to add to; without
    them new ones are made. In the folded form ``grad_keys`` is the gradient of the shared history.

    Returns:
        gradients of query, bias, keys, values and weight; None for those that do not exist or are not needed
    """
    call = _kernel("dna", query)
    layout = _Layout(heads, channels, query)
    common, nodes = _dna_arguments(csr, csc, weight, query, keys, values, bias, layout, scale, dropout_p, seed)
    folded = bias is not None
    _dense("grad_out", grad_out, query.dtype, (nodes, layout.stride))
    if folded:
        if grad_total is None:
            raise ValueError("grad_total is None, expected the gradient of the sums of the weights")
        _dense("grad_total", grad_total, query.dtype, (nodes, layout.padded))
    if need_weight and not need_query:
        raise ValueError("need_weight=True takes need_query=True: one pass computes both")
    shape = (csc.colptr.numel() - 1, layout.stride)
    if need_history:
        grad_keys = _gradients("grad_keys", grad_keys, keys, shape, accumulate)
        grad_values = None if folded else _gradients("grad_values", grad_values, values or (), shape, accumulate)
    else:
        grad_keys = grad_values = None
    grad_query = torch.empty_like(query) if need_query else None
    grad_bias = query.new_empty(nodes, layout.padded) if folded and need_query else None
    grad_weight = query.new_empty(csr.col.numel()) if need_weight else None
    if len(keys) == 0:
        for gradient in (grad_query, grad_bias, grad_weight):
            if gradient is not None:
                gradient.zero_()
    else:
        call(
            *common, 0, 0, 0, grad_out.data_ptr(), _address(grad_total),
            _address(grad_query), _address(grad_bias), _address(grad_weight),
            [x.data_ptr() for x in grad_keys or ()], [x.stride(0) for x in grad_keys or ()],
            [x.data_ptr() for x in grad_values or ()], [x.stride(0) for x in grad_values or ()],
            accumulate, threads(),
        )  # fmt: skip
    return (
        grad_query,
        grad_bias,
        None if grad_keys is None else list(grad_keys),
        None if grad_values is None else list(grad_values),
        grad_weight,
    )


class GatSaved(NamedTuple):
    """What :func:`gat_backward` needs of the forward pass."""

    out: Tensor  # [N, stride]
    sloped: Tensor  # [N, stride]
    state: Tensor  # [N, 4, P]


def gat_forward(
    csr: Csr,
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    *,
    heads: int,
    channels: int,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int = 0,
    need_grad: bool = True,
    return_attention: bool = False,
) -> tuple[Tensor, GatSaved | None, Tensor | None]:
    """Graph attention.

    Args:
        value: ``[M, stride]`` packed
        score_source, score_target: ``[M, P]``, ``[N, P]``

    Returns:
        ``[N, stride]``, what the backward pass needs or None, the weights before dropout ``[E, H]`` or None
    """
    call = _kernel("gat", value)
    layout = _Layout(heads, channels, value)
    graph, nodes = _gat_arguments(csr, None, value, score_source, score_target, layout)
    out = value.new_empty(nodes, layout.stride)
    saved = None
    if need_grad:
        saved = GatSaved(out, torch.empty_like(out), value.new_empty(nodes, 4, layout.padded))
    attention = value.new_empty(csr.col.numel(), heads) if return_attention else None
    call(
        graph, heads, channels, negative_slope, *_dropout(dropout_p, seed),
        value.data_ptr(), score_source.data_ptr(), score_target.data_ptr(), out.data_ptr(),
        _address(saved and saved.sloped), _address(saved and saved.state), _address(attention), 0, 0, 0, 0, threads(),
    )  # fmt: skip
    return out, saved, attention


def gat_backward(
    csr: Csr,
    csc: Csc,
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    saved: GatSaved,
    grad_out: Tensor,
    *,
    heads: int,
    channels: int,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of value, score_source and score_target, with the arguments of :func:`gat_forward`."""
    call = _kernel("gat", value)
    layout = _Layout(heads, channels, value)
    graph, nodes = _gat_arguments(csr, csc, value, score_source, score_target, layout)
    for name, x in (("grad_out", grad_out), ("saved.out", saved.out), ("saved.sloped", saved.sloped)):
        _dense(name, x, value.dtype, (nodes, layout.stride))
    _dense("saved.state", saved.state, value.dtype, (nodes, 4, layout.padded))
    grad_value, grad_source = torch.empty_like(value), torch.empty_like(score_source)
    grad_target = torch.empty_like(score_target)
    call(
        graph, heads, channels, negative_slope, *_dropout(dropout_p, seed),
        value.data_ptr(), score_source.data_ptr(), score_target.data_ptr(),
        *(x.data_ptr() for x in saved), 0, grad_out.data_ptr(),
        grad_value.data_ptr(), grad_source.data_ptr(), grad_target.data_ptr(), threads(),
    )  # fmt: skip
    return grad_value, grad_source, grad_target


def spmm(
    rowptr: Tensor,
    col: Tensor,
    weight: Tensor | None,
    x: Tensor,
    *,
    position: Tensor | None = None,
    bias: Tensor | None = None,
    relu: bool = False,
    out: Tensor | None = None,
    accumulate: bool = False,
) -> Tensor:
    """Sparse matrix times dense matrix: ``out[v] = sum_e weight[e] * x[col[e]]``, then bias and ReLU.

    For the transposed product pass ``colptr``, ``row`` and ``position``: edge e then has ``weight[position[e]]``.

    Args:
        rowptr, col: ``[N + 1], [E]``
        weight: ``[E]``, None for ones
        x: ``[M, d]`` with any row stride
        out: ``[N, d]`` to write to, or with ``accumulate`` to add to
    """
    call = _kernel("spmm", x)
    rows, edges = _compressed("rowptr", rowptr, "col", col)
    _rows("x", x, x.dtype)
    _edge_weight(weight, edges, x.dtype)
    if position is not None:
        _index("position", position, col.dtype, edges)
    if bias is not None:
        _dense("bias", bias, x.dtype, (x.size(1),))
    if out is None:
        if accumulate:
            raise ValueError("accumulate=True takes the tensor to add to as out")
        out = x.new_empty(rows, x.size(1))
    _rows("out", out, x.dtype, rows, x.size(1))
    call(
        rows, edges, x.size(1), col.dtype == torch.int64, rowptr.data_ptr(), col.data_ptr(), _address(position),
        _address(weight), x.data_ptr(), x.stride(0), out.data_ptr(), out.stride(0), _address(bias), accumulate, relu,
        threads(),
    )  # fmt: skip
    return out


def sddmm(rowptr: Tensor, col: Tensor, grad_out: Tensor, x: Tensor) -> Tensor:
    """Gradient of the weights of :func:`spmm`: ``[E]`` dot products of ``grad_out[row]`` and ``x[col]``."""
    call = _kernel("sddmm", x)
    rows, edges = _compressed("rowptr", rowptr, "col", col)
    _rows("x", x, x.dtype)
    _rows("grad_out", grad_out, x.dtype, rows, x.size(1))
    grad_weight = x.new_empty(edges)
    call(
        rows, edges, x.size(1), col.dtype == torch.int64, rowptr.data_ptr(), col.data_ptr(), x.data_ptr(), x.stride(0),
        grad_out.data_ptr(), grad_out.stride(0), grad_weight.data_ptr(), threads(),
    )  # fmt: skip
    return grad_weight


def grouped_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    heads: int,
    channels: int,
    transpose: bool = False,
    scale: Tensor | None = None,
    out: Tensor | None = None,
    accumulate: bool = False,
) -> Tensor:
    """Block-diagonal linear map of packed rows; with ``transpose`` by the transposed blocks.

    The gradient of ``x`` is the same map of the output's gradient with the other ``transpose``.

    Args:
        x: ``[R, stride]`` packed, with any row stride
        weight: ``[g, d / g, d / g]`` on the standard channels head * C + c
        bias: ``[d]`` on the standard channels
        scale: ``[R, P]`` factor of the bias, head by head
        out: ``[R, stride]`` to write to, or with ``accumulate`` to add to, with any row stride
    """
    return _grouped(x, weight, bias, heads, channels, transpose, scale, None, out, accumulate)[0]


def grouped_linear_dot(
    x: Tensor, weight: Tensor, dot_with: Tensor, *, heads: int, channels: int, transpose: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`grouped_linear` without a bias, and ``x . dot_with`` head by head. ``dot_with`` ``[d]``, dot ``[R, P]``"""
    out, dot = _grouped(x, weight, None, heads, channels, transpose, None, dot_with, None, False)
    assert dot is not None
    return out, dot


def _grouped(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    heads: int,
    channels: int,
    transpose: bool,
    scale: Tensor | None,
    dot_with: Tensor | None,
    out: Tensor | None,
    accumulate: bool,
) -> tuple[Tensor, Tensor | None]:
    call = _kernel("grouped_forward", x)
    layout = _Layout(heads, channels, x)
    _rows("x", x, x.dtype, None, layout.stride)
    if scale is not None:
        _dense("scale", scale, x.dtype, (x.size(0), layout.padded))
    if dot_with is not None:
        _dense("dot_with", dot_with, x.dtype, (heads * channels,))
    dot = None if dot_with is None else x.new_empty(x.size(0), layout.padded)
    groups = _group_count(weight, heads * channels, x.dtype)
    if bias is not None:
        _dense("bias", bias, x.dtype, (heads * channels,))
    if out is None:
        if accumulate:
            raise ValueError("accumulate=True takes the tensor to add to as out")
        out = x.new_empty(x.shape)
    _rows("out", out, x.dtype, x.size(0), layout.stride)
    call(
        x.size(0), heads, channels, groups, transpose, x.data_ptr(), x.stride(0), weight.data_ptr(), _address(bias),
        _address(scale), _address(dot_with), _address(dot), out.data_ptr(), out.stride(0), accumulate, threads(),
    )  # fmt: skip
    return out, dot


def grouped_linear_weight_grad(
    x: Tensor,
    grad_out: Tensor,
    groups: int,
    *,
    heads: int,
    channels: int,
    transpose: bool = False,
    scale: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Gradients of weight and bias of :func:`grouped_linear`. ``[R, stride] x 2 -> [g, d / g, d / g], [d]``"""
    call = _kernel("grouped_weight_grad", x)
    layout = _Layout(heads, channels, x)
    width = heads * channels
    if groups < 1 or width % groups:
        raise ValueError(f"groups={groups} does not divide the {width} channels")
    _rows("x", x, x.dtype, None, layout.stride)
    _dense("grad_out", grad_out, x.dtype, tuple(x.shape))
    if scale is not None:
        _dense("scale", scale, x.dtype, (x.size(0), layout.padded))
    grad_weight = x.new_empty(groups, width // groups, width // groups)
    grad_bias = x.new_empty(width)
    call(
        x.size(0), heads, channels, groups, transpose, x.data_ptr(), x.stride(0), grad_out.data_ptr(),
        _address(scale), grad_weight.data_ptr(), grad_bias.data_ptr(), threads(),
    )  # fmt: skip
    return grad_weight, grad_bias


def dropout_relu(
    x: Tensor, p: float, seed: int, *, relu: bool = True, first_row: int = 0, out: Tensor | None = None
) -> Tensor:
    """``relu(x)``, entries dropped by :func:`~justjump.ops.reference.dropout_mask`, the rest scaled by 1 / (1 - p).

    Entry (row, channel) takes the random word of (seed, first_row + row, 0, channel), where the channel is the position
    in memory: a packed row draws other words than the same row in the standard layout. ``out`` may be ``x`` itself.
    Without ``relu`` the gradient is the same function of the output's gradient. ``[R, d] -> [R, d]``
    """
    call = _kernel("dropout_rows", x)
    _rows("x", x, x.dtype)
    out = x.new_empty(x.shape) if out is None else out
    _rows("out", out, x.dtype, x.size(0), x.size(1))
    call(
        x.size(0), x.size(1), *_dropout(p, seed), relu, first_row, x.data_ptr(), x.stride(0), 0, 0, out.data_ptr(),
        out.stride(0), threads(),
    )  # fmt: skip
    return out


def dropout_relu_backward(y: Tensor, grad_y: Tensor, p: float, *, out: Tensor | None = None) -> Tensor:
    """Gradient of :func:`dropout_relu` with ReLU from its output alone: what is positive was kept."""
    call = _kernel("dropout_rows", y)
    _rows("y", y, y.dtype)
    _rows("grad_y", grad_y, y.dtype, y.size(0), y.size(1))
    out = y.new_empty(y.shape) if out is None else out
    _rows("out", out, y.dtype, y.size(0), y.size(1))
    call(
        y.size(0), y.size(1), *_dropout(p, 0), True, 0, y.data_ptr(), y.stride(0), grad_y.data_ptr(),
        grad_y.stride(0), out.data_ptr(), out.stride(0), threads(),
    )  # fmt: skip
    return out


class _Layout:
    def __init__(self, heads: int, channels: int, like: Tensor) -> None:
        self.heads, self.channels = heads, channels
        self.stride = row_stride(heads, channels, like.dtype)
        self.padded = padded_heads(heads)


def _module() -> Any:
    if _native is None:
        raise RuntimeError(_failure)
    return _native


def _kernel(name: str, like: Tensor) -> Any:
    module = _module()
    if like.dtype not in _SUFFIX:
        raise TypeError(f"the native kernels take torch.float32 or torch.float64, not {like.dtype}")
    return getattr(module, name + _SUFFIX[like.dtype])


def threads() -> int:
    """Threads that the kernels use: torch's number, unless :func:`set_threads` fixed another."""
    return _fixed_threads or torch.get_num_threads()


def set_threads(number: int | None) -> None:
    """Fix the number of the kernels' threads; None follows torch again."""
    global _fixed_threads
    _fixed_threads = number


def _address(x: Tensor | None) -> int:
    return 0 if x is None else x.data_ptr()


def _dropout(p: float, seed: int) -> tuple[int, int, float]:
    return dropout_threshold(p), seed & _MASK64, p


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name}={value}, expected at least 1")


def _tensor(name: str, x: Tensor, dtype: torch.dtype) -> None:
    if x.device.type != "cpu" or x.layout != torch.strided:
        raise ValueError(f"{name} is a {x.layout} tensor on {x.device}, expected a dense one on the CPU")
    if x.dtype != dtype:
        raise TypeError(f"{name} has dtype {x.dtype}, expected {dtype}")


def _dense(name: str, x: Tensor, dtype: torch.dtype, shape: tuple[int | None, ...]) -> None:
    _tensor(name, x, dtype)
    if x.dim() != len(shape) or any(n is not None and n != m for n, m in zip(shape, x.shape, strict=True)):
        expected = ["any" if n is None else n for n in shape]
        raise ValueError(f"{name} has shape {list(x.shape)}, expected {expected}")
    if not x.is_contiguous():
        raise ValueError(f"{name} has strides {x.stride()}, expected a contiguous tensor: call .contiguous()")


def _rows(name: str, x: Tensor, dtype: torch.dtype, rows: int | None = None, width: int | None = None) -> None:
    """A matrix whose rows are contiguous, any stride apart."""
    _tensor(name, x, dtype)
    if x.dim() != 2 or (rows is not None and x.size(0) != rows) or (width is not None and x.size(1) != width):
        expected = ["any" if n is None else n for n in (rows, width)]
        raise ValueError(f"{name} has shape {list(x.shape)}, expected {expected}")
    if (x.size(1) > 1 and x.stride(1) != 1) or (x.size(0) > 1 and x.stride(0) < x.size(1)):
        raise ValueError(f"{name} has strides {x.stride()}, expected contiguous rows: call .contiguous()")


def _index(name: str, x: Tensor, dtype: torch.dtype, size: int | None) -> None:
    if dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} has dtype {x.dtype}, expected torch.int32 or torch.int64")
    _dense(name, x, dtype, (size,))


def _compressed(ptr_name: str, ptr: Tensor, index_name: str, index: Tensor) -> tuple[int, int]:
    """Numbers of rows and edges."""
    _index(index_name, index, index.dtype, None)
    _index(ptr_name, ptr, index.dtype, None)
    if ptr.numel() == 0:
        raise ValueError(f"{ptr_name} is empty, expected one number a row and one more")
    return ptr.numel() - 1, index.numel()


def _edge_weight(weight: Tensor | None, edges: int, dtype: torch.dtype) -> None:
    if weight is not None:
        _dense("weight", weight, dtype, (edges,))


def _graph(csr: Csr, csc: Csc | None, sources: int) -> tuple[Any, int]:
    """The kernels' view of the graph and the number of targets."""
    rows, edges = _compressed("rowptr", csr.rowptr, "col", csr.col)
    by_source = (0, 0, 0)
    if csc is not None:
        _index("row", csc.row, csr.col.dtype, edges)
        _index("position", csc.position, csr.col.dtype, edges)
        _index("colptr", csc.colptr, csr.col.dtype, sources + 1)
        by_source = (csc.colptr.data_ptr(), csc.row.data_ptr(), csc.position.data_ptr())
    wide = csr.col.dtype == torch.int64
    return _module().graph(rows, sources, edges, wide, csr.rowptr.data_ptr(), csr.col.data_ptr(), *by_source), rows


def _dna_arguments(
    csr: Csr,
    csc: Csc | None,
    weight: Tensor | None,
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor] | None,
    bias: Tensor | None,
    layout: _Layout,
    scale: float,
    dropout_p: float,
    seed: int,
) -> tuple[tuple[Any, ...], int]:
    if (values is None) != (bias is not None):
        raise ValueError("bias belongs to the folded form: give either values or bias")
    if values is not None and len(values) != len(keys):
        raise ValueError(f"there are {len(values)} values, but {len(keys)} keys")
    sources = keys[0].size(0) if len(keys) else csc.colptr.numel() - 1 if csc is not None else 0
    graph, nodes = _graph(csr, csc, sources)
    _edge_weight(weight, csr.col.numel(), query.dtype)
    _dense("query", query, query.dtype, (nodes, layout.stride))
    if bias is not None:
        _dense("bias", bias, query.dtype, (nodes, layout.padded))
    for name, list_ in (("keys", keys), ("values", values or ())):
        for t, x in enumerate(list_):
            _rows(f"{name}[{t}]", x, query.dtype, sources, layout.stride)
    arguments = (
        graph, layout.heads, layout.channels, scale, *_dropout(dropout_p, seed), _address(weight), query.data_ptr(),
        _address(bias), [x.data_ptr() for x in keys], [x.stride(0) for x in keys],
        [x.data_ptr() for x in values or ()], [x.stride(0) for x in values or ()],
    )  # fmt: skip
    return arguments, nodes


def _gradients(
    name: str, given: Sequence[Tensor] | None, like: Sequence[Tensor], shape: tuple[int, int], accumulate: bool
) -> Sequence[Tensor]:
    if given is None:
        if accumulate:
            raise ValueError(f"accumulate=True takes the tensors to add to as {name}")
        return [x.new_empty(shape) for x in like]
    if len(given) != len(like):
        raise ValueError(f"{name} holds {len(given)} tensors, expected {len(like)}")
    for t, x in enumerate(given):
        _rows(f"{name}[{t}]", x, like[t].dtype, *shape)
    return given


def _gat_arguments(
    csr: Csr, csc: Csc | None, value: Tensor, score_source: Tensor, score_target: Tensor, layout: _Layout
) -> tuple[Any, int]:
    _dense("value", value, value.dtype, (None, layout.stride))
    graph, nodes = _graph(csr, csc, value.size(0))
    _dense("score_source", score_source, value.dtype, (value.size(0), layout.padded))
    _dense("score_target", score_target, value.dtype, (nodes, layout.padded))
    return graph, nodes


def _group_count(weight: Tensor, width: int, dtype: torch.dtype) -> int:
    groups = weight.size(0) if weight.dim() == 3 else 0
    if groups == 0 or width % groups:
        raise ValueError(f"weight has shape {list(weight.shape)}, expected [g, {width} / g, {width} / g]")
    _dense("weight", weight, dtype, (groups, width // groups, width // groups))
    return groups
