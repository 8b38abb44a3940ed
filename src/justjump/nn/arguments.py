"""Errors about the arguments of layers and networks."""

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any


def refuse_unknown(name: str, given: Iterable[str], *functions: Callable[..., Any]) -> None:
    """Raise TypeError for the first argument that none of the functions has, with the name that is nearest to it.

    >>> refuse_unknown("layer", ["cachd"], lambda channels, cached: None)
    Traceback (most recent call last):
    TypeError: layer has no argument 'cachd': did you mean 'cached'?
    """
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = [one for function in functions for one in inspect.signature(function).parameters.values()]
    known = [one.name for one in parameters if one.kind not in kinds and one.name != "self"]
    for argument in given:
        if argument not in known:
            near = get_close_matches(argument, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(dict.fromkeys(known))}"
            raise TypeError(f"{name} has no argument {argument!r}: {hint}")
