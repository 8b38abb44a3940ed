"""What a user wants to know about a graph in parts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .reader import Parts

# Larger numbers of parts are summed up.
_MOST_ROWS = 20


def summary(parts: Parts) -> dict[str, Any]:
    """Sizes of the graph and of its parts, cut and balance, as JSON takes them.

    The balance is the largest part divided by the mean one: 1 is best.
    """
    it = parts.manifest
    return {
        "graph": it.name,
        "method": it.method,
        "parts": it.num_parts,
        "nodes": it.num_nodes,
        "edges": it.num_edges - it.num_nodes + it.given_loops,
        "cut_edges": it.num_cut,
        "boundary_rows": it.num_halo,
        "node_balance": _balance([part.sizes.nodes for part in it.parts]),
        "edge_balance": _balance([part.sizes.edges for part in it.parts]),
        "features": it.num_features,
        "sparse": it.sparse,
        "bytes": sum(path.stat().st_size for path in parts.folder.rglob("*.*")),
        "digest": it.digest,
        "sizes": [asdict(part.sizes) for part in it.parts],
    }


def _balance(sizes: list[int]) -> float:
    return max(sizes) * len(sizes) / max(sum(sizes), 1)


def show(parts: Parts) -> None:
    """Print the summary as text."""
    facts, console = summary(parts), Console()
    edges = max(facts["edges"], 1)
    lines = {
        "nodes": f"{facts['nodes']:,}",
        "edges": f"{facts['edges']:,}",
        "cut edges": f"{facts['cut_edges']:,} ({100 * facts['cut_edges'] / edges:.1f} %)",
        "boundary rows": f"{facts['boundary_rows']:,} ({facts['boundary_rows'] / max(facts['nodes'], 1):.2f} per node)",
        "balance": f"{facts['node_balance']:.2f} nodes, {facts['edge_balance']:.2f} edges (largest part / mean)",
        "features": f"{facts['features']:,} ({'sparse' if facts['sparse'] else 'dense'})",
        "on disk": _bytes(facts["bytes"]),
    }
    console.print(f"{facts['graph']} in {facts['parts']} parts by {facts['method']}", highlight=False, markup=False)
    for name, value in lines.items():
        console.print(f"  {name:<14} {value}", highlight=False, soft_wrap=True)
    if facts["parts"] > _MOST_ROWS:
        return
    table = Table(box=SIMPLE_HEAD)
    for title in ("part", "nodes", "edges + loops", "boundary rows", "sent rows"):
        table.add_column(title, justify="right")
    for number, sizes in enumerate(facts["sizes"]):
        table.add_row(str(number), *(f"{sizes[key]:,}" for key in ("nodes", "edges", "halo", "sends")))
    console.print(table)


def _bytes(count: float) -> str:
    """
    >>> _bytes(999), _bytes(2_500_000)
    ('999 B', '2.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
