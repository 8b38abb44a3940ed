"""What a graph chooses where the user did not: the share of h(0), and that of a linear model in the output."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from justjump.nn import ModelConfig
from justjump.nn.config import FEW_LAYERS
from justjump.train.neighbors import Gain
from justjump.train.run import saved_settings
from justjump.train.saved import RUN_FILE, read_values

LARGER_SHARE = 0.5


def as_saved(config: ModelConfig, folder: Path) -> ModelConfig:
    """The network, with what was chosen for the run in the folder, if there is one: it is not chosen again.

    A run that goes on chooses the share of a linear model when it ends.
    """
    if not (folder / RUN_FILE).exists():
        return config
    values = read_values(folder)
    found = saved_settings(values)["config"]
    if share_is_open(config):
        config = replace(config, initial_share=found["initial_share"])
    if config.linear_share is None and values["finished"]:
        config = replace(config, linear_share=found["linear_share"])
    return config


def share_is_open(config: ModelConfig) -> bool:
    """Whether the graph may choose the share of h(0).

    >>> share_is_open(ModelConfig())
    False
    """
    return config.initial_share is None and config.update == "initial" and config.layers <= FEW_LAYERS


def with_share(config: ModelConfig, gain: Gain | None) -> ModelConfig:
    """The same network, with a larger share of h(0) where none was chosen and neighbours surely add little."""
    is_larger = share_is_open(config) and gain is not None and gain.is_little
    return replace(config, initial_share=LARGER_SHARE) if is_larger else config


def notes_on_choices(asked: ModelConfig, found: ModelConfig) -> Iterator[str]:
    """Lines for users for whose graph another value than usual was chosen."""
    if share_is_open(asked) and found.initial_share == LARGER_SHARE:
        yield described_share()
    if asked.linear_share is None and found.linear_share:
        yield described_linear_share(f"{found.linear_share:g}")


def described_share(which: str = "") -> str:
    """A line for users whose network got a larger share than usual.

    >>> described_share(" in split 3")
    "initial_share: 0.5 in split 3, since neighbours add little to a node's own features"
    """
    return f"initial_share: {LARGER_SHARE}{which}, since neighbours add little to a node's own features"


def described_linear_share(share: str, which: str = "") -> str:
    """A line for users in whose network's output a linear model has a share.

    >>> described_linear_share("0.75", " in split 3")
    'linear_share: 0.75 in split 3, since a linear model of the features alone is at least as good as the network'
    """
    why = "since a linear model of the features alone is at least as good as the network"
    return f"linear_share: {share}{which}, {why}"
