"""A trained network and everything about it, in memory and in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import torch
from torch import Tensor

from justjump.data import Graph, Preprocessing, Split, Table
from justjump.data.features import in_order
from justjump.data.labels import Task
from justjump.data.parts import Parts
from justjump.nn import ModelConfig, NodeClassifier
from justjump.options import restored
from justjump.train import saved
from justjump.train.errors import RunError, first_line
from justjump.train.hub import HubMethods
from justjump.train.inputs import prepare
from justjump.train.measures import SCORE, WORDS, Values
from justjump.train.objective import Objective
from justjump.train.part import output_of_all
from justjump.train.protocol import Protocol
from justjump.train.saved import DIGESTS, REMEDY, RUN_FILE

if TYPE_CHECKING:
    from justjump.train.checkpoint import Progress
    from justjump.train.parts.predictions import Predictions

_NOT_JSON = ("model", "protocol", "preprocessing", "objective", "split")


def settings(
    config: ModelConfig, protocol: Protocol, seed: int, data_hash: str, preprocessing: Preprocessing | None = None
) -> dict[str, Any]:
    """What identifies a run, as it comes back from JSON: two runs with equal settings are the same run.

    The preprocessing follows from the data and the protocol, but another version of justjump may choose another one.
    """
    own = {"config": asdict(config), "protocol": asdict(protocol), "seed": seed, "data_hash": data_hash}
    own["preprocessing"] = preprocessing.digest if preprocessing is not None else None
    return dict(json.loads(json.dumps(own)))


def differences(saved: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """The settings that differ, named as in ``config`` and ``protocol``."""
    for name in wanted | saved:
        there, here = saved.get(name), wanted.get(name, "unknown")
        if isinstance(there, dict) and isinstance(here, dict):
            yield from differences(there, here)
        elif there != here:
            words = {"data_hash": "the data", "preprocessing": "what is done with the features"}
            yield words.get(name, f"{name} {there} there, {here} here")


class Prediction(NamedTuple):
    """What a network says about N nodes or graphs.

    Attributes:
        classes: multiclass: class numbers ``[N]``; multilabel: 0 or 1 ``[N, L]``; regression: the numbers ``[N, K]``
        probabilities: of all classes ``[N, C]`` or labels ``[N, L]``; regression: the numbers again
    """

    classes: np.ndarray
    probabilities: np.ndarray


@dataclass(eq=False, repr=False)
class Run(HubMethods):
    """One trained network, with the settings that made it and how good it is.

    Attributes:
        measures: for ``"train"``, ``"val"`` and ``"test"``, the measures of the task by their names; accuracies and
            other shares are numbers from 0 to 1
        confusion: of the test nodes (the validation nodes if there are none), ``[true class][predicted class]``
        calibration: of the same nodes, a list of (confidence, share of right predictions, number of predictions)
        notes: what its user should know about it, in sentences
        stuck: whether training never left the plateau on which it starts: the training loss is hardly below that of a
            network that says the same of all nodes
        split: the nodes that it was trained, validated and tested on; None in runs of older versions
        whole_graphs: whether it predicts whole graphs rather than nodes; None in runs of older versions
        label_columns: the columns of the table that the labels came from, if they came from one
        directed: whether its graph was read from a file as a directed one
    """

    model: NodeClassifier
    graph_name: str
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    protocol: Protocol
    seed: int
    data_hash: str
    preprocessing: Preprocessing
    split_sizes: tuple[int, int, int]
    finished: bool
    epochs: int
    best_epoch: int
    train_accuracy: float | None
    val_accuracy: float | None
    test_accuracy: float | None  # None where there are no test nodes
    val_loss: float | None
    seconds: float
    task: Task = "multiclass"
    measures: dict[str, Values] = field(default_factory=dict)
    confusion: list[list[int]] | None = None
    calibration: list[list[float]] | None = None
    notes: tuple[str, ...] = ()
    stuck: bool = False
    objective: Objective = field(default_factory=Objective)
    split: Split | None = None
    whole_graphs: bool | None = None
    label_columns: tuple[str, ...] | None = None
    directed: bool = False

    def __repr__(self) -> str:
        name, score = SCORE[self.task], self.score("test")
        accuracy = (
            f"no test {'graphs' if self.whole_graphs else 'nodes'}"
            if score is None
            else f"test {WORDS[name]} {score:.3f}"
        )
        state = "" if self.finished else ", stopped early"
        model = f"{self.config.model} {self.config.notation}"
        return f"Run({model} on {self.graph_name}, seed {self.seed}, {self.epochs} epochs, {accuracy}{state})"

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    def score(self, role: str) -> float | None:
        """The measure that stands for the task, on the ``"train"``, ``"val"`` or ``"test"`` nodes."""
        if self.task == "multiclass":  # runs of older versions have no measures
            return {"train": self.train_accuracy, "val": self.val_accuracy, "test": self.test_accuracy}[role]
        return self.measures[role][SCORE[self.task]]

    @property
    def settings(self) -> dict[str, Any]:
        return settings(self.config, self.protocol, self.seed, self.data_hash, self.preprocessing)

    @overload
    def predict(  # type: ignore[overload-overlap]
        self, graph: Parts, *, workers: int = 1, scratch: str | Path | None = None
    ) -> Predictions: ...

    @overload
    def predict(self, graph: Graph | object) -> Prediction: ...

    @torch.no_grad()
    def predict(
        self, graph: Graph | Parts | object, *, workers: int = 1, scratch: str | Path | None = None
    ) -> Prediction | Predictions:
        """What the network says about every node of a graph with the same features, or about every graph of several.

        For a network that was trained on whole graphs, one graph is as good as a list of one.

        Args:
            graph: a graph, several, or a graph in parts
            workers, scratch: for a graph in parts, the number of processes, and a folder for the representations of all
                nodes; the result is then a :class:`~justjump.train.parts.predictions.Predictions`, which gives them
                part by part, or saves them as a file
        """
        if isinstance(graph, Parts):
            from justjump.train.parts.predictions import Predictions  # built on this module

            return Predictions(self, graph, workers, scratch)
        if workers != 1 or scratch is not None:
            raise ValueError("workers and scratch are for a graph in parts: make one with graph.partition(...)")
        inputs = prepare(self.with_own_features(self.own_graph(graph)), self.preprocessing)
        inputs = replace(inputs, by_layer=self.protocol.batch_size is not None)
        self.model.eval()
        found = self.objective.predictions(output_of_all(self.model, inputs)).numpy()
        if self.task == "multiclass":
            return Prediction(found.argmax(1), found)
        return Prediction(found if self.task == "regression" else (found > 0.5).astype(np.int64), found)

    def own_graph(self, graph: Graph | object) -> Graph:
        """A graph from what users have, whose nodes have labels, or which is whole graphs, as those of training."""
        graph = Graph.of(graph, whole=bool(self.whole_graphs))
        if self.whole_graphs is False and graph.batch is not None:
            raise RunError(
                f"{graph.name} has {graph.num_graphs} whole graphs, but the run predicts nodes: give it one graph with "
                "the nodes of all (in Python, torch_geometric.data.Batch.from_data_list)"
            )
        return graph

    def with_own_features(self, graph: Graph) -> Graph:
        """The graph with its features in the order that the network was trained with, matched by their names."""
        expected = self.preprocessing.width
        if self.feature_names is None or graph.feature_names is None:
            if graph.num_features != expected:
                raise RunError(
                    f"{graph.name} has {graph.num_features} features per node, but the model expects {expected}"
                )
            return graph
        there = set(graph.feature_names)
        missing = [name for name in self.feature_names if name not in there]
        left_out = graph.features.left_out if isinstance(graph.features, Table) else ()
        if free := [name for name in missing if name in left_out]:
            raise RunError(
                f"the column {free[0]!r} of {graph.name} holds free text, which is left out, but not in the graph of "
                "training: give values as there, or leave the unknown ones empty"
            )
        if missing:
            some = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise RunError(f"{graph.name} lacks features that the model was trained with: {some}")
        if self.feature_names == graph.feature_names:
            return graph
        features = in_order(graph.features, graph.feature_names, self.feature_names)
        return replace(graph, features=features, feature_names=self.feature_names)

    def save(self, folder: str | Path) -> None:
        """Write ``split.safetensors``, ``model.safetensors`` and ``run.json``.

        At every moment, the folder holds the old run or this one.
        """
        saved.write_run(Path(folder), self.to_dict(), self.model.state_dict(), self.split)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the weights, as JSON takes it."""
        own = {name: value for name, value in vars(self).items() if name not in _NOT_JSON}
        return {
            "config": asdict(self.config),
            "protocol": asdict(self.protocol),
            "num_features": self.model.lin_in.in_features,
            "preprocessing": self.preprocessing.to_json(),
            "outputs": self.objective.to_dict(),
            **own,
        }

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Read a run that was saved in ``folder``. Nothing in it is executed."""
        folder = Path(folder)
        values = saved.read_values(folder)
        try:
            weights, split = saved.read_weights(folder, values), saved.read_split(folder, values)
        except RunError:
            if saved.read_values(folder) != values:  # another process has just saved it anew
                return cls.load(folder)
            raise
        return cls(model=_network(folder, values, weights), split=split, **_fields(folder, values))


def _network(folder: Path, values: dict[str, Any], weights: dict[str, Tensor]) -> NodeClassifier:
    """The network with these weights. All sizes are compared before it takes any memory."""
    saved.check_sizes(folder, values, weights)
    try:
        config, sizes = ModelConfig(**values["config"]), (values["num_features"], len(values["class_names"]))
        Protocol(**restored(Protocol, values["protocol"]))
    except (TypeError, ValueError) as error:
        raise RunError(f"{folder / RUN_FILE} is damaged, {first_line(error)}: {REMEDY}") from error
    with torch.device("meta"):  # shapes without memory
        expected = NodeClassifier(config, *sizes).state_dict()
    saved.check_shapes(folder, expected, weights)
    model = NodeClassifier(config, *sizes)
    model.load_state_dict(weights)
    return model


def _fields(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a run, but for its network, from what JSON keeps of them."""
    others = ("config", "num_features", "outputs", "estimator", *DIGESTS.values())
    fields = {name: value for name, value in values.items() if name not in others}
    try:
        task, names = values.get("task", "multiclass"), len(values["class_names"])
        fields["objective"] = Objective.from_dict(task, names, values.get("outputs", {}))
    except ValueError as error:
        raise RunError(f"{folder / RUN_FILE} is damaged, {first_line(error)}: {REMEDY}") from error
    fields["notes"] = tuple(values.get("notes", ()))
    fields["protocol"] = Protocol(**restored(Protocol, values["protocol"]))
    fields["preprocessing"] = saved.preprocessing_in(values)
    fields["class_names"] = tuple(values["class_names"])
    fields["feature_names"] = values["feature_names"] and tuple(values["feature_names"])
    fields["label_columns"] = values.get("label_columns") and tuple(values["label_columns"])
    fields["split_sizes"] = tuple(values["split_sizes"])
    return fields


def saved_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The settings in a ``run.json`` or in a state; options that it does not mention have their defaults."""
    found = settings(ModelConfig(), Protocol(), values["seed"], values["data_hash"])
    kept = values.get("preprocessing")  # the preprocessing itself in a run.json, its digest in a state
    found["preprocessing"] = kept if kept is None or isinstance(kept, str) else saved.preprocessing_in(values).digest
    found["config"] |= values["config"]
    found["protocol"] |= restored(Protocol, values["protocol"])
    return found


def facts_of(graph: Graph, split: Split, done: Progress) -> dict[str, Any]:
    """The fields of a run that follow from its graph, its split and its epochs."""
    return {
        "graph_name": graph.name,
        "class_names": graph.class_names,
        "task": graph.task,
        "whole_graphs": graph.batch is not None,
        "label_columns": graph.label_columns,
        "directed": graph.directed,
        "split": split,
        "split_sizes": (len(split.train), len(split.val), len(split.test)),
        "epochs": done.epoch,
        "best_epoch": done.best_epoch,
        "val_loss": done.val_loss[done.best_epoch - 1] if done.best_epoch else None,
        "seconds": done.seconds,
    }


def find_run(folder: Path) -> Run:
    """The run in a folder; where the folder holds one run per split, the best of them on validation."""
    splits = sorted(folder.glob(f"split-*/{RUN_FILE}"))
    if not splits:
        return Run.load(folder)
    return max((Run.load(path.parent) for path in splits), key=lambda run: run.score("val") or 0.0)
