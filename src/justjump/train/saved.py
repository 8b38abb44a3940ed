"""The files of a saved run. They are checked before anything is made of them: a message beats a crash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from justjump.data import DataError, Preprocessing, Split
from justjump.data.labels import TASKS
from justjump.data.splits import ROLES
from justjump.files import FileError, move_file, remove_file, replace_file
from justjump.train.errors import RunError, first_line
from justjump.train.measures import measures_of

RUN_FILE = "run.json"
MODEL_FILE = "model.safetensors"
SPLIT_FILE = "split.safetensors"
# New weights wait here until run.json, which names their digest, is written.
NEXT_FILE = ".model.safetensors.next"
FORMAT = 2
DIGEST = "weights_sha256"  # runs that were saved before there were digests do not have it
REMEDY = "restore the folder from a copy, or delete it and train again"


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_or_none(value: Any) -> bool:
    return value is None or _number(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _rows(value: Any, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) and all(map(is_right, row)) for row in value)


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
    "train_accuracy": (_number_or_none, "null or a number"),
    "val_accuracy": (_number_or_none, "null or a number"),
    "test_accuracy": (_number_or_none, "null or a number"),
    "val_loss": (_number_or_none, "null or a number"),
    "seconds": (_number, "a number"),
}


# Fields that runs of older versions do not have.
LATER: dict[str, tuple[Callable[[Any], bool], str]] = {
    DIGEST: (_text, "a text"),
    "task": (lambda value: value in TASKS, f"one of {', '.join(TASKS)}"),
    "measures": (_measures, "numbers by their names for train, val and test"),
    "confusion": (lambda value: value is None or _rows(value, _whole(0)), "null or rows of counts"),
    "calibration": (
        lambda value: value is None or (_rows(value, _number) and all(len(row) == 3 for row in value)),
        "null or rows of three numbers",
    ),
    "notes": (_texts, "a list of texts"),
    "stuck": (lambda value: isinstance(value, bool), "true or false"),
    "whole_graphs": (lambda value: value is None or isinstance(value, bool), "null, true or false"),
    "label_columns": (lambda value: value is None or _texts(value), "null or a list of texts"),
    "outputs": (lambda value: isinstance(value, dict), "an object"),
    "preprocessing": (lambda value: isinstance(value, dict), "an object"),
    "estimator": (lambda value: isinstance(value, dict), "an object"),
}


def write_run(folder: Path, values: Mapping[str, Any], weights: Mapping[str, Tensor], split: Split | None) -> None:
    """Write ``split.safetensors``, ``model.safetensors`` and ``run.json``.

    At every moment, the folder holds the old run or the new one. Both have the same split: it is one of the settings.
    """
    if split is not None:
        parts = save({role: torch.from_numpy(getattr(split, role)) for role in ROLES})
        replace_file(folder / SPLIT_FILE, lambda path: path.write_bytes(parts))
    data = save({name: value.contiguous() for name, value in weights.items()})
    text = json.dumps({"format": FORMAT, **values, DIGEST: hashlib.sha256(data).hexdigest()}, indent=2)
    replace_file(folder / NEXT_FILE, lambda path: path.write_bytes(data))
    try:
        replace_file(folder / RUN_FILE, lambda path: path.write_text(text + "\n", encoding="utf-8"))
    except FileError:  # the weights may be what fills the disk
        remove_file(folder / NEXT_FILE)
        raise
    move_file(folder / NEXT_FILE, folder / MODEL_FILE)


def tidy(folder: Path, values: Mapping[str, Any]) -> None:
    """Complete what a killed process left of :func:`write_run`."""
    pending = folder / NEXT_FILE
    if not pending.exists():
        return
    if hashlib.sha256(pending.read_bytes()).hexdigest() == values.get(DIGEST):
        move_file(pending, folder / MODEL_FILE)
    else:
        remove_file(pending)


def read_values(folder: Path) -> dict[str, Any]:
    """What ``run.json`` holds, with everything in its place and of its type."""
    path = folder / RUN_FILE
    if not path.is_file():
        raise RunError(f"{folder} holds no run: it has no {RUN_FILE}")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged, it is no JSON ({first_line(error)}): {REMEDY}") from error
    if not isinstance(values, dict):
        raise RunError(f"{path} is damaged, it holds {_short(values)}, expected an object: {REMEDY}")
    if values.pop("format", None) != FORMAT:
        raise RunError(f"{path} was written by another version of justjump: use that version, or train again")
    for name, (is_right, expected) in FIELDS.items():
        if name not in values:
            raise RunError(f"{path} is damaged, it has no {name!r}: {REMEDY}")
        if not is_right(values[name]):
            raise RunError(f"{path} is damaged, {name} is {_short(values[name])}, expected {expected}: {REMEDY}")
    for name, (is_right, expected) in LATER.items():
        if name in values and not is_right(values[name]):
            raise RunError(f"{path} is damaged, {name} is {_short(values[name])}, expected {expected}: {REMEDY}")
    task, measures = values.get("task", "multiclass"), values.get("measures", {})
    is_older = not measures and task == "multiclass"
    if not is_older and any(measures.get(role, {}).keys() != set(measures_of(task)) for role in ROLES):
        raise RunError(f"{path} is damaged, measures must be those of a {task} task: {REMEDY}")
    unknown = values.keys() - FIELDS.keys() - LATER.keys()
    if unknown:
        raise RunError(f"{path} is damaged, nothing is called {_short(min(unknown))}: {REMEDY}")
    names = values["feature_names"]
    try:
        preprocessing = preprocessing_in(values)
    except DataError as error:
        raise RunError(f"{path} is damaged, {first_line(error)}: {REMEDY}") from error
    if names is not None and len(names) != preprocessing.width:
        raise RunError(
            f"{path} is damaged, it names {len(names)} features, but its preprocessing takes {preprocessing.width}: "
            f"{REMEDY}"
        )
    return values


def preprocessing_in(values: Mapping[str, Any]) -> Preprocessing:
    """The preprocessing in a ``run.json``; in runs of older versions, features were left as they are or divided."""
    if "preprocessing" in values:
        return Preprocessing.from_json(values["preprocessing"])
    is_divided = values["protocol"].get("normalize_features") is True
    return Preprocessing("rows" if is_divided else "none", values["num_features"])


def read_weights(folder: Path, values: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights that belong to what ``run.json`` holds."""
    digest, path = values.get(DIGEST), folder / MODEL_FILE
    problem = f"{path} is missing: {REMEDY}"
    # Twice, because another process may rename the second one while this one reads the first.
    for name in (MODEL_FILE, NEXT_FILE, MODEL_FILE):
        try:
            data = (folder / name).read_bytes()
            if digest is None or hashlib.sha256(data).hexdigest() == digest:
                return load(data)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise RunError(f"{folder / name} cannot be read: {error.strerror}") from error
        except (SafetensorError, ValueError, TypeError, KeyError, RuntimeError) as error:
            raise RunError(f"{path} is damaged ({first_line(error)}): {REMEDY}") from error
        problem = f"{path} is damaged or of another run, its SHA-256 is not the one in {RUN_FILE}: {REMEDY}"
    raise RunError(problem)


def read_split(folder: Path, values: Mapping[str, Any]) -> Split | None:
    """The nodes that the run was trained, validated and tested on; None if its version did not keep them."""
    path = folder / SPLIT_FILE
    try:
        parts = load(path.read_bytes())
        split = Split(*(parts[role].numpy() for role in ROLES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except (SafetensorError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise RunError(f"{path} is damaged ({first_line(error)}): {REMEDY}") from error
    if [len(getattr(split, role)) for role in ROLES] != values["split_sizes"]:
        raise RunError(f"{path} does not fit {RUN_FILE}: its sizes are not {values['split_sizes']}; {REMEDY}")
    return split


def check_sizes(folder: Path, values: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """Compare the sizes in ``run.json`` with the shapes of the weights: a wrong size could ask for any memory."""
    shapes = {name: list(value.shape) for name, value in weights.items()}
    first, last = shapes.get("lin_in.weight", []), shapes.get("lin_out.bias", [])
    if len(first) != 2 or len(last) != 1:
        raise RunError(f"{folder / MODEL_FILE} does not hold the weights of a network: {REMEDY}")
    layers = len({name.split(".")[1] for name in shapes if name.startswith("convs.")})
    config = values["config"]
    for name, said, found in (
        ("num_features", values["num_features"], first[0]),
        ("the number of columns after preprocessing", preprocessing_in(values).num_outputs, first[0]),
        ("hidden", config.get("hidden"), first[1]),
        ("layers", config.get("layers"), layers),
        ("the number of class_names", len(values["class_names"]), last[0]),
    ):
        if said is not None and said != found:
            raise RunError(
                f"{folder / RUN_FILE} does not fit {MODEL_FILE}: {name} is {_short(said)} there, but {found} in the "
                f"weights: {REMEDY}"
            )


def check_shapes(folder: Path, expected: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Compare the weights, name by name, with those that a network with these settings has."""
    if problem := difference(weights, expected, "network"):
        raise RunError(f"{folder / MODEL_FILE} does not fit {RUN_FILE}: {problem}; {REMEDY}")


def difference(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], what: str) -> str | None:
    """The first tensor that is missing, unknown, or of another shape or type than ``what`` should have, in words."""
    for name in sorted(expected.keys() | tensors.keys()):
        if name not in tensors:
            return f"it lacks {name}, which a {what} with these settings has"
        if name not in expected:
            return f"it has {_short(name)}, which no {what} with these settings has"
        wanted, found = expected[name], tensors[name]
        if wanted.shape != found.shape or wanted.dtype != found.dtype:
            return f"{name} is {found.dtype} {list(found.shape)}, expected {wanted.dtype} {list(wanted.shape)}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
