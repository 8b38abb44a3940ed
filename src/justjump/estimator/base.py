"""What both estimators share: ``fit``, ``score`` and the run in a folder."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from justjump.data import NAMES, DataError, Graph, Split, load, read_graph
from justjump.data.labels import Labels, Task
from justjump.estimator.folder import Kept, read_kept, write_kept
from justjump.estimator.parameters import check_names
from justjump.estimator.tables import is_table, table_graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError, fit, prepare
from justjump.train.inputs import data_hash
from justjump.train.start import default_split

if TYPE_CHECKING:
    from typing import Self

FRACTIONS_OF_A_TABLE = (0.8, 0.2, 0.0)  # those who have a table keep their test rows out of it


class DNAEstimator(BaseEstimator):  # type: ignore[misc]
    """A network that is trained on a graph, or on a table, which is a graph without edges."""

    _tasks: ClassVar[tuple[Task, ...]]

    @abstractmethod
    def _task(self) -> str:
        """The task of the protocol; ValueError if it is not one for this estimator."""

    @abstractmethod
    def _labels(self, y: Any, classes: np.ndarray | None = None) -> tuple[Labels, np.ndarray | None]:
        """Labels of the rows of a table, and the classes as they stand in ``y``; ``classes`` are those of ``fit``."""

    @abstractmethod
    def _keep_classes(self, classes: np.ndarray | None) -> None:
        """Set ``classes_``; from the names in the run if None."""

    @abstractmethod
    def _score(self, graph: Graph, nodes: np.ndarray) -> float:
        """How good the predictions for these nodes are."""

    def fit(self, X: Graph | str | Any, y: Any = None, split: Split | None = None) -> Self:
        """Train.

        Args:
            X: a graph with its labels; or a table, rows of features ``[N, F]``, which is a graph without edges
            y: targets of the rows of a table, NaN where unknown; a graph has its own
            split: training, validation and test nodes; by default the graph's own masks, else a random split by
                ``random_state``
        """
        if isinstance(y, Split):
            y, split = None, y
        config, protocol = self._options(ModelConfig), self._options(Protocol)
        graph, classes = self._training_graph(X, y)
        if self.fractions is None and is_table(X):
            protocol = replace(protocol, fractions=FRACTIONS_OF_A_TABLE)
        seed = self._seed()
        split = split or default_split(graph, protocol, seed)
        # A table is trained without a word, as by scikit-learn: grid searches do it many times.
        inputs, progress = (prepare(graph, protocol.scale), False) if is_table(X) else (None, None)
        self.run_: Run = fit(graph, config, protocol, split=split, seed=seed, inputs=inputs, progress=progress)
        self.split_: Split = split
        self._keep_classes(classes)
        return self

    def _training_graph(self, X: Any, y: Any) -> tuple[Graph, np.ndarray | None]:
        name, task = type(self).__name__, self._task()
        if is_table(X):
            if y is None:
                raise ValueError(f"{name}.fit requires y to be passed, but the target y is None: a table has no labels")
            labels, classes = self._labels(y)
            return table_graph(self, X, labels, fits=True), classes
        if y is not None:
            raise TypeError(f"the labels of a graph are in it: leave y out of {name}.fit")
        graph = as_graph(X)
        graph = graph if task == "auto" else graph.with_task(task)  # type: ignore[arg-type]
        self.n_features_in_: int = graph.num_features
        if hasattr(self, "feature_names_in_"):  # of a table that it was fitted to before
            del self.feature_names_in_
        return graph, None

    def _graph(self, X: Any) -> Graph:
        """What to predict."""
        self._fitted()
        return table_graph(self, X) if is_table(X) else as_graph(X, whole=bool(self.run_.whole_graphs))

    def _scored(self, X: Any, y: Any, nodes: np.ndarray | None) -> float:
        run, name = self._fitted(), type(self).__name__
        if is_table(X):
            if y is None:
                raise ValueError(f"{name}.score requires y to be passed, but the target y is None")
            graph = table_graph(self, X, self._labels(y, getattr(self, "classes_", None))[0])
            return self._score(graph, np.flatnonzero(graph.labelled) if nodes is None else labelled(graph, nodes))
        if y is not None:
            raise TypeError(f"the labels of a graph are in it: leave y out of {name}.score, or pass nodes=...")
        graph = as_graph(X, whole=bool(run.whole_graphs))
        graph = graph.with_task(run.task) if graph.num_classes else graph
        if nodes is None:
            if data_hash(graph, self.split_) != run.data_hash:
                if graph.batch is not None:  # other graphs are a table whose rows are graphs
                    return self._score(graph, labelled(graph, graph.labelled))
                raise DataError(f"{graph.name} is not the graph of fit, which the test nodes belong to: pass nodes=...")
            if not len(self.split_.test):
                raise DataError("the split of fit has no test nodes: pass nodes=... to say which to score")
            nodes = self.split_.test
        return self._score(graph, labelled(graph, nodes))

    def save(self, folder: str | Path) -> None:
        """Write the run and the parameters into a folder: ``run.json``, ``model.safetensors``, ``split.safetensors``.

        :meth:`justjump.train.Run.load` and the command ``justjump predict`` read it, too.
        """
        run, names = self._fitted(), getattr(self, "feature_names_in_", None)
        seed = self.random_state if self.random_state is None or isinstance(self.random_state, Integral) else run.seed
        write_kept(
            Path(folder),
            run,
            Kept(
                parameters={**self.get_params(deep=False), "random_state": seed},
                classes=self.classes_.tolist() if hasattr(self, "classes_") else None,
                n_features_in=self.n_features_in_,
                feature_names_in=None if names is None else list(names),
            ),
        )

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what ``save``, ``justjump.fit`` or ``justjump train`` wrote. Nothing in the folder is executed."""
        run, kept = read_kept(Path(folder), cls._get_param_names())
        if run.task not in cls._tasks:
            other = "DNARegressor" if run.task == "regression" else "DNAClassifier"
            raise RunError(f"{folder} holds a run of a {run.task} task: read it with {other}.load")
        model = cls(**kept.parameters)
        model.run_ = run
        model.n_features_in_ = kept.n_features_in
        if kept.feature_names_in is not None:
            model.feature_names_in_ = np.array(kept.feature_names_in, dtype=object)
        if run.split is None:
            raise RunError(f"{folder} holds a run of an older version, without its split: use justjump.Run.load")
        model.split_ = run.split
        model._keep_classes(None if kept.classes is None else np.array(kept.classes))
        return model

    def set_params(self, **params: Any) -> Self:
        """Change parameters; the next ``fit`` uses them."""
        check_names(type(self).__name__, params, self.get_params(deep=False), ValueError)
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _options(self, kind: type[Any]) -> Any:
        """The parameters as a ``ModelConfig`` or a ``Protocol``."""
        names = {one.name for one in fields(kind)}
        options = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        if kind is Protocol:
            options["task"] = self._task()
            if options["fractions"] is None:
                del options["fractions"]
            if options.get("class_weight", "none") is None:  # scikit-learn's way to say it
                options["class_weight"] = "none"
        return kind(**options)

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _fitted(self) -> Run:
        check_is_fitted(self, "run_", msg="this %(name)s is not fitted yet: call fit first")
        return self.run_


def as_graph(graph: Graph | str | object, whole: bool = False) -> Graph:
    """A graph from an object, a path or a dataset's name; with ``whole``, one graph stands for a list of one."""
    if isinstance(graph, Path) or (isinstance(graph, str) and graph not in NAMES and Path(graph).exists()):
        graph = read_graph(graph)
    return Graph.of(load(graph) if isinstance(graph, str) else graph, whole)


def labelled(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Numbers of the nodes to score. Raises DataError if there are none, or if one does not exist or has no label."""
    nodes, count = np.asarray(nodes), len(graph.labels)
    if nodes.dtype == bool and nodes.shape == (count,):
        nodes = np.flatnonzero(nodes)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu" or not len(nodes):
        raise DataError(
            f"nodes must be node numbers or a bool array [{count}], and not be empty, "
            f"got {nodes.dtype} of shape {list(nodes.shape)}"
        )
    if nodes.min() < 0 or nodes.max() >= count:
        bad = nodes[(nodes < 0) | (nodes >= count)][0]
        raise DataError(f"nodes holds {bad}, but {graph.name} has {count} nodes, counted from 0")
    if not graph.labelled[nodes].all():
        bad = nodes[~graph.labelled[nodes]][0]
        raise DataError(f"node {bad} has no label to compare with: choose nodes that have one")
    return nodes
