"""Progress of one run."""

from functools import partial

import pytest
from rich.console import Console

from justjump.train import Progress, Protocol, show
from justjump.train.show import EpochBar, shown_value

PROGRESS = Progress(epoch=3, watched_epoch=2, seconds=3.0, val_score=[0.1, 0.2, 0.25], measure="r2")


def test_the_bar_shows_epoch_and_score(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, for rich
    with EpochBar(Protocol(), "regression", shown=True) as bar:
        bar(PROGRESS)
        line = bar.bars.tasks[0]
    assert line.description == "epoch 3"
    assert line.fields["score"] == "val R2 0.250"
    assert line.fields["left"] == "9 s or more left"


def test_nobody_looks_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with EpochBar(Protocol(), "multiclass") as bar:
        bar(Progress(epoch=1, seconds=1.0, val_score=[0.5]))
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


def test_without_a_terminal_there_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with EpochBar(Protocol(), "regression", shown=True) as bar:
        bar(PROGRESS)
        assert capsys.readouterr().err == "", "ten seconds are not over"
        bar.said -= show.SECONDS_BETWEEN_LINES
        bar(PROGRESS)
        bar(PROGRESS)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "epoch 3, val R2 0.250, 9 s or more left\n")


def test_a_notebook_without_widgets_has_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """rich would warn in every epoch, and name the folder that it is installed in."""
    monkeypatch.setattr(show, "find_spec", lambda name: None)
    monkeypatch.setattr(show, "Console", partial(Console, force_jupyter=True))
    with EpochBar(Protocol(), "regression") as bar:
        assert bar.shown
        bar(PROGRESS)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("measure", "value", "text"), [("accuracy", 0.5, "50.0"), ("rmse", 12345.6, "12,346"), ("r2", None, "-")]
)
def test_values(measure: str, value: float | None, text: str) -> None:
    assert shown_value(measure, value) == text
