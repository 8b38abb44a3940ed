"""A regressor of nodes, of whole graphs or of the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from justjump.data import Graph
from justjump.data.labels import Labels
from justjump.estimator.base import DNAEstimator
from justjump.estimator.classifier import columns_of
from justjump.estimator.parameters import with_parameters
from justjump.estimator.tables import number_labels
from justjump.train.measures import measure


@with_parameters(without=["task", "class_weight", "calibrate"])
class DNARegressor(RegressorMixin, DNAEstimator):  # type: ignore[misc]
    """Predict numbers for the nodes of a graph, or for whole graphs, with the DNA network, in scikit-learn's style.

    It takes the same graphs and tables as :class:`~justjump.DNAClassifier`. The labels of the graph are one number per
    node, or several.

    Attributes:
        split_: the training, validation and test nodes
        run_: the :class:`~justjump.train.Run` with the network and its measures
        n_features_in_: number of features

    >>> X = np.random.RandomState(0).randn(200, 3)
    >>> model = DNARegressor(layers=1, attention_dropout=0.0, input_dropout=0.0).fit(X, X[:, 0] - X[:, 1])
    >>> model.score(X, X[:, 0] - X[:, 1]) > 0.7
    True
    """

    _tasks = ("regression",)

    def predict(self, X: Graph | str | Any) -> np.ndarray:
        """The number of every node, float32 ``[N]``, or ``[N, K]`` for several targets."""
        graph = self._graph(X)
        found = self.run_.predict(graph).classes
        return found[:, 0] if found.shape[1] == 1 else found

    def score(self, X: Graph | str | Any, y: Any = None, nodes: np.ndarray | None = None) -> float:
        """R2: 1 for perfect predictions, 0 for those of the mean; of several targets, the mean of theirs.

        Args:
            X: a graph with labels; or a table
            y: targets of the rows of a table
            nodes: node numbers, or a bool array ``[N]``; by default all rows of a table, and of a graph the **test
                nodes** of ``fit``, which needs the graph of ``fit``; of other whole graphs all
        """
        return self._scored(X, y, nodes)

    def _task(self) -> str:
        return "regression"

    def _labels(self, y: Any, classes: np.ndarray | None = None) -> tuple[Labels, np.ndarray | None]:
        return number_labels(y), None

    def _keep_classes(self, classes: np.ndarray | None) -> None:
        """There are none."""

    def _score(self, graph: Graph, nodes: np.ndarray) -> float:
        predicted, truth = self.run_.predict(graph).classes, columns_of(graph, self.run_.class_names)
        value = measure("regression", truth[nodes], predicted[nodes], only=("r2",))["r2"]
        return float("nan") if value is None else value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
