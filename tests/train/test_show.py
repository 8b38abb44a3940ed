"""Progress of one run."""

import pytest

from justjump.train import Progress, Protocol
from justjump.train.show import EpochBar, shown_value


def test_the_bar_shows_epoch_and_score(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with EpochBar(Protocol(), "regression", shown=True) as bar:
        bar(Progress(epoch=3, best_epoch=2, seconds=3.0, val_score=[0.1, 0.2, 0.25], measure="r2"))
        line = bar.bars.tasks[0]
    assert line.description == "epoch 3"
    assert line.fields["score"] == "val R2 0.250"
    assert line.fields["left"] == "9 s or more left"


def test_nobody_looks_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with EpochBar(Protocol(), "multiclass") as bar:
        bar(Progress(epoch=1, seconds=1.0, val_score=[0.5]))
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


@pytest.mark.parametrize(
    ("measure", "value", "text"), [("accuracy", 0.5, "50.0"), ("rmse", 12345.6, "12,346"), ("r2", None, "-")]
)
def test_values(measure: str, value: float | None, text: str) -> None:
    assert shown_value(measure, value) == text
