"""From the ids in tables to the numbers of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..faults import EMPTY_ID, Rows, same_id, unknown_end
from ..frames import text_of
from .assign import mixed
from .source import TableSource

_ODD = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_ODD), -1, 2**64))
_BLOCK = 2**17


def are_integers(*types: Any) -> bool:
    """Whether ids of these types can be compared as numbers."""
    import pyarrow as pa

    return all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in types)


class Ids:
    """The number of each id, counted in the order of the table of nodes.

    It takes 24 bytes per node. Whole numbers are sorted. Texts are found by a 64-bit hash and then compared with the
    text itself, which stays on disk.
    """

    def __init__(self, nodes: TableSource, integers: bool, work: Path) -> None:
        self.integers, self._nodes = integers, nodes.path.name
        keys = np.empty(nodes.num_rows, np.int64 if integers else np.uint64)
        if integers:
            for first, array in nodes.column("id"):
                keys[first : first + len(array)] = integer_ids(array, first, nodes.rows, EMPTY_ID)
            self._values = keys
        else:
            self._texts = _write_texts(nodes, work)
        self._sort(keys, nodes.rows)

    def _sort(self, keys: np.ndarray, rows: Rows) -> None:
        """Sort the keys; two equal ones are the same id twice, or two texts with one hash, which gets another seed."""
        for seed in range(8):
            self._seed = seed
            if not self.integers:
                for first in range(0, len(keys), _BLOCK):
                    keys[first : first + _BLOCK] = text_hash(self._texts[first : first + _BLOCK], seed)
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]
            same = np.flatnonzero(self._keys[1:] == self._keys[:-1])
            if not len(same):
                return
            for place in same.tolist():
                one, two = (int(number) for number in self._order[place : place + 2])
                if self.name(one) == self.name(two):
                    raise rows.error(two, same_id(self.name(one), rows.name(one)))
        raise AssertionError("eight hash functions cannot tell two texts apart")

    def __len__(self) -> int:
        return len(self._keys)

    def name(self, number: int) -> str:
        """The id of a node as text."""
        return self.names(number, number + 1)[0]

    def names(self, start: int, stop: int) -> list[str]:
        """The ids of the nodes `start .. stop` as texts."""
        if self.integers:
            return [str(value) for value in self._values[start:stop].tolist()]
        found: list[str] = self._texts[start:stop].to_pylist()
        return found

    def numbers(self, array: Any, column: str, first: int, edges: Rows) -> np.ndarray:
        """The numbers of the nodes with some ids: int64 `[k]`. An id of no node raises a `DataError`."""
        empty = unknown_end(column, "", self._nodes)
        values = integer_ids(array, first, edges, empty) if self.integers else text_ids(array, first, edges, empty)
        keys = values if self.integers else text_hash(values, self._seed)
        order = np.argsort(keys)  # sorted keys are found several times as fast, because they are near each other
        place = np.empty(len(keys), np.int64)
        place[order] = np.searchsorted(self._keys, keys[order])
        place = np.minimum(place, max(len(self._keys) - 1, 0))
        found: np.ndarray = self._order[place]
        known = self._keys[place] == keys
        if not self.integers:
            known &= _equal(self._texts.take(found), values)
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            raise edges.error(first + row, unknown_end(column, str(values[row]), self._nodes))
        return found


def integer_ids(array: Any, first: int, rows: Rows, empty: str) -> np.ndarray:
    """Ids that are whole numbers: int64 `[k]`; `empty` says what is wrong if there is none."""
    import pyarrow as pa

    _check_there(array.is_null().to_numpy(zero_copy_only=False), first, rows, empty)
    found: np.ndarray = array.cast(pa.int64()).to_numpy()
    return found


def text_ids(array: Any, first: int, rows: Rows, empty: str) -> Any:
    """Ids of any type as texts without spaces around them: a `LargeStringArray` `[k]`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(array.type):  # 3.0 is called 3, as elsewhere
        array = pa.array([text_of(value) for value in array.to_pylist()], pa.large_string())
    with_texts = pc.fill_null(array.cast(pa.large_string()), "")
    texts = pc.utf8_trim_whitespace(with_texts)
    _check_there(_equal(texts, pa.scalar("", pa.large_string())), first, rows, empty)
    return texts


def _equal(one: Any, two: Any) -> np.ndarray:
    import pyarrow.compute as pc

    found: np.ndarray = pc.equal(one, two).to_numpy(zero_copy_only=False)
    return found


def _check_there(missing: np.ndarray, first: int, rows: Rows, empty: str) -> None:
    if missing.any():
        raise rows.error(first + int(np.flatnonzero(missing)[0]), empty)


def _write_texts(nodes: TableSource, work: Path) -> Any:
    """All ids as one `LargeStringArray` in mapped files, so that the system may take its memory back."""
    import pyarrow as pa

    text, ends = work / "ids.text", work / "ids.ends"
    length = 0
    with text.open("wb") as text_file, ends.open("wb") as ends_file:
        ends_file.write(np.zeros(1, np.int64).tobytes())
        for first, array in nodes.column("id"):
            texts = text_ids(array, first, nodes.rows, EMPTY_ID)
            bounds, content = _buffers(texts)
            text_file.write(content.data)
            ends_file.write((bounds[1:] - bounds[0] + length).tobytes())
            length += len(content)
    buffers = [
        pa.memory_map(str(path)).read_buffer() if path.stat().st_size else pa.py_buffer(b"") for path in (ends, text)
    ]
    return pa.LargeStringArray.from_buffers(nodes.num_rows, *buffers)


def _buffers(texts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the texts of an array begin and end, int64 `[k + 1]`, and their bytes."""
    _, ends, content = texts.buffers()
    bounds = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(0, np.uint8)
    return bounds, letters[bounds[0] : bounds[-1]]


def text_hash(texts: Any, seed: int) -> np.ndarray:
    """A 64-bit hash of each text: uint64 `[k]`.

    It is a polynomial in an odd number modulo 2^64, so the hashes of all texts come from one running sum over the
    letters of the batch: a text is a difference of the sum, divided by the power at which it begins.
    """
    if not len(texts):
        return np.zeros(0, np.uint64)
    bounds, letters = _buffers(texts)
    bounds = bounds - bounds[0]
    words = mixed(np.arange(256, dtype=np.uint64) + np.uint64(256 * seed))[letters]
    sums = np.zeros(len(letters) + 1, np.uint64)
    np.cumsum(words * _powers(_ODD, len(letters)), out=sums[1:])
    whole = (sums[bounds[1:]] - sums[bounds[:-1]]) * _powers(_INVERSE, len(letters) + 1)[bounds[:-1]]
    return mixed(whole ^ mixed(np.diff(bounds).astype(np.uint64)))


def _powers(base: np.uint64, count: int) -> np.ndarray:
    """`base` to the powers 0 .. count - 1, modulo 2^64."""
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, out=powers)
