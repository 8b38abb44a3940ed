"""The extension module: loading it, its instruction sets and its threads."""

from __future__ import annotations

import ctypes
import os
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_native: Any = None
_fixed_threads: int | None = None
_failure = ""
_LARGE = 2**22  # bytes
_SUFFIX = {torch.float32: "_f32", torch.float64: "_f64"}


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
    _fixed_threads = number


def _module() -> Any:
    if _native is None:
        raise RuntimeError(_failure)
    return _native


def _kernel(name: str, like: Tensor) -> Any:
    module = _module()
    if like.dtype not in _SUFFIX:
        raise TypeError(f"the native kernels take torch.float32 or torch.float64, not {like.dtype}")
    return getattr(module, name + _SUFFIX[like.dtype])


def empty(like: Tensor, *shape: int) -> Tensor:
    """``like.new_empty(shape)``, on huge pages where it is large and the system grants them."""
    x = like.new_empty(shape)
    if x.nbytes >= _LARGE:
        _module().advise_huge_pages(x.data_ptr(), x.nbytes)
    return x
