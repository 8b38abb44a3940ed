"""Make `src/justjump/data/cora.npz` from the Cora files in the Python package graphdatascience.

    python scripts/embed_cora.py                        # fetches the package with pip
    python scripts/embed_cora.py --wheel FILE.whl       # takes it from a file

Needs pandas and pyarrow. The same package gives the same bytes.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

PACKAGE = "graphdatascience==2.2"
FOLDER = "graphdatascience/resources/cora"
OUTPUT = Path(__file__).parents[1] / "src" / "justjump" / "data" / "cora.npz"
# The package numbers the subjects in this order (serialize_cora.py beside its files).
CLASS_NAMES = (
    "Neural_Networks",
    "Rule_Learning",
    "Reinforcement_Learning",
    "Probabilistic_Methods",
    "Theory",
    "Genetic_Algorithms",
    "Case_Based",
)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help=f"wheel file of {PACKAGE} (default: fetch it with pip)")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nodes, citations = read_wheel(arguments.wheel or fetch_wheel(Path(folder)))
    write(nodes, citations, arguments.output)
    print(f"{arguments.output}: {arguments.output.stat().st_size:,} bytes")


def fetch_wheel(folder: Path) -> Path:
    """Download the package into a folder."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE], check=True
    )
    return next(folder.glob("*.whl"))


def read_wheel(wheel: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Nodes (nodeId, subject, features) and citations (sourceNodeId, targetNodeId)."""
    with zipfile.ZipFile(wheel) as archive:
        nodes, citations = (
            pd.read_parquet(io.BytesIO(archive.read(f"{FOLDER}/cora_{part}.parquet.gzip")))
            for part in ("nodes", "rels")
        )
    return nodes, citations


def write(nodes: pd.DataFrame, citations: pd.DataFrame, output: Path) -> None:
    """Write the graph with the keys that `justjump.data.read_graph` reads, in the smallest types that fit."""
    number = pd.Series(np.arange(len(nodes)), index=nodes["nodeId"])
    source, target = number[citations["sourceNodeId"]].to_numpy(), number[citations["targetNodeId"]].to_numpy()
    adjacency = csr_matrix((np.ones(len(source)), (source, target)), shape=(len(nodes), len(nodes)))
    features = csr_matrix(np.stack(nodes["features"].to_numpy()) > 0)
    arrays = {"labels": nodes["subject"].to_numpy().astype(np.int8), "class_names": np.array(CLASS_NAMES)}
    for key, matrix in (("adj", adjacency), ("attr", features)):
        matrix.sum_duplicates()
        matrix.sort_indices()
        arrays |= {
            f"{key}_data": np.ones(matrix.nnz, dtype=np.uint8),
            f"{key}_indices": matrix.indices.astype(np.uint16),
            f"{key}_indptr": matrix.indptr.astype(np.uint16),
            f"{key}_shape": np.array(matrix.shape, dtype=np.int32),
        }
        if matrix.nnz > np.iinfo(np.uint16).max or max(matrix.shape) > np.iinfo(np.uint16).max:
            raise SystemExit(f"{key} is too large for 16 bits: this is not Cora")
    np.savez_compressed(output, **arrays)


if __name__ == "__main__":
    main()
