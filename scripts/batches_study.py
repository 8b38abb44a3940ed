"""Mini-batches beside the whole graph: accuracy, and sampled edges per second. The tables of results/batches.md.

Runs are kept in a folder, and the same command goes on where it was stopped:

    python scripts/batches_study.py accuracy GRAPH... --runs study --splits 0-2
    python scripts/batches_study.py speed GRAPH...

A graph is the name of one of the paper's datasets, or a file or folder that justjump reads.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch

from justjump.data import Graph, load, read_graph
from justjump.loader import NeighborLoader
from justjump.nn import ModelConfig
from justjump.ops import Adjacency, Sampler
from justjump.options import recommended
from justjump.train import Protocol, fit

NETWORKS = {
    "dna": (recommended(ModelConfig, layers=2), recommended(Protocol)),
    "gcn": (recommended(ModelConfig, model="gcn", layers=2), recommended(Protocol)),
    "gcn-paper": (ModelConfig("gcn", layers=2, hidden=128, groups=1), Protocol()),
    "dna-paper": (ModelConfig("dna", layers=2, hidden=128, heads=8, groups=16), Protocol()),
}
TRAININGS: dict[str, dict[str, Any]] = {
    "whole graph": {},
    "batches of 1,024, fanout 15, 10": {"batch_size": 1024, "fanout": (15, 10)},
    "batches of 1,024, fanout 5, 5": {"batch_size": 1024, "fanout": (5, 5)},
    "batches of 1,024, all neighbours": {"batch_size": 1024},
}


def find(name: str) -> Graph:
    return read_graph(name) if Path(name).exists() else load(name)


def accuracy(options: argparse.Namespace) -> None:
    print("| graph | network | training | test accuracy | difference | epochs | seconds per epoch |")
    print("|---|---|---|---:|---:|---:|---:|")
    first_split, last_split = (int(number) for number in options.splits.split("-"))
    for name in options.graphs:
        graph = find(name)
        for network in options.networks:
            first = None
            for title, batches in TRAININGS.items():
                if options.only and not any(word in title for word in options.only):
                    continue
                runs = []
                for seed in range(first_split, last_split + 1):
                    folder = options.runs / graph.name / network / title.replace(" ", "-") / str(seed)
                    config, protocol = NETWORKS[network]
                    protocol = replace(protocol, **batches)
                    runs.append(fit(graph, config, protocol, seed=seed, output=folder, progress=False))
                found = 100 * np.array([run.test_accuracy for run in runs], dtype=float)
                first = found.mean() if first is None else first
                epochs, seconds = sum(run.epochs for run in runs), sum(run.seconds for run in runs)
                spread = f" ± {found.std(ddof=1):.2f}" if len(found) > 1 else ""
                print(
                    f"| {graph.name} | {network} | {title} | {found.mean():.2f}{spread} | {found.mean() - first:+.2f} "
                    f"| {epochs / len(runs):.0f} | {seconds / epochs:.2f} |",
                    flush=True,
                )


Draw = Callable[[Any, int], int]  # draws around some nodes in a batch with this number; the number of edges


def ours(graph: Graph, fanout: list[int]) -> Draw:
    adj = Adjacency.build(torch.from_numpy(graph.edge_index), num_nodes=graph.num_nodes)
    sampler = Sampler(adj, fanout)
    return lambda nodes, batch: sum(sampler(nodes, batch).num_edges)


def by_scipy(graph: Graph, fanout: list[int]) -> Draw:
    """The obvious sampler in numpy: a random key per edge, and the smallest keys of each row."""
    source, target = graph.edge_index
    shape = (graph.num_nodes, graph.num_nodes)
    csr = scipy.sparse.csr_matrix((np.ones(len(source), np.int8), (target, source)), shape=shape)
    rng = np.random.default_rng(0)

    def draw(nodes: Any, batch: int) -> int:
        frontier, seen, edges = np.asarray(nodes), np.asarray(nodes), 0
        for size in fanout:
            rows = csr[frontier]
            degree = np.diff(rows.indptr)
            row = np.repeat(np.arange(len(frontier)), degree)
            order = np.lexsort((rng.random(len(row)), row))
            rank = np.arange(len(row)) - np.repeat(rows.indptr[:-1], degree)
            taken = rows.indices[order][rank < size]
            edges += len(taken)
            frontier = np.setdiff1d(taken, seen)
            seen = np.concatenate([seen, frontier])
        return edges

    return draw


def by_torch_sparse(graph: Graph, fanout: list[int]) -> Draw:
    """What PyG's NeighborLoader calls where torch-sparse is installed."""
    import torch_sparse  # type: ignore[import-not-found]  # noqa: F401 - registers the operation

    source, target = (torch.from_numpy(ends) for ends in graph.edge_index)
    order = torch.argsort(target, stable=True)
    colptr = torch.zeros(graph.num_nodes + 1, dtype=torch.int64)
    torch.cumsum(torch.bincount(target, minlength=graph.num_nodes), 0, out=colptr[1:])
    row = source[order].contiguous()
    operation = torch.ops.torch_sparse.neighbor_sample
    return lambda nodes, batch: len(operation(colptr, row, nodes, fanout, False, True)[3])


def loaders(graph: Graph, fanout: list[int], batch_size: int) -> Iterator[tuple[str, Any]]:
    data = graph.to_pyg()
    data.x = torch.zeros(graph.num_nodes, 16)  # of both loaders, the features are cut in the same way
    yield "NeighborLoader of justjump", NeighborLoader(data, fanout, batch_size=batch_size, seed=0)
    try:
        import torch_sparse  # noqa: F401
    except ImportError:
        return
    import torch_geometric.loader

    yield "NeighborLoader of PyG", torch_geometric.loader.NeighborLoader(data, fanout, batch_size=batch_size)


def best(draw: Callable[[], int], clock: Callable[[], float]) -> float:
    """Million edges per second of the fastest of three repetitions."""
    rates = []
    for _ in range(3):
        start = clock()
        edges = draw()
        rates.append(edges / (clock() - start) / 1e6)
    return max(rates)


def speed(options: argparse.Namespace) -> None:
    fanout, size = [15, 10, 5], 1024
    clock = time.process_time if options.processor_time else time.perf_counter
    print("| graph | sampler | threads | million edges per second |")
    print("|---|---|---:|---:|")
    samplers = {"justjump": ours, "torch-sparse": by_torch_sparse, "numpy and scipy": by_scipy}
    for name in options.graphs:
        graph = find(name)
        for title, make in samplers.items():
            for threads in (1, 2) if title == "justjump" and not options.processor_time else (1,):
                torch.set_num_threads(threads)
                try:
                    draw = make(graph, fanout)
                except ImportError:
                    continue
                nodes = torch.split(torch.randperm(graph.num_nodes)[: 20 * size], size)

                def sweep(draw: Draw = draw, nodes: Any = nodes) -> int:
                    return sum(draw(part, number) for number, part in enumerate(nodes))

                print(f"| {graph.name} | {title} | {threads} | {best(sweep, clock):.2f} |", flush=True)
        torch.set_num_threads(1)
        for title, loader in loaders(graph, fanout, size):
            rate = best(lambda loader=loader: sum(batch.num_edges for batch in loader), clock)  # type: ignore[misc]
            print(f"| {graph.name} | {title} | 1 | {rate:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("accuracy")
    one.add_argument("graphs", nargs="+")
    one.add_argument("--runs", type=Path, default=Path("batches-study"))
    one.add_argument("--splits", default="0-2", help="the seeds of the splits: the first and the last")
    one.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    one.add_argument("--only", nargs="*", help="words of the titles of the trainings to do")
    one.set_defaults(run=accuracy)
    two = commands.add_parser("speed")
    two.add_argument("graphs", nargs="+")
    two.add_argument("--processor-time", action="store_true", help="for a machine that is busy with other work")
    two.set_defaults(run=speed)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
