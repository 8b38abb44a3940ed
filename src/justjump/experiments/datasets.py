"""The paper's datasets: which are here, and how they compare with the paper's Table 2."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from justjump.data import NAMES, DataError, is_available, load, location, origin
from justjump.experiments import paper

COUNTS = ("nodes", "edges", "features", "classes")


def datasets(data_dir: Path | None, as_json: bool) -> None:
    """Print where each dataset is, and its counts beside the paper's. Downloads nothing."""
    rows = []
    for name in NAMES:
        stated = paper.DATASETS[name]
        row: dict[str, Any] = {"name": name, "paper": asdict(stated), "here": None}
        row["location"] = location(name, data_dir)
        if row["location"] == "folder":
            row["location"] = f"in {data_dir or os.environ['JUSTJUMP_DATA']}"
        if is_available(name, data_dir):
            try:
                graph = load(name, data_dir)
            except DataError as error:
                row["location"] = f"broken: {error}"
            else:
                counts = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
                row["here"] = dict(zip(COUNTS, counts, strict=True))
        row["origin"] = origin(name)
        rows.append(row)
    if as_json:
        print(json.dumps(rows))
        return
    table = Table(title="Nodes / undirected edges / features / classes", box=SIMPLE_HEAD, pad_edge=False)
    for title in ("dataset", "here", "paper, Table 2"):
        table.add_column(title, no_wrap=True, justify="left" if title == "dataset" else "right")
    for row in rows:
        table.add_row(row["name"], _counts(row), _counts(row, of="paper"))
    Console().print(table)
    for row in rows:
        print(f"{row['name']:<17} {row['location']}; {_short_origin(row['origin'])}")
    print("origins: paths of raw.githubusercontent.com, commits shortened; --json has them in full")


def _short_origin(address: str) -> str:
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]{33}\b", r"\1", address.removeprefix("https://raw.githubusercontent.com/"))


def _counts(row: dict[str, Any], of: str = "here") -> str:
    if row[of] is None:
        return str(row["location"]).split(":")[0]
    differs = " (!)" if any(row[of][key] != row["paper"][key] for key in COUNTS) else ""
    return " / ".join(f"{row[of][key]:,}" for key in COUNTS) + differs
