"""Types of options that callers, command lines and JSON files bring."""

from numbers import Integral, Real
from typing import Any, get_type_hints


def check_types(options: Any) -> None:
    """Make numbers and flags of a frozen dataclass the types it declares; TypeError for others.

    >>> from justjump.nn import ModelConfig
    >>> ModelConfig(layers="2")
    Traceback (most recent call last):
    TypeError: layers='2' is of type str, expected an int
    """
    for name, kind in get_type_hints(type(options)).items():
        value = getattr(options, name)
        if kind == int | None and value is not None:
            kind = int
        if kind is bool and not isinstance(value, bool):
            raise TypeError(f"{name}={value!r} is of type {type(value).__name__}, expected True or False")
        if kind not in (int, float):
            continue
        if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
            wanted = "an int" if kind is int else "a float"
            raise TypeError(f"{name}={value!r} is of type {type(value).__name__}, expected {wanted}")
        object.__setattr__(options, name, kind(value))
