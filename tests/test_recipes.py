"""The recipes of docs/recipes run, and what they train is good."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

RECIPES = Path(__file__).parents[1] / "docs" / "recipes"
# Lightning warns about its loaders, and uses what torch deprecates.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Recipes import each other by their names, as in their folder. Small networks gain nothing from more threads."""
    monkeypatch.syspath_prepend(str(RECIPES))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def recipe(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_every_recipe_is_on_the_page() -> None:
    page = (RECIPES.parent / "recipes.md").read_text()
    for path in RECIPES.glob("*.py"):
        assert f"{{literalinclude}} recipes/{path.name}" in page


def test_graph_classification() -> None:
    assert recipe("graph_classification").main() > 0.9


def test_link_prediction() -> None:
    assert recipe("link_prediction").main() > 0.88


def test_lightning() -> None:
    assert recipe("lightning_module").main() > 0.8


def test_two_processes_train_what_one_trains() -> None:
    alone, shared = recipe("ddp").main()
    torch.manual_seed(0)
    start = recipe("ddp").GraphClassifier().state_dict()
    assert all((start[name] - value).abs().max() > 1e-3 for name, value in alone.items())
    for weights in shared:
        assert all(torch.equal(weights[name], value) for name, value in shared[0].items())
        for name, value in alone.items():
            assert (weights[name] - value).abs().max() < 1e-5, name
