"""The former representations of the nodes: what a DNA layer attends to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import torch
from torch import Tensor

from justjump.ops.layout import Layout, pack, unpack


class History:
    """The T former representations of N nodes, oldest first.

    The newest one asks. All are attended to, or those that :meth:`window` selects. A history owns the layout of its
    rows in memory: ``history[t]`` is always ``[N, d]`` in the standard layout.

    >>> history = History.start(torch.zeros(3, 16))
    >>> history.append(torch.ones(3, 16))
    >>> history
    History(num_nodes=3, steps=2, channels=16)
    >>> history.newest.sum()
    tensor(48.)
    >>> history.window(1).attended
    [1]
    """

    def __init__(self, x: Tensor | Sequence[Tensor]) -> None:
        if not isinstance(x, Tensor) and not (isinstance(x, Sequence) and all(isinstance(h, Tensor) for h in x)):
            kind = type(x).__name__
            raise TypeError(f"a history is a tensor [num_nodes, num_layers, channels] or a list of tensors, not {kind}")
        tensors = [x] if isinstance(x, Tensor) else list(x)
        if isinstance(x, Tensor):
            if x.dim() != 3 or x.size(1) == 0:
                raise ValueError(f"the history has shape {list(x.shape)}, expected [num_nodes, num_layers, channels]")
        elif not tensors or any(h.dim() != 2 or h.shape != tensors[0].shape for h in tensors):
            shapes = [list(h.shape) for h in tensors]
            raise ValueError(f"the history has shapes {shapes}, expected one or more of [num_nodes, channels]")
        self._set(tensors, None)

    def _set(self, tensors: list[Tensor], layout: Layout | None) -> None:
        self._tensors = tensors  # [N, d] each, or one [N, T, d]; packed: [N, stride] each
        self._layout = layout
        self._steps: list[int] | None = None

    @classmethod
    def of(cls, x: History | Tensor | Sequence[Tensor]) -> History:
        """A history as it is, or one of a tensor ``[N, T, d]`` or of T tensors ``[N, d]``."""
        return x if isinstance(x, History) else cls(x)

    @classmethod
    def start(cls, h: Tensor) -> History:
        """The history of nodes with one representation ``[N, d]``."""
        return cls([h])

    def append(self, h: Tensor) -> None:
        """Add a representation ``[N, d]``: it becomes the newest."""
        if h.shape != (self.num_nodes, self.channels):
            expected = [self.num_nodes, self.channels]
            raise ValueError(f"the representation has shape {list(h.shape)}, expected {expected}")
        if h.dtype != self.dtype:
            raise TypeError(f"the representation has dtype {h.dtype}, the others have {self.dtype}: convert it")
        self.append_rows(h if self._layout is None else pack(h, self._layout))

    def append_rows(self, rows: Tensor) -> None:
        """Add rows in the layout of the others. Those of the first n nodes alone make it a history of these n nodes."""
        if self._steps is not None:
            raise ValueError("a window of a history cannot grow: append to the history itself")
        if self._tensors[0].dim() == 3:
            self._tensors = list(self._tensors[0].unbind(1))
        if rows.size(0) < self.num_nodes:
            self._tensors = [x[: rows.size(0)] for x in self._tensors]
        self._tensors.append(rows)

    def __len__(self) -> int:
        return self._tensors[0].size(1) if self._tensors[0].dim() == 3 else len(self._tensors)

    @overload
    def __getitem__(self, t: int) -> Tensor: ...
    @overload
    def __getitem__(self, t: slice) -> History: ...
    def __getitem__(self, t: int | slice) -> Tensor | History:
        if isinstance(t, slice):
            steps = range(len(self))[t]
            if not steps:
                raise ValueError(f"{t} selects none of the {len(self)} representations")
            return self._made([self.rows(s) for s in steps])
        rows = self.rows(range(len(self))[t])
        return rows if self._layout is None else unpack(rows, self._layout)

    def rows(self, t: int) -> Tensor:
        """A representation in the history's own layout."""
        return self._tensors[0][:, t] if self._tensors[0].dim() == 3 else self._tensors[t]

    def _made(self, tensors: list[Tensor], steps: list[int] | None = None) -> History:
        history = History.__new__(History)
        history._set(tensors, self._layout)
        history._steps = steps
        return history

    @property
    def newest(self) -> Tensor:
        """``[N, d]`` the representation that asks."""
        return self[-1]

    @property
    def attended(self) -> list[int]:
        """Which representations are attended to, counted from 0."""
        return list(range(len(self))) if self._steps is None else self._steps

    def window(self, size: int | None, keep_first: bool = False) -> History:
        """The same history of which the latest ``size`` representations are attended to; None attends to all.

        With ``keep_first`` the first representation is one of them.
        """
        return self._made(list(self._tensors), attended_steps(len(self), size, keep_first))

    def take(self, nodes: Tensor | None) -> History:
        """The history of some nodes; None is all of them."""
        return self if nodes is None else self._made([x.index_select(0, nodes) for x in self._tensors], self._steps)

    def stack(self) -> Tensor:
        """``[N, T, d]``"""
        return torch.stack([self[t] for t in range(len(self))], dim=1)

    def to_layout(self, layout: Layout | None) -> None:
        """Bring the rows into another layout, all at once: layers that share it need not repack them."""
        if layout != self._layout:
            rows = [self[t] for t in range(len(self))]
            self._tensors = rows if layout is None else [pack(x, layout) for x in rows]
            self._layout = layout

    def to(self, device: torch.device | str) -> History:
        """The same history on another device, in the standard layout."""
        history = self.unpacked()
        history._tensors = [x.to(device) for x in history._tensors]
        return history

    def unpacked(self) -> History:
        """The same history with its rows in the standard layout."""
        history = self._made(list(self._tensors), self._steps)
        history.to_layout(None)
        return history

    @property
    def layout(self) -> Layout | None:
        """Of the rows in memory; None is the standard one."""
        return self._layout

    def operands(self) -> tuple[Tensor | None, list[Tensor]]:
        """The rows that ask (None for the last of the others), and those that are asked, in the history's layout.

        The latter are tensors ``[N, d]`` or ``[N, t, d]``.
        """
        steps = self.attended
        whole = self._tensors[0]
        if whole.dim() == 3 and steps == list(range(steps[0], len(self))):
            return None, [whole[:, steps[0] :] if steps[0] else whole]
        asked = [self.rows(t) for t in steps]
        return None if steps[-1] == len(self) - 1 else self.rows(len(self) - 1), asked

    @property
    def num_nodes(self) -> int:
        return self._tensors[0].size(0)

    @property
    def channels(self) -> int:
        return self._tensors[0].size(-1) if self._layout is None else self._layout.width

    @property
    def dtype(self) -> torch.dtype:
        return self._tensors[0].dtype

    @property
    def device(self) -> torch.device:
        return self._tensors[0].device

    def __repr__(self) -> str:
        return f"History(num_nodes={self.num_nodes}, steps={len(self)}, channels={self.channels})"


def attended_steps(length: int, size: int | None, keep_first: bool = False) -> list[int]:
    """Which of ``length`` representations a window of a history attends to.

    >>> attended_steps(5, 2), attended_steps(5, 2, keep_first=True), attended_steps(2, None)
    ([3, 4], [0, 4], [0, 1])
    """
    if size is None or length <= size:
        return list(range(length))
    if size < 1:
        raise ValueError(f"the window is {size}, expected at least 1")
    latest = size - 1 if keep_first else size
    return [0] * keep_first + list(range(length - latest, length))
