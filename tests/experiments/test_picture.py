"""Table 1 as a picture."""

import pytest

from justjump.experiments import paper, table1
from justjump.experiments.picture import draw
from justjump.experiments.summary import Summary


@pytest.mark.slow
@pytest.mark.parametrize(("datasets", "models"), [(1, 1), (1, 11), (2, 2), (3, 11), (8, 11)])
def test_no_text_of_the_picture_is_cut_off(datasets: int, models: int) -> None:
    names, rows = list(paper.DATASETS)[-datasets:], paper.MODELS[:models]
    figure = draw([table1.Cell(name, row, Summary(80.0, 1.0, 10)) for name in names for row in rows])
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # around everything, texts included
    assert 0 <= drawn.x0 < drawn.x1 <= width
    assert 0 <= drawn.y0 < drawn.y1 <= height
