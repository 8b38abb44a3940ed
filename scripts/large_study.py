"""Graphs in parts beside whole ones: time, memory, traffic, cut. The tables of results/large.md.

    python scripts/large_study.py make 16 --folder large       # tables of a graph with 16 million edges, and its parts
    python scripts/large_study.py steps 1 4 16 64 100 --folder large
    python scripts/large_study.py workers 16 --folder large
    python scripts/large_study.py limit 16 --gigabytes 8 --folder large
    python scripts/large_study.py cut 16 --folder large

Sizes are millions of edges, where an edge counts in each direction. What is made stays in the folder.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from justjump import data
from justjump.bench.worker import memory
from justjump.data.parts import Parts
from justjump.data.parts.summary import summary
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import Protocol, fit, prepare
from justjump.train.objective import Objective
from justjump.train.optimizer import make_optimizer
from justjump.train.parts.executor import Executor
from justjump.train.parts.loop import storage_in
from justjump.train.parts.nodes import Chosen
from justjump.train.parts.transport import Alone
from justjump.train.process import keep_memory, one_torch_thread
from large_graph import CLASSES, default_parts, make

CONFIG = ModelConfig("dna", layers=3, hidden=64, heads=8, groups=8)


def steps(options: argparse.Namespace) -> None:
    """Time and peak memory of a training step, each in a process of its own."""
    print("| edges | parts | training | seconds per step | ns / edge / T | peak MB | bytes / edge |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    for size in options.sizes:
        parts = make(size, options.folder, options.parts or default_parts(size))
        for way in options.ways:
            if way != "disk" and size > options.largest_in_memory:
                continue
            found = in_child("_step", way, str(parts), str(options.folder))
            edges = size * 1_000_000
            per_edge = 1e9 * found["seconds"] / edges / sum(range(1, CONFIG.layers + 1))
            print(
                f"| {edges:,} | {found['parts']} | {way} | {found['seconds']:.2f} | {per_edge:.1f} "
                f"| {found['peak']:,.0f} | {found['peak'] * 2**20 / edges:.0f} |",
                flush=True,
            )


def step(way: str, folder: str, scratch: str) -> dict[str, Any]:
    """Three steps of training on all labels, from ``disk``, in ``memory``, or on the ``whole`` graph."""
    parts = data.open_parts(folder, verify=False)
    torch.manual_seed(0)
    keep_memory()
    idle = memory("VmRSS")
    model = NodeClassifier(CONFIG, parts.manifest.num_features, CLASSES)
    optimizer = make_optimizer(model, Protocol())
    seconds = []
    with one_torch_thread(), storage_in(Path(scratch) if way == "disk" else None) as storage:
        once = whole_step(parts, model) if way == "whole" else parts_step(Executor(parts, model, Alone(), storage))
        for _ in range(3):
            start = time.perf_counter()
            optimizer.zero_grad()
            once()
            optimizer.step()
            seconds.append(time.perf_counter() - start)
    return {"seconds": statistics.median(seconds), "peak": memory("VmHWM") - idle, "parts": len(parts)}


def whole_step(parts: Parts, model: NodeClassifier) -> Any:
    graph = parts.to_graph()
    inputs, objective = prepare(graph, "none"), Objective()
    labels = torch.from_numpy(graph.labels)
    del graph
    return lambda: objective.loss(model(inputs.x, inputs.adj), labels).backward()


def parts_step(executor: Executor) -> Any:
    nodes = executor.parts.manifest.num_nodes
    chosen = Chosen.of(executor.parts, np.arange(nodes))
    return lambda: executor.train(chosen, Objective(), nodes)


def workers(options: argparse.Namespace) -> None:
    """Epochs by one and by two workers with one thread each, in turns; the weights must be the same.

    Each command is run with two epochs, and with more: the first two have to read the parts, and to take memory.
    """
    few, many = 2, 5
    columns = "seconds per epoch, first two | each further | processor seconds of all | peak MB of a worker"
    print(f"| edges | workers | {columns} | busy with others |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for size in options.sizes:
        parts = make(size, options.folder, options.parts or default_parts(size))
        first: dict[int, list[float]] = {1: [], 2: []}
        further: dict[int, list[float]] = {1: [], 2: []}
        work: dict[int, list[float]] = {1: [], 2: []}
        peak, others, weights = {1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}, set()
        for _ in range(options.repetitions):
            for count in first:
                found = {epochs: in_child("_fit", str(parts), str(count), str(epochs)) for epochs in (few, many)}
                first[count].append(found[few]["seconds"] / few)
                further[count].append((found[many]["seconds"] - found[few]["seconds"]) / (many - few))
                work[count].append((found[many]["work"] - found[few]["work"]) / (many - few))
                for epochs, one in found.items():
                    weights.add((epochs, one["weights"]))
                    peak[count], others[count] = max(peak[count], one["peak"]), max(others[count], one["others"])
        assert len(weights) == 2, "the weights differ"
        for count in first:
            print(
                f"| {size * 1_000_000:,} | {count} | {statistics.median(first[count]):.2f} "
                f"| {statistics.median(further[count]):.2f} | {statistics.median(work[count]):.2f} "
                f"| {peak[count]:,.0f} | {100 * others[count]:.0f} % |"
            )
        ratios = [statistics.median(of[1]) / statistics.median(of[2]) for of in (first, further)]
        print("ratio: {:.2f} in the first two epochs, {:.2f} in further ones".format(*ratios))
        print(first, further, work, flush=True)


def train_once(folder: str, count: str, epochs: str) -> dict[str, Any]:
    """A run by some workers: its seconds, a digest of its weights, and what the machine did besides."""
    torch.set_num_threads(int(count))  # which the workers share
    busy, own = machine_seconds(), own_seconds()
    start = time.perf_counter()
    with TemporaryDirectory() as output:
        protocol = Protocol(max_epochs=int(epochs))
        parts = data.open_parts(folder, verify=False)
        run = fit(parts, CONFIG, protocol, workers=int(count), output=output, progress=False)
        weights = hashlib.sha256((Path(output) / "model.safetensors").read_bytes()).hexdigest()
    passed = time.perf_counter() - start
    work = own_seconds() - own
    others = (machine_seconds() - busy - work) / passed / (os.cpu_count() or 1)
    who = resource.RUSAGE_SELF if count == "1" else resource.RUSAGE_CHILDREN
    peak = resource.getrusage(who).ru_maxrss / 1024
    return {"seconds": run.seconds, "weights": weights, "peak": peak, "others": others, "work": work}


def machine_seconds() -> float:
    """Seconds that all cores together have worked."""
    user, nice, system, *_ = map(float, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Seconds that this process and its children that have ended have worked."""
    return sum(os.times()[:4])


def limit(options: argparse.Namespace) -> None:
    """Training under a limit of address space: which way finishes?"""
    for size in options.sizes:
        parts = make(size, options.folder, options.parts or default_parts(size))
        for way in options.ways:
            bound = int(options.gigabytes * 2**30)
            try:
                found = in_child("_step", way, str(parts), str(options.folder), bound=bound)
                print(f"{size} million edges, {options.gigabytes:g} GiB, {way}: {found['seconds']:.1f} s per step")
            except RuntimeError as error:
                print(f"{size} million edges, {options.gigabytes:g} GiB, {way}: {error}")


def cut(options: argparse.Namespace) -> None:
    """Cut and balance by method, and what the cut costs a step from disk."""
    print("| graph | parts | method | cut edges | rows / node | balance | made in s | seconds per step | peak MB |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for name in options.graphs:
        graph = data.load(name) if not name.isdigit() else None
        for method in ("metis", "hash"):
            made = options.folder / f"cut-{name}-{method}"
            start = time.perf_counter()
            if not made.exists():
                if graph is None:
                    graph = data.open_parts(make(int(name), options.folder, default_parts(int(name)))).to_graph()
                graph.partition(options.parts or 16, made, method=method)
            seconds = time.perf_counter() - start
            parts = data.open_parts(made, verify=False)
            found = in_child("_step", "disk", str(made), str(options.folder))
            facts = summary(parts)
            print(
                f"| {name} | {len(parts)} | {method} | {100 * facts['cut_edges'] / facts['edges']:.1f} % "
                f"| {facts['boundary_rows'] / facts['nodes']:.2f} | {facts['edge_balance']:.2f} | {seconds:.0f} "
                f"| {found['seconds']:.2f} | {found['peak']:,.0f} |",
                flush=True,
            )


def in_child(*arguments: str, bound: int | None = None) -> dict[str, Any]:
    def bounded() -> None:
        if bound is not None:
            resource.setrlimit(resource.RLIMIT_AS, (bound, bound))

    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, preexec_fn=bounded)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200])
    return json.loads(done.stdout)


def main() -> None:
    if sys.argv[1:2] == ["_step"]:
        print(json.dumps(step(*sys.argv[2:5])))
        return
    if sys.argv[1:2] == ["_fit"]:
        print(json.dumps(train_once(*sys.argv[2:5])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in {"steps": steps, "workers": workers, "limit": limit, "cut": cut, "make": None}.items():
        command = commands.add_parser(name, help=(run.__doc__ if run else make.__doc__))
        if name == "cut":
            command.add_argument("graphs", nargs="+", help="datasets, or millions of edges")
        else:
            command.add_argument("sizes", nargs="+", type=int, help="millions of edges")
        command.add_argument("--folder", type=Path, required=True)
        command.add_argument("--parts", type=int)
        command.add_argument("--ways", nargs="+", default=["whole", "memory", "disk"])
        command.add_argument("--largest-in-memory", type=int, default=16)
        command.add_argument("--repetitions", type=int, default=3)
        command.add_argument("--gigabytes", type=float, default=8)
        command.set_defaults(run=run)
    options = parser.parse_args()
    if options.run is None:
        for size in options.sizes:
            make(size, options.folder, options.parts or default_parts(size))
    else:
        options.run(options)


if __name__ == "__main__":
    main()
