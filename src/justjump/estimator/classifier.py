"""A classifier of nodes, of whole graphs or of the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from justjump.data import DataError, Graph
from justjump.data.labels import Labels
from justjump.estimator.base import DNAEstimator
from justjump.estimator.parameters import with_parameters
from justjump.estimator.tables import class_labels


@with_parameters()
class DNAClassifier(ClassifierMixin, DNAEstimator):  # type: ignore[misc]
    """Classify the nodes of a graph, or whole graphs, with the paper's DNA network, in scikit-learn's style.

    A graph may be a :class:`~justjump.data.Graph`, a PyG ``Data`` or the name of one of the paper's datasets. A list of
    ``Data`` is whole graphs with a label each. ``fit(X, y)`` takes a table, which is a graph without edges. Then
    scikit-learn's tools, such as ``GridSearchCV``, work as with every other classifier. They work with lists of
    ``Data``, too, without ``y``. They do not take one graph, whose nodes cannot be cut out as rows are: choose
    parameters for it by ``run_.score("val")``.

    Nodes may have one class each, or several labels, each of which is there or not.

    Attributes:
        classes_: ``[C]`` names of the classes, or their numbers if the graph has no names for them; the names of the
            labels if there are several per node
        split_: the training, validation and test nodes
        run_: the :class:`~justjump.train.Run` with the network and its measures
        n_features_in_: number of features

    >>> model = DNAClassifier(layers=2, hidden=64).fit("cora")
    >>> model.score("cora") > 0.8
    True
    >>> model.predict_proba("cora").shape
    (2708, 7)
    """

    _tasks = ("multiclass", "multilabel")

    def predict(self, X: Graph | str | Any) -> np.ndarray:
        """The class of every node ``[N]``, each one of ``classes_``; for several labels, 0 or 1 for each ``[N, L]``."""
        graph = self._graph(X)
        found = self.run_.predict(graph).classes
        return found if self.run_.task == "multilabel" else np.asarray(self.classes_[found])

    def predict_proba(self, X: Graph | str | Any) -> np.ndarray:
        """The probabilities of all classes ``[N, C]`` or labels ``[N, L]``, in the order of ``classes_``."""
        graph = self._graph(X)
        return self.run_.predict(graph).probabilities

    def score(self, X: Graph | str | Any, y: Any = None, nodes: np.ndarray | None = None) -> float:
        """The share of nodes that are predicted correctly, from 0 to 1.

        A node with several labels is predicted correctly if all of its known labels are, as scikit-learn counts it.

        Args:
            X: a graph with labels, whose classes are matched by name; or a table
            y: targets of the rows of a table
            nodes: node numbers, or a bool array ``[N]``; by default all rows of a table, and of a graph the **test
                nodes** of ``fit``, which needs the graph of ``fit``; of other whole graphs all
        """
        return self._scored(X, y, nodes)

    def _task(self) -> str:
        if self.task == "regression":
            raise ValueError("task='regression' is for DNARegressor: DNAClassifier predicts classes")
        return str(self.task)

    def _labels(self, y: Any, classes: np.ndarray | None = None) -> tuple[Labels, np.ndarray | None]:
        return class_labels(y, self.task, classes)

    def _training_graph(self, X: Any, y: Any) -> tuple[Graph, np.ndarray | None]:
        graph, classes = super()._training_graph(X, y)
        if graph.task == "regression":
            raise DataError(f"the labels of {graph.name} are numbers: use DNARegressor, or task='multiclass'")
        return graph, classes

    def _keep_classes(self, classes: np.ndarray | None) -> None:
        names = self.run_.class_names
        numbers = np.arange(len(names))
        named = numbers if names == tuple(map(str, numbers)) else np.array(names)
        self.classes_: np.ndarray = named if classes is None else classes

    def _score(self, graph: Graph, nodes: np.ndarray) -> float:
        run = self.run_
        if not set(graph.class_names) & set(run.class_names):
            raise DataError(
                f"the classes of {graph.name} ({', '.join(graph.class_names[:3])}, ...) are none of those of fit "
                f"({', '.join(run.class_names[:3])}, ...)"
            )
        predicted, truth = run.predict(graph).classes[nodes], graph.labels[nodes]
        if run.task == "multiclass":
            return float((np.array(run.class_names)[predicted] == np.array(graph.class_names)[truth]).mean())
        truth = columns_of(graph, run.class_names)[nodes]
        return float(((truth == predicted) | np.isnan(truth)).all(axis=1).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def columns_of(graph: Graph, names: tuple[str, ...]) -> np.ndarray:
    """Labels ``[N, K]`` in the order of these names."""
    if graph.class_names == names or len(names) == graph.num_classes == 1:
        return graph.labels
    missing = [name for name in names if name not in graph.class_names]
    if missing:
        raise DataError(f"{graph.name} lacks labels that the model was trained with: {', '.join(missing[:5])}")
    place = {name: column for column, name in enumerate(graph.class_names)}
    return graph.labels[:, [place[name] for name in names]]
