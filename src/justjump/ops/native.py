"""The native module: loading it, its instruction sets and threads, and calls into it by named arguments.

An operator's arguments are a struct of C++ whose fields are set by name (``csrc/*/*.h``). Tensors go there as address,
rows, width and stride; C++ checks that they fit each other. Index arrays are trusted: they come from an
:class:`~justjump.ops.Adjacency`, which has validated them.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_native: Any = None
_fixed_threads: int | None = None
_failure = ""
_LARGE = 2**22  # bytes
_SUFFIX = {torch.float32: "F32", torch.float64: "F64", torch.int32: "I32", torch.int64: "I64"}
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
    _raise_heap_thresholds()


def _raise_heap_thresholds() -> None:
    """Let glibc serve tensors of up to 32 MB from its heap, and keep up to 64 MB of it when they are freed.

    It comes to that by itself once a tensor of this size was freed. Until then every step of a small graph returns its
    memory to the system and gets it back page by page. Numbers that the user has set stay.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)


_load()


def available() -> bool:
    """Whether the native kernels can be called."""
    return _native is not None


def why_not() -> str:
    """Why they cannot, or an empty string."""
    return _failure


@contextmanager
def without_native() -> Iterator[None]:
    """Compute by PyTorch alone in this block, in the whole process: slower, and with operations that every tool knows.

    >>> with without_native():
    ...     available()
    False
    """
    global _native, _failure
    before = _native, _failure
    _native, _failure = None, "without_native() switches the native kernels off"
    try:
        yield
    finally:
        _native, _failure = before


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


def threads() -> int:
    """Threads that the kernels use: torch's number, unless :func:`set_threads` fixed another."""
    return _fixed_threads or torch.get_num_threads()


def set_threads(number: int | None) -> None:
    """Fix the number of the kernels' threads; None follows torch again."""
    global _fixed_threads
    if number is not None and number < 1:
        raise ValueError(f"number={number} must be at least 1, or None to follow torch")
    _fixed_threads = number


def _module() -> Any:
    if _native is None:
        raise RuntimeError(_failure)
    return _native


def run(operator: str, dtype: torch.dtype, **fields: Any) -> None:
    """Run a native operator. Tensors among the fields are passed as matrices, lists as lists of them, None is left out.

    The caller's tensors stay alive until it is done.
    """
    arguments, matrix_of = _class(operator, dtype)(), _class("Matrix", dtype)
    arguments.threads = threads()
    for name, value in fields.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = matrix_of(*_matrix(name, value, dtype))
        elif isinstance(value, list):
            value = [matrix_of(*sizes) for x in value for sizes in _matrices(name, x, dtype)]
        setattr(arguments, name, value)
    arguments.run()


def _matrix(name: str, x: Tensor, dtype: torch.dtype) -> tuple[int, int, int, int]:
    """Address, rows, width and stride of a tensor.

    A vector is one row, a matrix has contiguous rows, contiguous blocks ``[g, n, m]`` stand one below the other.
    """
    shape = x.shape
    if x.dtype is not dtype or not x.is_cpu or x.layout is not torch.strided:
        _refuse(name, x, dtype)
    if x.is_contiguous():
        if len(shape) == 2:
            rows, width = shape
        else:
            rows, width = (1, shape[0]) if len(shape) == 1 else (shape[0] * shape[1], shape[2])
        return x.data_ptr(), rows, width, width
    if len(shape) != 2:
        raise ValueError(f"{name} has strides {x.stride()}, expected a contiguous tensor: call .contiguous()")
    (rows, width), (stride, inner) = shape, x.stride()
    if (width > 1 and inner != 1) or (rows > 1 and stride < width):
        raise ValueError(f"{name} has strides {x.stride()}, expected contiguous rows: call .contiguous()")
    return x.data_ptr(), rows, width, stride


def _matrices(name: str, x: Tensor, dtype: torch.dtype) -> list[tuple[int, int, int, int]]:
    """Address, rows, width and stride of each representation in a tensor ``[N, d]`` or ``[N, t, d]``."""
    if x.dim() == 2:
        return [_matrix(name, x, dtype)]
    if x.dtype is not dtype or not x.is_cpu or x.layout is not torch.strided:
        _refuse(name, x, dtype)
    (rows, steps, width), (stride, step, inner) = x.shape, x.stride()
    if rows and ((width > 1 and inner != 1) or (rows > 1 and stride < width)):  # torch gives an empty one any strides
        raise ValueError(f"{name} has strides {x.stride()}, expected contiguous rows: call .contiguous()")
    start, size = x.data_ptr(), x.itemsize
    return [(start + t * step * size, rows, width, stride) for t in range(steps)]


def _refuse(name: str, x: Tensor, dtype: torch.dtype) -> None:
    if x.dtype is not dtype:
        raise TypeError(f"{name} has dtype {x.dtype}, expected {dtype}")
    raise ValueError(f"{name} is a {x.layout} tensor on {x.device}, expected a dense one on the CPU")


def index(name: str, x: Tensor | None) -> Any:
    """An index array of int32 or int64; None is one that is not given."""
    if x is None:
        return _module().Index(0, 0, False)
    if not x.is_cpu or x.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} is {x.dtype} on {x.device}, expected torch.int32 or torch.int64 on the CPU")
    if x.dim() != 1 or not x.is_contiguous():
        raise ValueError(f"{name} has shape {list(x.shape)} and strides {x.stride()}, expected a contiguous vector")
    return _module().Index(x.data_ptr(), x.numel(), x.dtype == torch.int64)


def graph(
    cols: int,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor | None = None,
    row: Tensor | None = None,
    position: Tensor | None = None,
    order: Tensor | None = None,
) -> Any:
    """The edges by target and, where a backward pass needs them, by source. The tensors must outlive it."""
    made = _module().Graph()
    made.rows, made.cols, made.edges = rowptr.numel() - 1, cols, col.numel()
    made.rowptr, made.col = index("rowptr", rowptr), index("col", col)
    made.colptr, made.row, made.position = index("colptr", colptr), index("row", row), index("position", position)
    made.order = index("order", order)
    return made


def filled(rowptr: Tensor, *arrays: Tensor | None) -> Any:
    """Arrays with room for more edges than there are, up to the last edge."""
    edges = int(rowptr[-1])
    return [None if x is None else x[:edges] for x in arrays]


def community_order(rowptr: Tensor, col: Tensor) -> Tensor:
    """The nodes of a graph, communities together: work in this order finds more of what it gathers in the caches."""
    order = col.new_empty(rowptr.numel() - 1)
    _module().community_order(graph(order.numel(), rowptr, col), order.data_ptr())
    return order


def unsigned(seed: int | Tensor) -> int:
    """A seed as the kernels take it: 64 bits without a sign."""
    return int(seed) & _MASK64


def readable(x: Tensor) -> Tensor:
    """``x`` with contiguous rows that do not overlap, copied only where they are not."""
    x = x.resolve_neg()
    *outer, inner = x.stride()
    width = x.size(-1)
    plain = inner == 1 and all(step >= width or size <= 1 for step, size in zip(outer, x.shape, strict=False))
    return x if plain else x.contiguous()


@cache
def _class(name: str, dtype: torch.dtype) -> Any:
    taken = [kind for kind, suffix in _SUFFIX.items() if hasattr(_module(), name + suffix)]
    if not taken:
        raise RuntimeError(
            f"the native module has no {name}, so it was built from another version: install justjump again "
            "(pip install .)"
        )
    if dtype not in taken:
        raise TypeError(f"the native kernels take {' or '.join(map(str, taken))}, not {dtype}")
    return getattr(_module(), name + _SUFFIX[dtype])


def empty(like: Tensor, *shape: int) -> Tensor:
    """``like.new_empty(shape)``, on huge pages where it is large and the system grants them."""
    x = like.new_empty(shape)
    if x.nbytes >= _LARGE:
        _module().advise_huge_pages(x.data_ptr(), x.nbytes)
    return x
