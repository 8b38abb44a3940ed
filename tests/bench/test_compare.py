"""Both sides in turn, and how much work a case is."""

import pytest

from justjump.bench import compare
from justjump.bench.compare import Limits, measure, work


def test_work_counts_edges_times_steps() -> None:
    gathered, flop = work("layer-computers-folds")
    edges = 2 * 245861 + 13752
    assert gathered == 4 * 128 * edges * (2 * 2 + 2)
    assert flop == 18 * 128 * edges * 2
    assert work("gcn-computers") == (0.0, 0.0)


class FakeWorker:
    """Both sides agree; ours takes a tenth of the time."""

    def __init__(self, case: str, side: str, *_: object) -> None:
        self.pace = 0.1 if side == "ours" else 1.0
        self.check = [1.0, 2.0]
        self.seconds: list[float] = []
        self.memory = 100 * self.pace

    def repeat(self, times: int, warm_up: bool = False) -> float:
        self.seconds += [] if warm_up else [self.pace] * times
        return self.pace

    def close(self) -> None:
        pass


def test_a_row_holds_medians_and_shares_of_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "Worker", FakeWorker)
    row = measure("layer-cora", 1, 3, True, False, None, Limits(copy_gb=2.0, matmul_gflop=4.0))
    assert (row.pyg_ms, row.ours_ms, row.ratio) == pytest.approx((1000, 100, 10))
    assert (row.pyg_mb, row.ours_mb) == pytest.approx((100, 10))
    gathered, flop = work("layer-cora")
    assert row.gathered_share == pytest.approx(gathered / 0.1 / 2e9)
    assert row.flop_share == pytest.approx(flop / 0.1 / 4e9)


def test_sides_that_disagree_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(FakeWorker):
        def __init__(self, case: str, side: str, *_: object) -> None:
            super().__init__(case, side)
            self.check = [1.0, 2.0 if side == "ours" else 2.1]

    monkeypatch.setattr(compare, "Worker", Wrong)
    with pytest.raises(RuntimeError, match="layer-cora: the two sides disagree"):
        measure("layer-cora", 1, 3, True, False, None, Limits(1.0, 1.0))
