"""What a trained network says about the nodes of a graph in parts, one part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from justjump.data.parts import Parts
from justjump.data.parts.progress import Steps
from justjump.data.splits import ROLES
from justjump.train.errors import RunError
from justjump.train.measures import Values
from justjump.train.parts.boundary import dealt
from justjump.train.parts.nodes import split_hash
from justjump.train.parts.pieces import check_inference
from justjump.train.parts.pool import compute_layers, pool_of
from justjump.train.prediction_file import Block, Columns, write_predictions
from justjump.train.tally import Tally

if TYPE_CHECKING:
    from justjump.train.run import Run


class PartPrediction(NamedTuple):
    """What a network says about the nodes of one part.

    Attributes:
        number: of the part
        nodes: ``[n]`` their numbers in the data that was partitioned
        classes, probabilities: as of a :class:`~justjump.train.Prediction`
    """

    number: int
    nodes: np.ndarray
    classes: np.ndarray
    probabilities: np.ndarray


class Predictions:
    """What a trained network says about all nodes of a graph in parts, computed when someone asks.

    Layer by layer, each part is a task; a task whose process dies is repeated. Memory holds one part at a time.

    Args:
        run: the trained network
        parts: of a graph with the features of the run
        workers: number of processes
        scratch: folder for the representations of all nodes; without it, one worker keeps them in memory, and several
            put them into the folder for temporary files
        progress: show a bar with the time left

    ::

        found = run.predict(data.open_parts("parts"), workers=4, scratch="/fast/disk")
        found.save("predictions.parquet")
        for part in found:
            print(part.nodes, part.classes)
    """

    def __init__(
        self, run: Run, parts: Parts, workers: int = 1, scratch: str | Path | None = None, progress: bool = False
    ) -> None:
        check_fits(run, parts)
        check_inference(run.config)
        dealt(len(parts), workers)
        self.run, self.parts, self.workers, self.scratch, self.progress = run, parts, workers, scratch, progress

    def __repr__(self) -> str:
        return f"Predictions({self.run!r} for {self.parts!r})"

    def __iter__(self) -> Iterator[PartPrediction]:
        """One part after the other."""
        layers, count, task = self.run.config.layers, len(self.parts), self.run.task
        with pool_of(self.parts, self.run.model, self.workers, self.scratch) as pool, Steps(self.progress) as steps:
            compute_layers(pool, layers, steps.count("layers", (layers + 1) * count))
            for part in steps.each("predictions", self.parts, count):
                found = self.run.objective.predictions(pool.inference.outputs(part.number)).numpy()
                if task == "multiclass":
                    classes = found.argmax(1)
                else:
                    classes = found if task == "regression" else (found > 0.5).astype(np.int64)
                yield PartPrediction(part.number, part.original, classes, found)

    def save(self, output: str | Path) -> dict[str, tuple[int, Values]]:
        """Write them as CSV, or as Parquet if the name ends in ``.parquet``, part by part.

        The columns are those of ``justjump predict`` on a whole graph; the rows are in the order of the parts. The file
        is there completely or not at all.

        Returns:
            the number of nodes with a label, and the measures: of the ``"train"``, ``"val"`` and ``"test"`` nodes, if
            these are the parts of training, else of ``"all"`` nodes; nothing if there are no labels of the run's kind
        """
        it = self.parts.manifest
        columns = Columns("node", self.run.task, self.run.class_names, it.names, self._role is not None)
        labelled = it.task == self.run.task and it.class_names == self.run.class_names
        tallies = {name: Tally(it.task, len(it.class_names)) for name in (ROLES if columns.roles else ("all",))}

        def blocks() -> Iterator[Block]:
            for found in self:
                part = self.parts[found.number]
                role = None if self._role is None else self._role[found.nodes]
                roles = None if role is None else [("", *ROLES)[one] for one in role]
                for number, tally in enumerate(tallies.values() if labelled else (), 1):
                    rows = slice(None) if role is None else role == number
                    tally.add(part.labels[rows], found.probabilities[rows])
                yield Block(part.names() if it.names else found.nodes.tolist(), found.probabilities, roles)

        write_predictions(Path(output), columns, blocks())
        return {name: (tally.count, tally.values()) for name, tally in tallies.items() if tally.count}

    @cached_property
    def _role(self) -> np.ndarray | None:
        """1, 2 or 3 for the training, validation and test nodes of the run, int8 ``[N]``; None for another graph."""
        split = self.run.split
        if split is None or split_hash(self.parts, split) != self.run.data_hash:
            return None
        role = np.zeros(self.parts.manifest.num_nodes, np.int8)
        for number, name in enumerate(ROLES, 1):
            role[getattr(split, name)] = number
        return role


def check_fits(run: Run, parts: Parts) -> None:
    """Raise RunError unless the features of the parts are those that the network was trained with."""
    it, own, theirs = parts.manifest, run.preprocessing, parts.manifest.preprocessing
    if run.whole_graphs:
        raise RunError(f"the run predicts whole graphs, but {it.name} in parts is one graph: pass graphs that fit")
    if own.width != theirs.width or own.num_outputs != theirs.num_outputs:
        raise RunError(f"{it.name} has {theirs.width} features per node, but the model expects {own.width}")
    if run.feature_names is not None and theirs.names is not None:
        missing = [name for name in run.feature_names if name not in set(theirs.names)]
        if missing:
            raise RunError(f"{it.name} lacks features that the model was trained with: {', '.join(missing[:5])}")
        if run.feature_names != theirs.names:
            raise RunError(f"{it.name} has the features of the run in another order: partition it with theirs")
    if own.digest != theirs.digest:
        raise RunError(
            f"the features of {it.name} in parts were scaled or encoded in another way than those of the run: train on "
            "these parts, or partition the graph that the run was trained on"
        )
