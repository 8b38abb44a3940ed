"""Tables of measures."""

import numpy as np

from justjump.analysis.explore.tables import measures_by_column, measures_by_part
from justjump.train.measures import Values
from page_text import page_text


def test_parts_are_columns() -> None:
    good: Values = {"mae": 0.5, "rmse": 1234.5, "r2": 1.0}
    none: Values = {"mae": None, "rmse": None, "r2": None}
    shown = page_text(measures_by_part("regression", {"training": good, "test": none}))
    assert shown == "training test MAE 0.500 - RMSE 1,234 - R2 1.000 -"


def test_labels_are_rows_with_the_number_of_known_ones() -> None:
    labels = np.array([[1, 0], [0, np.nan], [1, 1]])
    probability = np.array([[0.9, 0.1], [0.2, 0.5], [0.8, 0.9]])
    table = measures_by_column("multilabel", ("a", "b"), labels, probability, ("roc_auc", "macro_f1"), "label")
    assert page_text(table) == "label known ROC-AUC F1 a 3 100.0% 100.0% b 2 100.0% 100.0%"
