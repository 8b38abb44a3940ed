"""Several files in one input: what a mutation leaves whole can still be told apart."""

from __future__ import annotations

import re

_MARK = re.compile(rb"\n=== ([A-Za-z_.]{1,40}) ===\n")


def join(parts: dict[str, bytes]) -> bytes:
    """One input from named files.

    >>> split(join({"a.txt": b"one", "b": b""}))
    {'a.txt': b'one', 'b': b''}
    """
    return b"".join(b"\n=== %s ===\n%s" % (name.encode(), content) for name, content in parts.items())


def split(data: bytes) -> dict[str, bytes]:
    """The files of an input by name; what stands before the first name is ignored."""
    _, *rest = _MARK.split(data)
    return {name.decode(): content for name, content in zip(rest[::2], rest[1::2], strict=True)}
