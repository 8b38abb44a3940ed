"""Make the seeds of the corpus: small valid files, and named bytes for each operator of the kernels.

python fuzz/seeds.py
"""

from __future__ import annotations

import io
import json
import pickle
import random
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from safetensors import safe_open  # noqa: E402
from safetensors.numpy import save  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402

from justjump.nn import ModelConfig  # noqa: E402
from justjump.train import fit  # noqa: E402
from justjump.train.checkpoint import save_state  # noqa: E402
from parts import join  # noqa: E402 - found beside this file
from targets import CONFIG, PROTOCOL, tiny_graph, tiny_table  # noqa: E402

# Names of the bytes, in the order of fuzz/kernels/header.h.
FIELDS = (
    "op", "type", "isa", "threads", "fault", "fault_at", "values", "seed0", "seed1", "seed2", "seed3", "graph", "rows",
    "cols", "edges", "heads", "channels", "groups", "steps", "flags0", "flags1", "dropout", "gaps",
)  # fmt: skip
OPERATORS = {"layout": 0, "dropout": 1, "grouped": 2, "spmm": 3, "gat": 4, "order": 5, "dna": 6, "sample": 7}


def kernel_case(**values: int) -> bytes:
    """The bytes of a case by name; those not named are zero."""
    unknown = set(values) - set(FIELDS)
    if unknown:
        raise ValueError(f"there is no byte {sorted(unknown)[0]}: choose from {', '.join(FIELDS)}")
    return bytes(values.get(name, 0) for name in FIELDS)


def kernel_seeds() -> dict[str, bytes]:
    seeds = {}
    rng = random.Random(0)
    for name, op in OPERATORS.items():
        for number in range(24 if name == "dna" else 8):
            size = rng.randrange(1, 18) + (238 if number % 8 == 7 else 0)
            square = number % 3 == 0
            case = {
                "op": op, "type": number % 2, "isa": number % 3, "threads": rng.randrange(256), "graph": number % 16,
                "rows": size, "cols": size if square else rng.randrange(18), "edges": rng.randrange(100),
                "heads": number % 11, "channels": rng.randrange(11), "groups": rng.randrange(8), "steps": number % 6,
                "flags0": rng.randrange(256), "flags1": rng.randrange(256), "dropout": number % 8, "gaps": number * 7,
                "seed0": rng.randrange(256), "seed1": rng.randrange(256),
            }  # fmt: skip
            seeds[f"{name}-{number}"] = kernel_case(**case)
        for fault in range(8):
            faulty = {"fault": 192 + fault, "fault_at": rng.randrange(12), "heads": 3, "channels": 4, "gaps": 5}
            seeds[f"{name}-fault-{fault}"] = kernel_case(op=op, rows=5, cols=5, graph=1, edges=9, **faulty)
    many = {"rows": 255, "graph": 6, "edges": 200, "groups": 255, "heads": 255}
    seeds["sample-threads"] = kernel_case(op=OPERATORS["sample"], flags0=2, **many)
    return seeds


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _csr(name: str, matrix: csr_matrix) -> dict[str, np.ndarray]:
    shape = np.array(matrix.shape)
    return {f"{name}_data": matrix.data, f"{name}_indices": matrix.indices, f"{name}_indptr": matrix.indptr} | {
        f"{name}_shape": shape
    }


def _wrapping(entries: int) -> np.ndarray:
    """Boundaries between 3 rows of a matrix: none of their differences is negative, if they wrap around."""
    return np.array([0, 2**63 - 1, -(2**62), entries])


def npz_seeds() -> dict[str, bytes]:
    adjacency = csr_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 1]], dtype=np.float32))
    weighted = csr_matrix(np.array([[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]))
    sparse = _csr("attr", csr_matrix(np.array([[1, 0], [0, 2], [0, 0]], dtype=np.float32)))
    dense = {"attr_matrix": np.eye(3, dtype=np.float32)}
    labels = {"labels": np.array([0, 1, -1])}
    masks = {f"{role}_mask": np.arange(3) == i for i, role in enumerate(("train", "val", "test"))}
    names = {"class_names": np.array(["a", "b"]), "node_names": np.array(["x", "y", "z"])}
    graphs = {
        "sparse": _csr("adj", adjacency) | sparse | labels,
        "dense": _csr("adj", weighted) | dense | labels | names | masks,
        "bare": _csr("adj", adjacency) | dense,
        "several-labels": _csr("adj", adjacency) | dense | {"labels": np.array([[1, 0], [1, 1], [np.nan, 0]])},
        "empty": _csr("adj", csr_matrix((0, 0))) | {"attr_matrix": np.zeros((0, 2))},
        "big-endian": _csr("adj", weighted) | {"attr_matrix": np.eye(3, dtype=">f8"), "labels": np.zeros(3, ">i2")},
    }
    for part in ("adj", "attr"):
        entries = len(graphs["sparse"][f"{part}_indices"])
        graphs[f"wrapping-{part}"] = graphs["sparse"] | {f"{part}_indptr": _wrapping(entries)}
    seeds = {name: join({key: _npy(array) for key, array in arrays.items()}) for name, arrays in graphs.items()}
    for name in ("sparse", "dense"):
        file = io.BytesIO()
        (np.savez if name == "sparse" else np.savez_compressed)(file, **graphs[name])
        seeds[f"{name}-archive"] = file.getvalue()
    return seeds


def _pickled(value: object, protocol: int) -> bytes:
    """A pickle; below protocol 3 with bytes as strings of Python 2, in which the published files are written."""

    def save_bytes(pickler: Any, content: bytes) -> None:
        pickler.write(pickle.BINSTRING + len(content).to_bytes(4, "little") + content)
        pickler.memoize(content)

    file = io.BytesIO()
    pickler: Any = pickle._Pickler(file, protocol)  # the one in Python, which can be changed
    if protocol < 3:
        pickler.dispatch = {**pickler.dispatch, bytes: save_bytes}
    pickler.dump(value)
    return file.getvalue()


def planetoid_seeds() -> dict[str, bytes]:
    allx = csr_matrix(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
    tx = csr_matrix(np.array([[0, 1]], dtype=np.float32))
    ally, ty = np.eye(3, 2, dtype=np.int32), np.array([[0, 1]], dtype=np.int32)
    graph = {0: [1, 2], 1: [0], 2: [0, 3], 3: [2, 2]}
    content = {"allx": allx, "ally": ally, "tx": tx, "ty": ty, "graph": graph}
    seeds = {}
    for protocol in (0, 2, 4):
        files = {name: _pickled(value, protocol) for name, value in content.items()}
        seeds[f"protocol-{protocol}"] = join(files | {"test.index": b"3\n"})
    allx.indptr, allx.indices = _wrapping(allx.nnz), allx.indices.astype(np.int64)
    seeds["wrapping"] = join(files | {"allx": _pickled(allx, protocol), "test.index": b"3\n"})
    return seeds


def csv_seeds() -> dict[str, bytes]:
    edges = b"source,target\nann,bob\nbob,cy\ncy,cy\n"
    return {
        "labels": join({"nodes.csv": b"id,label,height\nann,a,1.5\nbob,b,1.8\ncy,,0\n", "edges.csv": edges}),
        "splits": join(
            {
                "nodes.csv": b'\xef\xbb\xbfid,x,split,y,label\r\n"ann",1,train,0,1\r\n'
                b"bob,0,val,2,0\r\ncy,-1e-3,test,0,10\r\n",
                "edges.csv": b"target,weight,source\nann,0.5,bob\nbob,2e3,cy\n",
            }
        ),
        "table": join(
            {
                "nodes.csv": b"id,class,income,city,member,since,note\nann,a,20000,Bonn,yes,2020-01-01,"
                + b"long " * 50
                + b"\nbob,b,,Ulm,no,,\ncy,,1e39,Bonn,,2021-02-03T04:05:06Z,x\n",
                "edges.csv": edges,
            }
        ),
        "kinds": join(
            {
                "nodes.csv": b"id,colour,born,size,vip,note,label\na,red,2020-01-31,1.5,yes,,0.5\n"
                b"b,,31.12.2020,,no,two words,1.5\nc,blue,NA,2.5e4,,x,\nd,red,2021-01-01,-3,yes,y,2\n",
                "edges.csv": edges.replace(b"ann", b"a").replace(b"bob", b"b").replace(b"cy", b"c"),
            }
        ),
        "quotes": join(
            {"nodes.csv": b'id,"a ""b"""\n"x,1",3\n"y\nz",4\n', "edges.csv": b'source,target\n"x,1","y\nz"\n'}
        ),
    }


def parquet_seeds() -> dict[str, bytes]:
    days = pd.to_datetime(["2020-01-31", None, "2021-01-01"])
    nodes = pd.DataFrame({"id": ["a", "b", "c"], "label": ["x", "y", None], "size": [1.5, None, 2], "born": days})
    nodes["colour"] = pd.Categorical(["red", None, "blue"])
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 2.5]})
    return {"kinds": join({"nodes.parquet": nodes.to_parquet(), "edges.parquet": edges.to_parquet()})}


def run_seeds() -> dict[str, bytes]:
    seeds = {}
    configs = {
        "dna": CONFIG,
        "gat-lstm": ModelConfig("gat", layers=1, hidden=4, heads=2, groups=1, jump="lstm"),
        "gcn": ModelConfig("gcn", layers=1, hidden=2, groups=1, jump="concat", update="gru"),
        "table": ModelConfig("gcn", layers=1, hidden=2, groups=1),
    }
    for name, config in configs.items():
        with tempfile.TemporaryDirectory() as folder:
            fit(tiny_table() if name == "table" else tiny_graph(), config, PROTOCOL, output=folder)
            run = Path(folder, "run.json")
            values = json.loads(run.read_text())
            del (
                values["weights_sha256"],
                values["split_sha256"],
            )  # as in runs from before there were digests: changes are seen further on
            run.write_text(json.dumps(values, indent=2))
            seeds[name] = join({path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())})
    seeds["stopped"] = join({"state.safetensors": _without_digest(_stopped_state())})
    return seeds


def _without_digest(state: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        path.write_bytes(state)
        with safe_open(path, framework="np") as file:
            texts = {name: text for name, text in file.metadata().items() if name != "sha256"}
            return save({name: file.get_tensor(name) for name in file.keys()}, texts)  # noqa: SIM118 - not a dict


def _stopped_state() -> bytes:
    """The state of a run after its first epoch."""
    kept: list[bytes] = []
    with tempfile.TemporaryDirectory() as folder:

        def keep(*arguments: Any) -> None:
            save_state(*arguments)
            kept.append(Path(folder, "state.safetensors").read_bytes())

        with patch("justjump.train.loop.save_state", keep):
            fit(tiny_graph(), CONFIG, PROTOCOL, output=folder)
    return kept[0]


def main() -> None:
    makers = {
        "kernels": kernel_seeds, "npz": npz_seeds, "planetoid": planetoid_seeds, "csv": csv_seeds,
        "parquet": parquet_seeds, "run": run_seeds,
    }  # fmt: skip
    for target, make in makers.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in make().items():
            (folder / name).write_bytes(data)
        print(f"{target}: {len(list(folder.iterdir()))} inputs in {folder.name}")


if __name__ == "__main__":
    main()
