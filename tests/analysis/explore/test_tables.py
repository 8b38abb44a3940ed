"""Tables of measures."""

import numpy as np

from justjump.analysis.explore.tables import measures_by_column, measures_by_part
from page_text import page_text


def test_parts_are_columns() -> None:
    labels, exact = np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]])
    shown = page_text(measures_by_part("regression", {"training": (labels, exact), "test": (labels, exact + 1)}))
    assert shown == "training test MAE 0.000 1.000 RMSE 0.000 1.000 R2 1.000 -3.000"


def test_labels_are_rows_with_the_number_of_known_ones() -> None:
    labels = np.array([[1, 0], [0, np.nan], [1, 1]])
    probability = np.array([[0.9, 0.1], [0.2, 0.5], [0.8, 0.9]])
    table = measures_by_column("multilabel", ("a", "b"), labels, probability, ("roc_auc", "macro_f1"), "label")
    assert page_text(table) == "label known ROC-AUC F1 a 3 100.0% 100.0% b 2 100.0% 100.0%"
