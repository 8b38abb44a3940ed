"""Files that are missing, cut short, altered or wrong give one sentence when the graph is opened."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from justjump.data import DataError, Graph, open_parts
from justjump.data.parts.layout import Shape, Sizes, arrays_of
from made_graphs import made_graph


def graph_with_everything() -> Graph:
    random = np.random.RandomState(0)
    role = random.randint(0, 3, 40)
    words = random.rand(40, 30) < 0.05
    words[0, 0] = True
    return Graph(
        random.randint(0, 40, (2, 150)), csr_matrix(words.astype(np.float32)), random.randint(-1, 3, 40),
        ("a", "b", "c"), edge_weight=random.rand(150), masks=(role == 0, role == 1, role == 2),
        node_names=tuple(f"node {number}" for number in range(40)),
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph_with_everything().partition(3, tmp_path / "parts", "hash")
    return tmp_path / "parts"


SHAPE = Shape(3, 30, 3, "multiclass", sparse=True, weighted=True, masks=True, names=True)
ARRAYS = sorted(arrays_of(SHAPE, Sizes(1, 1, 1, 1, 1, 1, 1)))


def one_sentence(folder: Path, *words: str, verify: bool = True) -> None:
    with pytest.raises(DataError) as error:
        open_parts(folder, verify=verify)
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert re.search(word, message), message


@pytest.mark.parametrize("name", ARRAYS)
def test_every_file_that_is_missing_cut_short_or_altered(name: str, folder: Path) -> None:
    path = folder / "part-00001" / f"{name}.npy"
    content = path.read_bytes()
    assert len(open_parts(folder)) == 3

    path.write_bytes(content[:-1])  # noticed without reading it all
    one_sentence(folder, f"{name}.npy has {len(content) - 1} bytes, expected {len(content)}", verify=False)
    path.write_bytes(content[:20])
    one_sentence(folder, f"{name}.npy is no array", verify=False)
    path.write_bytes(b"")
    one_sentence(folder, f"{name}.npy is no array", verify=False)
    path.write_bytes(content + b"x")
    one_sentence(folder, f"{name}.npy has {len(content) + 1} bytes", verify=False)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    one_sentence(folder, f"{name}.npy was altered: its SHA-256")
    np.save(path, np.zeros(7, np.complex64))
    one_sentence(folder, f"{name}.npy holds complex64 of shape .7., expected", verify=False)
    path.unlink()
    one_sentence(folder, f"{name}.npy does not exist: copy it again", verify=False)
    path.mkdir()
    one_sentence(folder, f"cannot read .*{name}.npy", verify=False)


WRONG: dict[str, tuple[Any, str]] = {
    "rowptr": (99, "must ascend from 0"),
    "colptr": (-1, "must ascend from 0"),
    "features_rowptr": (99, "must ascend from 0"),
    "features_colptr": (99, "must ascend from 0"),
    "send_ptr": (99, "must ascend from 0"),
    "names_ptr": (9999, "must ascend from 0"),
    "col": (1000, "holds 1000, expected numbers from 0"),
    "row": (-1, "holds -1, expected numbers from 0"),
    "position": (1000, "holds 1000, expected numbers from 0"),
    "features_col": (30, "holds 30, expected numbers from 0 to 29"),
    "features_row": (-5, "holds -5, expected numbers from 0"),
    "features_position": (1000, "holds 1000, expected"),
    "send": (1000, "holds 1000, expected"),
    "original": (40, "holds 40, expected numbers from 0 to 39"),
    "labels": (3, "holds 3, expected numbers from -1 to 2"),
    "halo": (40, "holds 40, expected numbers from 0 to 39"),
    "halo_ptr": (1, "does not fit halo_ptr.npy"),
    "weight": (np.nan, "holds a value that is none of finite numbers that are not negative"),
    "degree": (np.inf, "holds a value that is none of finite numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_indices_out_of_range_are_refused_whoever_wrote_them(name: str, folder: Path) -> None:
    """Also with a checksum that fits: native code must never read out of bounds."""
    value, message = WRONG[name]
    path = folder / "part-00001" / f"{name}.npy"
    array = np.load(path)
    array[1] = value
    np.save(path, array)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["parts"][1]["sha256"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
    del manifest["digest"]
    manifest["digest"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    one_sentence(folder, f"{name}.npy|halo.npy", message)

    parts = open_parts(folder, verify=False)
    with pytest.raises(DataError, match=message):
        parts[1].check()
    parts[0].check()


@pytest.mark.parametrize("task", ["multilabel", "regression"])
def test_labels_of_other_tasks_are_checked(task: str, tmp_path: Path) -> None:
    parts = made_graph(task, nodes=20).partition(2, tmp_path / "parts", "hash")
    path = tmp_path / "parts" / "part-00000" / "labels.npy"
    labels = np.load(path)
    labels[0, 0] = np.inf
    np.save(path, labels)
    with pytest.raises(DataError, match="labels.npy holds inf, expected (0 or 1|finite numbers), or NaN"):
        parts[0].check()


@pytest.mark.parametrize("name", ["manifest.json", "part-00000/col.npy"])
def test_a_pipe_is_not_waited_for(name: str, folder: Path) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    one_sentence(folder, f"cannot read .*{name}: it is a pipe or a device, expected a file", verify=False)


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    one_sentence(tmp_path, "has no manifest.json, so it is no graph in parts: write one with justjump partition")
    one_sentence(tmp_path / "nowhere", "has no manifest.json")


def test_arrays_are_taken_by_torch_without_a_copy_and_stay_on_disk_as_they_are(folder: Path) -> None:
    import torch

    part = open_parts(folder)[0]
    tensor = torch.from_numpy(part.col)
    assert tensor.data_ptr() == part.col.ctypes.data
    tensor[:] = 0
    assert open_parts(folder)[0].col.any()


def test_indexing(folder: Path) -> None:
    parts = open_parts(folder)
    assert [part.number for part in parts] == [0, 1, 2]
    assert parts[-1].number == 2
    with pytest.raises(IndexError, match="there is no part 3: the graph has 3 parts"):
        parts[3]


def test_names(folder: Path, tmp_path: Path) -> None:
    part = open_parts(folder)[1]
    names = [f"node {number}" for number in part.original]
    assert part.names() == names
    assert part.names(2, 5) == names[2:5]
    assert part.names(3, 3) == []
    unnamed = made_graph("multiclass", 20).partition(2, tmp_path / "unnamed", "hash")[0]
    assert unnamed.names() == [str(number) for number in unnamed.original]
