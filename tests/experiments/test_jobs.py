"""One run: what its key and its cost depend on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from job_kinds import SHORT, small_job
from justjump.experiments.execute import missing
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job, biggest_first
from justjump.experiments.store import Store
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run


def test_biggest_first_and_each_once(tmp_path: Path) -> None:
    small, big = small_job(0), Job(GraphSpec("coauthor_physics"), ModelConfig("gat", layers=5), SHORT, 0)
    assert biggest_first([small, big]) == [big, small]
    assert big.memory > small.memory
    assert replace(big, protocol=Protocol(batch_size=64, fanout=(2,) * 5)).memory < big.memory
    with Store(tmp_path / "s") as store:
        assert missing([small, big, small], store) == [big, small]


def test_the_cost_of_a_deep_network_is_that_of_what_it_attends_to() -> None:
    """A window makes it linear in the depth."""

    def work(layers: int, **options: Any) -> float:
        return replace(small_job(0), config=ModelConfig(layers=layers, **options)).work

    assert work(64) > 3 * work(32)
    assert work(64, window=0) == work(64, window=4, keep_first=True) < 2.2 * work(32, window=0)
    assert work(4, window=0) == work(4)


def test_the_key_is_that_of_the_result() -> None:
    job = small_job(0)
    elsewhere = replace(job, output="runs", tensorboard="logs", spec=GraphSpec("cora", data_dir="there"))
    assert elsewhere.key == job.key
    others = [
        small_job(1),
        small_job(0, dropout=0.1),
        replace(job, protocol=Protocol(max_epochs=3)),
        replace(job, spec=GraphSpec("citeseer")),
    ]
    assert len({job.key, *(other.key for other in others)}) == 5


def test_keys_of_stored_results_do_not_change() -> None:
    """Options that join later must leave the keys of all former jobs as they are: ``option(..., later=True)``."""
    first = Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=0)
    second = Job(GraphSpec("cora"), ModelConfig("gcn", layers=2, jump="pool"), Protocol(patience=20), seed=3)
    assert first.key == "745b5eb9dfda201aa368908f4f198fed"
    assert second.key == "f9c3909557596885903843911fd792d7"


def test_a_job_trains_saves_and_logs(tmp_path: Path) -> None:
    epochs: list[int] = []
    job = replace(small_job(3), output=str(tmp_path / "run"), tensorboard=str(tmp_path / "logs"))
    result = job.run(lambda progress: epochs.append(progress.epoch))
    assert epochs == [1, 2]
    assert (result["seed"], result["epochs"], result["finished"]) == (3, 2, True)
    assert Run.load(tmp_path / "run").to_dict() == result
    assert [path.parent.name for path in (tmp_path / "logs").glob("*/*/events.*")] == ["seed-3"]


def test_scaled_columns_are_another_job_than_before_there_was_a_scale(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    keys = []
    for name, row in (("small", "1,1"), ("large", "5000,1")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "edges.csv").write_text("source,target\na,b\n")
        (folder / "nodes.csv").write_text(f"id,label,x,y\na,u,{row}\nb,v,0,1\n")
        job = Job(GraphSpec(path=str(folder)), ModelConfig(), SHORT, seed=0)
        keys.append("scale" in job.describe()["protocol"])
        assert job.describe()["protocol"]["normalize_features"] is False
    assert keys == [False, True]
    rows = replace(small_job(0), protocol=Protocol(scale="rows"))
    assert rows.describe()["protocol"]["normalize_features"] is True
