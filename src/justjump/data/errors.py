"""The error of this package."""


class DataError(ValueError):
    """Data that cannot be used. The message is one line: what was found, what was expected and what to do."""
