"""One training run: the protocol, the loop, its result on disk."""

from justjump.train.checkpoint import Progress
from justjump.train.errors import RunError, TrainingError
from justjump.train.inputs import Inputs, prepare
from justjump.train.loop import fit
from justjump.train.protocol import Protocol
from justjump.train.run import Prediction, Run

__all__ = ["Inputs", "Prediction", "Progress", "Protocol", "Run", "RunError", "TrainingError", "fit", "prepare"]
