"""What an estimator keeps beside its run, in the ``run.json`` of the run's folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from justjump.train import Run, RunError
from justjump.train.saved import REMEDY, RUN_FILE, read_values, write_run


@dataclass(frozen=True)
class Kept:
    """What makes an estimator of a run.

    Attributes:
        parameters: of the estimator, by their names
        classes: as they stood in ``y``; None if they are the names in the run
        n_features_in, feature_names_in: scikit-learn's, without their underscores
    """

    parameters: dict[str, Any]
    classes: list[Any] | None
    n_features_in: int
    feature_names_in: list[str] | None


def write_kept(folder: Path, run: Run, kept: Kept) -> None:
    """Write the run's files. ``run.json`` is replaced at once, so both are from the same moment."""
    own = asdict(kept)
    own["parameters"] = {name: _plain(value) for name, value in kept.parameters.items()}
    write_run(folder, {**run.to_dict(), "estimator": own}, run.model.state_dict(), run.split)


def read_kept(folder: Path, names: Iterable[str]) -> tuple[Run, Kept]:
    """The run, and what an estimator with parameters of these names keeps; of a run alone, what follows from it."""
    run = Run.load(folder)
    values = read_values(folder).get("estimator")
    if values is None:
        options = {**asdict(run.config), **asdict(run.protocol), "random_state": run.seed}
        parameters = {name: options[name] for name in names if name in options}
        return run, Kept(parameters, None, run.preprocessing.width, None)
    if values.keys() != Kept.__dataclass_fields__.keys() or not isinstance(values["parameters"], dict):
        raise RunError(f"{folder / RUN_FILE} is damaged, estimator must have its four fields: {REMEDY}")
    parameters = {name: tuple(one) if isinstance(one, list) else one for name, one in values["parameters"].items()}
    unknown = parameters.keys() - set(names)
    if unknown:
        raise RunError(
            f"{folder} was saved by an estimator of another kind, which has the parameter {min(unknown)!r}: load it "
            "with the class that saved it"
        )
    kept = Kept(**{**values, "parameters": parameters})
    for right, what in (
        (kept.classes is None or _is_list(kept.classes, str | int | float, len(run.class_names)), "classes"),
        (isinstance(kept.n_features_in, int) and kept.n_features_in >= run.preprocessing.width, "n_features_in"),
        (kept.feature_names_in is None or _is_list(kept.feature_names_in, str, kept.n_features_in), "feature_names_in"),
    ):
        if not right:
            raise RunError(f"{folder / RUN_FILE} is damaged, {what} of the estimator does not fit the run: {REMEDY}")
    return run, kept


def _plain(value: Any) -> Any:
    """A parameter as JSON takes it; numpy's numbers come from grid searches."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _is_list(values: Any, kind: Any, length: int) -> bool:
    return isinstance(values, list) and len(values) == length and all(isinstance(one, kind) for one in values)
