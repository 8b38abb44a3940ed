"""How time and memory of a training step grow with the graph: ``python -m justjump.bench.growth EDGES THREADS``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from justjump.bench.cases import skewed_edges
from justjump.bench.worker import memory
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import Adjacency
from justjump.train import Protocol
from justjump.train.optimizer import make_optimizer
from justjump.train.process import keep_memory

EDGES = tuple(500_000 * 2**n for n in range(6))
EDGES_PER_NODE = 16
CONFIG = ModelConfig("dna", layers=3, hidden=64, heads=8, groups=8)
FEATURES, CLASSES = 32, 10


@dataclass(frozen=True)
class Grown:
    """One training step on a random graph: seconds, and peak memory above the idle process in MB."""

    edges: int
    nodes: int
    seconds: float
    memory_mb: float

    @property
    def nanoseconds_per_edge(self) -> float:
        """Per edge and former representation: layer t attends to t of them."""
        return 1e9 * self.seconds / self.edges / sum(range(1, CONFIG.layers + 1))


def grow(edges: int, threads: int) -> Grown:
    """Measure one size in a process of its own."""
    command = [sys.executable, "-m", "justjump.bench.growth", str(edges), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{edges} edges: the process ended with code {done.returncode}, perhaps for lack of memory")
    return Grown(**json.loads(done.stdout))


def main() -> None:
    edges, threads = map(int, sys.argv[1:3])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    keep_memory()
    idle = memory("VmRSS")
    nodes = edges // EDGES_PER_NODE
    edge_index = skewed_edges(nodes, edges // 2, np.random.RandomState(0))
    adj = Adjacency.build(torch.from_numpy(edge_index), num_nodes=nodes).with_self_loops()
    del edge_index
    model = NodeClassifier(CONFIG, FEATURES, CLASSES)
    optimizer = make_optimizer(model, Protocol())
    x, labels = torch.randn(nodes, FEATURES), torch.randint(CLASSES, (nodes,))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x, adj), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    result = Grown(edges, nodes, sorted(seconds)[1], memory("VmHWM") - idle)
    print(json.dumps(vars(result)))


if __name__ == "__main__":
    main()
