"""What can go wrong with a run."""


class RunError(ValueError):
    """A run cannot be read, used or continued. The message is one line that says why and what to do."""


class TrainingError(RuntimeError):
    """Training cannot go on. The message is one line that says why and what to do."""
