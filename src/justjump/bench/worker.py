"""One side of one case in a process of its own.

Arguments: case, side, threads, 1 for synthetic graphs, 1 for an allocator that keeps its pages, data folder.

Reads a line for each repetition from stdin and answers with one JSON line.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import torch

from justjump.bench.cases import CASES, build, graph_for
from justjump.train.process import keep_memory


def memory(field: str) -> float:
    """A field of this process's status in MB, NaN where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), float("nan"))


def main() -> None:
    name, side, threads, synthetic, keep, data_dir = sys.argv[1:7]
    warnings.filterwarnings("ignore", message="Sparse")
    torch.set_num_threads(int(threads))
    import torch_geometric.nn  # noqa: F401 - both sides start from the same imports

    # Each side as its users get it: justjump.fit sets the allocator for training, nothing else does.
    if keep == "1" or (side == "ours" and CASES[name].kind.endswith("step")):
        keep_memory()
    idle = memory("VmRSS")
    step = build(CASES[name], side, graph_for(CASES[name].dataset, synthetic == "1", data_dir or None))
    model = step.layer  # type: ignore[attr-defined]
    with torch.no_grad():
        out = model.eval() and step()
    model.train()
    check = [float(out.double().mean()), float(out.double().abs().mean())]
    print(json.dumps({"check": check}), flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        print(json.dumps({"seconds": seconds, "memory": memory("VmHWM") - idle}), flush=True)


if __name__ == "__main__":
    main()
