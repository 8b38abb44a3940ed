"""Warnings point at the line that they are about, through whatever stands between."""

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import cross_val_score
from torch_geometric.data import Data

import justjump
from justjump import DNAClassifier, DNARegressor
from justjump.data import Graph

QUICK: dict[str, Any] = {"layers": 1, "hidden": 8, "heads": 1, "groups": 1, "max_epochs": 1}
NOISE = np.random.RandomState(0).randn(40, 3)
PEOPLE = pd.DataFrame({"id": [1, 2], "class": ["a", "b"], "age": [31, 52]})
PAIRS = pd.DataFrame({"source": [1], "target": [2]})


def data() -> Data:
    edge_index = torch.tensor([[0], [1]])
    return Data(
        x=torch.from_numpy(NOISE).float(), edge_index=edge_index, edge_attr=torch.ones(1, 3), y=torch.arange(40) % 2
    )


def graph_in(folder: Path) -> Path:
    PEOPLE.to_csv(folder / "nodes.csv", index=False)
    PAIRS.to_csv(folder / "edges.csv", index=False)
    return folder


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: justjump.fit(data(), **QUICK),
        lambda folder: justjump.read_graph(graph_in(folder)),
        lambda folder: Graph.from_pyg(data()),
        lambda folder: Graph.from_pandas(PEOPLE, PAIRS.assign(why="work")),
        lambda folder: DNAClassifier(**QUICK).fit(data()),
        lambda folder: DNAClassifier(**QUICK).fit(NOISE, np.arange(40)[:, None] % 2),
        lambda folder: DNARegressor(**QUICK).fit(NOISE, NOISE[::-1, 0]),
        lambda folder: cross_val_score(DNARegressor(**QUICK), NOISE, NOISE[::-1, 0], cv=2),
    ],
)
def test_warnings_point_at_the_call(call: Callable[[Path], object], tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(tmp_path)
    assert seen
    line = inspect.getsourcelines(call)[1]
    assert {(one.filename, one.lineno) for one in seen} == {(__file__, line)}


@pytest.mark.filterwarnings("ignore")
def test_predictions_do_so_through_torch() -> None:
    run = justjump.fit(data(), **QUICK)
    with pytest.warns(match="edge_attr is ignored") as seen:
        run.predict(data())
    assert seen[0].filename == __file__
