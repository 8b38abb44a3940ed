"""A node classifier in scikit-learn's style."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import fields
from typing import Any

import numpy as np

from justjump.data import DataError, Graph, Split, load
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, fit
from justjump.train.inputs import data_hash
from justjump.train.loop import default_split
from justjump.train.protocol import ClassWeight, Decay, Scale, TaskOption, Watch


class NotFittedError(ValueError, AttributeError):
    """The estimator was used before ``fit``. It has the same bases as scikit-learn's error of this name."""


class DNAClassifier:
    """Classify the nodes of a graph with the paper's DNA network.

    A graph may be a :class:`~justjump.data.Graph`, a PyG ``Data`` or the name of one of the paper's datasets.
    scikit-learn need not be installed. If it is, its ``clone`` and ``Pipeline`` work.

    Args:
        layers, hidden, heads, groups: sizes of the network
        dropout, input_dropout, attention_dropout, window, keep_first: as in :class:`~justjump.nn.ModelConfig`
        learning_rate, weight_decay, decay: as in :class:`~justjump.train.Protocol`
        patience, watch, patience_start, max_epochs: as in :class:`~justjump.train.Protocol`
        scale, stratified, fractions: as in :class:`~justjump.train.Protocol`
        task, class_weight, calibrate: as in :class:`~justjump.train.Protocol`
        random_state: seed of the split, the initialisation and dropout; the same seed gives the same network

    Attributes:
        classes_: ``[C]`` names of the classes, or their numbers if the graph has no names for them
        split_: the training, validation and test nodes
        run_: the :class:`~justjump.train.Run` with the network, its accuracies and ``save``

    >>> model = DNAClassifier(layers=2, hidden=64).fit("cora")
    >>> model.score("cora") > 0.8
    True
    >>> model.predict_proba("cora").shape
    (2708, 7)
    """

    def __init__(
        self,
        layers: int = 4,
        hidden: int = 128,
        heads: int = 8,
        groups: int = 16,
        *,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        attention_dropout: float = 0.8,
        window: int | None = None,
        keep_first: bool = False,
        learning_rate: float = 0.005,
        weight_decay: float = 0.0005,
        decay: Decay = "all",
        patience: int = 10,
        watch: Watch = "loss",
        patience_start: int = 0,
        max_epochs: int = 1000,
        scale: Scale = "auto",
        stratified: bool = True,
        fractions: tuple[float, float, float] = (0.2, 0.2, 0.6),
        task: TaskOption = "auto",
        class_weight: ClassWeight = "none",
        calibrate: bool = False,
        random_state: int = 0,
    ) -> None:
        # Stored unchanged, and checked by fit: scikit-learn's clone relies on it.
        self.layers = layers
        self.hidden = hidden
        self.heads = heads
        self.groups = groups
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.attention_dropout = attention_dropout
        self.window = window
        self.keep_first = keep_first
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.decay = decay
        self.patience = patience
        self.watch = watch
        self.patience_start = patience_start
        self.max_epochs = max_epochs
        self.scale = scale
        self.stratified = stratified
        self.fractions = fractions
        self.task = task
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    def fit(self, graph: Graph | str | object, split: Split | None = None) -> DNAClassifier:
        """Train. By default ``split`` is the graph's own masks, else a random split by ``random_state``."""
        graph = _as_graph(graph)
        config, protocol = ModelConfig(**self._options(ModelConfig)), Protocol(**self._options(Protocol))
        split = split or default_split(graph, protocol, self.random_state)
        run = fit(graph, config, protocol, split=split, seed=self.random_state)
        self.run_: Run = run
        self.split_: Split = split
        self.classes_: np.ndarray = _classes(run.class_names)
        return self

    def predict(self, graph: Graph | str | object) -> np.ndarray:
        """The class of every node ``[N]``, each one of ``classes_``."""
        run = self._fitted()
        return np.asarray(self.classes_[run.predict(_as_graph(graph)).classes])

    def predict_proba(self, graph: Graph | str | object) -> np.ndarray:
        """The probabilities of all classes ``[N, C]``, in the order of ``classes_``."""
        run = self._fitted()
        return run.predict(_as_graph(graph)).probabilities

    def score(self, graph: Graph | str | object, nodes: np.ndarray | None = None) -> float:
        """The share of nodes whose class is predicted correctly, from 0 to 1.

        Args:
            graph: a graph with labels; its classes are matched by name
            nodes: node numbers, or a bool array ``[N]``; by default the **test nodes** of ``fit``, which needs the
                graph of ``fit``
        """
        run, graph = self._fitted(), _as_graph(graph)
        if nodes is None:
            if data_hash(graph, self.split_) != run.data_hash:
                raise DataError(f"{graph.name} is not the graph of fit, which the test nodes belong to: pass nodes=...")
            if not len(self.split_.test):
                raise DataError("the split of fit has no test nodes: pass nodes=... to say which to score")
            nodes = self.split_.test
        nodes = _labelled(graph, nodes)
        if not set(graph.class_names) & set(run.class_names):
            raise DataError(
                f"the classes of {graph.name} ({', '.join(graph.class_names[:3])}, ...) are none of those of fit "
                f"({', '.join(run.class_names[:3])}, ...)"
            )
        predicted = np.array(run.class_names)[run.predict(graph).classes[nodes]]
        return float((predicted == np.array(graph.class_names)[graph.labels[nodes]]).mean())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name. ``deep`` changes nothing; scikit-learn passes it."""
        return {name: getattr(self, name) for name in _defaults()}

    def set_params(self, **params: Any) -> DNAClassifier:
        """Change parameters; the next ``fit`` uses them."""
        for name in params:
            if name not in _defaults():
                close = difflib.get_close_matches(name, _defaults(), n=1)
                hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(_defaults())}"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: {hint}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != _defaults()[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier", target_tags=TargetTags(required=False), classifier_tags=ClassifierTags()
        )

    def _options(self, kind: type[ModelConfig] | type[Protocol]) -> dict[str, Any]:
        names = {field.name for field in fields(kind)}
        return {name: value for name, value in self.get_params().items() if name in names}

    def _fitted(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit(graph) first")
        return self.run_


def _defaults() -> dict[str, Any]:
    parameters = inspect.signature(DNAClassifier).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _as_graph(graph: Graph | str | object) -> Graph:
    if isinstance(graph, str):
        return load(graph)
    return graph if isinstance(graph, Graph) else Graph.from_pyg(graph)


def _labelled(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Numbers of the nodes to score. Raises DataError if there are none, or if one does not exist or has no label."""
    nodes = np.asarray(nodes)
    if nodes.dtype == bool and nodes.shape == (graph.num_nodes,):
        nodes = np.flatnonzero(nodes)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu" or not len(nodes):
        raise DataError(
            f"nodes must be node numbers or a bool array [{graph.num_nodes}], and not be empty, "
            f"got {nodes.dtype} of shape {list(nodes.shape)}"
        )
    if nodes.min() < 0 or nodes.max() >= graph.num_nodes:
        bad = nodes[(nodes < 0) | (nodes >= graph.num_nodes)][0]
        raise DataError(f"nodes holds {bad}, but {graph.name} has {graph.num_nodes} nodes, counted from 0")
    if (graph.labels[nodes] < 0).any():
        bad = nodes[graph.labels[nodes] < 0][0]
        raise DataError(f"node {bad} has no label to compare with: choose nodes that have one")
    return nodes


def _classes(names: tuple[str, ...]) -> np.ndarray:
    numbers = np.arange(len(names))
    return numbers if names == tuple(map(str, numbers)) else np.array(names)
