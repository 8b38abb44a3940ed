"""Small graphs in parts."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from justjump import files
from justjump.data import Graph
from justjump.data.parts import Parts
from justjump.train.parts import sharing

Make = Callable[..., Parts]


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk; tests/test_files.py tests that writers do."""
    monkeypatch.setattr(files, "_sync", lambda path: None)


def random_graph(
    nodes: int = 60, edges: int = 200, features: int = 9, seed: int = 0, weighted: bool = False, sparse: bool = False
) -> Graph:
    """Directed, with isolated nodes."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((nodes, features)).astype(np.float32)
    dense[rng.random(dense.shape) < (0.7 if sparse else 0.0)] = 0
    ends = max(1, nodes - nodes // 10)
    return Graph(
        edge_index=rng.integers(0, ends, (2, edges)),
        features=scipy.sparse.csr_matrix(dense) if sparse else dense,
        labels=np.arange(nodes) % 3,
        class_names=("a", "b", "c"),
        edge_weight=rng.random(edges).astype(np.float32) if weighted else None,
        name="random",
    )


@pytest.fixture
def make_parts(tmp_path: Path) -> Make:
    """A graph in parts by a vector of parts; by default, part 1 of 4 is empty."""

    def make(graph: Graph | None = None, part: np.ndarray | None = None, parts: int = 4) -> Parts:
        graph = random_graph() if graph is None else graph
        if part is None:
            part = np.random.default_rng(1).choice([p for p in range(parts) if p != 1], graph.num_nodes)
        folder = tmp_path / f"parts-{len(list(tmp_path.iterdir()))}"
        return graph.partition(parts, folder, method=part, scale="none")

    return make


@pytest.fixture(params=[1, 2, 3])
def machines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The workers that are threads believe that they are on so many machines."""
    monkeypatch.setattr(sharing, "machine", lambda: f"machine {Turns.here.rank % request.param}")
    return int(request.param)


class Turns:
    """A worker that is a thread. One thread works at a time, each with its own state of torch's generator."""

    here = threading.local()

    def __init__(self, rank: int, world: int, shared: "Shared") -> None:
        self.here.rank = rank
        self.rank, self.world, self.bytes_sent, self.shared = rank, world, 0, shared

    def _swap(self, value: Any) -> list[Any]:
        """What all workers have brought."""
        state = torch.get_rng_state()
        self.shared.brought[self.rank] = value
        self.shared.turn.release()
        try:
            self.shared.barrier.wait(timeout=60)
            found = list(self.shared.brought)
            self.shared.barrier.wait(timeout=60)
        finally:
            self.shared.turn.acquire()
        torch.set_rng_state(state)
        return found

    def exchange(self, outgoing: Sequence[Tensor], counts: Sequence[int]) -> Callable[[], list[Tensor]]:
        self.bytes_sent += sum(rows.nbytes for worker, rows in enumerate(outgoing) if worker != self.rank)
        received = [theirs[self.rank] for theirs in self._swap([rows.clone() for rows in outgoing])]
        assert [len(rows) for rows in received] == list(counts)
        return lambda: received

    def gather(self, rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
        found = self._swap(rows.clone())
        assert [len(theirs) for theirs in found] == list(counts)
        return found

    def any(self, flag: bool) -> bool:
        return any(self._swap(flag))

    def meet(self) -> None:
        self._swap(None)


class Shared:
    def __init__(self, world: int) -> None:
        self.turn, self.barrier = threading.Lock(), threading.Barrier(world)
        self.brought: list[Any] = [None] * world


def in_turns(world: int, work: Callable[[Turns], Any]) -> list[Any]:
    """The results of ``work`` on each of several workers."""
    shared = Shared(world)
    results: list[Any] = [None] * world
    state = torch.get_rng_state()

    def run(rank: int) -> None:
        with shared.turn:
            torch.set_rng_state(state)
            try:
                results[rank] = work(Turns(rank, world, shared))
            except Exception as error:
                results[rank] = error
                shared.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, threading.BrokenBarrierError):
            raise result
    return results
