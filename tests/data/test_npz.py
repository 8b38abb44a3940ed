from __future__ import annotations

import contextlib
import io
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix

from helpers import sparse_features
from justjump.data import DataError, read_graph
from justjump.data.npz import read_npz

ADJACENCY = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=np.float32)
FEATURES = np.array([[0, 2.5], [0, 0], [-1, 0], [3, 1]], dtype=np.float32)


def _arrays(adjacency: Any = ADJACENCY, features: Any = FEATURES, **more: Any) -> dict[str, Any]:
    arrays: dict[str, Any] = {"labels": np.array([0, 1, -1, 1])}
    for key, matrix in (("adj", csr_matrix(adjacency)), ("attr", csr_matrix(features))):
        arrays |= {f"{key}_{part}": np.array(getattr(matrix, part)) for part in ("data", "indices", "indptr", "shape")}
    return arrays | more


def _write(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez_compressed(path, allow_pickle=True, **{key: value for key, value in arrays.items() if value is not None})
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.npz"


def test_values_are_kept_and_edges_made_undirected(path: Path) -> None:
    graph = read_graph(_write(path, _arrays()))
    assert graph.name == "mine"
    np.testing.assert_array_equal(sparse_features(graph).toarray(), FEATURES)
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert graph.edge_weight is None
    assert graph.labels.tolist() == [0, 1, -1, 1]
    assert graph.class_names == ("0", "1")
    assert graph.masks is None
    assert graph.node_names is None


def test_directed(path: Path) -> None:
    graph = read_graph(_write(path, _arrays()), directed=True)
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 2], [2, 1]]


def test_binary_as_the_paper_reads_its_datasets(path: Path) -> None:
    graph = read_npz(_write(path, _arrays(ADJACENCY * 3, class_names=np.array(["x"]))), binary=True)
    np.testing.assert_array_equal(sparse_features(graph).toarray(), [[0, 1], [0, 0], [-1, 0], [1, 1]])
    assert graph.edge_weight is None
    assert graph.class_names == ("0", "1")


def test_optional_keys(path: Path) -> None:
    mask = np.array([True, False, False, False])
    more = {
        "attr_matrix": FEATURES,
        "class_names": np.array(["a", "b", "c"]),
        "node_names": np.arange(4),
        "train_mask": mask,
    }
    arrays = _arrays(**more) | dict.fromkeys(("attr_data", "attr_indices", "attr_indptr", "attr_shape", "labels"))
    graph = read_graph(_write(path, arrays))
    np.testing.assert_array_equal(graph.features, FEATURES)
    assert graph.labels.tolist() == [-1] * 4
    assert graph.class_names == ("a", "b", "c")
    assert graph.node_names == ("0", "1", "2", "3")
    assert graph.masks is not None
    assert [m.sum() for m in graph.masks] == [1, 0, 0]


def test_weights(path: Path) -> None:
    weighted = np.array([[0, 0.5, 0], [0.5, 0, 2], [0, 0, 0]])
    graph = read_graph(_write(path, _arrays(weighted, np.eye(3), labels=None)))
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [0.5, 0.5, 2, 2]
    weighted[1, 0] = 0.25
    with pytest.raises(DataError, match=r"different weights 0.5 and 0.25.*directed=True"):
        read_graph(_write(path, _arrays(weighted, np.eye(3), labels=None)))
    graph = read_graph(path, directed=True)
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [0.5, 0.25, 2]


class _Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle inside was run",))


@pytest.mark.parametrize("dtype", ["<f2", ">f2", ">f4", "<f8", "<f16", "<i1", "|b1"])
def test_numbers_of_any_type(path: Path, dtype: str) -> None:
    arrays = _arrays(ADJACENCY, FEATURES != 0)
    expected = read_graph(_write(path, arrays))
    numbers = {f"{key}_data": arrays[f"{key}_data"].astype(dtype) for key in ("adj", "attr")}
    graph = read_graph(_write(path, arrays | numbers))
    np.testing.assert_array_equal(sparse_features(graph).toarray(), sparse_features(expected).toarray())
    assert graph.edge_index.tolist() == expected.edge_index.tolist()


def _object(value: Any) -> np.ndarray:
    array = np.empty(1, dtype=object)
    array[0] = value
    return array


def test_pickled_names_are_ignored(path: Path) -> None:
    graph = read_graph(_write(path, _arrays(class_names=_object(_Bomb()), node_names=_object(_Bomb()))))
    assert graph.class_names == ("0", "1")


# None of its differences is negative, if they wrap around.
WRAPPING = [0, 2**63 - 1, -(2**63), -1, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adj_data": None}, "the key adj_data is missing, the keys of the file are: adj_indices,"),
        ({"attr_indptr": None}, "the key attr_indptr is missing"),
        ({"labels": _object(_Bomb())}, "labels holds Python objects"),
        ({"adj_indices": _object(_Bomb())}, "adj_indices holds Python objects"),
        ({"train_mask": _object(_Bomb())}, "train_mask holds Python objects"),
        ({"adj_indices": np.array([0, 1, 2, 4])}, r"adj_indices must lie in 0\.\.3, got 4"),
        ({"adj_indices": np.array([0, 1, 2, -1])}, r"adj_indices must lie in 0\.\.3, got -1"),
        (
            {"adj_indices": np.array([0, 1, 2, 2**64 - 1], dtype=np.uint64)},
            "got 18446744073709551615",
        ),
        ({"adj_indices": np.array([0.0, 1, 2, 1])}, "adj_indices must be a list of integers"),
        ({"adj_indptr": np.array([0, 3, 2, 4, 4])}, "adj_indptr must rise"),
        ({"adj_indptr": np.array([0, 2, 3, 4, 2**62])}, "adj_indptr must rise"),
        ({"adj_indptr": np.array([1, 2, 3, 4, 4])}, "adj_indptr must rise"),
        ({"adj_indptr": np.array(WRAPPING)}, "adj_indptr must rise"),
        ({"attr_indptr": np.array(WRAPPING)}, "attr_indptr must rise"),
        ({"adj_indptr": np.array([0, 2**63, 1, 2, 4], np.uint64)}, "adj_indptr must rise"),
        ({"adj_indptr": np.array([0, 4])}, "adj_indptr must have 5 entries"),
        ({"adj_shape": np.array([10**12, 10**12])}, "adj_shape must be two sizes below"),
        ({"adj_shape": np.array([-4, 4])}, "adj_shape must be two sizes"),
        ({"adj_shape": np.array([4])}, "adj_shape must be two sizes"),
        ({"adj_shape": np.array([4, 5])}, "adj_shape must be square, got 4 x 5"),
        ({"adj_data": np.array([1.0])}, "adj_data must have 4 values, one for each index, got 1"),
        ({"adj_indptr": np.array([0, 2, 3, 4, 5])}, "adj_indptr must rise from 0 .* got 0 to 5 for 4 indices"),
        ({"adj_data": np.array(["a"] * 4)}, "adj_data must be a list of numbers"),
        ({"adj_data": np.full(4, np.nan)}, "adj_data must not hold NaN"),
        ({"adj_data": np.full(4, -1.0)}, "edge_weight must be finite and not negative"),
        ({"attr_shape": np.array([4, 2**40])}, "attr_shape must be two sizes"),
        ({"attr_data": np.full(4, np.inf)}, "features must be finite"),
        ({"labels": np.array([0, 1])}, r"labels must have shape \[4\]"),
        ({"labels": np.array(["a", "b", "a", "b"])}, "labels must be numbers"),
        ({"labels": np.zeros((4, 2, 2))}, r"labels must have shape \[4\]"),
        ({"labels": np.array([0.5, 1, 1, np.inf])}, "labels must be finite numbers"),
        ({"labels": np.array([0.5, 1, 1, 1e300])}, r"labels must be finite float32 numbers, but row 3 has 1e\+300"),
        ({"labels": np.array([0, 1, 1, 2**62])}, "labels must count from 0"),
        ({"labels": np.array([0, 1, 1, -5])}, "got -5"),
        ({"class_names": np.array(["only one"])}, "1 classes"),
        ({"train_mask": np.array([1, 0, 0, 0])}, "train mask must be bool"),
        ({"node_names": np.array(["a"])}, "each of 4 nodes, got 1"),
        ({"class_names": np.zeros(200_000, np.uint8)}, "class_names has 200000 entries, which cannot all differ"),
        ({"class_names": np.array([0x110000, 1], "<u4").view("<U1")}, "class_names holds text that is not Unicode"),
        ({"class_names": np.array([0xD800, 1], ">u4").view(">U1")}, "class_names holds text that is not Unicode"),
        ({"class_names": np.array(["a", "b", "a"])}, "must differ, but 'a' is there 2 times"),
        ({"labels": np.array([(0, 1)], dtype=[("a", int), ("b", int)])}, "labels is a table with several columns"),
    ],
)
def test_hostile_files(path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_graph(_write(path, _arrays() | change))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_features_of_another_number_of_nodes(path: Path) -> None:
    with pytest.raises(DataError, match=r"a row for each of 4 nodes, got the shape \[3, 3\]"):
        read_graph(_write(path, _arrays(features=np.eye(3))))


def test_array_that_claims_more_than_it_holds(path: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<i8", "fortran_order": False, "shape": (2**50,)})
    _write(path, _arrays(adj_indices=None))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("adj_indices.npy", buffer.getvalue())
    with pytest.raises(DataError, match=r"mine\.npz"):
        read_graph(path)


def test_files_that_are_not_npz(path: Path) -> None:
    whole = _write(path, _arrays()).read_bytes()
    for content in (b"", b"not a zip", whole[: len(whole) // 2], whole[:-30], np.random.RandomState(0).bytes(500)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"mine\.npz") as caught:
            read_graph(path)
        assert "\n" not in str(caught.value)
        assert "unsafe" not in str(caught.value), "no advice to load it in a way that runs code"
    with path.open("wb") as file:
        np.save(file, np.eye(3))
    with pytest.raises(DataError, match="one array"):
        read_graph(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), count=st.integers(1, 8), directed=st.booleans())
def test_round_trip(path: Path, data: st.DataObject, count: int, directed: bool) -> None:
    adjacency = data.draw(hnp.arrays(bool, (count, count)))
    numbers = st.floats(-1e6, 1e6, width=32)
    features = data.draw(hnp.arrays(np.float32, (count, data.draw(st.integers(1, 5))), elements=numbers))
    labels = data.draw(hnp.arrays(np.int64, count, elements=st.integers(-1, count - 1)))
    graph = read_graph(_write(path, _arrays(adjacency, features, labels=labels)), directed)
    expected = adjacency & ~np.eye(count, dtype=bool)
    expected = expected if directed else expected | expected.T
    got = np.zeros_like(expected)
    got[tuple(graph.edge_index)] = True
    np.testing.assert_array_equal(got, expected)
    assert graph.edge_index.shape[1] == expected.sum()
    np.testing.assert_array_equal(sparse_features(graph).toarray(), features)
    np.testing.assert_array_equal(graph.labels, labels)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_a_changed_byte_reads_or_is_a_data_error(path: Path, position: float, value: int) -> None:
    whole = bytearray(_write(path, _arrays()).read_bytes())
    whole[int(position * len(whole))] = value
    path.write_bytes(whole)
    with contextlib.suppress(DataError):
        read_graph(path)


def _npy(descr: str = "<i8", shape: str = "(4,)", content: bytes = b"", version: int = 1) -> bytes:
    """An array whose header may say anything."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + content


def _replace(path: Path, key: str, content: bytes, method: int = zipfile.ZIP_DEFLATED, size: int | None = None) -> Path:
    """A graph in which one member is replaced; the directory says that it has `size` bytes."""
    _write(path, _arrays() | {key: None})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{key}.npy", content, method)
        if size is not None:
            archive.getinfo(f"{key}.npy").file_size = size
    return path


@pytest.mark.parametrize(
    ("key", "content", "message"),
    [
        ("labels", _npy(shape="(-4,)"), "labels does not begin like an array"),
        ("labels", _npy(shape="(None,)"), "labels does not begin like an array"),
        ("labels", _npy(shape=f"({'9' * 5000},)"), "labels does not begin like an array"),
        ("labels", _npy(shape="(" * 5000), "labels does not begin like an array"),
        ("labels", _npy(shape="(3, 4"), "labels does not begin like an array"),
        ("labels", _npy("<i3"), "labels does not begin like an array"),
        ("labels", _npy("<U99999999999999999999"), "labels does not begin like an array"),
        ("labels", b"", "labels does not begin like an array"),
        ("labels", b"text", "labels does not begin like an array"),
        ("labels", _npy(content=bytes(32), version=9), "labels does not begin like an array"),
        ("labels", _npy(content=bytes(31)), "takes 32 bytes, but has 31"),
        ("labels", _npy(content=bytes(33)), "takes 32 bytes, but has 33"),
        ("adj_indices", _npy(shape="(1500000000,)"), "takes 12000000000 bytes, but has 0"),
        ("node_names", _npy("<U0", "(2000000000,)"), "node_names does not begin like an array"),
        ("node_names", _npy("<U1", "(2000000000,)"), "takes 8000000000 bytes, but has 0"),
        ("node_names", _npy("|u1", "(2000000,)", bytes(2_000_000)), "each of 4 nodes, got 2000000"),
        ("labels", _npy("|u1", "(2000000,)", bytes(2_000_000)), r"shape \[4\], one per node, .* got \(2000000,\)"),
        ("train_mask", _npy("|b1", "(2000000,)", bytes(2_000_000)), "the train mask must be bool of shape"),
        ("attr_matrix", _npy("|u1", "(5, 400000)", bytes(2_000_000)), r"each of 4 nodes, got the shape \(5, 400000\)"),
    ],
)
def test_headers_are_checked_before_arrays_are_read(path: Path, key: str, content: bytes, message: str) -> None:
    _replace(path, key, content)
    if key == "attr_matrix":
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in _arrays().items():
                if not name.startswith("attr"):
                    archive.writestr(f"{name}.npy", _npy(array.dtype.str, str(array.shape), array.tobytes()))
            archive.writestr(f"{key}.npy", content, zipfile.ZIP_DEFLATED)
    with pytest.raises(DataError, match=message) as caught:
        read_graph(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 500


def test_an_encrypted_member_is_named(path: Path) -> None:
    content = bytearray(_write(path, _arrays()).read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # of each member, and of it in the directory
        place = content.find(mark)
        while place >= 0:
            content[place + flags] |= 1
            place = content.find(mark, place + 1)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"mine\.npz: adj_data is encrypted, which is not read: save the file"):
        read_graph(path)


def test_headers_of_other_writers_are_read(path: Path) -> None:
    labels = np.array([0, 1, -1, 1])
    for text in (
        "{'descr': '<i8', 'fortran_order': False, 'shape': (4L,), }",  # Python 2
        '{"shape":(4,),"descr":"<i8","fortran_order":False}',
        "{'shape': (4,), 'fortran_order': True, 'descr': 'int64'}   \n",
    ):
        raw = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text.encode() + labels.tobytes()
        assert read_graph(_replace(path, "labels", raw)).labels.tolist() == labels.tolist()
    # Of two members of one name the last one counts, as in numpy.
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("labels.npy", _npy(content=np.zeros(4, np.int64).tobytes()))
    assert read_graph(path).labels.tolist() == [0, 0, 0, 0]


@pytest.mark.slow
def test_members_that_expand_beyond_measure(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = _npy("|u1", "(50000000,)", bytes(50_000_000))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(DataError, match=r"adj_indices is compressed by method \d+.*savez_compressed"):
            read_graph(_replace(path, "adj_indices", zeros, method))
    with pytest.raises(DataError, match=r"labels claims 12000000000 bytes, but the file has only \d+ of \d+ bytes"):
        read_graph(_replace(path, "labels", _npy(), size=12_000_000_000))
    # A directory that lies in a way that deflate could expand: the bytes run out.
    content = np.random.RandomState(0).bytes(32)
    raw = _npy(shape="(400,)", content=content)
    with pytest.raises(DataError, match="labels"):
        read_graph(_replace(path, "labels", raw, size=len(raw) + 3200 - 32))
    # An honest file that is larger than the memory.
    monkeypatch.setattr("justjump.data.arrays.available_memory", lambda: 1e8)
    _write(path, _arrays(attr_data=None, attr_matrix=np.zeros((4, 10_000_000), np.float32)))
    with pytest.raises(DataError, match=r"attr_matrix of shape \[4, 10000000\] takes 0.2 GB, but only 0.1 GB of"):
        read_graph(path)


@pytest.mark.parametrize(("kind", "size"), [("bool", 6), ("float16", 7), ("float64", 13), ("float32", 5)])
def test_memory_is_counted_for_what_is_made_of_an_array(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, size: int
) -> None:
    count = 4_000_000  # of which float32 numbers are made, and for each whether it is finite
    _write(path, _arrays(attr_data=None, attr_matrix=np.zeros((4, count // 4), kind)))
    monkeypatch.setattr("justjump.data.arrays.available_memory", lambda: size * count - 1)
    with pytest.raises(DataError, match=rf"attr_matrix of shape .* takes {size * count / 1e9:.3g} GB"):
        read_graph(path)
    monkeypatch.setattr("justjump.data.arrays.available_memory", lambda: size * count)
    assert read_graph(path).num_features == count // 4


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("value", "sizes"), [(1, (64, 40)), (2, (100, 58))])
@pytest.mark.parametrize("different", [False, True])
def test_memory_is_counted_for_the_graph_that_is_made_of_the_entries(
    path: Path, monkeypatch: pytest.MonkeyPatch, different: bool, value: int, sizes: tuple[int, int], directed: bool
) -> None:
    nodes, degree = 1500, 300
    count = nodes * degree
    column = (np.arange(nodes)[:, None] + 1 + np.arange(degree)) % nodes if different else np.ones(count)
    arrays: dict[str, Any] = {
        "adj_data": np.full(count, value, np.int8),
        "adj_indices": column.astype(np.int16).ravel(),
        "adj_indptr": np.arange(nodes + 1) * degree,
        "adj_shape": np.array([nodes, nodes]),
        "attr_matrix": np.ones((nodes, 1), np.float32),
    }
    _write(path, arrays)
    need = count * sizes[directed]
    monkeypatch.setattr("justjump.data.arrays.available_memory", lambda: need - 1)
    with pytest.raises(DataError, match=rf"takes {need / 1e9:.3g} GB, but only .* use a machine with more memory"):
        read_graph(path, directed)
    monkeypatch.setattr("justjump.data.arrays.available_memory", lambda: need)
    tracemalloc.start()
    try:
        read_graph(path, directed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= need + 2**20


def test_a_pipe_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(DataError, match="is a pipe or a device, expected a file"):
        read_graph(path)
