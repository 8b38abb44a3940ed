"""The parameters of the estimators: the options of networks and of training, by their names.

scikit-learn reads the names and the defaults of an estimator's parameters from the signature of its ``__init__``. They
are declared once, as fields of ``ModelConfig`` and ``Protocol``, so the signature is made of these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

from justjump.nn import ModelConfig
from justjump.options import helps, unknown_option
from justjump.train import Protocol

T = TypeVar("T")
# These may be given by position, in this order; the others by name only.
BY_POSITION = ("layers", "hidden", "heads", "groups")
FRACTIONS_HELP = (
    "Shares of the labelled nodes for training, validation and test; by default ``(0.2, 0.2, 0.6)`` of a graph and "
    "``(0.8, 0.2, 0)`` of a table."
)
SEED_HELP = "Seed of the split, the initialisation and dropout; the same number gives the same network."


def with_parameters(*, without: Iterable[str] = ()) -> Callable[[type[T]], type[T]]:
    """Decorate an estimator: its ``__init__`` takes all options but some, and its docstring tells what they are."""
    kept = [name for kind in (ModelConfig, Protocol) for name in helps(kind) if name not in set(without)]
    order = [*BY_POSITION, *(name for name in kept if name not in BY_POSITION)]
    defaults = {one.name: one.metadata["recommended"] for kind in (ModelConfig, Protocol) for one in fields(kind)}
    types = {**get_type_hints(ModelConfig), **get_type_hints(Protocol)}
    texts = {**helps(ModelConfig), **helps(Protocol)}
    defaults["fractions"], texts["fractions"] = None, FRACTIONS_HELP
    types["fractions"] |= None

    own = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for name in order:
        kind = Parameter.POSITIONAL_OR_KEYWORD if name in BY_POSITION else Parameter.KEYWORD_ONLY
        own.append(Parameter(name, kind, default=defaults[name], annotation=types[name]))
    own.append(Parameter("random_state", Parameter.KEYWORD_ONLY, default=0, annotation=int | None))
    signature = Signature(own)

    def decorate(estimator: type[T]) -> type[T]:
        def __init__(self: T, *positional: Any, **named: Any) -> None:
            check_names(estimator.__name__, named, [one.name for one in own[1:]], TypeError)
            if len(positional) > len(BY_POSITION):
                first = ", ".join(BY_POSITION)
                raise TypeError(f"{estimator.__name__} takes {first} by position, the others by name: name them")
            given = signature.bind(self, *positional, **named)
            given.apply_defaults()
            for name, value in list(given.arguments.items())[1:]:
                setattr(self, name, value)  # unchanged, and checked by fit: scikit-learn's clone relies on it

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        estimator.__init__ = __init__  # type: ignore[assignment]
        lines = [inspect.cleandoc(estimator.__doc__ or ""), "", "Args:"]
        lines += [f"    {name}: {texts[name]}" for name in order]
        estimator.__doc__ = "\n".join([*lines, f"    random_state: {SEED_HELP}"])
        return estimator

    return decorate


def check_names(estimator: str, given: Iterable[str], names: Iterable[str], kind: type[Exception]) -> None:
    """Raise an exception of some kind if one of the parameters does not exist."""
    for name in given:
        if name not in names:
            raise kind(f"{estimator} has no parameter {name!r}: {unknown_option(name, names)}")
