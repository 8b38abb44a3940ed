"""Which network: the options of every model that the paper compares."""

# ruff: noqa: RUF009 - an option is a field, not a value

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from justjump.nn.sizes import check_sizes
from justjump.options import check_types, documented, option

Model = Literal["dna", "gcn", "gat"]
Jump = Literal["none", "concat", "pool", "lstm"]
Update = Literal["none", "skip", "gru", "residual", "initial"]
Norm = Literal["none", "layer", "batch"]
NormAfter = Literal["sum", "relu"]
Attention = Literal["learned", "biased", "steps", "equal"]
Start = Literal["paper", "scaled"]
Readout = Literal["mean", "max", "sum", "attention"]
Softmax = Literal["incoming", "outgoing"]
Vectors = Literal["two", "one"]
Projection = Literal["glorot", "whole", "linear", "uniform"]
MANY_COLUMNS = 16  # of numbers: from here on, others say what one says
FEW_LAYERS = 4  # networks with more of them keep what they have, as GCNII does


@documented
@dataclass(frozen=True)
class ModelConfig:
    """A network; the defaults are the paper's.

    :func:`~justjump.train.fit`, ``justjump train`` and the estimators take :func:`~justjump.options.recommended` values
    instead, which are better on graphs that differ from the paper's.

    Layers are counted from 1 to T. The projected features are h(0), and the output of layer t is h(t).

    >>> ModelConfig(heads=8, groups=6)
    Traceback (most recent call last):
    ValueError: groups=6 does not divide hidden=128: choose one of 1, 2, 4, 8, 16, 32, 64, 128
    """

    model: Model = option("dna", "Kind of layer.")
    layers: int = option(4, "Number of graph layers T.", recommended=2)
    hidden: int = option(128, "Size d of every representation.")
    heads: int = option(8, "Number of attention heads (dna, gat).")
    groups: int = option(16, "Number of groups of the projections.")
    jump: Jump = option("none", "Jumping knowledge over all representations.")
    jump_input: bool = option(True, "Jumping knowledge takes the projected features h(0), too.")
    update: Update = option(
        "none",
        "What a layer's output is merged with: skip adds the node's own former representation by a map of its own, gru "
        "gates it, residual adds it as it is, initial mixes in the projected features h(0).",
        recommended="initial",
    )
    dropout: float | None = option(
        0.5,
        "Dropout before and after the graph layers. What is recommended: 0.5, or 0.2 where numbers are predicted.",
        recommended=None,
    )
    input_dropout: float | None = option(
        0.5,
        "Dropout on the input features. What is recommended: 0.5 if most of them are zero, else 0.2; none with fewer "
        "than 16 columns and where numbers are predicted.",
        recommended=None,
    )
    attention_dropout: float = option(0.8, "Dropout on the attention weights (dna, gat).", recommended=0.2)
    window: int | None = option(
        None,
        "Number of latest representations to attend to (dna). 0 is what is recommended: all with up to four layers, "
        "else h(0) and the three latest.",
        recommended=0,
    )
    keep_first: bool = option(False, "Let the projected features h(0) be one of the window (dna).")
    readout: Readout = option("mean", "How the nodes of a whole graph make its representation.", later=True)
    layer_dropout: float = option(0.0, "Dropout between the graph layers.", later=True)
    norm: Norm = option("none", "Normalisation of each layer's output.", later=True)
    norm_after: NormAfter = option(
        "sum",
        "Whether the norm follows the sum over neighbours, or ReLU, where h(0) gets one, too.",
        later=True,
    )
    initial_share: float | None = option(
        0.1,
        "Share of h(0) in each representation (update initial). What is recommended: 0.3 with up to four layers, or "
        "0.5 where neighbours add little to a node's own features; 0.1 with more layers.",
        recommended=None,
        later=True,
    )
    linear_share: float | None = option(
        0.0,
        "Share of a linear model of the features in the output (tasks of nodes). What is recommended: the share that "
        "is best on the validation nodes where this model alone is at least as good there as the network, else 0; 0 "
        "with up to 100 of them and for graphs in parts.",
        recommended=None,
        later=True,
    )
    identity: float | None = option(
        0.0,
        "Identity mapping: layer t projects by (1 - b) I + b W with b = log(1 + identity / t), at most 1; 0 is for W "
        "alone. What is recommended: 0 with up to four layers, 0.5 with more.",
        recommended=None,
        later=True,
    )
    attention: Attention = option(
        "learned",
        "What attention learns: scores of query and key, these with a bias for each former representation and head "
        "(biased), the biases alone (steps), or nothing: equal shares of all representations and of none (dna).",
        recommended="biased",
        later=True,
    )
    qk_norm: bool = option(
        False,
        "Queries and keys of unit length in each head, with a learned positive scale of their product (dna).",
        later=True,
    )
    drop_edge: float = option(0.0, "Share of the edges that is left out in each step of training.", later=True)
    start: Start = option(
        "paper",
        "Initialisation of the layers: as in the paper, or without biases and with values scaled so that sums over "
        "neighbours are as large as what is summed. Scaled, an attention with biases begins at the newest "
        "representation, as GCN does (dna).",
        recommended="scaled",
        later=True,
    )
    softmax: Softmax = option(
        "incoming", "The edges of a node over which attention is normalised (gat).", in_commands=False, later=True
    )
    vectors: Vectors = option(
        "two",
        "Whether the attention vectors of source and target are initialised as two, or as the halves of one (gat).",
        in_commands=False,
        later=True,
    )
    projection: Projection = option(
        "glorot",
        "Grouped projections: initialised by Glorot's rule for each block or for the whole matrix, or as one linear "
        "layer, with a bias after the sum over neighbours; or as in DNA, uniform with a bias before it (gcn, gat).",
        in_commands=False,
        later=True,
    )

    def __post_init__(self) -> None:
        from justjump.ops.dropout import dropout_threshold  # torch, which the help of a command does not wait for

        check_types(self)
        if self.layers < 1:
            raise ValueError(f"layers={self.layers} must be at least 1")
        if self.keep_first and not self.window:
            raise ValueError("keep_first=True needs a window: without one all representations are attended to")
        if self.window and self.model != "dna":
            raise ValueError(f"window={self.window} needs model='dna', not {self.model!r}")
        if self.window is not None and self.window < 0:
            raise ValueError(f"window={self.window} must be at least 1, or 0 for what suits the number of layers")
        check_sizes(self.hidden, self.heads if self.model != "gcn" else 1, self.groups, "hidden")
        if self.initial_share is not None and not 0 < self.initial_share < 1:
            raise ValueError(f"initial_share={self.initial_share} must be between 0 and 1")
        if self.linear_share is not None and not 0 <= self.linear_share <= 1:
            raise ValueError(f"linear_share={self.linear_share} must be between 0 and 1")
        if self.identity is not None and not 0 <= self.identity < math.inf:
            raise ValueError(f"identity={self.identity} must be 0 or a positive number, such as 0.5")
        # Like its start, the recommended attention of DNA says nothing about the others.
        for name, value in (("attention", self.attention in ("steps", "equal")), ("qk_norm", self.qk_norm)):
            if self.model != "dna" and value:
                raise ValueError(f"{name}={getattr(self, name)!r} needs model='dna', not {self.model!r}")
        check_qk_norm(self.qk_norm, self.attention)
        for name in ("dropout", "input_dropout", "attention_dropout", "layer_dropout", "drop_edge"):
            if (rate := getattr(self, name)) is not None:
                dropout_threshold(rate, name)

    def suited(self, regression: bool = False) -> "ModelConfig":
        """The same network with values that suit its depth and its task, where none were chosen.

        Dropout makes numbers vague that are predicted. In deep networks, a large share of h(0) in each layer hides what
        is far, and maps that are learned in each layer forget what is near.

        >>> ModelConfig(layers=8, identity=None).suited().identity, ModelConfig(dropout=None).suited(True).dropout
        (0.5, 0.2)
        >>> ModelConfig(layers=8, window=0).suited().window
        4
        """
        is_deep = self.layers > FEW_LAYERS
        values = {
            "dropout": 0.2 if regression else 0.5,
            "initial_share": 0.1 if is_deep else 0.3,
            "identity": 0.5 if is_deep else 0.0,
        }
        if regression:
            values["input_dropout"] = 0.0
        missing: dict[str, Any] = {name: value for name, value in values.items() if getattr(self, name) is None}
        if self.window == 0:  # the cost of attending to all grows with the square of the depth
            is_windowed = is_deep and self.model == "dna"
            missing |= {"window": FEW_LAYERS if is_windowed else None, "keep_first": is_windowed}
        return replace(self, **missing) if missing else self

    def input_rate(self, columns: int, sparse: bool) -> float:
        """Dropout on the input features: as it was chosen, else as it suits them.

        Of many words that a node has, others say what one says; one of a few columns says what no other does.

        >>> ModelConfig(input_dropout=None).input_rate(columns=3, sparse=False)
        0.0
        """
        if self.input_dropout is not None:
            return self.input_dropout
        return 0.5 if sparse else 0.2 if columns >= MANY_COLUMNS else 0.0

    @property
    def notation(self) -> str:
        """As the paper writes it: layers / hidden / groups, and heads where the model has them.

        >>> ModelConfig("gcn", layers=1).notation, ModelConfig("gat", layers=3).notation
        ('1/128/16', '3/128/16/8')
        """
        sizes = [self.layers, self.hidden, self.groups] + ([] if self.model == "gcn" else [self.heads])
        return "/".join(map(str, sizes))


def check_qk_norm(qk_norm: bool, attention: Attention) -> None:
    """Raise ValueError if there are no queries and keys to normalise."""
    if qk_norm and attention in ("steps", "equal"):
        raise ValueError(
            f"qk_norm=True with attention={attention!r}: there are no scores of query and key; choose 'learned' or "
            "'biased'"
        )
