"""The files of a saved run. They are checked before anything is made of them: a message beats a crash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from justjump.data import DataError, Preprocessing, Split
from justjump.data.splits import ROLES
from justjump.files import FileError, move_file, read_file, remove_file, replace_file
from justjump.train.errors import RunError, first_line
from justjump.train.fields import FIELDS, LATER, SPLIT_DIGEST, WEIGHTS_DIGEST, unusable
from justjump.train.measures import measures_of

RUN_FILE = "run.json"
MODEL_FILE = "model.safetensors"
SPLIT_FILE = "split.safetensors"
FORMAT = 2
# The files with a digest in run.json. New ones wait under another name until run.json is written.
DIGESTS = {SPLIT_FILE: SPLIT_DIGEST, MODEL_FILE: WEIGHTS_DIGEST}
REMEDY = "restore the folder from a copy, or delete it and train again"


def write_run(folder: Path, values: Mapping[str, Any], weights: Mapping[str, Tensor], split: Split | None) -> None:
    """Write ``split.safetensors``, ``model.safetensors`` and ``run.json``.

    At every moment, the folder holds the old run or the new one.
    """
    files = {MODEL_FILE: save({name: value.contiguous() for name, value in weights.items()})}
    if split is not None:
        files = {SPLIT_FILE: save({role: torch.from_numpy(getattr(split, role)) for role in ROLES}), **files}
    digests = {DIGESTS[name]: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    text = json.dumps({"format": FORMAT, **values, **digests}, indent=2)
    try:
        for name, data in files.items():
            replace_file(_pending(folder, name), lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
        replace_file(folder / RUN_FILE, lambda path: path.write_text(text + "\n", encoding="utf-8"))
    except FileError:  # they may be what fills the disk
        for name in files:
            remove_file(_pending(folder, name))
        raise
    for name in files:
        move_file(_pending(folder, name), folder / name)


def _pending(folder: Path, name: str) -> Path:
    return folder / f".{name}.next"


def tidy(folder: Path, values: Mapping[str, Any]) -> None:
    """Complete what a killed process left of :func:`write_run`."""
    for name, digest in DIGESTS.items():
        pending = _pending(folder, name)
        if not pending.exists():
            continue
        if pending.is_file() and hashlib.sha256(pending.read_bytes()).hexdigest() == values.get(digest):
            move_file(pending, folder / name)
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
    for name, value in values.items():
        if problem := unusable([name, value]):
            raise RunError(f"{path} is damaged, {_short(name)} holds {problem}: {REMEDY}")
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
    found = _read(folder, MODEL_FILE, values)
    if found is None:
        raise RunError(f"{folder / MODEL_FILE} is missing: {REMEDY}")
    return found


def _read(folder: Path, name: str, values: Mapping[str, Any]) -> dict[str, Tensor] | None:
    """The tensors of a file with the digest in ``run.json``, None if there is no such file."""
    digest, path, problem = values.get(DIGESTS[name]), folder / name, None
    # Twice, because another process may rename the second one while this one reads the first.
    for place in (path, _pending(folder, name), path):
        try:
            data = read_file(place)
            if digest is None or hashlib.sha256(data).hexdigest() == digest:
                return load(data)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise RunError(f"{place} cannot be read: {error.strerror}") from error
        except (SafetensorError, ValueError, TypeError, KeyError, RuntimeError) as error:
            raise RunError(f"{path} is damaged ({first_line(error)}): {REMEDY}") from error
        problem = f"{path} is damaged or of another run, its SHA-256 is not the one in {RUN_FILE}: {REMEDY}"
    if problem is not None:
        raise RunError(problem)
    return None


def read_split(folder: Path, values: Mapping[str, Any]) -> Split | None:
    """The nodes that the run was trained, validated and tested on; None if its version did not keep them."""
    path, parts = folder / SPLIT_FILE, _read(folder, SPLIT_FILE, values)
    if parts is None:
        return None
    try:
        split = Split(*(parts[role].numpy() for role in ROLES))
    except (ValueError, TypeError, KeyError, RuntimeError) as error:
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
    config, confusion = values["config"], values.get("confusion")
    for name, said, found in (
        ("num_features", values["num_features"], first[0]),
        ("the number of columns after preprocessing", preprocessing_in(values).num_outputs, first[0]),
        ("hidden", config.get("hidden"), first[1]),
        ("layers", config.get("layers"), layers),
        ("the number of class_names", len(values["class_names"]), last[0]),
        ("the number of rows of confusion", None if confusion is None else len(confusion), last[0]),
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
