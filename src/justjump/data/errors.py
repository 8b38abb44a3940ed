"""The error that this package raises."""


class DataError(ValueError):
    """The data cannot be used. The message is one line that says what was found, what was expected and what to do."""
