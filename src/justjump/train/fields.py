"""What ``run.json`` may hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from justjump.data.labels import TASKS

# The digests of the other files. Runs that were saved before there were digests do not have them.
WEIGHTS_DIGEST, SPLIT_DIGEST = "weights_sha256", "split_sha256"


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _number_or_none(value: Any) -> bool:
    return value is None or _number(value)


def _share_or_none(value: Any) -> bool:
    return value is None or (_number(value) and 0 <= value <= 1)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _rows(value: Any, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) and all(map(is_right, row)) for row in value)


def _square(value: Any) -> bool:
    return _rows(value, _whole(0)) and all(len(row) == len(value) for row in value)


def _measures(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and all(map(_number_or_none, one.values())) for one in value.values()
    )


FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "config": (lambda value: isinstance(value, dict), "an object with the options of the network"),
    "protocol": (lambda value: isinstance(value, dict), "an object with the options of training"),
    "num_features": (_whole(1), "a whole number of at least 1"),
    "graph_name": (_text, "a text"),
    "class_names": (lambda value: _texts(value) and bool(value), "a list of at least one text"),
    "feature_names": (lambda value: value is None or _texts(value), "null or a list of texts"),
    "seed": (_whole(0), "a whole number of at least 0"),
    "data_hash": (_text, "a text"),
    "split_sizes": (
        lambda value: isinstance(value, list) and len(value) == 3 and all(map(_whole(0), value)),
        "3 sizes",
    ),
    "finished": (lambda value: isinstance(value, bool), "true or false"),
    "epochs": (_whole(0), "a whole number of at least 0"),
    "best_epoch": (_whole(0), "a whole number of at least 0"),
    "train_accuracy": (_share_or_none, "null or a number from 0 to 1"),
    "val_accuracy": (_share_or_none, "null or a number from 0 to 1"),
    "test_accuracy": (_share_or_none, "null or a number from 0 to 1"),
    "val_loss": (_number_or_none, "null or a finite number"),
    "seconds": (_number, "a finite number"),
}


# Fields that runs of older versions do not have.
LATER: dict[str, tuple[Callable[[Any], bool], str]] = {
    WEIGHTS_DIGEST: (_text, "a text"),
    SPLIT_DIGEST: (_text, "a text"),
    "task": (lambda value: value in TASKS, f"one of {', '.join(TASKS)}"),
    "measures": (_measures, "finite numbers by their names for train, val and test"),
    "confusion": (lambda value: value is None or _square(value), "null or as many rows of counts as columns"),
    "calibration": (
        lambda value: value is None or (_rows(value, _number) and all(len(row) == 3 for row in value)),
        "null or rows of three finite numbers",
    ),
    "notes": (_texts, "a list of texts"),
    "stuck": (lambda value: isinstance(value, bool), "true or false"),
    "whole_graphs": (lambda value: value is None or isinstance(value, bool), "null, true or false"),
    "label_columns": (lambda value: value is None or _texts(value), "null or a list of texts"),
    "directed": (lambda value: isinstance(value, bool), "true or false"),
    "outputs": (lambda value: isinstance(value, dict), "an object"),
    "preprocessing": (lambda value: isinstance(value, dict), "an object"),
    "estimator": (lambda value: isinstance(value, dict), "an object"),
}


def unusable(value: Any) -> str | None:
    """What a JSON value holds, at any depth, that numbers or files cannot take, in words; None if there is nothing.

    >>> unusable({"a": [1, 10**400]}), unusable([{"\\ud800": 1}]), unusable([1.5, "\\u00e4"])
    ('a whole number of more than 64 bits', 'text that is not Unicode', None)
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str) and any("\ud800" <= letter <= "\udfff" for letter in one):
            return "text that is not Unicode"
        elif isinstance(one, int) and abs(one) >= 2**64:
            return "a whole number of more than 64 bits"
    return None
