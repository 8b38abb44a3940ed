"""Random graphs of millions of edges with communities and hubs, as tables and in parts, for large_study.py."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from justjump import data
from justjump.bench.worker import memory

EDGES_PER_NODE, FEATURES, CLASSES = 16, 64, 10
COMMUNITY = 4096  # nodes; hubs are the first of each
NEAR = 0.8  # the share of edges that stay within a community
CHUNK = 1_000_000


def default_parts(size: int) -> int:
    return max(4, size * 64 // 100)


def make(size: int, folder: Path, parts: int) -> Path:
    """Tables of a random graph, streamed into parts of whole communities."""
    tables, made = folder / f"tables-{size}", folder / f"parts-{size}"
    if made.exists():
        return made
    nodes = size * 1_000_000 // EDGES_PER_NODE
    if not (tables / "edges.parquet").exists():
        tables.mkdir(parents=True, exist_ok=True)
        write_table(tables / "nodes.parquet", node_rows(nodes))
        write_table(tables / "edges.parquet", edge_rows(nodes, size * 500_000))
    part = (np.arange(nodes, dtype=np.int64) // COMMUNITY * parts // -(-nodes // COMMUNITY)).astype(np.int16)
    start = time.perf_counter()
    data.partition_tables(tables / "nodes.parquet", tables / "edges.parquet", parts, made, part)
    print(f"{size} million edges: parts made in {time.perf_counter() - start:.0f} s, {memory('VmHWM'):,.0f} MB")
    return made


def node_rows(nodes: int) -> Iterator[dict[str, np.ndarray]]:
    """Features around the centre of a class; neighbouring communities have different classes."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((CLASSES, FEATURES)).astype(np.float32)
    for first in range(0, nodes, CHUNK):
        ids = np.arange(first, min(first + CHUNK, nodes))
        labels = ids // COMMUNITY % CLASSES
        rows = centres[labels] + 4 * random.standard_normal((len(ids), FEATURES), dtype=np.float32)
        columns = {f"x{column}": np.ascontiguousarray(rows[:, column]) for column in range(FEATURES)}
        yield {"id": ids, "label": labels, **columns}


def edge_rows(nodes: int, pairs: int) -> Iterator[dict[str, np.ndarray]]:
    random = np.random.default_rng(1)
    for first in range(0, pairs, CHUNK):
        count = min(CHUNK, pairs - first)
        source, target = random.integers(0, nodes, (2, count))
        begin = source // COMMUNITY * COMMUNITY
        width = np.minimum(COMMUNITY, nodes - begin)
        source = begin + (width * random.random(count) ** 2).astype(np.int64)
        near = random.random(count) < NEAR
        target[near] = (begin + (width * random.random(count)).astype(np.int64))[near]
        yield {"source": source, "target": target}


def write_table(path: Path, rows: Iterator[dict[str, np.ndarray]]) -> None:
    writer = None
    for columns in rows:
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    assert writer is not None
    writer.close()
