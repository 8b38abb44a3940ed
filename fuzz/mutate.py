"""Mutations that know the formats: files are dropped and exchanged, numbers become extreme, JSON values change type."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from parts import join, split

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUMBERS = (
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"4294967296",
    b"99999999999999999999",
    b"1e-320",
    b"0.5",
    b"2147483647",
    b"1" + b"0" * 400,
)
_VALUES = (b"null", b"true", b'""', b"[]", b"{}", b"[[1]]", b'"\\ud800"', b"1e400", b"-0", b'{"a": 1}', b"NaN")
_WORDS = (
    *_NUMBERS, *_VALUES, b",", b'"', b"\n", b"\r", b"\x00", b"\xff", b"id", b"label", b"split", b"weight", b"train",
    b"source", b"target", b"<f8", b">i4", b"|O", b"|S1", b"<U8", b"|V0", b"fortran_order", b"(0,)", b"(-1,)",
    b"(4294967296, 4294967296)", b"F32", b"I64", b"BF16", b"data_offsets", b"__metadata__", b"PK\x03\x04",
    b"cnumpy\ndtype\n", b"cbuiltins\nlist\n", b"R", b"b.", b"(", b"t", b"l", b"}", b"]", b"2", b"s", b".",
)  # fmt: skip


def mutate(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """A changed copy of an input; ``others`` are inputs to take pieces from.

    >>> mutate(b"abc", random.Random(1)) == mutate(b"abc", random.Random(1))
    True
    """
    for _ in range(1 + min(int(rng.expovariate(0.7)), 8)):
        data = rng.choice(_MUTATIONS)(data, rng, others)
    return data


def _flip(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at, word = rng.randint(0, len(data)), rng.choice(_WORDS)
    return data[:at] + word + data[at + len(word) :]


def _insert(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(_WORDS) + data[at:]


def _delete(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + data[at + rng.choice((1, 2, 8, 100)) :]


def _cut(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _repeat(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at, size = rng.randint(0, len(data)), rng.choice((1, 4, 30))
    return data[:at] + data[at : at + size] * rng.choice((2, 3, 50)) + data[at + size :]


def _number(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return _replace_one(_NUMBER, data, rng, rng.choice((*_NUMBERS, *_VALUES, b"%d" % rng.randrange(-3, 40))))


def _json_value(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return _replace_one(re.compile(rb'(?<=: )("[^"]*"|[\w.+-]+|\[[^\]]*\]|\{[^}]*\})'), data, rng, rng.choice(_VALUES))


def _binary_number(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    size = rng.choice((2, 4, 8))
    number = rng.choice((0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1, rng.randrange(300)))
    at = rng.randint(0, max(0, len(data) - size))
    return data[:at] + number.to_bytes(size, "little") + data[at + size :]


def _wrap(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """The largest number and then a very small one: the difference wraps around and is positive."""
    size = rng.choice((4, 8))
    pair = (2 ** (8 * size - 1) - 1).to_bytes(size, "little") + (3 * 2 ** (8 * size - 2)).to_bytes(size, "little")
    parts = split(data)
    name = rng.choice(list(parts)) if parts else ""
    content = parts.get(name, data)
    at = size * rng.randint(0, len(content) // size)  # arrays of a file begin at multiples of their sizes
    content = content[:at] + pair + content[at + 2 * size :]
    return join(parts | {name: content}) if parts else content


def _part(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Drop one of the files, or take it from another input or from another name."""
    parts = split(data)
    if not parts:
        return data
    name = rng.choice(list(parts))
    other = split(rng.choice(others)) if others else {}
    kind = rng.randrange(4)
    if kind == 0:
        del parts[name]
    elif kind == 1:
        parts[name] = parts[rng.choice(list(parts))]
    elif kind == 2 and other:
        taken = rng.choice(list(other))
        parts[taken] = other[taken]
    else:
        parts[name] = mutate(parts[name], rng)
    return join(parts)


def _replace_one(pattern: re.Pattern[bytes], data: bytes, rng: random.Random, new: bytes) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + new + data[match.end() :]


_MUTATIONS = (
    _flip,
    _overwrite,
    _insert,
    _delete,
    _cut,
    _repeat,
    _number,
    _number,
    _json_value,
    _binary_number,
    _wrap,
    _part,
)
