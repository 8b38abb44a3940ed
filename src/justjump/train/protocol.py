"""How one network is trained: the paper's protocol with its open questions as named options."""

# ruff: noqa: RUF009 - an option is a field, not a value

from dataclasses import dataclass
from typing import Literal

from justjump.options import check_types, documented, option

# "loss", or one of the measures in train/measures.py
Watch = Literal[
    "loss",
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
TaskOption = Literal["auto", "multiclass", "multilabel", "regression"]
ClassWeight = Literal["none", "balanced"]
Decay = Literal["all", "weights"]
Scale = Literal["auto", "none", "standard", "rows"]


@documented
@dataclass(frozen=True)
class Protocol:
    """Adam with early stopping on random 20/20/60 splits.

    The paper does not say what patience watches and when it starts, whether features are normalised, whether splits
    are stratified, and whether biases are decayed. Each of these is an option here. The dropout rates are options of
    :class:`~justjump.nn.ModelConfig`.

    >>> Protocol(decay="none")
    Traceback (most recent call last):
    ValueError: decay='none' is unknown: choose one of all, weights
    """

    learning_rate: float = option(0.005, "Learning rate of Adam.")
    weight_decay: float = option(0.0005, "L2 penalty on the parameters.")
    decay: Decay = option("all", "Whether the penalty applies to all parameters, or to weights but not biases.")
    patience: int = option(10, "Number of epochs without a better validation value after which training stops.")
    watch: Watch = option("loss", "Validation value that patience watches.")
    patience_start: int = option(0, "Epoch from which patience counts.")
    max_epochs: int = option(1000, "Largest number of epochs.")
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

    def __post_init__(self) -> None:
        check_types(self)
        object.__setattr__(self, "fractions", tuple(self.fractions))  # JSON brings a list
        for name, least in (("patience", 1), ("max_epochs", 1), ("patience_start", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise ValueError(
                f"learning_rate={self.learning_rate} must be positive and weight_decay={self.weight_decay} not negative"
            )
