"""What a search found for each dataset: networks and trainings that beat the recommended ones on its validation nodes.

`justjump sweep --dataset NAME --model KIND --search N --splits 5` found them, with the same number of trials for each
kind of layer. Test nodes played no role.
"""

from typing import Any

from justjump.nn import ModelConfig
from justjump.options import changed, recommended
from justjump.train import Protocol

Options = dict[str, Any]

# By kind of layer and dataset: what differs from what is recommended.
TUNED: dict[str, dict[str, Options]] = {
    "dna": {
        "cora": {"layers": 8},
        "citeseer": {"dropout": 0.6, "input_dropout": 0.6, "drop_edge": 0.4},
        "coauthor_cs": {"initial_share": 0.5, "weight_decay": 0.0002},
        "amazon_photo": {"layers": 3, "jump": "concat", "update": "none", "attention_dropout": 0.4},
    },
    "gcn": {
        "cora": {"layers": 8, "identity": 0.5, "dropout": 0.6, "input_dropout": 0.0},
        "citeseer": {
            **{"layers": 6, "groups": 8, "jump": "concat", "update": "none", "identity": 0.0},
            **{"dropout": 0.4, "input_dropout": 0.6, "layer_dropout": 0.2},
            **{"learning_rate": 0.0081, "weight_decay": 0.00023},
        },
        "coauthor_cs": {"initial_share": 0.5, "weight_decay": 0.0002},
        "amazon_photo": {},
    },
    "gat": {
        "cora": {"layers": 8, "attention_dropout": 0.0, "learning_rate": 0.017},
        "citeseer": {},
        "coauthor_cs": {"initial_share": 0.5, "weight_decay": 0.0002},
        "amazon_photo": {"layers": 3, "hidden": 256, "jump": "pool", "update": "none", "norm": "layer"},
    },
}


def tuned(dataset: str, model: str = "dna") -> tuple[ModelConfig, Protocol]:
    """The network and the training that a search found for a dataset and a kind of layer.

    >>> config, protocol = tuned("cora")
    >>> config.model, protocol.patience
    ('dna', 50)
    """
    known = TUNED.get(model, {})
    if dataset not in known:
        found = "; ".join(f"{kind}: {', '.join(own)}" for kind, own in TUNED.items())
        raise ValueError(f"there is no tuned {model!r} network for {dataset!r}: choose from {found}")
    options = {"model": model} | known[dataset]
    kinds = ModelConfig, Protocol
    return changed(recommended(ModelConfig), options, *kinds), changed(recommended(Protocol), options, *kinds)
