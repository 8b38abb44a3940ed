"""What the README promises: six lines, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

import justjump

ROOT = Path(__file__).parents[1]


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)


@pytest.mark.slow
def test_training_on_own_data_takes_six_lines(capsys: pytest.CaptureFixture[str]) -> None:
    block = python_blocks(ROOT / "README.md")[0]
    assert len([line for line in block.splitlines() if line.strip()]) <= 6
    cora = justjump.load("cora").to_pyg()
    scope = {"x": cora.x.to_dense(), "edge_index": cora.edge_index, "y": cora.y}
    exec(block, scope)
    found = re.search(r"test accuracy ([\d.]+)", capsys.readouterr().out)
    assert found
    assert float(found[1]) > 0.8
    assert scope["classes"].shape == (2708,)
    assert scope["probabilities"].shape == (2708, 7)


def test_links_of_the_readme_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("results/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
