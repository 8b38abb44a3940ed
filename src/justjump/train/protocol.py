"""How one network is trained: the paper's protocol with its open questions as named options."""

from dataclasses import dataclass
from typing import Literal, get_args

from justjump.options import check_types

Watch = Literal["loss", "accuracy"]
Decay = Literal["all", "weights"]


@dataclass(frozen=True)
class Protocol:
    """Adam with early stopping on random 20/20/60 splits.

    The paper's text leaves open what patience watches and when it starts, whether features are normalised, splits
    stratified and biases decayed; each is an option here. Where dropout sits is an option of
    :class:`~justjump.nn.ModelConfig`: ``input_dropout``, ``dropout`` and ``attention_dropout``.

    Attributes:
        learning_rate: of Adam
        weight_decay: L2 penalty
        decay: which parameters it applies to: ``"all"``, or ``"weights"``, which leaves out biases
        patience: stop after so many epochs without a better validation value
        watch: that value: the validation ``"loss"`` or ``"accuracy"``
        patience_start: first epoch that patience counts from
        max_epochs: stop here at the latest
        normalize_features: divide each node's features by their sum
        stratified: give each class its share of every part of the split
        fractions: parts of the labelled nodes for training, validation and test

    >>> Protocol(watch="f1")
    Traceback (most recent call last):
    ValueError: watch='f1' is unknown: choose loss or accuracy
    """

    learning_rate: float = 0.005
    weight_decay: float = 0.0005
    decay: Decay = "all"
    patience: int = 10
    watch: Watch = "loss"
    patience_start: int = 0
    max_epochs: int = 1000
    normalize_features: bool = False
    stratified: bool = True
    fractions: tuple[float, float, float] = (0.2, 0.2, 0.6)

    def __post_init__(self) -> None:
        check_types(self)
        object.__setattr__(self, "fractions", tuple(self.fractions))  # JSON brings a list
        for name, kind in (("watch", Watch), ("decay", Decay)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown: choose {' or '.join(get_args(kind))}")
        for name, least in (("patience", 1), ("max_epochs", 1), ("patience_start", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise ValueError(
                f"learning_rate={self.learning_rate} must be positive and weight_decay={self.weight_decay} not negative"
            )
