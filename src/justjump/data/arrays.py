"""Arrays of an `.npz` file, whose headers can be looked at before the arrays are read."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from justjump.memory import available_memory

from .errors import DataError, short

_CHUNK = 2**20
_LONGEST_HEADER = 10_000  # as in numpy; the header of an array of numbers or text has about 100 bytes
_MOST_EXPANSION = 1032  # deflate turns 258 bytes into at least 2 bits
_ENCRYPTED = 1  # a flag of a member of an archive
_FIELD = re.compile(
    rb"""\s*(['"])(?P<key>descr|fortran_order|shape)\1\s*:\s*"""
    rb"""(?:(['"])(?P<descr>[^'"\\]{1,40})\3|(?P<order>True|False)|\((?P<shape>[\dL,\s]*)\)|(?P<fields>\[.*\]))\s*,?""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Header:
    """What an array's header says, under the same names as in an array."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fortran_order: bool
    start: int  # position of the first byte after the header
    compressed: int  # number of bytes in the file

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


class Arrays:
    """The arrays of an open `.npz` file by key. Everything that is wrong with the file raises a `DataError`."""

    def __init__(self, file: BinaryIO) -> None:
        self._length = file.seek(0, os.SEEK_END)
        file.seek(0)
        if file.read(6) == b"\x93NUMPY":
            raise DataError("it holds one array instead of several named arrays: save it with numpy.savez")
        with _foreign("it is not an .npz archive"):
            self._zip = zipfile.ZipFile(file)
        self._members = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}
        self._headers: dict[str, Header] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def header(self, key: str, objects: bool = False) -> Header:
        """Header of an array, which agrees with the number of bytes in the file.

        An array of pickled objects, which are never unpickled, is an error unless `objects`.
        """
        if key not in self._headers:
            if key not in self:
                found = ", ".join(short(key, 40) for key in sorted(self._members)[:12]) or "none"
                raise DataError(f"the key {key} is missing, the keys of the file are: {found}")
            self._headers[key] = self._header(key, self._members[key])
        if self._headers[key].dtype.hasobject and not objects:
            raise DataError(f"{key} holds Python objects, which are not read: save it as numbers or text")
        return self._headers[key]

    def _header(self, key: str, info: zipfile.ZipInfo) -> Header:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                f"{key} is compressed by method {info.compress_type}, which is not read: save the file with "
                "numpy.savez_compressed"
            )
        if info.flag_bits & _ENCRYPTED:
            raise DataError(f"{key} is encrypted, which is not read: save the file without a password")
        if info.compress_size > self._length or info.file_size > _MOST_EXPANSION * (info.compress_size + 1):
            raise DataError(
                f"{key} claims {info.file_size} bytes, but the file has only {info.compress_size} of {self._length} "
                "bytes for it: save it again"
            )
        with _foreign(f"{key} cannot be read"), self._zip.open(info) as member:
            start = member.read(8)
            count = {1: 2, 2: 4, 3: 4}.get(start[6], 0) if len(start) == 8 and start[:6] == b"\x93NUMPY" else 0
            length = int.from_bytes(member.read(count), "little")
            text = member.read(min(length, _LONGEST_HEADER))
        shape, dtype, fortran_order = _parse(key, text if len(text) == length else b"")
        header = Header(shape, dtype, fortran_order, 8 + count + length, info.compress_size)
        if header.start + header.nbytes != info.file_size and not dtype.hasobject:
            raise DataError(
                f"{key} claims the shape {short(shape)} of {dtype}, which takes {header.nbytes} bytes, but has "
                f"{info.file_size - header.start}: save it again"
            )
        return header

    def __getitem__(self, key: str) -> np.ndarray:
        header = self.header(key)
        need = header.nbytes + header.size * _made_of(header)
        check_memory(f"{key} of shape {list(header.shape)}", need)
        array = np.empty(header.size, header.dtype)
        content = array.view(np.uint8)
        with _foreign(f"{key} cannot be read"), self._zip.open(self._members[key]) as member:
            member.read(header.start)
            for start in range(0, len(content), _CHUNK):
                chunk = member.read(min(_CHUNK, len(content) - start))
                content[start : start + len(chunk)] = np.frombuffer(chunk, np.uint8)
                if len(chunk) < min(_CHUNK, len(content) - start):
                    raise DataError(f"{key} is cut short: save it again")
        return array.reshape(header.shape, order="F" if header.fortran_order else "C")

    def text(self, key: str) -> tuple[str, ...]:
        """A list of numbers or text as text."""
        array = self[key]
        if array.dtype.kind == "U":
            codes = array.view(array.dtype.str[0] + "u4")
            if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
                raise DataError(f"{key} holds text that is not Unicode: save it again")
        return tuple(map(str, array.tolist()))


def _parse(key: str, text: bytes) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, dtype and whether in Fortran order, from the text `{'descr': '<f4', 'fortran_order': False, ...}`."""
    fields: dict[str, re.Match[bytes]] = {}
    line = text.strip()
    position = 1
    while line[:1] == b"{" and (field := _FIELD.match(line, position)):
        fields[field["key"].decode()] = field
        position = field.end()
    try:
        if line[position:].strip() != b"}" or len(fields) != 3:
            raise ValueError
        shape = fields["shape"]["shape"].replace(b"L", b"").rstrip(b", \t").split(b",")
        sizes = tuple(_size(part) for part in shape if part.strip() or len(shape) > 1)
        if fields["descr"]["fields"]:
            raise DataError(f"{key} is a table with several columns: save numbers or text")
        dtype = np.dtype(fields["descr"]["descr"].decode("ascii"))
        if not dtype.itemsize:
            raise ValueError
        return sizes, dtype, {b"True": True, b"False": False}[fields["fortran_order"]["order"]]
    except DataError:
        raise
    except Exception as error:  # np.dtype raises many kinds of exceptions
        raise DataError(
            f"{key} does not begin like an array, but with {short(text.decode('latin1'), 100)!r}: save it with "
            "numpy.savez"
        ) from error


def _size(text: bytes) -> int:
    if len(text) > 20:
        raise ValueError
    return int(text)


@contextmanager
def _foreign(problem: str) -> Iterator[None]:
    """Turn whatever a broken archive makes zipfile and zlib raise into a `DataError`."""
    try:
        yield
    except (DataError, MemoryError):
        raise
    except Exception as error:
        reason = short(getattr(error, "strerror", None) or error, 120).rstrip(".") or type(error).__name__
        raise DataError(f"{problem} ({reason}): save it again with numpy.savez") from error


def _made_of(header: Header) -> int:
    """Bytes per value of what is made of an array while it stands in memory: integers of 64 bits, or float32 numbers
    and which of them are finite."""
    is_taken = header.dtype == np.float32 and not header.fortran_order
    return {"i": 8, "u": 8, "b": 5, "f": 1 if is_taken else 5}.get(header.dtype.kind, 0)


def check_memory(what: str, need: int) -> None:
    """Raise a `DataError` if `need` bytes are more than there are."""
    if need > 2**24 and need > (available := available_memory()):
        raise DataError(
            f"{what} takes {need / 1e9:.3g} GB, but only {available / 1e9:.3g} GB of "
            "memory are available: use a machine with more memory, or a smaller graph"
        )
