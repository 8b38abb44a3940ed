"""Sums over parts in an order that does not depend on who computes them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

Node = tuple[int, int]  # level k and number i: the parts i * 2^k .. (i + 1) * 2^k, as far as there are any


def tree_nodes(begin: int, end: int, parts: int) -> list[Node]:
    """The largest nodes of the tree over ``parts`` parts that hold the parts ``begin .. end`` and no other.

    >>> tree_nodes(0, 5, 5), tree_nodes(0, 3, 5), tree_nodes(3, 5, 5)
    ([(3, 0)], [(1, 0), (0, 2)], [(0, 3), (2, 1)])
    """
    found = []
    while begin < end:
        level = 0
        while begin % 2 ** (level + 1) == 0 and min(begin + 2 ** (level + 1), parts) <= end and 2**level < parts:
            level += 1
        found.append((level, begin >> level))
        begin += 2**level
    return found


class TreeSum:
    """The sum over parts by a fixed binary tree, of values that come part by part: it keeps few of them.

    A worker adds its parts in ascending order. Sums of whole nodes are added up at once. :attr:`sums` has those of
    :func:`tree_nodes` then.
    """

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self._open: list[tuple[Node, Tensor]] = []

    def add(self, part: int, value: Tensor) -> None:
        """The value of one part, which is kept."""
        node: Node = (0, part)
        while True:
            level, number = node
            if number % 2 and self._open and self._open[-1][0] == (level, number - 1):
                value = self._open.pop()[1] + value
                node = level + 1, number // 2
            elif number % 2 == 0 and (number + 1) << level >= self.parts and 2**level < self.parts:
                node = level + 1, number // 2  # there is no right half
            else:
                break
        self._open.append((node, value))

    @property
    def sums(self) -> list[Tensor]:
        return [value for _, value in self._open]


def joined(nodes: Sequence[Node], values: Sequence[Tensor], parts: int) -> Tensor:
    """The sum over all parts, given sums of nodes that cover each part once, in ascending order."""
    level = 0
    while 2**level < parts:
        level += 1
    known = dict(zip(nodes, values, strict=True))

    def total(level: int, number: int) -> Tensor:
        if (level, number) in known:
            return known[level, number]
        left, right = (level - 1, 2 * number), (level - 1, 2 * number + 1)
        return total(*left) + total(*right) if right[1] << right[0] < parts else total(*left)

    return total(level, 0)
