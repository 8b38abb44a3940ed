"""One training run: the protocol, the loop, its result on disk."""

from typing import TYPE_CHECKING

from justjump.lazy import lazy_names

if TYPE_CHECKING:
    from justjump.train.checkpoint import Progress
    from justjump.train.errors import RunError, TrainingError, TrainingWarning
    from justjump.train.inputs import Inputs, prepare
    from justjump.train.loop import fit
    from justjump.train.protocol import Protocol
    from justjump.train.run import Prediction, Run
else:
    __getattr__ = lazy_names(
        "justjump.train",
        {
            "checkpoint": ["Progress"],
            "errors": ["RunError", "TrainingError", "TrainingWarning"],
            "inputs": ["Inputs", "prepare"],
            "loop": ["fit"],
            "protocol": ["Protocol"],
            "run": ["Prediction", "Run"],
        },
    )

__all__ = [
    "Inputs",
    "Prediction",
    "Progress",
    "Protocol",
    "Run",
    "RunError",
    "TrainingError",
    "TrainingWarning",
    "fit",
    "prepare",
]
