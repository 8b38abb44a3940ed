"""Progress of many runs, as lines where there is no terminal."""

from dataclasses import replace

import pytest

from job_kinds import small_job
from justjump.experiments.display import RunsDisplay
from justjump.experiments.jobs import Done, Epoch, Failed, Stopping
from justjump.train.show import SECONDS_BETWEEN_LINES


def done(job: int, accuracy: float = 0.8, seconds: float = 30.0, finished: bool = True) -> Done:
    return Done(job, {"finished": finished, "test_accuracy": accuracy, "seconds": seconds, "epochs": 9})


def test_lines_count_jobs_and_estimate_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    with RunsDisplay([small_job(seed) for seed in range(4)], [f"job {n}" for n in range(4)], workers=2) as display:
        display(Epoch(0, epoch=1, seconds=0.3, val_score=0.5))
        display(done(0))
        display(Failed(1, "out of\nluck"))
        display(done(2, accuracy=0.9))
    assert capsys.readouterr().err.splitlines() == [
        "[1/4] job 0: test accuracy 80.0 after 9 epochs, 0:45 left",
        "[2/4] job 1: failed: out of luck",
        "[3/4] job 2: test accuracy 90.0 after 9 epochs, 0:15 left",
    ]


def test_a_long_job_says_how_far_it_is_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with RunsDisplay([small_job(0)], ["split 0"], workers=1) as display:
        for epoch in range(1, 40):
            if epoch in (20, 30):
                display.said -= SECONDS_BETWEEN_LINES
            display(Epoch(0, epoch=epoch, seconds=epoch, val_score=0.5))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [f"[0/1] split 0: epoch {epoch}, val 50.0 %" for epoch in (20, 30)]


def test_a_stopped_job_says_where_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with RunsDisplay([small_job(seed) for seed in range(2)], ["split 0", "split 1"], workers=2) as display:
        for job, epoch in ((0, 1), (1, 31), (0, 2), (1, 32)):
            display(Epoch(job, epoch=epoch, seconds=0.3, val_score=0.5))
    assert capsys.readouterr().err == "split 1 goes on after epoch 30\n"


def test_a_saved_run_that_took_no_epoch_was_there_before(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [replace(small_job(seed), output="runs") for seed in range(2)]
    with RunsDisplay(jobs, ["first", "second"], workers=1) as display:
        display(done(0))
        display(Epoch(1, epoch=1, seconds=0.3, val_score=0.5))
        display(done(1))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "first is already there: test accuracy 80.0 after 9 epochs"
    assert second.startswith("[2/2] second: test accuracy")


def test_ctrl_c_is_answered_and_a_stopped_job_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with RunsDisplay([small_job(0)], ["job"], workers=1) as display:
        display(Epoch(0, epoch=1, seconds=0.3, val_score=0.5))
        display(Stopping())
        display(done(0, finished=False))
    assert capsys.readouterr().err.startswith("stopping: running jobs end after their epoch")
    assert display.scores == []


def test_the_time_left_before_a_job_has_ended() -> None:
    display = RunsDisplay([small_job(seed) for seed in range(2)], ["a", "b"], workers=1)
    assert display.left() == ""
    display.running[0] = Epoch(0, epoch=10, seconds=600.0, val_score=0.5)
    assert display.left() == "3.2 h left", "a hundred epochs of a minute each, twice, without the ten that are done"
