"""Errors and warnings about the arguments of layers and networks."""

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, cast

import torch
from torch import Tensor

from justjump.ops import SparseMatrix
from justjump.warn import warn

P = ParamSpec("P")
# Fewer channels per head, in so many heads or more, are hardly what somebody wants.
FEW_CHANNELS, MANY_HEADS = 8, 8


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
            near = [name for name in known if argument in name] or get_close_matches(argument, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(dict.fromkeys(known))}"
            raise TypeError(f"{name} has no argument {argument!r}: {hint}")


def warns_of_heads(init: Callable[P, None]) -> Callable[P, None]:
    """Decorate the ``__init__`` of DNAConv: whoever seems to mean ``DNAConv(in_channels, out_channels)`` is told."""

    @wraps(init)
    def wrapped(*given: P.args, **named: P.kwargs) -> None:
        init(*given, **named)
        _, *sizes = given
        if len(sizes) != 2 or "groups" in named:
            return
        channels, heads = cast(list[int], sizes)  # init has checked them
        each = channels // heads
        if heads >= MANY_HEADS and each < FEW_CHANNELS:
            warn(
                f"DNAConv({channels}, {heads}) has {heads} heads of {each} channels: its second argument is the number "
                f"of heads, and its output has {channels} channels, as its input; write heads={heads} if you mean that"
                ", or change the number of channels before the layer, such as by a linear map",
                UserWarning,
            )

    return wrapped


def renamed(function: Callable[P, Any], name: str) -> Callable[P, Any]:
    """The same function under another name, which Python's errors about missing arguments have."""
    assert isinstance(function, FunctionType)
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, function.__annotations__
    copy.__doc__, copy.__qualname__, copy.__module__ = function.__doc__, name, function.__module__
    return copy


def check_features(x: Any, weight: Tensor) -> None:
    """Raise TypeError unless ``x`` is something that a product with a weight takes."""
    if isinstance(x, SparseMatrix):
        return
    if not isinstance(x, Tensor):
        raise TypeError(f"x is a {type(x).__name__}, expected a tensor of features [num_nodes, num_features]")
    if x.dtype == weight.dtype or _is_cast(x):
        return
    raise TypeError(f"x has dtype {x.dtype}, but the weights have {weight.dtype}: pass x.to({weight.dtype})")


def _is_cast(x: Tensor) -> bool:
    """Whether torch brings floats to the same type."""
    return x.is_floating_point() and x.device.type != "meta" and torch.is_autocast_enabled(x.device.type)
