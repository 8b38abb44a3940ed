"""What training on a graph in parts costs, by arithmetic: memory of a part, bytes that travel, and their time."""

from __future__ import annotations

from dataclasses import dataclass

from justjump.data.parts import Parts
from justjump.nn import ModelConfig
from justjump.train.memory import PROCESS_BYTES
from justjump.train.parts.boundary import dealt

# Bits per second of the network that times are given for.
RATE = 10e9


@dataclass(frozen=True)
class PartSize:
    """The sizes of one part: n own nodes, h nodes that it reads of other parts, e edges to own nodes, F features."""

    nodes: float
    halo: float
    edges: float
    features: float


def part_bytes(size: PartSize, config: ModelConfig) -> float:
    """Memory of a process that trains on parts from disk, one part at a time, in bytes.

    With d channels and T layers, these are the process itself, the graph of the part (by target and by source, with
    weights), its features and their gradient's working memory, and for a layer of backward the T representations of
    the n + h nodes and their gradients, each once as a mapped file and once as the layer works on it.
    """
    local = size.nodes + size.halo
    graph = 24 * size.edges + 16 * local
    features = 4 * size.nodes * size.features
    steps = config.layers if config.model == "dna" or config.jump != "none" else 2
    rows = 4 * config.hidden * (4 * steps * local + 4 * size.nodes)
    return PROCESS_BYTES + graph + features + rows


def epoch_bytes(boundary: float, config: ModelConfig) -> float:
    """Bytes that all workers send in an epoch: T times the boundary rows forward, backward, and in validation.

    Args:
        boundary: rows that parts read of parts of other workers, added up over all parts
    """
    return 3.0 * config.layers * boundary * config.hidden * 4


def seconds_to_send(sent: float, workers: int, rate: float = RATE) -> float:
    """How long these bytes travel if the workers send alike, each on its own link of this many bits per second."""
    return 8 * sent / workers / rate


def hash_boundary(nodes: float, edges: float, parts: int) -> float:
    """Boundary rows to expect of parts by hash: of nodes that all have the mean number of edges, which is the worst.

    A node with k edges to random parts is read by ``(P - 1) (1 - (1 - 1 / P)^k)`` other parts.

    >>> round(hash_boundary(1000, 10_000, 2))  # nearly every node is read by the other part
    999
    """
    return nodes * (parts - 1) * (1 - (1 - 1 / parts) ** (edges / nodes))


def between_workers(parts: Parts, workers: int) -> int:
    """Boundary rows that travel between workers, rather than between parts of one worker."""
    owner = {part: worker for worker, own in enumerate(dealt(len(parts), workers)) for part in own}
    total = 0
    for part in parts:
        for other in range(len(parts)):
            place = part.receive_from(other)
            total += (place.stop - place.start) * (owner[other] != owner[part.number])
    return total


@dataclass(frozen=True)
class Example:
    """A graph whose costs stand in the documentation; its edges count in each direction."""

    name: str
    nodes: float
    edges: float
    features: int
    parts: int
    machines: int

    def row(self, config: ModelConfig, boundary: float) -> list[str]:
        """Cells of a table, given the boundary rows: memory of a part, bytes an epoch, and their time."""
        size = PartSize(
            self.nodes / self.parts, boundary / self.parts, (self.edges + self.nodes) / self.parts, self.features
        )
        # Parts of one machine share its memory.
        sent = epoch_bytes(boundary * (1 - (self.parts // self.machines - 1) / (self.parts - 1)), config)
        seconds = seconds_to_send(sent, self.machines)
        return [f"{part_bytes(size, config) / 1e9:.1f} GB", f"{sent / 1e9:,.0f} GB", f"{seconds:,.0f} s"]


EXAMPLES = (
    Example("ogbn-products", 2.449e6, 123.7e6, 100, 32, 4),
    Example("a billion edges", 50e6, 1e9, 100, 256, 16),
    Example("ogbn-papers100M", 111.06e6, 3.23e9, 128, 1024, 16),
)


def table(config: ModelConfig, rows_per_node: float = 1.0) -> str:
    """The costs of three graphs as Markdown: with so many boundary rows per node, and with those of hash parts.

    >>> print(table(ModelConfig(layers=3, hidden=64, heads=8, groups=8)).splitlines()[0])
    | graph | parts, machines | one part | bytes an epoch | at 10 Gbit/s | by hash: one part | bytes | at 10 Gbit/s |
    """
    lines = [
        "| graph | parts, machines | one part | bytes an epoch | at 10 Gbit/s | by hash: one part | bytes | "
        "at 10 Gbit/s |",
        "|---|---|" + "---:|" * 6,
    ]
    for one in EXAMPLES:
        cells = one.row(config, rows_per_node * one.nodes)
        cells += one.row(config, hash_boundary(one.nodes, one.edges, one.parts))
        lines.append(f"| {one.name} | {one.parts}, {one.machines} | {' | '.join(cells)} |")
    return "\n".join(lines)
