"""The state of a run in training, saved as one safetensors file that is always replaced as a whole."""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from justjump.files import is_pipe, read_file, remove_file, replace_file
from justjump.nn import NodeClassifier
from justjump.train.errors import RunError, first_line
from justjump.train.measures import SCORE
from justjump.train.run import differences, saved_settings
from justjump.train.saved import difference

STATE_FILE = "state.safetensors"
# The digest of the file is in the file. It is taken while this stands in its place.
NO_DIGEST = "0" * 64


@dataclass
class Progress:
    """How far a run is. The best epoch is the one whose weights are kept. Patience counts from the watched epoch.

    ``val_score`` is the measure that stands for the task: the accuracy, if nodes have one class each.
    """

    epoch: int = 0
    best_epoch: int = 0
    best_value: float = float("-inf")
    seconds: float = 0.0
    loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_score: list[float | None] = field(default_factory=list)
    measure: str = "accuracy"  # which one the score is
    watched_epoch: int = 0
    watched_value: float = float("-inf")


@dataclass(eq=False)
class State:
    """Everything that changes while a network trains; ``best`` holds the weights of the best epoch."""

    model: NodeClassifier
    optimizer: torch.optim.Optimizer
    best: dict[str, Tensor]
    progress: Progress
    average: AveragedModel | None = None  # of the weights, where the protocol has one

    @property
    def kept(self) -> NodeClassifier:
        """The network that is validated and kept: the average of the weights, where there is one."""
        if self.average is None:
            return self.model
        model = self.average.module
        assert isinstance(model, NodeClassifier)
        return model

    def update_average(self) -> None:
        if self.average is not None:
            self.average.update_parameters(self.model)

    def keep_best(self) -> None:
        self.best = {name: value.clone() for name, value in self.kept.state_dict().items()}


def save_state(state: State, settings: dict[str, Any], folder: Path) -> None:
    """Write everything that continues the run bit for bit: weights, optimizer, random state, history."""
    tensors = {f"model.{name}": value for name, value in state.model.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in state.best.items()}
    if state.average is not None:
        tensors |= {f"average.{name}": value for name, value in state.average.state_dict().items()}
    for number, moments in state.optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": value for name, value in moments.items()}
    tensors["random"] = torch.get_rng_state()
    metadata = {"settings": json.dumps(settings), "progress": json.dumps(asdict(state.progress)), "sha256": NO_DIGEST}
    data = save({name: value.contiguous() for name, value in tensors.items()}, metadata)
    data = data.replace(NO_DIGEST.encode(), hashlib.sha256(data).hexdigest().encode(), 1)
    replace_file(folder / STATE_FILE, lambda path: path.write_bytes(data))


def load_state(state: State, settings: dict[str, Any], folder: Path) -> None:
    """If there is a stopped run in ``folder``, bring ``state`` and torch's generator to where it stopped."""
    path = folder / STATE_FILE
    if not path.exists():
        return
    try:
        data = read_file(path)
        tensors = {name: value.clone() for name, value in load(data).items()}
        metadata = _metadata(data)
        _check_digest(data, metadata)
        if (found := saved_settings(json.loads(metadata["settings"]))) != settings:
            differ = ", ".join(differences(found, settings))
            raise RunError(
                f"{folder} holds an unfinished run with other settings ({differ}): choose another output folder"
            )
        progress = _read_progress(metadata["progress"])
        if problem := difference(tensors, _expected_tensors(state, progress), "run"):
            raise ValueError(f"it is damaged: {problem}")
        random = tensors["random"]
        torch.Generator().set_state(random)  # refuses what is no state, before anything has changed
        _restore(state, tensors)
        state.progress = progress
        torch.set_rng_state(random)
    except RunError:
        raise
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}; delete it to start the run again") from error
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise RunError(f"{path} cannot be read ({first_line(error)}): delete it to start the run again") from error


def saved_epoch(folder: Path) -> int:
    """After which epoch the run in ``folder`` would go on: 0 if there is none, or if it cannot be read."""
    if is_pipe(folder / STATE_FILE):
        return 0
    try:
        with safe_open(folder / STATE_FILE, "pt") as file:
            return _read_progress(file.metadata()["progress"]).epoch
    except (SafetensorError, KeyError, TypeError, ValueError, OSError):
        return 0


def _restore(state: State, tensors: dict[str, Tensor]) -> None:
    state.model.load_state_dict(_with_prefix(tensors, "model."))
    state.best = _with_prefix(tensors, "best.")
    if state.average is not None:
        state.average.load_state_dict(_with_prefix(tensors, "average."))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in _with_prefix(tensors, "adam.").items():
        number, moment = name.split(".")
        moments.setdefault(int(number), {})[moment] = value
    param_groups = state.optimizer.state_dict()["param_groups"]
    state.optimizer.load_state_dict({"state": moments, "param_groups": param_groups})


def remove_state(folder: Path) -> None:
    remove_file(folder / STATE_FILE)


def _metadata(data: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file: 8 bytes with its length, then JSON."""
    length = int.from_bytes(data[:8], "little")
    return dict(json.loads(data[8 : 8 + length])["__metadata__"])


def _check_digest(data: bytes, metadata: dict[str, str]) -> None:
    """Raise ValueError if a single bit of the file has changed since it was written."""
    if metadata.keys() == {"settings", "progress"}:
        return  # written before there were digests
    digest = metadata.get("sha256", "")
    original = data.replace(digest.encode(), NO_DIGEST.encode(), 1)
    if not digest or hashlib.sha256(original).hexdigest() != digest:
        raise ValueError("it is damaged: its content does not match its SHA-256")


def _read_progress(text: str) -> Progress:
    """The progress in a state; ValueError unless its numbers can be those of a run."""
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("it is damaged: its progress is no object")
    if "val_accuracy" in values:  # its name before there were other tasks
        values["val_score"] = values.pop("val_accuracy")
    if "watched_epoch" not in values:  # before it could be another one
        values |= {"watched_epoch": values.get("best_epoch"), "watched_value": values.get("best_value")}
    progress = Progress(**values)
    for item in fields(Progress):
        value = getattr(progress, item.name)
        if item.type is int:
            is_right = type(value) is int and 0 <= value <= progress.epoch
        elif item.type is float:
            is_right = type(value) is float and not math.isnan(value)
        elif item.name == "measure":
            is_right = value in SCORE.values()
        else:
            is_right = isinstance(value, list) and all(
                (type(x) is float and math.isfinite(x)) or (x is None and item.name == "val_score") for x in value
            )
            is_right = is_right and len(value) == progress.epoch
        if not is_right:
            raise ValueError(f"it is damaged: after epoch {progress.epoch!r:.20}, {item.name} is {value!r:.40}")
    return progress


def _expected_tensors(state: State, progress: Progress) -> dict[str, Tensor]:
    """Tensors with the names, shapes and types of those that a state like this one has on disk."""
    weights = state.model.state_dict()
    expected = {f"{part}.{name}": value for part in ("model", "best") for name, value in weights.items()}
    if state.average is not None:
        expected |= {f"average.{name}": value for name, value in state.average.state_dict().items()}
    expected["random"] = torch.get_rng_state()
    if progress.epoch:  # Adam has no moments before its first step
        parameters = [p for group in state.optimizer.param_groups for p in group["params"]]
        for number, parameter in enumerate(parameters):
            own = {"step": torch.tensor(0.0, dtype=torch.float32), "exp_avg": parameter, "exp_avg_sq": parameter}
            expected |= {f"adam.{number}.{name}": value for name, value in own.items()}
    return expected


def _with_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
