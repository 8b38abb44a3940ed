"""What training minimises, and what the outputs of a network mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from justjump.data import Graph, Split
from justjump.data.labels import Task

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss and the outputs of one task.

    Attributes:
        task: what the labels are
        weight: of each class ``[C]`` (multiclass), or of the ones of each label ``[L]`` (multilabel)
        mean, scale: ``[K]`` of the targets (regression): the network predicts ``(target - mean) / scale``
        temperature: what outputs are divided by before they become probabilities
    """

    task: Task = "multiclass"
    weight: Tensor | None = None
    mean: Tensor | None = None
    scale: Tensor | None = None
    temperature: float = 1.0

    @classmethod
    def of(cls, graph: Graph, split: Split, balanced: bool = False) -> Objective:
        """Weights and scales from the training nodes."""
        labels = graph.labels[split.train]
        if graph.task == "regression":
            mean, scale = np.nanmean(labels, axis=0, dtype=np.float64), np.nanstd(labels, axis=0, dtype=np.float64)
            mean, scale = np.nan_to_num(mean), np.where(scale > 0, scale, 1)
            return cls("regression", mean=_float32(mean), scale=_float32(scale))
        if not balanced:
            return cls(graph.task)
        if graph.task == "multiclass":
            counts = np.bincount(labels, minlength=graph.num_classes)
            return cls("multiclass", _float32(len(labels) / ((counts > 0).sum() * np.maximum(counts, 1))))
        ones, zeros = (labels == 1).sum(axis=0), (labels == 0).sum(axis=0)
        return cls("multilabel", _float32(np.where((ones > 0) & (zeros > 0), zeros / np.maximum(ones, 1), 1)))

    def loss(self, output: Tensor, labels: Tensor) -> Tensor:
        """The mean over all known entries. ``output`` ``[n, C]``; ``labels`` ``[n]`` or ``[n, C]``"""
        if self.task == "multiclass":
            return F.cross_entropy(output, labels, self.weight)
        return self.total(output, labels) / (~torch.isnan(labels)).sum()

    def total(self, output: Tensor, labels: Tensor) -> Tensor:
        """The sum over all known entries: the loss times :meth:`count`."""
        if self.task == "multiclass":
            return F.cross_entropy(output, labels, self.weight, reduction="sum")
        there = ~torch.isnan(labels)
        if self.task == "multilabel":
            loss = F.binary_cross_entropy_with_logits(
                output, torch.nan_to_num(labels).to(output.dtype), pos_weight=self.weight, reduction="none"
            )
        else:
            mean, scale = self._units()
            loss = (output - torch.nan_to_num(labels - mean) / scale).square()
        return (loss * there).sum()

    def count(self, labels: Tensor) -> float:
        """The number of known entries; of classes with weights, the sum of the weights."""
        if self.task == "multiclass":
            return len(labels) if self.weight is None else self.weight.double()[labels].sum().item()
        return int((~torch.isnan(labels)).sum())

    def constant_loss(self, labels: Tensor) -> float:
        """The smallest loss of a network that says the same of all nodes; for classes, that of their frequencies."""
        weight = torch.ones(1, device=labels.device) if self.weight is None else self.weight
        if self.task == "multiclass":
            constant = (torch.bincount(labels, minlength=len(weight)) * weight).log()
        else:
            middle = torch.nan_to_num(torch.nanmean(labels, dim=0))
            if self.task == "multilabel":
                constant = torch.logit(weight * middle / (weight * middle + 1 - middle), eps=1e-6)
            else:
                mean, scale = self._units()
                constant = (middle - mean) / scale
        return self.loss(constant.expand(len(labels), -1), labels).item()

    def predictions(self, output: Tensor) -> Tensor:
        """Probabilities of the classes or of each label, or the predicted numbers: ``[n, C]``."""
        if self.task == "regression":
            mean, scale = self._units()
            return output * scale + mean
        output = output if self.temperature == 1.0 else output / self.temperature
        return torch.softmax(output, dim=1) if self.task == "multiclass" else torch.sigmoid(output)

    def _units(self) -> tuple[Tensor, Tensor]:
        if self.mean is None or self.scale is None:
            raise ValueError("a regression objective needs the mean and the scale of its targets")
        return self.mean, self.scale

    def to_dict(self) -> dict[str, Any]:
        """What predictions need, as JSON takes it."""
        found: dict[str, Any] = {"temperature": self.temperature}
        if self.mean is not None and self.scale is not None:
            found |= {"mean": self.mean.tolist(), "scale": self.scale.tolist()}
        return found

    @classmethod
    def from_dict(cls, task: Task, outputs: int, values: dict[str, Any]) -> Objective:
        """Read :meth:`to_dict`; ValueError where it is damaged."""
        temperature = values.get("temperature", 1.0)
        if not _is_positive(temperature) or values.keys() - {"temperature", "mean", "scale"}:
            raise ValueError(f"outputs has the temperature {temperature!r} or unknown entries")
        if task != "regression":
            return cls(task, temperature=float(temperature))
        mean, scale = values.get("mean"), values.get("scale")
        for name, numbers in (("mean", mean), ("scale", scale)):
            if not isinstance(numbers, list) or len(numbers) != outputs or not all(map(_is_number, numbers)):
                raise ValueError(f"{name} of outputs must be {outputs} numbers")
        return cls(task, mean=_float32(np.array(mean)), scale=_float32(np.array(scale)))

    def to(self, device: torch.device) -> Objective:
        def moved(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.to(device)

        return Objective(self.task, moved(self.weight), moved(self.mean), moved(self.scale), self.temperature)


def fitted_temperature(objective: Objective, output: Tensor, labels: Tensor) -> float:
    """The temperature with the smallest loss (Guo et al., 2017), by golden-section search over its logarithm."""
    ratio, low, high = (5**0.5 - 1) / 2, -3.0, 3.0
    plain = Objective(objective.task)  # probabilities are those of the data as it is, without weights

    def loss(logarithm: float) -> float:
        return plain.loss(output.double() / float(np.exp(logarithm)), labels).item()

    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    return float(np.exp((low + high) / 2))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST  # so NaN is none either; numpy has no answer for whole numbers beyond 64 bits


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _float32(values: Any) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.float32))
