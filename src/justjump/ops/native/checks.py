"""Checks of the arguments, and the form in which the kernels take them."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.ops.reference import dropout_threshold

_MASK64 = 2**64 - 1


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
    if x.dtype is dtype and x.shape == shape and x.is_cpu and x.is_contiguous() and x.layout is torch.strided:
        return  # a layer of a small graph calls this often enough to notice
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
