"""How one network is trained: the paper's protocol with its open questions as named options."""

# ruff: noqa: RUF009 - an option is a field, not a value

import math
from dataclasses import dataclass
from typing import Literal

from justjump.data.splits import check_fractions
from justjump.options import check_types, documented, option

Measure = Literal[
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "log_loss",
    "mae",
    "rmse",
    "r2",
]
Watch = Literal["loss", Measure]
Stop = Literal["patience", "window", "never"]
Pick = Literal["watched", "loss", Measure, "last"]
TaskOption = Literal["auto", "multiclass", "multilabel", "regression"]
ClassWeight = Literal["none", "balanced"]
Decay = Literal["all", "weights"]
Scale = Literal["auto", "none", "standard", "rows"]
Optimizer = Literal["adam", "adamw"]
Schedule = Literal["constant", "cosine"]


@documented
@dataclass(frozen=True)
class Protocol:
    """Adam with early stopping on random 20/20/60 splits.

    The paper does not say what patience watches and when it starts, whether features are normalised, whether splits
    are stratified, whether biases are decayed, and which epoch counts in the end. Each of these is an option here. The
    dropout rates are options of :class:`~justjump.nn.ModelConfig`.

    >>> Protocol(decay="none")
    Traceback (most recent call last):
    ValueError: decay='none' is unknown: choose one of all, weights
    """

    learning_rate: float = option(0.005, "Learning rate of Adam.")
    weight_decay: float = option(0.0005, "L2 penalty on the parameters, shared by the steps of an epoch.")
    decay: Decay = option("all", "Whether the penalty applies to all parameters, or to weights but not biases.")
    patience: int = option(
        10, "Number of epochs without a better validation value after which training stops.", recommended=50
    )
    watch: Watch = option("loss", "Validation value that patience watches.")
    patience_start: int = option(0, "Epoch from which patience counts.")
    max_epochs: int = option(1000, "Largest number of epochs.")
    stop: Stop = option(
        "patience",
        "When training stops: when patience has run out, when the validation loss exceeds its mean over a window of "
        "the epochs before (as many as patience says, from patience_start on), or never before max_epochs.",
        later=True,
    )
    pick: Pick = option(
        "watched",
        "Validation value that picks the epoch whose weights are kept; by default the one that patience watches.",
        later=True,
    )
    scale: Scale = option(
        "auto",
        "How columns of numbers are scaled: auto standardises those of a size that networks do not take, none leaves "
        "all as they are, standard standardises all, rows divides each node's features by their sum.",
        formerly=("normalize_features", {"auto": False, "rows": True}),
    )
    stratified: bool = option(True, "Give each class its share of the training, validation and test nodes.")
    fractions: tuple[float, float, float] = option(
        (0.2, 0.2, 0.6), "Shares of the labelled nodes for training, validation and test.", in_commands=False
    )
    task: TaskOption = option("auto", "What the labels are; found from them by default.", later=True)
    class_weight: ClassWeight = option(
        "none", "Whether rare classes count as much as frequent ones in the loss.", later=True
    )
    calibrate: bool = option(
        False, "Fit the confidence of the predictions on the validation nodes (temperature scaling).", later=True
    )

    optimizer: Optimizer = option(
        "adam", "Adam with the penalty in the gradient, or AdamW, which shrinks the weights beside it.", later=True
    )
    schedule: Schedule = option(
        "constant",
        "The learning rate over the epochs: constant, or a cosine that falls to 0 at max_epochs.",
        later=True,
    )
    warmup: int = option(0, "Number of epochs over which the learning rate rises to its value.", later=True)
    input_weight_decay: float | None = option(
        None, "L2 penalty on the map of the input features; that of the other parameters by default.", later=True
    )
    decay_nodes: int = option(
        0,
        "Number of training nodes up to which the penalty counts as it is; with more of them it shrinks, so that it "
        "weighs the same beside the loss of each node. 0 never shrinks it.",
        recommended=2000,
        later=True,
    )
    self_training: float = option(
        0.0,
        "Weight of a second loss, which trains the network on its own sharpened predictions for all other nodes.",
        later=True,
    )
    average: float = option(
        0.0,
        "Share that the average of the weights keeps in each epoch, such as 0.95; validation and the trained network "
        "take the average. 0 takes the weights as they are.",
        later=True,
    )
    attention_warmup: int = option(
        0, "Number of epochs over which the dropout of attention weights rises from 0 to its rate.", later=True
    )
    batch_size: int | None = option(
        None, "Number of training nodes of a mini-batch; all in one step by default.", later=True
    )
    fanout: tuple[int, ...] | None = option(
        None,
        "Number of neighbours that a node of a mini-batch takes at most, one number per layer, the last layer first; "
        "-1 takes all, which is the default.",
        later=True,
    )
    step_nodes: int = option(
        4096,
        "Number of training nodes that a step is for, at least: the gradients of mini-batches add up until they are of "
        "as many. 0 makes a step of each mini-batch.",
        later=True,
    )

    def __post_init__(self) -> None:
        check_types(self)
        check_fractions(self.fractions)
        object.__setattr__(self, "fractions", tuple(self.fractions))  # JSON brings a list
        least_values = {"patience": 1, "max_epochs": 1, "patience_start": 0, "warmup": 0, "attention_warmup": 0}
        least_values |= {"decay_nodes": 0, "step_nodes": 0}
        for name, least in least_values.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")
        if self.stop == "window" and self.watch != "loss":
            raise ValueError(f"stop='window' compares losses: leave out watch={self.watch!r}")
        self._check_batches()
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise ValueError(
                f"learning_rate={self.learning_rate} must be positive and weight_decay={self.weight_decay} not negative"
            )
        if self.input_weight_decay is not None and not self.input_weight_decay >= 0:
            raise ValueError(f"input_weight_decay={self.input_weight_decay} must not be negative")
        if not 0 <= self.self_training < math.inf:
            raise ValueError(f"self_training={self.self_training} must be 0 or a positive number, such as 3")
        if self.self_training and self.batch_size is not None:
            raise ValueError(
                f"self_training={self.self_training:g} looks at all nodes in each step: leave out "
                f"batch_size={self.batch_size}"
            )
        if not 0 <= self.average < 1:
            raise ValueError(f"average={self.average} is not in [0, 1): choose 0 to switch it off")

    def _check_batches(self) -> None:
        if self.batch_size is not None and self.batch_size >= 2**62:
            raise ValueError(f"batch_size={self.batch_size} is more than any graph has: leave it out to take all nodes")
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError(
                f"batch_size={self.batch_size} must be at least 1: leave it out to take all nodes in one step"
            )
        if self.fanout is None:
            return
        if self.batch_size is None:
            raise ValueError(f"fanout={self.fanout!r} needs a batch_size: without mini-batches all neighbours count")
        try:
            fanout = tuple(int(size) for size in self.fanout if size == int(size) and not isinstance(size, bool))
        except (TypeError, ValueError):
            fanout = ()
        if not fanout or fanout != tuple(self.fanout) or min(fanout) < -1:
            raise ValueError(
                f"fanout={self.fanout!r} must be a list of numbers of neighbours, such as fanout=[15, 10]; -1 takes all"
            )
        object.__setattr__(self, "fanout", fanout)  # JSON brings a list

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures besides the loss that are needed in each epoch."""
        return tuple({one: None for one in (self.watch, self.pick) if one not in ("loss", "watched", "last")})

    @property
    def batches_of_a_step(self) -> int:
        """The number of mini-batches whose gradients a step adds up.

        >>> Protocol(batch_size=100, step_nodes=250).batches_of_a_step
        3
        """
        return 1 if self.batch_size is None else max(1, -(-self.step_nodes // self.batch_size))

    def steps(self, training_nodes: int) -> int:
        """The number of steps of an epoch."""
        return 1 if self.batch_size is None else -(-training_nodes // (self.batch_size * self.batches_of_a_step))

    def step_penalty(self, penalty: float, training_nodes: int) -> float:
        """What one step takes of a penalty.

        >>> Protocol(decay_nodes=500).step_penalty(0.1, 2000), Protocol(batch_size=2, step_nodes=0).step_penalty(1, 4)
        (0.025, 0.5)
        """
        share = min(1.0, self.decay_nodes / training_nodes) if self.decay_nodes else 1.0
        return penalty * share / self.steps(training_nodes)

    def check_layers(self, layers: int) -> None:
        """Raise ValueError unless there is one number of ``fanout`` per layer."""
        if self.fanout is not None and len(self.fanout) != layers:
            raise ValueError(
                f"fanout={list(self.fanout)} must have one number per layer, and the network has layers={layers}"
            )
