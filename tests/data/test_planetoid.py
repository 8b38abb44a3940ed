from __future__ import annotations

import builtins
import os
import pickle
import shutil
import subprocess
import time
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from helpers import sparse_features
from justjump.data import DataError
from justjump.data.pickles import load_neighbours
from justjump.data.planetoid import read_planetoid

ALLX = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=np.float32)
TX = np.array([[4, 0, 0], [0, 5, 0]], dtype=np.float32)
GRAPH = {0: [1, 1, 0, 5], 1: [0, 0], 2: [], 3: [5], 4: [], 5: [3, 0]}
TEST = "5\n3\n"  # node 4 is in neither part, as 15 nodes of CiteSeer


def _write(folder: Path, protocol: int = 4, **changes: Any) -> Path:
    content: dict[str, Any] = {
        "allx": csr_matrix(ALLX),
        "ally": np.eye(2, dtype=np.int32)[[1, 0, 1]],
        "tx": csr_matrix(TX),
        "ty": np.eye(2, dtype=np.int32)[[0, 1]],
        "graph": defaultdict(list, GRAPH),
    }
    for part, value in (content | changes).items():
        if part != "test":
            raw = value if isinstance(value, bytes) else pickle.dumps(value, protocol=protocol)
            (folder / f"ind.toy.{part}").write_bytes(raw)
    (folder / "ind.toy.test.index").write_text(changes.get("test", TEST))
    return folder


@pytest.mark.parametrize("protocol", [3, 4])
def test_rows_edges_and_labels(tmp_path: Path, protocol: int) -> None:
    graph = read_planetoid(_write(tmp_path, protocol), "toy")
    expected = np.zeros((6, 3))
    expected[:3], expected[5], expected[3] = ALLX, TX[0], TX[1]
    np.testing.assert_array_equal(sparse_features(graph).toarray(), expected)
    assert graph.labels.tolist() == [1, 0, 1, 1, 0, 0]
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 5], [1, 0], [3, 5], [5, 0], [5, 3]]
    assert graph.num_edges == 3


def test_fortran_order_and_big_endian(tmp_path: Path) -> None:
    labels = np.asfortranarray(np.eye(2, dtype=">i8")[[1, 0, 1]])
    assert read_planetoid(_write(tmp_path, ally=labels), "toy").labels.tolist() == [1, 0, 1, 1, 0, 0]


class _Call:
    """Pickles as the call of a function."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.recipe = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> Any:
        return self.recipe


def _touch(path: Path) -> list[Any]:
    code = f"open({str(path)!r}, 'w').close()"
    return [
        _Call(os.system, f"touch {path}"),
        _Call(subprocess.call, ["touch", str(path)]),
        _Call(builtins.eval, code),
        _Call(builtins.exec, code),
        _Call(builtins.__import__, "os"),
        _Call(getattr, _Call(builtins.__import__, "os"), "system"),
        _Call(np.save, str(path), np.zeros(1)),
        _Call(np.memmap, str(path), "u1", "w+", 0, (1,)),
        _Call(np.ndarray.tofile, np.zeros(1), str(path)),
        _Call(open, str(path), "w"),
        defaultdict(OrderedDict),
        _Call(map, eval, [code]),
    ]


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("part", ["allx", "graph"])
def test_malicious_pickles_run_nothing(tmp_path: Path, number: int, part: str) -> None:
    target = tmp_path / "touched"
    payload = _touch(target)[number]
    value: Any
    for value in (payload, [payload], {0: [payload]}):
        with pytest.raises(DataError, match="broken or unsafe: "):
            read_planetoid(_write(tmp_path, **{part: value}), "toy")
        assert not target.exists()


@pytest.mark.parametrize(
    "raw",
    [
        b"cos\nsystem\n(S'touch touched'\ntR.",  # protocol 0
        b"cposix\nsystem\n(S'touch touched'\ntR.",
        b"(S'touch touched'\nios\nsystem\n.",  # INST
        b"\x80\x04\x8c\x05numpy\x8c\x0bndarray.dump\x93.",  # a dotted name: an attribute of what is allowed
        b"\x80\x04\x8c\x0bcollections\x8c\x14defaultdict.__init__\x93.",
        b"\x80\x04\x8c\x08builtins\x8c\x0clist.__class__\x93.",
        b"cnumpy.core.multiarray\nfrombuffer\n.",
        b"cnumpy.f2py.crackfortran\nmyeval\n(S'1'\ntR.",
        b"\x80\x02\x82\x01.",  # a registered extension
        b"\x80\x02Pnumber\n.",  # a persistent id
        b"",
        b"garbage",
        b"\x80\x02r\xff\xff\xff\x7f.",
    ],
)
def test_raw_opcodes(tmp_path: Path, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="broken or unsafe") as caught:
        read_planetoid(_write(tmp_path, graph=raw), "toy")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "touched").exists()


def test_a_frame_beyond_the_file_is_named(tmp_path: Path) -> None:
    raw = b"\x80\x04\x95" + (2**62).to_bytes(8, "little") + b"N."
    with pytest.raises(DataError, match="it is cut short: a part of it claims more bytes than the file has"):
        read_planetoid(_write(tmp_path, allx=raw), "toy")


def test_a_pickle_cannot_change_the_reader(tmp_path: Path) -> None:
    # A pickle may give a state to a class as well: here to the one that stands for a matrix, to replace a method.
    raw = b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n(N}X\x0c\x00\x00\x00__setstate__c__builtin__\nlist\nstb."
    with pytest.raises(DataError):
        read_planetoid(_write(tmp_path, allx=raw), "toy")
    assert read_planetoid(_write(tmp_path), "toy").num_nodes == 6


def _matrix(**changes: Any) -> csr_matrix:
    matrix = csr_matrix(ALLX)
    for key, value in changes.items():
        setattr(matrix, key, value)
    return matrix


def _wrapping() -> csr_matrix:
    """None of the differences of its indptr is negative, if they wrap around."""
    return _matrix(indptr=np.array([0, 2**63 - 1, -(2**62), 3]), indices=np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"allx": _matrix(indices=np.array([0, 1, 9], np.int32))}, "matrix_indices must lie in 0..2, got 9"),
        ({"allx": _matrix(indptr=np.array([0, 3, 1, 3], np.int32))}, "matrix_indptr must rise"),
        ({"allx": _wrapping()}, "matrix_indptr must rise"),
        ({"allx": _matrix(_shape=(2**31 - 1, 3))}, "matrix_indptr must have 2147483648 entries"),
        ({"allx": _matrix(_shape=(2**40, 3))}, r"the operation b'.x8a' at byte"),
        ({"allx": _matrix(_shape=(3, 4))}, "4 and 3 features"),
        ({"allx": ALLX}, "a sparse matrix was expected"),
        ({"ally": csr_matrix(ALLX)}, "an array was expected"),
        ({"ally": np.array([["a"]])}, "an array of numbers was expected"),
        ({"ally": np.array([[None]])}, "which no dataset needs"),
        ({"ally": np.zeros(3)}, "ally and ty have shapes"),
        ({"ally": np.zeros((0, 2**31 - 1))}, "ally and ty have shapes"),
        ({"graph": [1, 2]}, "a dictionary of neighbours was expected"),
        ({"graph": {0: "ab"}}, "does not map numbers to lists"),
        ({"graph": {0: [0.5]}}, "does not map numbers to lists"),
        ({"graph": {0: [2**70]}}, "does not map numbers to lists"),
        ({"graph": b"\x80\x02}(K\x00]K\x00]u."}, "names a node twice"),
        ({"graph": GRAPH | {0: [6]}}, r"outside 0\.\.5"),
        ({"graph": {0: []}}, "test.index does not name 2 further nodes of 1"),
        ({"test": "5\n5\n"}, "test.index"),
        ({"test": "5\n2\n"}, "test.index"),
        ({"test": "5\n3\n4\n"}, "test.index"),
        ({"test": "5\nthree\n"}, r"toy.test.index, .*numbers of nodes were expected, got 'three'"),
        ({"test": "5\n99999999999999999999999\n"}, "got '99999999999999999999999'"),
    ],
)
def test_inconsistent_files(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_planetoid(_write(tmp_path, **changes), "toy")


def test_array_shorter_than_its_shape(tmp_path: Path) -> None:
    raw = pickle.dumps(np.eye(2, dtype=np.int32)[[1, 0, 1]], protocol=4)
    with pytest.raises(DataError, match=r"does not have .* bytes"):
        read_planetoid(_write(tmp_path, ally=raw.replace(b"K\x03K\x02\x86", b"K\x63K\x02\x86")), "toy")


def test_missing_file(tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "ind.toy.tx").unlink()
    with pytest.raises(DataError, match=r"cannot read .*ind\.toy\.tx: No such file"):
        read_planetoid(tmp_path, "toy")


def test_real_files_cut_anywhere_give_a_clear_error(data_dir: Path, tmp_path: Path) -> None:
    for path in (data_dir / "cora").glob("ind.cora.*"):
        shutil.copy(path, tmp_path)
    raw = (data_dir / "cora" / "ind.cora.ally").read_bytes()
    for length in np.linspace(0, len(raw) - 1, 25).astype(int):
        (tmp_path / "ind.cora.ally").chmod(0o644)
        (tmp_path / "ind.cora.ally").write_bytes(raw[:length])
        with pytest.raises(DataError):
            read_planetoid(tmp_path, "cora")


@pytest.mark.parametrize("part", ["allx", "ally", "graph"])
@pytest.mark.parametrize(
    "raw",
    [
        b"}N" + b"\x85" * 300_000 + b"Ns.",  # hashing so deep a tuple would exhaust the stack
        b"}N" + b"\x85" * 200 + b"Ns.",
        b"\x80\x02}" + b"(" * 300_000 + b".",
        b"\x80\x02}r\xff\xff\xff\x2f.",  # unpickling it would take 12 GB
        b"\x80\x02}(K\x00]r\xff\xff\xff\x2fK\x01au.",
        b"\x80\x02}N" + b"".join(b"q%ch%ch%c\x86" % (i, i, i) for i in range(60)) + b"Ns.",  # 2^60 items
        b"\x80\x02}L" + b"9" * 1_000_000 + b"L\nNs.",  # a number of a million digits
        b"\x80\x04\x95" + b"\xff" * 7 + b"\x7f}.",
        b"\x80\x02U\xff.",
        b"\x80\x02T\xff\xff\xff\x7f.",
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
        b"\x80\x02]q\x00(K\x01K\x02e}(K\x00h\x00K\x01h\x00u.",  # one list, of all nodes
    ],
)
def test_pickles_that_would_take_all_memory_or_time(tmp_path: Path, part: str, raw: Any) -> None:
    start = time.perf_counter()
    with pytest.raises(DataError, match=rf"ind\.toy\.({part}, .*replace it by|\*)") as caught:
        read_planetoid(_write(tmp_path, **{part: raw}), "toy")
    assert time.perf_counter() - start < 2
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 500


@pytest.mark.slow
def test_many_neighbours_and_nodes_in_every_protocol(tmp_path: Path) -> None:
    # Enough for several batches of 1,000 numbers and, since protocol 4, several frames of 64 KiB.
    graph = {node: [node + 1] * (node % 3) for node in range(70_000)} | {0: list(range(1, 40_000)), 70_000: []}
    for protocol in (2, 3, 4, 5):
        raw = pickle.dumps(defaultdict(list, graph), protocol)
        nodes, neighbours = load_neighbours(raw)
        assert dict(zip(nodes, neighbours, strict=True)) == graph


def test_labels_of_many_classes_and_nodes(tmp_path: Path) -> None:
    # A dense table of all nodes and classes would have 4 billion entries.
    count = 65_536
    graph: dict[int, list[int]] = {node: [] for node in range(count)} | GRAPH
    labels = np.zeros((3, count), np.int8)
    labels[1, -1] = 1
    read = read_planetoid(_write(tmp_path, graph=graph, ally=labels, ty=labels[:2]), "toy")
    assert read.labels[:6].tolist() == [0, count - 1, 0, count - 1, 0, 0]
