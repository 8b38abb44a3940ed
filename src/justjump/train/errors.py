"""What can go wrong with a run."""


class RunError(ValueError):
    """A run cannot be read, used or continued. The message is one line that says why and what to do."""


class TrainingError(RuntimeError):
    """Training cannot go on. The message is one line that says why and what to do."""


class TrainingWarning(UserWarning):
    """Training goes on, or has ended, but its result may not be what its user wants. The message says what to do."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its kind if it has none."""
    return str(error).partition("\n")[0] or type(error).__name__
