"""Whatever is in its files, a reader gives a graph or a `DataError` of one line, soon and in little memory.

The files are changed in ways that are the same in every run: bytes, headers, names, numbers and encodings.
"""

from __future__ import annotations

import io
import pickle
import random
import subprocess
import sys
import time
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from justjump.data import DataError, Graph, read_graph
from justjump.data.planetoid import read_planetoid

KINDS = ("npz", "tables", "planetoid")
MOST_SECONDS = 5
MOST_MEMORY = 300 * 2**20
HUGE = "9" * 5000


def _mutate_bytes(rng: random.Random, raw: bytes) -> bytes:
    start, stop = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    chance = rng.randrange(8)
    if chance == 0:
        return raw[:start]
    if chance == 1:
        return raw + raw
    if chance == 2:
        return raw[:start] + raw[stop:]
    if chance == 3:
        return raw[:start] + bytes(rng.randrange(1, 100)) + raw[start:]
    if chance == 4:
        return raw[:stop] + raw[start:stop] * rng.randrange(1, 50) + raw[stop:]
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 2, 10])):
        changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, 10, rng.randrange(256)])
    return bytes(changed)


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


ARRAYS: list[np.ndarray] = [
    np.zeros(0),
    np.zeros((), int),
    np.array(-1),
    np.arange(3_000_000, dtype=np.uint8),
    np.zeros((2, 2)),
    np.zeros((1,) * 20),
    np.array([2**31 - 1, 2**31 - 1]),
    np.array([2**63 - 1, -(2**63)]),
    np.array([2**64 - 1] * 6, np.uint64),
    np.full(6, np.nan),
    np.full(6, np.inf),
    np.full(6, 1e300),
    np.full(6, -0.0),
    np.full(6, 1j),
    np.full(6, np.longdouble("1e4000")),
    np.array(["a", "b", "a", "", "\n", "x" * 70_000]),
    np.array([b"a"] * 6),
    np.array([None] * 6),
    np.array([{"a": 1}], dtype=object),
    np.zeros(6, "M8[s]"),
    np.zeros(6, [("a", "i4"), ("b", "O")]),
    np.zeros(6, ">i2"),
    np.zeros(6, bool),
    np.array([0x110000, 0xFFFFFFFF, 0xD800, 1, 2, 3], np.uint32).view("<U1"),
]
TEXTS = [
    "(-1,)",
    "(0,)",
    "(1000000000000,)",
    f"({HUGE},)",
    "(2000000000, 0)",
    "(None,)",
    "(1.5,)",
    "5",
    "()",
    "(6,",
    "(" * 3000,
    "('a',)",
    "(6, 6)",
    "'\\x00'",
    "lambda: 0",
    "(4294967296, 4294967296)",
    "(True,)",
]
DTYPES = ["|O", "<U0", "<U1000000", "|V0", "<f2", "<i3", "V8", "<M8[ns]", ",".join(["i4"] * 9), "", "O8", "é", "<c16"]


def _npz(rng: random.Random, folder: Path) -> Callable[[], Graph]:
    generator = np.random.RandomState(0)
    arrays: dict[str, np.ndarray] = {
        "labels": np.array([0, 1, 1, 0, -1, 1]),
        "class_names": np.array(["a", "b"]),
        "node_names": np.arange(6) if rng.random() < 0.5 else np.array(list("abcdef")),
        **{f"{role}_mask": np.arange(6) % 3 == number for number, role in enumerate(("train", "val", "test"))},
    }
    for key, shape in (("adj", (6, 6)), ("attr", (6, 9))):
        matrix = csr_matrix(random_array(shape, density=0.4, rng=generator))
        if key == "adj" and rng.random() < 0.8:
            matrix.data[:] = 1
        arrays |= {f"{key}_{part}": np.array(getattr(matrix, part)) for part in ("data", "indices", "indptr", "shape")}
    if rng.random() < 0.3:
        arrays["attr_matrix"] = np.ones((6, 2))
        del arrays["attr_data"]
    members = {f"{key}.npy": _npy(array) for key, array in arrays.items()}
    method = rng.choice([zipfile.ZIP_DEFLATED] * 3 + [zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    chance, name = rng.randrange(8), rng.choice(list(members))
    if chance == 0:
        members[name] = _mutate_bytes(rng, members[name])
    elif chance == 1:
        members[name] = _npy(rng.choice(ARRAYS))
    elif chance == 2:
        old = str(arrays[name.removesuffix(".npy")].shape).encode()
        members[name] = _with_header(members[name].replace(old, rng.choice(TEXTS).encode(), 1))
    elif chance == 3:
        old = arrays[name.removesuffix(".npy")].dtype.str.encode()
        members[name] = _with_header(members[name].replace(old, rng.choice(DTYPES).encode(), 1))
    elif chance == 4:
        other = rng.choice([*members, "x" * 60_000, "../../x", "a\nb", "/", "é\x00", name.upper()])
        members[other] = members.pop(name)
    path = folder / "mutated.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        if chance == 5:
            info = archive.getinfo(name)
            info.file_size = rng.choice([0, 10**10, 2**62, info.file_size + 1, info.file_size - 1, 1000])
            info.compress_size = rng.choice([info.compress_size, 0, 10**10, 2**32])
            info.header_offset = rng.choice([info.header_offset, 0, 2**31, 2**62])
            info.flag_bits |= rng.choice([0, 1, 0x800])
    if chance >= 6:
        path.write_bytes(_mutate_bytes(rng, path.read_bytes()))
    return lambda: read_graph(path, directed=rng.random() < 0.5)


def _with_header(raw: bytes) -> bytes:
    """The same array with the length of its changed header, if that can be said."""
    end = raw.find(b"\n", 10) + 1
    return raw[:8] + (end - 10).to_bytes(2, "little") + raw[10:] if 10 <= end < 65_000 else raw


CELLS = [HUGE, f"-{HUGE}", f"0.{HUGE}", f"1e{HUGE}", "nan", "inf", "-inf", "1e39", "", " ", "-1", "\x00", "a\x00b", "é"]
CELLS += ['"', '""', '"a\nb"', "x" * 140_000, "1_0", "٣", "0x1", "\ud7ff", "\u2028", "1,2", "train", "True", "1e-400"]


def _tables(rng: random.Random, folder: Path) -> Callable[[], Graph]:
    nodes = [["id", "label", "split", "x", "y"]]
    nodes += [[f"n{i}", str(i % 3), ("train", "val", "test", "")[i % 4], str(i / 7), "0"] for i in range(8)]
    edges = [["source", "target", "weight"], *([f"n{i}", f"n{i * 3 % 8}", "1"] for i in range(8))]
    table = rng.choice([nodes, edges])
    chance = rng.randrange(6)
    if chance < 3:
        row = table[rng.randrange(len(table))]
        row[rng.randrange(len(row))] = rng.choice(CELLS)
    elif chance == 3:
        table.insert(rng.randrange(len(table)), rng.choice([[], ["a"] * 300_000, table[1], [""], ["é" * 99] * 5]))
    content = []
    for rows in (nodes, edges):
        text = rng.choice(["\n", "\n", "\r\n", "\r"]).join(",".join(row) for row in rows) + "\n"
        changed = rows is table and chance >= 4
        encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-7"]) if changed else "utf-8"
        raw = text.encode(encoding)
        content.append(_mutate_bytes(rng, raw) if changed and rng.random() < 0.7 else raw)
    for name, raw in zip(("nodes.csv", "edges.csv"), content, strict=True):
        (folder / name).write_bytes(raw)
    return lambda: read_graph(folder, directed=rng.random() < 0.5)


RAW = [
    b"}N" + b"\x85" * 300_000 + b"Ns.",
    b"\x80\x02" + b"(" * 1_000_000 + b".",
    b"\x80\x02}(" + b"K\x01]" * 20_000 + b"u.",
    b"\x80\x02}r\xff\xff\xff\x2f.",
    b"\x80\x02I" + HUGE.encode() + b"\n.",
    b"\x80\x02\x8b\xff\xff\xff\x7f.",
    b"\x80\x02}(" + b"".join(b"M%c%c](K\x01K\x02e" % (i % 256, i // 256) for i in range(3000)) + b"u.",
]


def _planetoid(rng: random.Random, folder: Path) -> Callable[[], Graph]:
    eye = np.eye(3, dtype=np.float32)
    content: dict[str, Any] = {
        "allx": csr_matrix(eye),
        "ally": np.eye(2, dtype=np.int32)[[1, 0, 1]],
        "tx": csr_matrix(eye[:2]),
        "ty": np.eye(2, dtype=np.int32)[[0, 1]],
        "graph": defaultdict(list, {0: [1, 1, 0, 5], 1: [0, 0], 2: [], 3: [5], 4: [], 5: [3, 0]}),
    }
    part, chance = rng.choice([*content, "test.index"]), rng.randrange(8)
    if chance == 0 and part != "test.index":
        content[part] = rng.choice(
            [*ARRAYS, *content.values(), {}, [], {HUGE: 1}, {0: [2**40]}, {-1: [0]}, {70_000: []}]
        )
    for name, value in content.items():
        raw = pickle.dumps(value, rng.choice([2, 3, 4, 5]) if part == name else 3)
        (folder / f"ind.toy.{name}").write_bytes(raw)
    (folder / "ind.toy.test.index").write_text(rng.choice(["5\n3\n"] * 5 + [f"{HUGE}\n", "-1\n3", "5 3 ٣", "\x00", ""]))
    path = folder / f"ind.toy.{part}"
    if chance == 1:
        path.write_bytes(rng.choice(RAW))
    elif chance > 1:
        path.write_bytes(_mutate_bytes(rng, path.read_bytes() or b"0"))
    return lambda: read_planetoid(folder, "toy")


def _read_mutated(kind: str, number: int, folder: Path) -> str:
    """What is wrong with reading one changed graph: nothing, unless the reader breaks its word."""
    rng = random.Random(f"{kind} {number}")
    write = {"npz": _npz, "tables": _tables, "planetoid": _planetoid}[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zipfile, about names that are there twice
        read = write(rng, folder)
    start, problem = time.perf_counter(), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if not isinstance(read(), Graph):
                problem = "no graph"
    except DataError as error:
        message = str(error)
        if len(message.splitlines()) != 1 or len(message) > 1000 or str(folder) not in message:
            problem = f"bad message {message[:1000]!r}"
    except BaseException as error:
        problem = f"{type(error).__name__}: {str(error)[:300]!r}"
    seconds = time.perf_counter() - start
    problem = problem or (f"{seconds:.1f} s" if seconds > MOST_SECONDS else "")
    return problem and f"{kind} {number}: {problem}"


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind: str, tmp_path: Path) -> None:
    problems = [_read_mutated(kind, number, tmp_path) for number in range(80)]
    assert not any(problems), "\n".join(filter(None, problems))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads in /proc how much memory is taken, which only Linux has")
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_in_little_memory(kind: str, tmp_path: Path) -> None:
    command = [sys.executable, str(Path(__file__)), kind, "600", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _main(kind: str, count: str, folder: str) -> None:
    import resource

    for number in range(20):  # what numpy and scipy load only when it is needed
        _read_mutated(kind, number, Path(folder))
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for number in range(int(count)):
        if problem := _read_mutated(kind, number, Path(folder)):
            print(problem)


if __name__ == "__main__":
    _main(*sys.argv[1:])
