"""Graphs with tables of many kinds: two classes that the columns tell apart, and edges that mostly join a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from justjump.data import Graph, Table

Columns = dict[str, Any]


def income_and_age(y: np.ndarray, random: Generator) -> Columns:
    """Two columns of very different scale, as files have them."""
    return {
        "income": (30_000 + 25_000 * y + random.normal(0, 8_000, len(y))).round(2),
        "age": (50 - 20 * y + random.normal(0, 8, len(y))).round(),
    }


def missing_values(y: np.ndarray, random: Generator) -> Columns:
    columns = income_and_age(y, random)
    return {name: np.where(random.random(len(y)) < 0.15, np.nan, values) for name, values in columns.items()}


def categories(y: np.ndarray, random: Generator) -> Columns:
    job = np.where(y == 1, random.choice(["cook", "smith", "nurse"], len(y)), random.choice(["clerk", "smith"], len(y)))
    return {"job": job, "city": random.choice(["Bonn", "Ulm", "Kiel", ""], len(y))}


def booleans_and_dates(y: np.ndarray, random: Generator) -> Columns:
    since = np.datetime64("2015-01-01") + 1500 * y + random.integers(0, 1200, len(y))
    return {"member": np.where(random.random(len(y)) < 0.3 + 0.4 * y, "yes", "no"), "since": since.astype(str)}


def huge_and_tiny(y: np.ndarray, random: Generator) -> Columns:
    distance = 1e30 * (1 + 3 * y + random.normal(0, 0.6, len(y)))
    distance[0] = 1e300  # a wrong value
    return {"distance": distance, "charge": 1e-25 * (y + random.normal(0, 0.3, len(y))), "one": np.full(len(y), 7.0)}


def words_and_city(y: np.ndarray, random: Generator) -> Columns:
    seen = random.random((len(y), 40)) < 0.02 + 0.12 * (np.arange(40) % 2 == y[:, None])
    words: Columns = {f"word {number}": seen[:, number].astype(float) for number in range(40)}
    return words | {"city": random.choice(["Bonn", "Ulm"], len(y))}


def with_text(y: np.ndarray, random: Generator) -> Columns:
    notes = [f"note {number} of {random.integers(10**9)}" for number in range(len(y))]
    return {"note": notes, **income_and_age(y, random), "nothing": [None] * len(y)}


TABLES: dict[str, Callable[[np.ndarray, Generator], Columns]] = {
    make.__name__: make
    for make in (
        income_and_age,
        missing_values,
        categories,
        booleans_and_dates,
        huge_and_tiny,
        words_and_city,
        with_text,
    )
}


def columns_and_classes(make: str, nodes: int = 300, seed: int = 0) -> tuple[Columns, np.ndarray]:
    random = default_rng(seed)
    y = random.integers(2, size=nodes)
    return TABLES[make](y, random), y


def edges(y: np.ndarray, seed: int = 0, homophily: float = 0.85) -> np.ndarray:
    """``[2, 6 N]``: three edges per node in both directions, this share of them within a class."""
    random = default_rng(seed + 1)
    ends = [np.flatnonzero(y == 0), np.flatnonzero(y == 1)]
    source = random.integers(len(y), size=3 * len(y))
    side = np.where(random.random(len(source)) < homophily, y[source], 1 - y[source])
    target = np.where(side == 1, random.choice(ends[1], len(source)), random.choice(ends[0], len(source)))
    return np.concatenate([np.stack([source, target]), np.stack([target, source])], axis=1)


def table_graph(make: str, nodes: int = 300, seed: int = 0) -> Graph:
    columns, y = columns_and_classes(make, nodes, seed)
    return Graph(edges(y, seed), Table.of(columns), y, ("left", "right"), name=make)
