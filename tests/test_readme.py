"""The examples of the README and the docs, run as they stand there."""

import re
from pathlib import Path

import pytest
import torch

import justjump

ROOT = Path(__file__).parents[1]


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)


def test_training_on_own_data_takes_six_lines(capsys: pytest.CaptureFixture[str]) -> None:
    block = python_blocks(ROOT / "README.md")[0]
    assert len([line for line in block.splitlines() if line.strip()]) <= 6
    cora = justjump.load("cora").to_pyg()
    scope = {"x": cora.x.to_dense(), "edge_index": cora.edge_index, "y": cora.y}
    exec(block, scope)
    accuracy = float(re.search(r"test accuracy ([\d.]+)", capsys.readouterr().out)[1])
    assert accuracy > 0.8
    assert scope["classes"].shape == (2708,)
    assert scope["probabilities"].shape == (2708, 7)


def test_the_layer_of_the_readme() -> None:
    scope = {"history": torch.randn(5, 3, 128), "edge_index": torch.tensor([[0, 1], [1, 2]])}
    exec(python_blocks(ROOT / "README.md")[1], scope)
    assert scope["h"].shape == (5, 128)


def test_the_example_on_performance() -> None:
    scope = {"history": torch.randn(5, 3, 128), "edge_index": torch.tensor([[0, 1], [1, 2]])}
    (block,) = python_blocks(ROOT / "docs" / "performance.md")
    exec(block, scope)
    assert scope["h"].shape == (5, 128)


def test_links_of_the_readme_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("results/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
