"""The site builds without a warning, its notebook and examples run, and its commands exist."""

import html
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import typer

import justjump
from justjump.cli.app import app
from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
PATH = r"/(tmp|home|root|work|usr|var|opt|mnt|Users)/|[A-Z]:\\\\|site-packages"
SHELL_PAGES = [*PAGES, *sorted(ROOT.glob("results/*.md"))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each fenced block of a page."""
    found = re.findall(r"^(```+)([^\n]*)\n(.*?)^\1$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    yield from ((language.strip(), text) for _, language, text in found)


def python_blocks(page: Path) -> list[str]:
    return [text for language, text in fences(page) if language == "python"]


def shell_lines(page: Path) -> list[list[str]]:
    """The words of every line of the shell blocks of a page, comments left out."""
    blocks = [text for language, text in fences(page) if language in ("", "sh", "bash", "console")]
    lines = [line for text in blocks for line in text.replace("\\\n", " ").splitlines()]
    return [words for line in lines if (words := _words(line.removeprefix("$ ")))]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a table or an output, not a command
        return []


def some_pages(blocks: str) -> list[Path]:
    return [page for page in (PAGES if blocks == "python" else SHELL_PAGES) if any(_lines(page, blocks))]


def _lines(page: Path, first: str) -> list[list[str]] | list[str]:
    return python_blocks(page) if first == "python" else [words for words in shell_lines(page) if words[0] == first]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    site = tmp_path / "html"
    options = ["-c", "docs", "-W", "--keep-going", "-q", "-d", str(tmp_path / "doctrees")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # tests run side by side
    command = [sys.executable, "-m", "sphinx", *options, ".", str(site)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "docs/index.html" in (site / "index.html").read_text()
    for page in ROOT.glob("docs/*.md"):
        assert (site / "docs" / page.with_suffix(".html").name).is_file()
    check_notebook((site / "docs" / "cora.html").read_text())
    check_stored((site / "docs" / "customers.html").read_text(), code_cells("docs/customers.ipynb"))
    for page in site.rglob("*.html"):
        remote = re.search(
            r"<(script|img|iframe)\b[^>]*\bsrc=\"(https?:)?//|<link\b[^>]*\bhref=\"https?://", page.read_text()
        )
        assert not remote, f"{page.name} needs the network: {remote[0]}"


def check_notebook(page: str) -> None:
    """It ran: its three pictures and its results are there."""
    assert page.count("<img") >= 3
    found = re.search(r"test accuracy ([\d.]+)", page)
    assert found
    assert float(found[1]) > 0.8
    assert "of the influence" in page
    assert "ipywidgets" not in page, "progress is nothing for readers"


def test_the_notebook_is_kept_without_outputs() -> None:
    assert '"output_type"' not in (ROOT / "docs" / "cora.ipynb").read_text()


def code_cells(notebook: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads((ROOT / notebook).read_text())["cells"] if cell["cell_type"] == "code"]


def problem_of(cells: list[dict[str, Any]]) -> str | None:
    """Why stored outputs are not those of a clean run, which scripts/store_outputs.py makes; None if they are."""
    if [cell["execution_count"] for cell in cells] != list(range(1, len(cells) + 1)):
        return "the cells were not run one after the other"
    for output in (output for cell in cells for output in cell["outputs"]):
        if output["output_type"] == "error" or output.get("name") == "stderr":
            return f"there is an output of the kind {output.get('name', 'error')}"
        texts = {kind: text for kind, text in output.get("data", output).items() if not kind.startswith("image/")}
        if found := re.search(PATH, json.dumps(texts)):
            return f"there is a path, {found[0]}"
    return None


def test_the_notebook_for_readers_has_the_outputs_of_a_clean_run() -> None:
    cells = code_cells("docs/customers.ipynb")
    assert problem_of(cells) is None
    assert sum(bool(cell["outputs"]) for cell in cells) == len(cells) - 1, "the last cell saves"
    assert (ROOT / "docs" / "customers.ipynb").stat().st_size < 100_000


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"execution_count": None}, "not run one after the other"),
        ({"outputs": [{"output_type": "error", "ename": "ValueError"}]}, "kind error"),
        ({"outputs": [{"output_type": "stream", "name": "stderr", "text": ["a warning"]}]}, "kind stderr"),
        ({"outputs": [{"output_type": "stream", "name": "stdout", "text": ["in /home/me"]}]}, "a path, /home/"),
        ({"outputs": [{"output_type": "display_data", "data": {"text/plain": r"C:\data"}}]}, "a path"),
    ],
)
def test_outputs_that_are_not_clean_are_noticed(change: dict[str, Any], problem: str) -> None:
    first, *others = code_cells("docs/customers.ipynb")
    assert problem in (problem_of([{**first, **change}, *others]) or "")


def check_stored(page: str, cells: list[dict[str, Any]]) -> None:
    """What the notebook prints today is what is stored in it, but for numbers, which depend on the machine."""
    printed = [line for cell in cells for output in cell["outputs"] for line in output.get("text", ())]
    assert len(printed) >= 4
    for line in printed:
        assert _without_numbers(line.strip()) in _without_numbers(html.unescape(page))


def _without_numbers(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)


def small_graph(nodes: int = 60) -> Graph:
    random = np.random.RandomState(0)
    labels = np.arange(nodes) % 3
    edges = random.randint(nodes, size=(2, 4 * nodes))
    features = np.eye(8)[labels] + random.rand(nodes, 8)
    return Graph(np.c_[edges, edges[::-1]], features, labels, ("a", "b", "c"))


@pytest.fixture(scope="module")
def cora_run() -> Run:
    """What stands in the folders below runs/ that examples load."""
    config = ModelConfig(layers=3, hidden=16)
    return justjump.fit(justjump.load("cora"), config, Protocol(max_epochs=2))


@pytest.fixture
def scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What examples may take for granted: tensors of a graph of one's own, and its files in the current folder."""
    monkeypatch.chdir(tmp_path)
    graph = small_graph()
    data = graph.to_pyg()
    folder = tmp_path / "my-graph"
    folder.mkdir()
    nodes = [f"{i},{label},{label},{i % 2},{int(i % 5 > 1)},{i % 3},{i}" for i, label in enumerate("abc" * 20)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,kind,red,big,x,y", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"{i},{(i + 3) % 60}" for i in range(60))]))
    history = torch.randn(graph.num_nodes, 3, 128)
    people = pd.DataFrame({"name": ["ann", "bob"], "segment": ["a", "b"], "age": [31, None]})
    return {
        "people": people,
        "friends": pd.DataFrame({"from": ["ann"], "to": ["bob"], "strength": [2]}),
        "nodes": people.rename(columns={"name": "id", "segment": "label"}),
        "edges": pd.DataFrame({"source": ["ann"], "target": ["bob"]}),
        "x": data.x,
        "edge_index": data.edge_index,
        "y": data.y,
        "pyg_data": data,
        "graph": graph,
        "history": history,
    }


@pytest.mark.slow
@pytest.mark.parametrize("page", some_pages("python"), ids=name)
def test_python_examples_run(
    page: Path, scope: dict[str, object], cora_run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = python_blocks(page)
    for folder in re.findall(r'"(runs/[^"]+)"', "".join(blocks)):
        cora_run.save(folder)
    for block in blocks:
        exec(compile(block, name(page), "exec"), scope)
    printed = capsys.readouterr().out
    for said in re.findall(r"print\(.*\)  # (.*R2 [\d.]+|multilabel .*)$", "".join(blocks), flags=re.MULTILINE):
        assert said in printed


@pytest.mark.parametrize("page", some_pages("justjump"), ids=name)
def test_commands_have_these_options(page: Path) -> None:
    program = typer.main.get_group(app)
    for words in shell_lines(page):
        if words[0] == "justjump":
            _, command, *arguments = words
            assert command in program.commands, f"{name(page)}: there is no command {shlex.join(words)}"
            try:
                program.commands[command].make_context(command, arguments)
            except Exception as error:
                message = error.format_message() if hasattr(error, "format_message") else repr(error)
                pytest.fail(f"{name(page)}: {shlex.join(words)}: {message}")


@pytest.mark.parametrize("page", some_pages("make"), ids=name)
def test_make_targets_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for words in _lines(page, "make"):
        assert words[1] in targets, f"{name(page)}: {shlex.join(words)}"


@pytest.mark.parametrize("page", some_pages("pip"), ids=name)
def test_extras_exist(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for words in _lines(page, "pip"):
        for names in re.findall(r"\[([^]]*)\]", shlex.join(words)):
            assert set(names.split(",")) <= set(extras), f"{name(page)}: {shlex.join(words)}"


def test_the_guide_lists_all_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (every,) = extras["all"]
    listed = re.search(r"# with one of the extras: (.*), or all$", (ROOT / "docs/getting-started.md").read_text(), re.M)
    assert listed
    assert listed[1].split(", ") == every.removeprefix("justjump[").removesuffix("]").split(",")
    assert set(extras) - set(listed[1].split(", ")) == {"all", "dist", "docs", "fuzz", "test"}


def test_shares_in_the_text_on_the_operator() -> None:
    """What the comments of the examples say is what comes out."""
    block = next(block for block in python_blocks(ROOT / "docs" / "operator.md") if "restricted_softmax" in block)
    for scores, shares in re.findall(r"tensor\((\[.*?\])\)\)  # ([\d., ]+):", block):
        out = justjump.ops.restricted_softmax(torch.tensor(eval(scores)))
        assert [f"{share:.2f}" for share in out] == shares.split(", ")


def test_the_script_draws_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = tmp_path / "operator.svg"
    monkeypatch.setattr(sys, "argv", ["draw_operator.py", str(drawn)])
    runpy.run_path(str(ROOT / "scripts" / "draw_operator.py"), run_name="__main__")
    assert "</svg>" in drawn.read_text()
