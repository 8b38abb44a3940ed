"""Pictures of how good a run is."""

import numpy as np
import pytest

from justjump.analysis.quality_figures import LONGEST, calibration_figure, confusion_figure


@pytest.mark.parametrize("classes", [2, 12])
def test_every_cell_has_its_count(classes: int) -> None:
    counts = np.arange(classes * classes).reshape(classes, classes)
    names = [f"class_{number}_" + "x" * 30 for number in range(classes)]
    figure = confusion_figure(counts.tolist(), names, "$a caption")
    panel = figure.axes[0]
    assert [text.get_text() for text in panel.texts] == [f"{count:,}" for count in counts.flat]
    labels = [label.get_text() for label in panel.get_xticklabels()]
    assert len(labels) == classes
    assert all(len(label) == LONGEST and label.endswith("…") for label in labels)
    figure.draw_without_rendering()


def test_the_curve_is_drawn_with_its_error() -> None:
    figure = calibration_figure([(0.55, 0.5, 10), (1.0, 0.9, 90)], "a caption")
    top, bottom = figure.axes
    assert top.lines[1].get_xydata().tolist() == [[0.55, 0.5], [1.0, 0.9]]  # type: ignore[union-attr]
    assert top.texts[0].get_text() == "calibration error 9.5 %"
    assert [bar.get_height() for bar in bottom.patches] == [10, 90]  # type: ignore[attr-defined]
    assert max(bar.get_x() + bar.get_width() for bar in bottom.patches) <= 1  # type: ignore[attr-defined]
