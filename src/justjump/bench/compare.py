"""Both sides of a case in turn, and the limits of the machine in the same run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from justjump.bench.cases import CASES, TRAINED
from justjump.experiments.paper import DATASETS
from justjump.ops import History, Plan

SIDES = ("pyg", "ours")


@dataclass(frozen=True)
class Limits:
    """What the machine can do at most, measured: bytes copied and floating point operations a second, in 10^9."""

    copy_gb: float
    matmul_gflop: float


@dataclass(frozen=True)
class Measured:
    """One row of the table: medians in milliseconds, peak memory above the idle process in MB."""

    case: str
    name: str
    pyg_ms: float
    ours_ms: float
    ratio: float
    bar: float
    pyg_mb: float
    ours_mb: float
    gathered_share: float | None
    flop_share: float | None


def limits(threads: int) -> Limits:
    """Memory bandwidth by a copy (read and write) and FLOP/s by a matrix product."""
    torch.set_num_threads(threads)
    source, target = torch.ones(2**26), torch.empty(2**26)
    a, b = torch.randn(2, 2048, 2048)

    def best(call: Callable[[], object]) -> float:
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    copy = 2 * 4 * source.numel() / best(lambda: target.copy_(source))
    return Limits(copy / 1e9, 2 * 2048**3 / best(lambda: a @ b) / 1e9)


class Worker:
    """A process that repeats one side of a case on demand."""

    def __init__(
        self, case: str, side: str, threads: int, synthetic: bool, keep_memory: bool, data_dir: str | None
    ) -> None:
        arguments = [case, side, str(threads), "1" if synthetic else "0", "1" if keep_memory else "0", data_dir or ""]
        command = [sys.executable, "-m", "justjump.bench.worker", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.check: list[float] = self._answer()["check"]
        self.seconds: list[float] = []
        self.memory = 0.0

    def repeat(self, times: int, warm_up: bool = False) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        answer = self._answer()
        self.memory = answer["memory"]
        if not warm_up:
            self.seconds += answer["seconds"]
        return statistics.median(answer["seconds"])

    def close(self) -> None:
        self.process.communicate()  # closes its stdin, which ends it

    def _answer(self) -> dict:  # type: ignore[type-arg]
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a measuring process ended with code {self.process.wait()}, perhaps for lack of memory")
        return dict(json.loads(line))


def measure(
    case: str,
    threads: int,
    repetitions: int,
    synthetic: bool,
    keep_memory: bool,
    data_dir: str | None,
    machine: Limits,
) -> Measured:
    """Alternate between the two sides and take the medians."""
    workers = {side: Worker(case, side, threads, synthetic, keep_memory, data_dir) for side in SIDES}
    try:
        ours, theirs = workers["ours"].check, workers["pyg"].check
        if any(abs(a - b) > 1e-3 * abs(theirs[1]) for a, b in zip(ours, theirs, strict=True)):
            raise RuntimeError(f"{case}: the two sides disagree, {ours} and {theirs}: nothing to compare")
        for worker in workers.values():
            worker.repeat(1, warm_up=True)
        pace = {side: worker.repeat(1, warm_up=True) for side, worker in workers.items()}
        for _ in range(repetitions):
            for side, worker in workers.items():
                # A fast side repeats within its turn, so that a turn lasts about a quarter of a second: the caches and
                # the threads of a turn's first step are cold, those of a training run are not.
                worker.repeat(max(1, min(200, round(0.25 / max(pace[side], 1e-6)))))
    finally:
        for worker in workers.values():
            worker.close()
    pyg_s, ours_s = (statistics.median(workers[side].seconds) for side in SIDES)
    gathered, flop = work(case)
    return Measured(
        case=case,
        name=CASES[case].name,
        pyg_ms=1e3 * pyg_s,
        ours_ms=1e3 * ours_s,
        ratio=pyg_s / ours_s,
        bar=CASES[case].bar,
        pyg_mb=workers["pyg"].memory,
        ours_mb=workers["ours"].memory,
        gathered_share=gathered / ours_s / 1e9 / machine.copy_gb if gathered else None,
        flop_share=flop / ours_s / 1e9 / machine.matmul_gflop if flop else None,
    )


def work(case: str) -> tuple[float, float]:
    """Bytes gathered along edges and floating point operations of the attention of a DNA case, forward + backward.

    Per edge, forward gathers T rows (2 T where keys and values are separate), the pass for the query T, the pass for
    the history 2. Per row, forward does a dot product and a weighted sum; the pass for the query does three of these
    (one where the gradients of the scores are kept), the pass for the history four. The last layer of a step has the
    edges to the nodes in the loss, about one in ``TRAINED``.
    """
    c = CASES[case]
    if not c.kind.startswith("DNA"):
        return 0.0, 0.0
    edges = 2 * DATASETS[c.dataset].edges + DATASETS[c.dataset].nodes
    row, is_layer = torch.empty(1, 1).expand(DATASETS[c.dataset].nodes, c.channels), not c.kind.endswith("step")
    gathered = operations = 0.0
    for t in [c.steps] if is_layer else range(1, c.steps + 1):
        n = edges if is_layer or t < c.steps else edges / TRAINED
        plan = Plan.choose(History([row] * t), edges=int(n), heads=c.heads, groups=c.groups)
        gathered += n * ((2 if plan.form == "folded" else 3) * t + 2)
        operations += n * t * (14 if plan.keeps_scores else 18)
    return 4 * c.channels * gathered, c.channels * operations
