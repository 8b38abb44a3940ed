"""Runs that took a moment to train, and pages that show them."""

import csv
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from selenium import webdriver
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.service import Service

from browser_page import Page
from justjump.analysis.explore import Session, make_app, open_session
from justjump.analysis.explore.server import listen
from justjump.analysis.subject import make_subject
from justjump.data import load, read_graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, TrainingWarning, fit
from made_graphs import made_graph, made_graphs

ATTACK = "<img src=x onerror='document.title=1'>"
CHROMIUM_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of a DNA and a GCN network on Cora."""
    torch.set_num_threads(1)  # what is made for all tests comes before the setting for each
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("jumping", "plain")]
    sizes: dict[str, Any] = {"hidden": 16, "heads": 4, "groups": 4}
    fit(load("cora"), ModelConfig("dna", layers=2, **sizes), Protocol(max_epochs=8), output=folders[0])
    fit(load("cora"), ModelConfig("gcn", layers=1, **sizes), Protocol(max_epochs=8), output=folders[1], seed=1)
    return folders


@pytest.fixture(scope="session")
def session(runs: list[Path]) -> Session:
    return open_session(runs, graph=None, directed=False, data_dir=None)


@pytest.fixture(scope="session")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a graph of one's own: twelve nodes on a ring, some with names that want to be more than that."""
    folder = tmp_path_factory.mktemp("graphs") / "ring"
    folder.mkdir()
    names = [ATTACK, "long name " * 20, *(f"Node {letter}" for letter in "cdefghijkl")]
    labels = ["<b>cat</b>", "dog"] * 5 + ["", ""]
    with (folder / "nodes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label", "weight"), *zip(names, labels, range(12), strict=True)])
    with (folder / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *zip(names, names[1:] + names[:1], strict=True)])
    return folder


@pytest.fixture(scope="session")
def ring_run(ring: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run on the ring, whose edges are directed."""
    folder = tmp_path_factory.mktemp("runs") / "<u>ring</u>"
    config = ModelConfig(layers=2, hidden=8, heads=2, groups=2)
    fit(read_graph(ring, directed=True), config, Protocol(max_epochs=2), output=folder)
    return folder


@pytest.fixture(scope="session")
def made() -> Callable[..., Session]:
    """A function that shows one or two runs on a graph of a task, or on "graphs" with a label each."""
    torch.set_num_threads(1)
    known: dict[tuple[str, int], Session] = {}

    def show(task: str, runs: int = 1) -> Session:
        if (task, runs) not in known:
            graph = made_graphs(40) if task == "graphs" else made_graph(task, nodes=80)
            config = ModelConfig(layers=2, hidden=8, heads=2, groups=2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingWarning)  # they have learned next to nothing
                trained = [fit(graph, config, Protocol(max_epochs=5), seed=seed) for seed in range(runs)]
            subjects = [make_subject(run, graph, f"run {number}") for number, run in enumerate(trained)]
            known[task, runs] = Session(graph, subjects)
        return known[task, runs]

    return show


@pytest.fixture
def ring_session(ring: Path, ring_run: Path) -> Session:
    return open_session([ring_run], str(ring), directed=True, data_dir=None)


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Session], str]]:
    """A function that serves a session until the tests end, and says where."""
    running = []

    def start(session: Session) -> str:
        server = listen(make_app(session), port=0)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.port}"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def address(serve: Callable[[Session], str], session: Session) -> str:
    return serve(session)


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """Headless Chromium that notes every request."""
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        reason = f"{' and '.join(missing)} not found: install Debian's packages chromium and chromium-driver"
        if os.environ.get("JUSTJUMP_BROWSER_TESTS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(found["chromium"])
        for flag in (*CHROMIUM_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(found["chromedriver"]))
        yield driver
        driver.quit()


@pytest.fixture
def browser(chromium: Chrome) -> Iterator[object]:
    """A page that nobody looks at any more would go on drawing."""
    yield chromium
    chromium.get("about:blank")


@pytest.fixture
def page(browser: Chrome, address: str) -> Page:
    return Page(browser).open(address)
