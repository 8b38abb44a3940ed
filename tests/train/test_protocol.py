"""How a network is trained: options that make sense."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from justjump.train import Protocol


def test_a_protocol_comes_back_from_json() -> None:
    protocol = Protocol(fractions=(0.5, 0.25, 0.25), watch="accuracy", batch_size=9, fanout=(5, -1))
    assert Protocol(**json.loads(json.dumps(asdict(protocol)))) == protocol
    assert hash(Protocol()) == hash(Protocol(learning_rate=0.005))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 0}, "patience=0 must be at least 1"),
        ({"max_epochs": 0}, "max_epochs=0 must be at least 1"),
        ({"patience_start": -1}, "patience_start=-1 must be at least 0"),
        ({"learning_rate": 0}, "learning_rate=0.0 must be positive"),
        ({"weight_decay": -1.0}, "weight_decay=-1.0 not negative"),
        ({"learning_rate": float("nan")}, "learning_rate=nan must be positive"),
        ({"decay": "none"}, "decay='none' is unknown: choose one of all, weights"),
        ({"batch_size": 0}, "batch_size=0 must be at least 1"),
        ({"batch_size": 2**70}, "batch_size=1180591620717411303424 is more than any graph has"),
        ({"fanout": (5,)}, "needs a batch_size"),
        ({"batch_size": 9, "fanout": ()}, "must be a list of numbers of neighbours"),
        ({"batch_size": 9, "fanout": (5, -2)}, r"fanout=\(5, -2\) must be a list"),
        ({"batch_size": 9, "fanout": (1.5,)}, "must be a list"),
        ({"batch_size": 9, "fanout": "15"}, "must be a list"),
        ({"batch_size": 9, "fanout": 15}, "must be a list"),
        ({"batch_size": 9, "fanout": (True,)}, "must be a list"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Protocol(**options)
