"""The readers as functions of bytes. They succeed, or they raise one of the library's own errors."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import parts
from justjump.data import DataError, Graph, Preprocessing, Split, random_split, read_graph
from justjump.data.planetoid import read_planetoid
from justjump.files import FileError
from justjump.nn import ModelConfig
from justjump.train import Inputs, Protocol, Run, RunError, TrainingError, fit, prepare

OWN_ERRORS = (DataError, RunError, TrainingError, FileError)
CONFIG = ModelConfig("dna", layers=1, hidden=4, heads=2, groups=2)
PROTOCOL = Protocol(max_epochs=2)


@cache
def tiny_graph() -> Graph:
    """The graph that the runs of the corpus were trained on."""
    ends = np.arange(12)
    edge_index = np.stack([np.concatenate([ends, (ends + 1) % 12]), np.concatenate([(ends + 1) % 12, ends])])
    features = np.random.default_rng(0).normal(size=(12, 3))
    return Graph(edge_index, features, ends % 2, ("a", "b"), name="tiny")


@cache
def tiny_table() -> Graph:
    """A graph with columns of several kinds and two numbers to predict for each node."""
    nodes = ["a,red,2020-01-01,1.5,0.1,3", "b,,2020-02-03,,0.2,", "c,blue,,2.5e4,0.3,5", "d,red,2021-01-01,3,0.4,7"]
    text = "\n".join(["id,colour,born,size,x,y", *nodes]) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "nodes.csv").write_text(text)
        Path(folder, "edges.csv").write_text("source,target\na,b\nb,c\nc,d\n")
        return read_graph(folder, label=("x", "y"))


@cache
def tiny_inputs() -> tuple[Split, Inputs]:
    """What training takes from it, made once: most of the time would go into it."""
    return random_split(tiny_graph().labels, 0), prepare(tiny_graph())


def npz(data: bytes, folder: Path) -> None:
    """An archive as it is, or one made of the input's parts, whose checksums are then right."""
    path = folder / "graph.npz"
    if data.startswith(b"PK"):
        path.write_bytes(data)
    else:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            for name, content in parts.split(data).items():
                file.writestr(f"{name}.npy", content)
        path.write_bytes(archive.getvalue())
    _use(read_graph(path))


def planetoid(data: bytes, folder: Path) -> None:
    for ending, content in parts.split(data).items():
        (folder / f"ind.tiny.{ending}").write_bytes(content)
    _use(read_planetoid(folder, "tiny"))


def tables(data: bytes, folder: Path) -> None:
    """CSV or Parquet files, by their names."""
    for name, content in parts.split(data).items():
        (folder / name).write_bytes(content)
    _use(read_graph(folder))


def run(data: bytes, folder: Path) -> None:
    """A finished run is loaded and used; one that was stopped goes on."""
    files = parts.split(data)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    if "state.safetensors" in files:
        (folder / "run.json").unlink(missing_ok=True)
        split, inputs = tiny_inputs()
        fit(tiny_graph(), CONFIG, PROTOCOL, split=split, inputs=inputs, output=folder)
    loaded = Run.load(folder)
    repr(loaded)
    json.dumps(loaded.settings)
    loaded.predict(tiny_graph() if loaded.feature_names is None else tiny_table())


def _use(graph: Graph) -> None:
    repr(graph)
    if graph.num_features <= 1000:  # what training takes, unless the input asks for much memory
        preprocessing = Preprocessing.fit(graph.features, "auto", graph.feature_names)
        preprocessing.describe()
        preprocessing.apply(graph.features)


TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "npz": npz,
    "planetoid": planetoid,
    "csv": tables,
    "parquet": tables,
    "run": run,
}


def attempt(target: str, data: bytes) -> str:
    """Run a target on an input: "read" or "refused". Anything else that it raises is a finding.

    Args:
        target: one of TARGETS
    """
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="justjump-fuzz-", dir=memory if memory.is_dir() else None))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[target](data, folder)
    except OWN_ERRORS as error:
        if not str(error).strip() or "\n" in str(error):
            raise AssertionError(f"the message is not one line: {error!r}") from error
        return "refused"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "read"
