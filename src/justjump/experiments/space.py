"""What a search tries: the same sizes, tricks and rates for every kind of layer, as far as it has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from justjump.data.labels import Task
from justjump.experiments.reproduce import KINDS
from justjump.experiments.sweep import Candidate
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol

if TYPE_CHECKING:
    import optuna

LAYERS = (1, 2, 3, 4, 6, 8)
HIDDEN = (64, 128, 256)
HEADS = (8, 16)
GROUPS = (1, 8, 16)
JUMPS = ("none", "concat", "pool")
UPDATES = ("none", "skip", "initial")
SHARES = (None, 0.1, 0.3, 0.5)  # None is what suits the depth and the graph
DROPOUTS = (None, 0.2, 0.4, 0.6, 0.8)  # None is what suits the task, or the features
TAUGHT = (0.0, 0.3, 1.0, 3.0)
ATTENTION = ("learned", "biased", "equal")
NORMS = ("none", "layer sum", "layer relu", "batch sum", "batch relu")
# What a search may choose, but for the norm, which stands for two options.
SEARCHED = (
    *("layers", "hidden", "heads", "groups", "jump", "update", "initial_share", "identity", "start"),
    *("dropout", "input_dropout", "layer_dropout", "attention_dropout", "drop_edge", "attention", "qk_norm"),
)
# Not which epoch is kept: the best validation accuracy of many epochs is higher than that of the epoch with the lowest
# loss, on the validation nodes alone. A search that compares the two would always choose the former.
SEARCHED_IN_TRAINING = ("learning_rate", "weight_decay", "self_training")


# What a search tries first: the recommended network, and changes of it that are the best on some kind of graph. Among
# so many options, few draws at random would find one of them.
FIRST: tuple[dict[str, Any], ...] = (
    {},
    {"layers": 3, "jump": "concat", "update": "none", "attention_dropout": 0.4},  # own features and near ones
    {"hidden": 256, "groups": 1, "input_dropout": 0.2, "weight_decay": 1e-4},  # much data
    {"layers": 4, "weight_decay": 1e-3},  # far neighbours
    {"hidden": 256, "norm": "batch sum", "update": "skip", "input_dropout": 0.2, "weight_decay": 1e-4},
    {"initial_share": 0.5, "weight_decay": 2e-4},  # own features that say as much as those of neighbours
    {"dropout": 0.6, "input_dropout": 0.6, "drop_edge": 0.4},  # little data
    {"layers": 3, "hidden": 256, "jump": "pool", "norm": "layer sum", "update": "none"},
    {"layers": 8},  # far neighbours
)


def first_points(kind: str) -> list[dict[str, Any]]:
    """What a search tries first with a kind of layer; the first of them is the recommended network and training.

    >>> [point["layers"] for point in first_points("gcn")]
    [2, 3, 2, 4, 2, 2, 2, 3, 8]
    """
    config, protocol = recommended(ModelConfig), recommended(Protocol)
    base = {name: getattr(config, name) for name in SEARCHED} | {"model": kind, "norm": config.norm}
    base |= {name: getattr(protocol, name) for name in SEARCHED_IN_TRAINING}
    return [base | change for change in FIRST]


def propose(trial: optuna.Trial, model: str, protocol: Protocol, task: Task = "multiclass") -> Candidate:
    """One point of the space; what is not in it stays as ``protocol`` has it.

    Args:
        model: a kind of layer, or ``all``
        task: what the labels are; a network teaches itself classes alone
    """

    def choice(name: str, values: tuple[Any, ...]) -> Any:
        return trial.suggest_categorical(name, values)

    def rate(name: str, low: float, high: float, step: float | None = None) -> float:
        value = trial.suggest_float(name, low, high, step=step, log=step is None)
        return float(f"{value:.2g}")  # 0.6, not 0.6000000000000001

    kind: Any = choice("model", KINDS) if model == "all" else model
    norm, norm_after = (*choice("norm", NORMS).split(), "sum")[:2]
    update: Any = choice("update", UPDATES)
    attends = kind != "gcn"
    attention: Any = choice("attention", ATTENTION) if kind == "dna" else "learned"
    config = ModelConfig(
        model=kind,
        layers=choice("layers", LAYERS),
        hidden=choice("hidden", HIDDEN),
        heads=choice("heads", HEADS) if attends else 1,
        groups=choice("groups", GROUPS),
        jump=choice("jump", JUMPS),
        update=update,
        initial_share=choice("initial_share", SHARES) if update == "initial" else 0.1,
        norm=norm,
        norm_after=norm_after,
        identity=choice("identity", (None, 0.0, 0.5)),
        window=0,
        linear_share=None,
        dropout=choice("dropout", DROPOUTS),
        input_dropout=choice("input_dropout", (*DROPOUTS, 0.0)),
        layer_dropout=rate("layer_dropout", 0.0, 0.6, step=0.2),
        attention=attention,
        qk_norm=choice("qk_norm", (False, True)) if kind == "dna" and attention != "equal" else False,
        attention_dropout=rate("attention_dropout", 0.0, 0.8, step=0.2) if attends else 0.8,
        drop_edge=rate("drop_edge", 0.0, 0.6, step=0.2) if protocol.batch_size is None else 0.0,
        start=choice("start", ("paper", "scaled")) if kind == "dna" else "paper",
    )
    is_taught = task == "multiclass" and protocol.batch_size is None
    training = replace(
        protocol,
        learning_rate=rate("learning_rate", 1e-3, 2e-2),
        weight_decay=rate("weight_decay", 1e-5, 1e-2),
        self_training=choice("self_training", TAUGHT) if is_taught else protocol.self_training,
    )
    return Candidate(f"{kind}-search", config, training)
