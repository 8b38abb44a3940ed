"""What a graph chooses where the user did not: the share of h(0), and the weight of self-training."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from justjump.data import Graph, Split
from justjump.nn import ModelConfig
from justjump.nn.config import FEW_LAYERS
from justjump.train.inputs import Inputs
from justjump.train.neighbors import Gain, self_training_helps
from justjump.train.protocol import Protocol
from justjump.train.remedies import favours_rare_classes
from justjump.train.run import saved_settings
from justjump.train.saved import RUN_FILE, read_values

LARGER_SHARE = 0.5
TAUGHT = 3.0  # the weight of self-training

Options = tuple[ModelConfig, Protocol]  # of one run


def is_open(config: ModelConfig, protocol: Protocol) -> bool:
    """Whether the graph may choose something.

    >>> is_open(ModelConfig(), Protocol())
    False
    """
    return share_is_open(config) or self_training_is_open(protocol)


def chosen(
    config: ModelConfig, protocol: Protocol, gain: Gain | None = None, teaches: bool = False, regression: bool = False
) -> Options:
    """The options with values for all that was left open.

    Args:
        gain: what neighbours add; None if nobody knows
        teaches: whether self-training suits the graph
        regression: whether numbers are predicted
    """
    return with_share(config, gain).suited(regression), with_self_training(protocol, teaches)


def chosen_by_graph(asked: Options, graph: Graph, inputs: Inputs, split: Split, linear: Tensor | None) -> Options:
    """The options with what suits the graph for all that was left open.

    Args:
        linear: what :func:`~justjump.train.neighbors.features_alone` found
    """
    gain = Gain.of(linear, inputs, split)
    is_tried = gain is not None and gain.is_nothing and self_training_is_open(asked[1])
    teaches = is_tried and self_training_helps(graph, inputs, split)
    return chosen(*asked, gain, teaches, graph.task == "regression")


def as_saved(config: ModelConfig, protocol: Protocol, folder: Path) -> Options:
    """The options, with what was chosen for the run in the folder, if there is one: it is not chosen again."""
    if not (folder / RUN_FILE).exists():
        return config, protocol
    found = saved_settings(read_values(folder))
    if share_is_open(config):
        config = replace(config, initial_share=found["config"]["initial_share"])
    if self_training_is_open(protocol):
        protocol = replace(protocol, self_training=found["protocol"]["self_training"])
    return config, protocol


def notes_on_choices(asked: Options, found: Options) -> Iterator[str]:
    """Lines for users for whose graph another value than usual was chosen."""
    if share_is_open(asked[0]) and found[0].initial_share == LARGER_SHARE:
        yield described_share()
    if self_training_is_open(asked[1]) and found[1].self_training:
        yield described_self_training()


def share_is_open(config: ModelConfig) -> bool:
    """Whether the graph may choose the share of h(0)."""
    return config.initial_share is None and config.update == "initial" and config.layers <= FEW_LAYERS


def with_share(config: ModelConfig, gain: Gain | None) -> ModelConfig:
    """The same network, with a larger share of h(0) where none was chosen and neighbours surely add little."""
    is_larger = share_is_open(config) and gain is not None and gain.is_little
    return replace(config, initial_share=LARGER_SHARE) if is_larger else config


def self_training_is_open(protocol: Protocol) -> bool:
    """Whether the weight of self-training is to be found from the graph.

    It is not for mini-batches, nor where training is for other measures than those that tell whether it suits a graph.
    """
    is_plain = protocol.batch_size is None and not favours_rare_classes(protocol)
    return protocol.self_training is None and is_plain


def with_self_training(protocol: Protocol, teaches: bool) -> Protocol:
    """The same training, with a weight of self-training where none was chosen.

    Args:
        teaches: whether self-training suits the graph
    """
    if protocol.self_training is not None:
        return protocol
    return replace(protocol, self_training=TAUGHT if teaches and self_training_is_open(protocol) else 0.0)


def described_share(which: str = "") -> str:
    """A line for users whose network got a larger share than usual.

    >>> described_share(" in split 3")
    "initial_share: 0.5 in split 3, since neighbours add little to a node's own features"
    """
    return f"initial_share: {LARGER_SHARE}{which}, since neighbours add little to a node's own features"


def described_self_training(which: str = "") -> str:
    """A line for users whose network teaches itself.

    >>> described_self_training(" in split 3")
    'self_training: 3 in split 3, since neighbours add no more than chance would'
    """
    return f"self_training: {TAUGHT:g}{which}, since neighbours add no more than chance would"
