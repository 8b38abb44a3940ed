"""The demo, without its training."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from justjump.experiments import demo, paper
from justjump.experiments.jobs import Job

Results = tuple[list[dict[str, Any]], float]


def fake_runs(finished: Callable[[Job], bool]) -> Callable[[Sequence[Job], Sequence[str], int], Results]:
    def run_jobs(todo: Sequence[Job], titles: Sequence[str], jobs: int) -> Results:
        assert len(todo) == len(titles)
        runs = [
            {"finished": finished(job), "config": asdict(job.config), "test_accuracy": 0.85 + job.seed / 100}
            for job in todo
        ]
        return runs, 1.4

    return run_jobs


def test_they_stand_beside_the_paper(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "run_jobs", fake_runs(lambda job: True))
    demo.demo(splits=3, jobs=1)
    printed = " ".join(capsys.readouterr().out.split())
    for model in ("dna-g16", "gcn-none"):
        stated = paper.TABLE1[model]["cora"]
        assert f"86.00 +- 1.00 {stated.mean:.2f} +- {stated.std:.2f} {86 - stated.mean:+.2f}" in printed
    assert "DNA (g=16) 4/128/16/8 3" in printed
    assert "DNA, recommended 2/128/16/8 3 86.00 +- 1.00 - -" in printed
    assert "1 seconds with 1 job at a time" in printed


def test_what_was_stopped_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "run_jobs", fake_runs(lambda job: job.config.model == "dna"))
    with pytest.raises(SystemExit) as left:
        demo.demo(splits=2, jobs=1)
    assert left.value.code == 130
    assert "stopped" in capsys.readouterr().out
