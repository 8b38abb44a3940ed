from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, random

from helpers import sparse_features
from justjump.data import NAMES, DataError, Graph, datasets, is_available, load, location, origin
from justjump.data.download import LARGEST
from justjump.data.planetoid import read_planetoid
from justjump.experiments.paper import DATASETS

IN_FOLDER = [name for name in NAMES if name not in ("cora", "cora_full")]


def _edges(graph: Graph) -> set[tuple[int, int]]:
    return set(map(tuple, graph.edge_index.T.tolist()))


def _rows(graph: Graph) -> list[tuple[int, ...]]:
    """The words of each node."""
    features = sparse_features(graph)
    return [tuple(row) for row in np.split(features.indices, features.indptr[1:-1])]


def test_names_are_the_papers() -> None:
    assert tuple(DATASETS) == NAMES


@pytest.mark.parametrize("name", ["cora", *IN_FOLDER])
def test_counts_are_the_papers(name: str, data_dir: Path) -> None:
    graph = load(name, data_dir)
    paper = DATASETS[name]
    assert (graph.num_nodes, graph.num_edges) == (paper.nodes, paper.edges)
    assert (graph.num_features, graph.num_classes) == (paper.features, paper.classes)
    assert graph.name == name
    assert isinstance(graph.features, csr_matrix)
    assert graph.is_undirected
    assert graph.edge_index.shape[1] == 2 * graph.num_edges
    assert (graph.edge_index[0] != graph.edge_index[1]).all()
    assert (graph.labels >= 0).all()
    assert set(graph.labels) == set(range(graph.num_classes))


@pytest.mark.filterwarnings("ignore")  # the library's own, on the way
@pytest.mark.parametrize("name", ["cora", *IN_FOLDER])
def test_equal_to_torch_geometric(name: str, data_dir: Path) -> None:
    from torch_geometric.io import read_planetoid_data
    from torch_geometric.io.npz import parse_npz

    graph = read_planetoid(data_dir / name, name) if name == "cora" else load(name, data_dir)
    features = sparse_features(graph)
    if name in ("cora", "citeseer", "pubmed"):
        data = read_planetoid_data(str(data_dir / name), name)
    else:
        with np.load(data_dir / name / next(iter(datasets.DOWNLOADS[name].files))) as file:
            arrays = dict(file)
        # That library makes features dense, which takes gigabytes: every eleventh column will do.
        parts = ("data", "indices", "indptr", "shape")
        *entries, shape = (arrays[f"attr_{part}"] for part in parts)
        matrix, features = csr_matrix(tuple(entries), shape)[:, ::11], features[:, ::11]
        data = parse_npz(arrays | {f"attr_{part}": getattr(matrix, part) for part in parts})
    keys = [np.sort(edges[0] * graph.num_nodes + edges[1]) for edges in (graph.edge_index, data.edge_index.numpy())]
    np.testing.assert_array_equal(keys[0], keys[1])
    np.testing.assert_array_equal(graph.labels, data.y)
    coo = features.tocoo()
    assert torch.equal(data.x[torch.tensor(coo.row).long(), torch.tensor(coo.col).long()], torch.tensor(coo.data))
    assert int((data.x != 0).sum()) == coo.nnz


def test_nodes_of_citeseer_without_features(data_dir: Path) -> None:
    graph = load("citeseer", data_dir)
    empty = np.flatnonzero(np.diff(sparse_features(graph).indptr) == 0)
    assert len(empty) == 15
    assert (graph.labels[empty] == 0).all()


def test_embedded_cora_stands_alone(cache: Path) -> None:
    graph = load("cora")
    paper = DATASETS["cora"]
    assert (graph.num_nodes, graph.num_edges) == (paper.nodes, paper.edges)
    assert (graph.num_features, graph.num_classes) == (paper.features, paper.classes)
    assert location("cora") == "embedded"
    assert graph.class_names[0] == "Neural_Networks"
    assert np.bincount(graph.labels).tolist() == [818, 180, 217, 426, 351, 418, 298]
    assert (sparse_features(graph).data == 1).all()
    assert not cache.exists()
    folder = Path(datasets.__file__).parent
    assert (folder / "cora.npz").stat().st_size < 100_000
    assert "Apache License" in (folder / "cora.LICENSE.txt").read_text()


def test_embedded_cora_is_always_used(tmp_path: Path) -> None:
    (tmp_path / "ind.cora.x").write_bytes(b"not read")
    assert load("cora", tmp_path).num_nodes == 2708
    assert load("cora", tmp_path / "missing").num_nodes == 2708


def test_embedded_cora_is_planetoids(data_dir: Path) -> None:
    ours, theirs = load("cora"), read_planetoid(data_dir / "cora", "cora")
    assert (ours.num_nodes, ours.num_edges, ours.num_features) == (
        theirs.num_nodes,
        theirs.num_edges,
        theirs.num_features,
    )
    assert sorted(np.bincount(ours.labels)) == sorted(np.bincount(theirs.labels))
    degrees = [np.sort(np.bincount(graph.edge_index[0], minlength=graph.num_nodes)) for graph in (ours, theirs)]
    np.testing.assert_array_equal(degrees[0], degrees[1])

    assert sparse_features(ours).nnz == sparse_features(theirs).nnz
    rows = [_rows(ours), _rows(theirs)]
    counts = [Counter(these) for these in rows]
    assert counts[0] == counts[1]

    # Nodes whose words no other node has are the same node in both: compare labels and edges among them.
    there = {row: node for node, row in enumerate(rows[1]) if counts[1][row] == 1}
    same = {node: there[row] for node, row in enumerate(rows[0]) if row in there}
    assert len(same) > 2600
    classes = {(int(ours.labels[a]), int(theirs.labels[b])) for a, b in same.items()}
    assert len(classes) == 7
    mapped = {(same[a], same[b]) for a, b in _edges(ours) if a in same and b in same}
    assert mapped == {(a, b) for a, b in _edges(theirs) if a in same.values() and b in same.values()}


def _write_cora_full(path: Path) -> None:
    """A small file of the format, with what the reader must clean up: counts, self-loops, one direction, repeats."""
    path.parent.mkdir(parents=True, exist_ok=True)
    features = random(5, 4, 0.5, random_state=np.random.RandomState(0), format="csr", dtype=np.float32) * 7
    arrays: dict[str, Any] = {"adj_data": np.ones(5, np.float32), "adj_indices": np.array([0, 1, 1, 0, 3], np.int32)}
    arrays |= {"adj_indptr": np.array([0, 3, 4, 5, 5, 5], np.int32), "adj_shape": np.array([5, 5])}
    arrays |= {f"attr_{part}": np.array(getattr(features, part)) for part in ("data", "indices", "indptr", "shape")}
    np.savez(path, labels=np.array([0, 1, 2, 1, 0]), class_names=np.array([{}] * 70), **arrays)


@pytest.mark.parametrize("place", ["cora_full.npz", "cora_full/cora_full.npz"])
@pytest.mark.parametrize("through", ["argument", "environment"])
def test_cora_full_from_a_folder(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, place: str, through: str
) -> None:
    folder = tmp_path / "mine"
    _write_cora_full(folder / place)
    if through == "environment":
        monkeypatch.setenv("JUSTJUMP_DATA", str(folder))
    argument = folder if through == "argument" else None
    assert location("cora_full", argument) == "folder"
    graph = load("cora_full", argument)
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert set(sparse_features(graph).data) == {1.0}
    assert graph.class_names == ("0", "1", "2")
    assert graph.name == "cora_full"
    assert not cache.exists()


def test_argument_comes_before_environment(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_cora_full(tmp_path / "a" / "cora_full.npz")
    monkeypatch.setenv("JUSTJUMP_DATA", str(tmp_path / "missing"))
    assert load("cora_full", tmp_path / "a").num_nodes == 5
    with pytest.raises(DataError, match=r"JUSTJUMP_DATA=.*missing is not a folder"):
        load("cora_full")


def test_folder_then_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cache / "cora_full" / "cora_full.npz"
    _write_cora_full(path)
    content = path.read_bytes()
    checksum = "git:" + hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    monkeypatch.setitem(
        datasets.DOWNLOADS, "cora_full", datasets.Download("http://127.0.0.1:9", {"cora_full.npz": checksum})
    )
    (tmp_path / "empty").mkdir()
    assert location("cora_full", tmp_path / "empty") == "cache"
    assert load("cora_full", tmp_path / "empty").num_nodes == 5


def test_incomplete_folder(tmp_path: Path, cache: Path, data_dir: Path) -> None:
    for name in ("allx", "ally", "tx"):
        shutil.copy(data_dir / "citeseer" / f"ind.citeseer.{name}", tmp_path)
    with pytest.raises(DataError, match=r"lacks ind\.citeseer\.ty, ind\.citeseer\.graph, ind\.citeseer\.test\.index"):
        load("citeseer", tmp_path)


def test_checksums_are_of_the_original_files(data_dir: Path) -> None:
    for name in ("citeseer", "pubmed"):
        for file, checksum in datasets.DOWNLOADS[name].files.items():
            assert checksum == "sha256:" + hashlib.sha256((data_dir / name / file).read_bytes()).hexdigest()


def test_origins() -> None:
    for name in NAMES[1:]:
        assert origin(name).startswith("https://raw.githubusercontent.com/")
        assert "\n" not in origin(name)
    assert origin("citeseer").endswith("/ind.citeseer.*")
    assert origin("coauthor_physics").endswith("/ms_academic_phy.npz")


@pytest.mark.parametrize("function", [load, origin, location])
def test_unknown_name(function: Callable[[str], object]) -> None:
    with pytest.raises(DataError, match=r"no dataset 'Coauthor-CS': did you mean coauthor_cs\?"):
        function("Coauthor-CS")
    with pytest.raises(DataError, match="choose one of cora, citeseer, pubmed"):
        function("zzz")


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_load_downloads_to_the_cache(server: Any, cache: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = replace(datasets.DOWNLOADS["citeseer"], base_url=server.url)
    monkeypatch.setitem(datasets.DOWNLOADS, "citeseer", source)
    server.content = {name: (data_dir / "citeseer" / name).read_bytes() for name in source.files}
    assert location("citeseer") == "not downloaded"
    assert not is_available("citeseer")
    graph = load("citeseer")
    assert graph.name == "citeseer"
    assert location("citeseer") == "cache"
    assert _files(cache) == sorted(source.files)
    load("citeseer")
    assert sorted(server.requests) == sorted(source.files)


def test_failed_load_says_what_to_do(server: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(datasets.DOWNLOADS, "cora_full", replace(datasets.DOWNLOADS["cora_full"], base_url=server.url))
    with pytest.raises(DataError) as caught:
        load("cora_full")
    message = str(caught.value)
    assert "\n" not in message
    for part in (
        "cannot download cora_full",
        "404",
        "put cora_full.npz",
        server.url,
        "data_dir",
        "JUSTJUMP_DATA",
        "offline",
    ):
        assert part in message
    assert _files(cache) == []


def test_every_download_has_a_checksum_and_a_size(data_dir: Path) -> None:
    for name, download in datasets.DOWNLOADS.items():
        for checksum in download.files.values():
            kind, _, digest = checksum.partition(":")
            assert len(bytes.fromhex(digest)) == {"sha256": 32, "git": 20}[kind]
        if name in ("citeseer", "pubmed"):
            assert download.size == max((data_dir / name / file).stat().st_size for file in download.files)
        assert 2 * download.size <= LARGEST
