"""Reader for pickled arrays, sparse matrices and dictionaries of neighbours, the contents of Planetoid files.

A pickle is a program, so nothing here runs one as it is. What is unpickled has been checked before: it has only the
operations that these files need, it calls nothing that it names, and time and memory are bounded by the file's size.
"""

from __future__ import annotations

import io
import pickle
import re
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from .errors import DataError, short
from .sparse import checked_csr

# A published matrix takes 120 operations and an array 50. This also bounds the nesting, the stack and the memo.
_MOST_OPERATIONS = 256

# Operations of a matrix or an array, with the number of bytes of their arguments.
_FIXED = {
    **dict.fromkeys((pickle.PROTO, pickle.BININT1), 1),
    pickle.BININT2: 2,
    pickle.BININT: 4,
    pickle.FRAME: 8,
    **dict.fromkeys((pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.MARK, pickle.STACK_GLOBAL), 0),
    **dict.fromkeys((pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3), 0),
    **dict.fromkeys((pickle.EMPTY_DICT, pickle.SETITEM, pickle.SETITEMS), 0),
    **dict.fromkeys((pickle.REDUCE, pickle.NEWOBJ, pickle.BUILD, pickle.STOP), 0),
}
_PUT = {pickle.BINPUT: 1, pickle.LONG_BINPUT: 4, pickle.MEMOIZE: 0}
_GET = {pickle.BINGET: 1, pickle.LONG_BINGET: 4}
# Text and bytes, with the number of bytes of their lengths.
_SIZED = {
    **dict.fromkeys((pickle.SHORT_BINSTRING, pickle.SHORT_BINUNICODE, pickle.SHORT_BINBYTES), 1),
    **dict.fromkeys((pickle.BINSTRING, pickle.BINUNICODE, pickle.BINBYTES), 4),
    pickle.BINBYTES8: 8,
}
# Results that may be used again. Tuples of tuples that are used twice each would take exponential time to compare.
_REUSABLE = {*_SIZED, pickle.GLOBAL, pickle.STACK_GLOBAL, pickle.REDUCE}
_GLOBAL = re.compile(rb"[\w.]{1,64}\n[\w.]{1,64}\n")


def _check(raw: bytes) -> None:
    """Raise an `UnpicklingError` unless a pickle has only the operations of a matrix or an array."""
    position, last = 0, b""
    memo: dict[int, bytes] = {}  # index -> operation that made the result
    for _ in range(_MOST_OPERATIONS):
        start, code = position, raw[position : position + 1]
        position += 1
        if code in _FIXED:
            if code == pickle.FRAME and int.from_bytes(raw[position : position + 8], "little") > len(raw):
                raise pickle.UnpicklingError("it is cut short: a part of it claims more bytes than the file has")
            position += _FIXED[code]
        elif code in _SIZED:
            content = position + _SIZED[code]
            position = content + int.from_bytes(raw[position:content], "little")
        elif code == pickle.GLOBAL and (names := _GLOBAL.match(raw, position)):
            position = names.end()
        elif code in _PUT:
            index = int.from_bytes(raw[position : position + _PUT[code]], "little") if _PUT[code] else len(memo)
            if index >= _MOST_OPERATIONS:
                raise pickle.UnpicklingError(f"it stores result {index}, but no dataset has so many")
            memo[index] = last
            position += _PUT[code]
        elif code in _GET:
            index = int.from_bytes(raw[position : position + _GET[code]], "little")
            last = memo.get(index, b"")
            if last not in _REUSABLE:
                raise pickle.UnpicklingError(f"it uses result {index} again at byte {start}, which no dataset does")
            position += _GET[code]
        else:
            found = f"has the operation {code!r} at byte {start}, which no dataset needs" if code else "is cut short"
            raise pickle.UnpicklingError(f"it {found}")
        if position > len(raw):
            raise pickle.UnpicklingError("it is cut short")
        if code == pickle.STOP:
            if position < len(raw):
                raise pickle.UnpicklingError(f"{len(raw) - position} bytes follow its end")
            return
        if code not in _PUT and code not in _GET:
            last = code
    raise pickle.UnpicklingError(f"it has more than {_MOST_OPERATIONS} operations, which no dataset needs")


class _Recipe:
    """The arguments and the state from which a pickle would rebuild an object. They are recorded and not acted on."""

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> _Recipe:
        recipe = object.__new__(cls)
        recipe.args, recipe.state = args, None
        return recipe

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Recipe):
    pass


class _Dtype(_Recipe):
    pass


class _Csr(_Recipe):
    pass


_ALLOWED: dict[tuple[str, str], type[_Recipe]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Recipe,
    ("numpy", "dtype"): _Dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("scipy.sparse._csr", "csr_matrix"): _Csr,
}


class _Unpickler(pickle.Unpickler):
    """An unpickler that calls nothing that a pickle names. Arrays and matrices become recipes; the rest is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no dataset needs")
        return _ALLOWED[module, name]


def _unpickle(raw: bytes) -> Any:
    # With a buffer around it the unpickler peeks instead of asking for the bytes of each operation.
    return _Unpickler(io.BufferedReader(io.BytesIO(raw)), encoding="bytes").load()


def load_array(raw: bytes) -> np.ndarray:
    """Array from the bytes of a pickle. A bad pickle can raise almost any exception."""
    _check(raw)
    return _array(_unpickle(raw))


def load_matrix(raw: bytes) -> csr_matrix:
    """CSR matrix from the bytes of a pickle, whose state is a dictionary of the matrix's attributes."""
    _check(raw)
    recipe = _unpickle(raw)
    if not isinstance(recipe, _Csr) or not isinstance(recipe.state, dict):
        raise DataError("a sparse matrix was expected")
    state = {_text(key): value for key, value in recipe.state.items()}
    shape = state.get("_shape")
    if not isinstance(shape, tuple) or not all(type(size) is int for size in shape):
        raise DataError("a sparse matrix does not have a shape of numbers")
    data, indices, indptr = (_array(state.get(key)) for key in ("data", "indices", "indptr"))
    return checked_csr(data, indices, indptr, np.array(shape, dtype=np.int64), "matrix")


def _array(recipe: Any) -> np.ndarray:
    """Make an array from its recipe, whose state is (version, shape, dtype, whether in Fortran order, bytes)."""
    if not isinstance(recipe, _Array) or not isinstance(recipe.state, tuple) or len(recipe.state) != 5:
        raise DataError("an array was expected")
    _, shape, dtype, fortran, raw = recipe.state
    name = _text(dtype.args[0]) if isinstance(dtype, _Dtype) and dtype.args else ""
    if name not in ("f4", "f8", "i1", "u1", "i4", "i8"):
        raise DataError("an array of numbers was expected")
    order = _text(dtype.state[1]) if isinstance(dtype.state, tuple) and len(dtype.state) > 1 else "<"
    if order not in ("<", ">", "|"):
        raise DataError(f"the byte order {short(order)!r} of an array is unknown")
    kind = np.dtype(order + name)
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        raise DataError("an array has an impossible shape")
    size = kind.itemsize
    for length in shape:
        size *= length
    if not isinstance(raw, bytes) or len(raw) != size:
        raise DataError(f"an array of shape {short(shape)} does not have the expected {size} bytes")
    array = np.frombuffer(raw, kind).reshape(shape, order="F" if fortran else "C")
    return array.astype(kind.newbyteorder("="), copy=False)


def _text(value: Any) -> str:
    """Text, which is bytes in the pickles of Python 2; empty for anything else."""
    return value.decode("latin1") if isinstance(value, bytes) else value if isinstance(value, str) else ""


_MEMO = rb"(?:q.|r....|\x94)?"
_HEAD = re.compile(
    rb"(?:\x80[\x02-\x05](?:\x95.{8})?)?(?:\}"
    rb"|ccollections\ndefaultdict\n" + _MEMO + rb"c(?:__builtin__|builtins)\nlist\n" + _MEMO + rb"\x85" + _MEMO + rb"R"
    rb"|\x8c\x0bcollections\x94\x8c\x0bdefaultdict\x94\x93\x94\x8c\x08builtins\x94\x8c\x04list\x94\x93\x94\x85\x94R)"
    + _MEMO,
    re.DOTALL,
)
_NUMBER = rb"(?:M..|K.|J....)"
_FRAME = rb"\x95.{8}"  # stands anywhere between two operations
# Pickles append to a list in batches of 1,000 numbers, or one number alone.
_BATCH = rb"(?:\((?:M..|K.|J....|\x95.{8}){1,2000}e|" + _NUMBER + rb"(?:" + _FRAME + rb")?a)"
_NEIGHBOURS = re.compile(
    # a node, the beginning of its list and a batch; or a further batch; or the operations around nodes; or another one
    rb"(%b)(?:%b)?(\])%b(%b?)|(%b)|%b|([(us.]+|.+)" % (_NUMBER, _FRAME, _MEMO, _BATCH, _BATCH, _FRAME),
    re.DOTALL,
)


def load_neighbours(raw: bytes) -> tuple[list[int], list[list[int]]]:
    """Nodes, and the list of neighbours of each, from the bytes of a pickle of a `dict` or a `defaultdict(list)`.

    Two new pickles are made from the numbers and lists in the file, and only these are unpickled.
    """
    head = _HEAD.match(raw)
    if head is None:
        raise DataError("a dictionary of neighbours was expected")
    found = _NEIGHBOURS.findall(raw, head.end()) or [(b"",) * 5]
    nodes, lists, batches, more, around = zip(*found, strict=True)
    if b"".join(around).replace(b"(u", b"").lstrip(b"s") != b".":
        raise DataError("it is cut short, or it does not map numbers to lists of numbers")
    return (
        pickle.loads(b"](%be." % b"".join(nodes)),
        pickle.loads(b"](%be." % b"".join(chain.from_iterable(zip(lists, batches, more, strict=True)))),
    )
