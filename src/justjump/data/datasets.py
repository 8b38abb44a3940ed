"""The paper's eight datasets."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pooch

from .download import LARGEST, fetch, is_complete
from .errors import DataError
from .graph import Graph
from .npz import read_npz
from .planetoid import read_planetoid

_PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
_NPZ = "https://raw.githubusercontent.com/shchur/gnn-benchmark/1e72912a0810cdf27ae54fd589a3b43358a2b161/data/npz"


@dataclass(frozen=True)
class Download:
    """Where a dataset is published.

    Attributes:
        base_url: the address that its files are under
        files: the checksum of each file
        size: bytes of its largest file; a download ends at twice as many
    """

    base_url: str
    files: Mapping[str, str]
    size: int = LARGEST // 2


DOWNLOADS: dict[str, Download] = {
    "citeseer": Download(
        _PLANETOID,
        {
            "ind.citeseer.allx": "sha256:2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "ind.citeseer.ally": "sha256:f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "ind.citeseer.tx": "sha256:539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "ind.citeseer.ty": "sha256:55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "ind.citeseer.graph": "sha256:d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "ind.citeseer.test.index": "sha256:2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        },
        size=595_021,
    ),
    "pubmed": Download(
        _PLANETOID,
        {
            "ind.pubmed.allx": "sha256:508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "ind.pubmed.ally": "sha256:0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "ind.pubmed.tx": "sha256:4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "ind.pubmed.ty": "sha256:ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ind.pubmed.graph": "sha256:5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "ind.pubmed.test.index": "sha256:b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        },
        size=7_578_385,
    ),
    # Git's id is a SHA-1 of size and content. No SHA-256 of the original bytes is known.
    "cora_full": Download(_NPZ, {"cora_full.npz": "git:2478a176d63fe71090f4c21fe588bf5d381cad80"}, size=11_159_872),
    "coauthor_cs": Download(
        _NPZ,
        {"ms_academic_cs.npz": "git:9bdd7da943d86b74297e8d32e99eb64245b52835"},
        size=12_835_626,
    ),
    "coauthor_physics": Download(
        _NPZ, {"ms_academic_phy.npz": "git:8d8bc12e29aa67f6753a712080eae81079bd7d01"}, size=16_374_005
    ),
    "amazon_computers": Download(
        _NPZ, {"amazon_electronics_computers.npz": "git:8120e4148a330b3fafe37c4476823302d9d834b9"}, size=31_921_488
    ),
    "amazon_photo": Download(
        _NPZ,
        {"amazon_electronics_photo.npz": "git:97323743cb56aca9dd611f5b4b46862c1c9c6bd9"},
        size=17_113_960,
    ),
}
NAMES: tuple[str, ...] = ("cora", *DOWNLOADS)
_EMBEDDED = Path(__file__).parent / "cora.npz"


def load(name: str, data_dir: str | Path | None = None) -> Graph:
    """Load one of the paper's datasets, with both directions of every edge and no self-loops.

    Cora comes with the package. The files of the other datasets may be in `data_dir`, as `<data_dir>/<name>/<file>` or
    `<data_dir>/<file>`, or in the cache. If they are in neither, they are downloaded to the cache. Without `data_dir`,
    the environment variable `JUSTJUMP_DATA` names that folder.

    >>> load("cora")
    Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes)
    """
    _check_name(name)
    if name == "cora":
        return read_npz(_EMBEDDED)
    folder = _folder_with(name, data_dir)
    if folder is None:
        folder = cache_dir() / name
        _download(name, folder)
    (first, *others) = DOWNLOADS[name].files
    graph = read_planetoid(folder, name) if others else read_npz(folder / first, binary=True)
    return replace(graph, name=name)


def origin(name: str) -> str:
    """Where a dataset comes from, in one line.

    >>> origin("cora")
    'embedded in the package, from graphdatascience (Apache-2.0)'
    """
    _check_name(name)
    if name == "cora":
        return "embedded in the package, from graphdatascience (Apache-2.0)"
    download = DOWNLOADS[name]
    (first, *others) = download.files
    return f"{download.base_url}/{f'ind.{name}.*' if others else first}"


def location(name: str, data_dir: str | Path | None = None) -> str:
    """Where `load` would find a dataset: "embedded", "folder", "cache" or "not downloaded".

    >>> location("cora")
    'embedded'
    """
    _check_name(name)
    if name == "cora":
        return "embedded"
    if _folder_with(name, data_dir) is not None:
        return "folder"
    return "cache" if is_complete(DOWNLOADS[name].files, cache_dir() / name) else "not downloaded"


def is_available(name: str, data_dir: str | Path | None = None) -> bool:
    """Whether `load` works without a download.

    >>> is_available("cora")
    True
    """
    return location(name, data_dir) != "not downloaded"


def cache_dir() -> Path:
    """The folder for downloads."""
    return Path(pooch.os_cache("justjump"))


def _check_name(name: str) -> None:
    if name not in NAMES:
        close = difflib.get_close_matches(str(name).lower().replace("-", "_"), NAMES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(NAMES)}"
        raise DataError(f"there is no dataset {name!r}: {hint}")


def _folder_with(name: str, data_dir: str | Path | None) -> Path | None:
    """The folder with the files of a dataset: a subfolder of the user's folder, or that folder itself, or None."""
    root, given_by = (
        (data_dir, "data_dir") if data_dir is not None else (os.environ.get("JUSTJUMP_DATA"), "JUSTJUMP_DATA")
    )
    if not root:
        return None
    root = Path(root).expanduser()
    if not root.is_dir():
        raise DataError(f"{given_by}={root} is not a folder: create it, or leave it out to download the data")
    for folder in (root / name, root):
        missing = [file for file in DOWNLOADS[name].files if not (folder / file).is_file()]
        if not missing:
            return folder
        if len(missing) < len(DOWNLOADS[name].files):
            raise DataError(
                f"{folder} lacks {', '.join(missing)} of {name}: add them, or remove its other files to download all"
            )
    return None


def _download(name: str, folder: Path) -> None:
    download = DOWNLOADS[name]
    try:
        fetch(download.files, download.base_url, folder, 2 * download.size)
    except DataError as error:
        raise DataError(
            f"cannot download {name}: {error}; try again, or put {', '.join(download.files)} (from "
            f"{download.base_url}) into a folder FOLDER/{name} and pass data_dir=FOLDER (or set JUSTJUMP_DATA) "
            "to work offline"
        ) from error
