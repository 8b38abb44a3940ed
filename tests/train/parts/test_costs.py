"""What training costs by arithmetic is what it sends; the table of the documentation is that of the code."""

from pathlib import Path

import numpy as np
import pytest
import torch

from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.objective import Objective
from justjump.train.parts.costs import (
    PartSize,
    between_workers,
    epoch_bytes,
    hash_boundary,
    part_bytes,
    seconds_to_send,
    table,
)
from justjump.train.parts.executor import Executor
from justjump.train.parts.nodes import Chosen
from justjump.train.parts.storage import InMemory

from .conftest import Make, Turns, in_turns, random_graph

CONFIG = ModelConfig(layers=2, hidden=16, heads=4, groups=4)
PAGE = Path(__file__).parents[3] / "docs" / "large-graphs.md"


def test_an_epoch_sends_what_the_formula_says(make_parts: Make) -> None:
    parts = make_parts(parts=5)
    some = Chosen.of(parts, np.arange(0, 60, 3))

    def epoch(transport: Turns) -> int:
        executor = Executor(parts, NodeClassifier(CONFIG, 9, 3), transport, InMemory(torch.float32))
        executor.train(some, Objective(), 20)
        executor.outputs(some)  # validation
        return transport.bytes_sent

    for workers in (2, 5):
        assert sum(in_turns(workers, epoch)) == epoch_bytes(between_workers(parts, workers), CONFIG)
    assert between_workers(parts, 5) == parts.manifest.num_halo
    assert between_workers(parts, 1) == 0


def test_boundaries_of_hash_parts(make_parts: Make) -> None:
    graph = random_graph(2000, 20_000)
    parts = make_parts(graph, np.random.default_rng(0).integers(0, 8, 2000), 8)
    expected = hash_boundary(2000, 20_000, 8)
    assert 0.85 * expected < parts.manifest.num_halo < expected


def test_bytes_and_seconds() -> None:
    assert seconds_to_send(10e9, 4) == pytest.approx(2)
    small, large = (part_bytes(PartSize(1000, halo, 10_000, 8), CONFIG) for halo in (0, 1000))
    assert large - small == 1000 * (16 + 4 * 16 * 4 * 2)


def test_the_table_of_the_documentation() -> None:
    assert table(ModelConfig(layers=3, hidden=128, heads=8, groups=8)) in PAGE.read_text()
