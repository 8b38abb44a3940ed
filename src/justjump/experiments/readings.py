"""Readings of the paper's protocol: what its two sentences on training leave open, filled in and named.

The paper says: Adam, patience 10, dropout 0.5 before and after the graph layers, an L2 penalty on all parameters,
random 20/20/60 splits. Its code was not published. What its author published in the same weeks, in PyTorch Geometric,
fills it in otherwise: the first example of the DNA operator, and the benchmarks of citation networks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from justjump.nn import ModelConfig
from justjump.train import Protocol

Options = dict[str, Any]

# The benchmarks: after half of the epochs, training stops where the validation loss exceeds its mean over a window.
WINDOW: Options = {"stop": "window", "max_epochs": 200, "patience": 10, "patience_start": 100}
LONG_WINDOW: Options = {"stop": "window", "max_epochs": 1000, "patience": 100, "patience_start": 500}
# The example: 200 epochs, and the weights with the best validation accuracy.
EXAMPLE: Options = {"stop": "never", "max_epochs": 200, "pick": "accuracy"}
NO_INPUT_DROPOUT: Options = {"input_dropout": 0.0}
HISTORIC_GAT: Options = {"softmax": "outgoing", "vectors": "one"}


@dataclass(frozen=True)
class Reading:
    """One way to fill in what the paper leaves open, for all its models.

    Attributes:
        name: one word
        words: what it fills in, in a few words
        config: options of every network
        protocol: options of every training
        gat: options of networks and trainings of GAT that differ from those of the others
    """

    name: str
    words: str
    config: Options = field(default_factory=dict)
    protocol: Options = field(default_factory=dict)
    gat: Options = field(default_factory=dict)

    def network(self, config: ModelConfig) -> ModelConfig:
        """A published configuration, read in this way."""
        return replace(config, **self.config, **self._own(config.model, ModelConfig))

    def training(self, model: str) -> Protocol:
        """How a network of this kind is trained."""
        return Protocol(**{**self.protocol, **self._own(model, Protocol)})

    def _own(self, model: str, kind: type) -> Options:
        names = kind.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: value for name, value in self.gat.items() if name in names} if model == "gat" else {}


_ALL = (
    Reading(
        "historic",
        "patience 100 on the validation loss; dropout on the input; GAT as PyTorch Geometric had it in these weeks",
        {},
        {"patience": 100},
        HISTORIC_GAT,
    ),
    Reading("patience-10", "as the paper writes: patience 10 from the first epoch; dropout on the input; today's GAT"),
    Reading("patience-100", "patience 100; dropout on the input; today's GAT", protocol={"patience": 100}),
    Reading("historic-30", "as historic, with patience 30", {}, {"patience": 30}, HISTORIC_GAT),
    Reading("historic-50", "as historic, with patience 50", {}, {"patience": 50}, HISTORIC_GAT),
    Reading("historic-200", "as historic, at most 200 epochs", {}, {"patience": 100, "max_epochs": 200}, HISTORIC_GAT),
    Reading(
        "historic-linear",
        "as historic, with blocks of GCN and GAT initialised as parts of one linear layer",
        {"projection": "linear"},
        {"patience": 100},
        HISTORIC_GAT,
    ),
    Reading(
        "historic-whole",
        "as historic, with blocks of GCN and GAT initialised as parts of one matrix",
        {"projection": "whole"},
        {"patience": 100},
        HISTORIC_GAT,
    ),
    Reading(
        "historic-grouped",
        "as historic, with DNA's grouped map in GCN and GAT",
        {"projection": "uniform"},
        {"patience": 100},
        HISTORIC_GAT,
    ),
    Reading("patience-100-plain", "patience 100; no dropout on the input", NO_INPUT_DROPOUT, {"patience": 100}),
    Reading(
        "patience-100-plain-historic",
        "as patience-100-plain, with GAT as PyTorch Geometric had it in these weeks",
        NO_INPUT_DROPOUT,
        {"patience": 100},
        HISTORIC_GAT,
    ),
    Reading(
        "patience-100-plain-linear",
        "as patience-100-plain-historic, with blocks of GCN and GAT initialised as parts of one linear layer",
        {**NO_INPUT_DROPOUT, "projection": "linear"},
        {"patience": 100},
        HISTORIC_GAT,
    ),
    Reading(
        "benchmark",
        "the benchmarks' rule: at most 200 epochs, a window of 10 (GAT: 1000, 100); no dropout on the input",
        NO_INPUT_DROPOUT,
        WINDOW,
        LONG_WINDOW,
    ),
    Reading(
        "benchmark-200",
        "the benchmarks' rule with 200 epochs and a window of 10 for GAT, too; no dropout on the input",
        NO_INPUT_DROPOUT,
        WINDOW,
    ),
    Reading(
        "benchmark-historic",
        "as benchmark, with GAT as PyTorch Geometric had it in these weeks: softmax over outgoing edges, one attention "
        "vector",
        NO_INPUT_DROPOUT,
        WINDOW,
        {**LONG_WINDOW, **HISTORIC_GAT},
    ),
    Reading(
        "benchmark-200-historic", "as benchmark-200, with the historic GAT", NO_INPUT_DROPOUT, WINDOW, HISTORIC_GAT
    ),
    Reading(
        "benchmark-grouped",
        "as benchmark, with DNA's grouped map in GCN and GAT",
        {**NO_INPUT_DROPOUT, "projection": "uniform"},
        WINDOW,
        LONG_WINDOW,
    ),
    Reading(
        "benchmark-whole",
        "as benchmark, with blocks of GCN and GAT initialised as parts of one matrix",
        {**NO_INPUT_DROPOUT, "projection": "whole"},
        WINDOW,
        LONG_WINDOW,
    ),
    Reading(
        "benchmark-linear",
        "as benchmark, with blocks of GCN and GAT initialised as parts of one linear layer",
        {**NO_INPUT_DROPOUT, "projection": "linear"},
        WINDOW,
        LONG_WINDOW,
    ),
    Reading("benchmark-dropout", "the benchmarks' rule with dropout on the input", {}, WINDOW, LONG_WINDOW),
    Reading(
        "example",
        "the example's rule: 200 epochs, the best validation accuracy; no dropout on the input",
        NO_INPUT_DROPOUT,
        EXAMPLE,
    ),
    Reading("example-dropout", "the example's rule with dropout on the input", {}, EXAMPLE),
    Reading("example-historic", "as example, with the historic GAT", NO_INPUT_DROPOUT, EXAMPLE, HISTORIC_GAT),
    Reading(
        "example-grouped",
        "as example, with DNA's grouped map in GCN and GAT",
        {**NO_INPUT_DROPOUT, "projection": "uniform"},
        EXAMPLE,
    ),
    Reading(
        "example-loss",
        "200 epochs, the lowest validation loss; no dropout on the input",
        NO_INPUT_DROPOUT,
        {**EXAMPLE, "pick": "loss"},
    ),
    Reading(
        "layer-dropout",
        "as benchmark-200, with dropout before each layer",
        {**NO_INPUT_DROPOUT, "layer_dropout": 0.5},
        WINDOW,
    ),
    Reading(
        "layers-only",
        "as benchmark-200; jumping knowledge joins the layers' outputs alone",
        {**NO_INPUT_DROPOUT, "jump_input": False},
        WINDOW,
    ),
)
READINGS = {one.name: one for one in _ALL}
DEFAULT = _ALL[0].name  # the one that fits the paper's figures best


def find_reading(name: str) -> Reading:
    """The reading of this name.

    >>> find_reading("exampel")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: there is no reading 'exampel': choose from historic, ...
    """
    if name not in READINGS:
        raise ValueError(f"there is no reading {name!r}: choose from {', '.join(READINGS)}")
    return READINGS[name]
