"""Runs on the Hub, which is not called: its functions are replaced where a test would reach it."""

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import ModelCard

from justjump.train import Run, RunError, fit, hub_run
from made_graphs import made_graph


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(made_graph("multiclass", nodes=60), layers=1, hidden=8, heads=2, groups=2, max_epochs=2)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    with monkeypatch.context() as context:
        context.setattr(socket.socket, "connect", refuse)
        yield


def test_a_folder(run: Run, tmp_path: Path) -> None:
    run.save_pretrained(tmp_path / "first")
    files = ["README.md", "config.json", "model.safetensors", "run.json", "split.safetensors"]
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == files
    loaded = Run.from_pretrained(tmp_path / "first")
    graph = made_graph("multiclass", nodes=60)
    assert np.array_equal(loaded.predict(graph).probabilities, run.predict(graph).probabilities)
    assert loaded.to_dict() == run.to_dict()
    assert json.loads((tmp_path / "first" / "config.json").read_text())["hidden"] == 8


def test_the_metadata_of_the_card(run: Run, tmp_path: Path) -> None:
    run.save_pretrained(tmp_path / "first")
    card = ModelCard.load(tmp_path / "first" / "README.md")
    assert card.data.library_name == "justjump"
    assert card.data.pipeline_tag == "graph-ml"
    assert "license" not in card.data.to_dict()
    assert {"justjump", "dna", "multiclass"} <= set(card.data.tags or ())
    results = {(one.dataset_split, one.metric_type): one.metric_value for one in card.data.eval_results or ()}
    assert results["test", "accuracy"] == run.test_accuracy
    assert results["validation", "log_loss"] == run.measures["val"]["log_loss"]
    assert card.data.model_name == "first"
    assert 'from_pretrained("first")' in card.text


def test_a_card_that_is_there_is_left_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    run.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_upload(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, Any] = {}

    def upload(self: object, *, folder_path: Path, repo_id: str, **options: Any) -> str:
        sent.update(repo_id=repo_id, card=(folder_path / "README.md").read_text(), run=Run.load(folder_path))
        return "https://hub/commit/1"

    def create(self: object, repo_id: str, **options: Any) -> Any:
        sent["private"] = options["private"]
        return type("Url", (), {"repo_id": repo_id})

    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", create)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    assert run.push_to_hub("me/first", private=True) == "https://hub/commit/1"
    assert sent["private"]
    assert sent["repo_id"] == "me/first"
    assert 'justjump.Run.from_pretrained("me/first")' in sent["card"]
    assert sent["run"].to_dict() == run.to_dict()


def test_download(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save_pretrained(tmp_path)
    asked: dict[str, Any] = {}

    def download(repo_id: str, **options: Any) -> str:
        asked.update(options, repo_id=repo_id)
        return str(tmp_path)

    monkeypatch.setattr(hub_run, "snapshot_download", download)
    monkeypatch.setattr("huggingface_hub.hub_mixin.hf_hub_download", lambda **_: str(tmp_path / "config.json"))
    assert Run.from_pretrained("me/first", revision="v1").to_dict() == run.to_dict()
    assert (asked["repo_id"], asked["revision"]) == ("me/first", "v1")
    assert "README.md" not in asked["allow_patterns"]


@pytest.mark.parametrize("name", ["me/first", "not/a/name"])
def test_what_is_nowhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f"there is no folder '{name}', and the Hub does not give a run of this name"):
        Run.from_pretrained(name, local_files_only=True, cache_dir=tmp_path)


def test_without_the_package(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save(tmp_path)
    monkeypatch.delitem(sys.modules, "justjump.train.hub_run", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert Run.from_pretrained(tmp_path).class_names == run.class_names
    with pytest.raises(RunError, match=r"a model card needs huggingface_hub: pip install 'justjump\[hub\]'"):
        run.save_pretrained(tmp_path)
    with pytest.raises(RunError, match=r"no folder 'me/first', and reading from the Hub needs huggingface_hub"):
        Run.from_pretrained("me/first")
