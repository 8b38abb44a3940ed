"""Options of networks and of training, declared once for Python, the command line and the documentation.

An option is a field of a dataclass: its type, its default and its help stand beside each other.
"""

import ast
import difflib
import inspect
import re
import shlex
from collections.abc import Iterable
from dataclasses import Field, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
# What other libraries call an option.
ABBREVIATED = {"lr": "learning_rate", "wd": "weight_decay", "jk": "jump"}
SAME = object()  # where None is a value


def option(
    default: T,
    help: str,
    *,
    recommended: Any = SAME,
    in_commands: bool = True,
    later: bool = False,
    formerly: tuple[str, dict[Any, Any]] | None = None,
) -> T:
    """A field of a dataclass with a sentence about it.

    Args:
        default: the paper's value
        help: one sentence
        recommended: the value for users' graphs, where it is another; see :func:`recommended`
        in_commands: whether commands offer it
        later: whether it joined after results were stored; see :func:`described`
        formerly: the name of the option that it replaces, and the old value for each new one that has one
    """
    metadata = {
        "help": help,
        "recommended": default if recommended is SAME else recommended,
        "in_commands": in_commands,
        "later": later,
        "formerly": formerly,
    }
    return field(default=default, metadata=metadata)


def recommended(kind: type[T], **options: Any) -> T:
    """What a user gets who names nothing but ``options``: the values that are best over many kinds of graphs.

    >>> from justjump.nn import ModelConfig
    >>> recommended(ModelConfig, layers=3).update, ModelConfig(layers=3).update
    ('initial', 'none')
    """
    return kind(**{one.name: one.metadata["recommended"] for one in fields(kind)} | options)  # type: ignore[arg-type]


def described(options: Any) -> dict[str, Any]:
    """The options by their names, without those that joined later while they have their defaults.

    The keys of stored results are hashes of this. So results stay valid when a new option leaves the old behaviour as
    its default.

    >>> from justjump.nn import ModelConfig
    >>> described(ModelConfig(layers=2))["layers"]
    2
    """
    found: dict[str, Any] = {}
    for one in fields(options):
        value = getattr(options, one.name)
        old_name, old_values = one.metadata["formerly"] or ("", {})
        if old_values and value in old_values:
            found[old_name] = old_values[value]
        elif not (one.metadata["later"] and value == one.default):
            found[one.name] = value
    return found


def restored(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Options as they were saved, by an older version or by :func:`described`, under their names of today.

    >>> from justjump.train import Protocol
    >>> restored(Protocol, {"patience": 5, "normalize_features": True})
    {'patience': 5, 'scale': 'rows'}
    """
    found = dict(values)
    for one in fields(kind):
        old_name, old_values = one.metadata["formerly"] or (None, {})
        if old_name in found and isinstance(found[old_name], bool):
            value = found.pop(old_name)
            found.setdefault(one.name, next(new for new, old in old_values.items() if old == value))
    return found


def changed(values: T, options: dict[str, Any], *kinds: Any) -> T:
    """A dataclass with those of its fields changed that ``options`` names; the others belong to the other ``kinds``.

    >>> from justjump.nn import ModelConfig
    >>> changed(ModelConfig(), {"layrs": 2}, ModelConfig)
    Traceback (most recent call last):
    TypeError: there is no option 'layrs': did you mean layers?
    """
    names = [one.name for kind in kinds for one in fields(kind)]
    for name in options:
        if name not in names:
            raise TypeError(f"there is no option {name!r}: {unknown_option(name, names)}")
    own = {one.name for one in fields(values)}  # type: ignore[arg-type]
    return replace(values, **{name: value for name, value in options.items() if name in own})  # type: ignore[type-var]


def given(name: str, value: Any, kind: type[T]) -> T:
    """The value of an argument, or what is recommended if it is None; TypeError if it is something else.

    >>> from justjump.nn import ModelConfig
    >>> given("config", 2, ModelConfig)
    Traceback (most recent call last):
    TypeError: config is of type int, expected a ModelConfig: make one, or pass its options by their names
    """
    if value is None:
        return recommended(kind)
    if isinstance(value, kind):
        return value
    what = f"{name} is of type {type(value).__name__}, expected a {kind.__name__}"
    raise TypeError(f"{what}: make one, or pass its options by their names")


def command_options(kind: Any) -> list[Field[Any]]:
    """The fields of a dataclass that commands offer."""
    return [one for one in fields(kind) if one.metadata["in_commands"]]


_QUOTED = r"(?<!\w)'[^']*'|(?<!\w)\"[^\"]*\""
_VALUE = r"'[^']*'|\[[^]]*\]|\([^)]*\)|\.\.\.|[\w+-](?:[\w.+-]*[\w+-])?"


def for_command(text: str, names: Iterable[str]) -> str:
    """A message with options as one types them in a command, and not as in Python.

    Messages name options as ``name=value``, as ``name=...`` without a value, or by a bare name that has an underscore.
    Texts in quotes are left as they are: they come from the user.

    Args:
        text: the message
        names: of the options that the command has

    >>> for_command("keep_first=True needs window=...; patience_start is 0", ["keep_first", "window", "patience_start"])
    '--keep-first needs --window; --patience-start is 0'
    >>> for_command("label=['red', 'big'] is not in 'label=x'; groups=6 is 6", ["label"])
    "--label red,big is not in 'label=x'; groups=6 is 6"
    """
    names = sorted(names, key=len, reverse=True)
    known, bare = "|".join(names), "|".join(name for name in names if "_" in name) or "_"

    def typed(found: re.Match[str]) -> str:
        name, value = found["name"] or found["bare"], found["value"]
        if name is None:
            return found[0]
        option = f"--{name.replace('_', '-')}"
        if value in (None, "...", "True"):
            return option
        if value == "False":
            return f"--no-{option[2:]}"
        if value[0] in "'([":
            values = ast.literal_eval(value)
            value = shlex.quote(values if isinstance(values, str) else ",".join(map(str, values)))
        return f"{option} {value}"

    pattern = (
        rf"{_QUOTED}|(?<![\w/.=-])(?:(?P<name>{known})=(?P<value>{_VALUE})(?![\w/=])|(?P<bare>{bare})(?![\w/=.(]))"
    )
    return re.sub(pattern, typed, text)


def documented(kind: type[T]) -> type[T]:
    """Write the help of each field into the docstring of a dataclass."""
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Attributes:"]
    kind.__doc__ = "\n".join(lines + [f"    {name}: {text}" for name, text in helps(kind).items()])
    return kind


def helps(kind: Any) -> dict[str, str]:
    """The help of each field of a dataclass, with the choices that it has."""
    types = get_type_hints(kind)
    found = {}
    for one in fields(kind):
        text = one.metadata["help"]
        if get_origin(types[one.name]) is Literal:
            text = f"{text.rstrip('.')} ({', '.join(f'``{choice!r}``' for choice in get_args(types[one.name]))})."
        found[one.name] = text
    return found


def unknown_option(name: str, names: Iterable[str]) -> str:
    """What to do about the name of an option that does not exist.

    >>> unknown_option("num_layers", ["layers", "heads"]), unknown_option("colour", ["layers", "heads"])
    ('did you mean layers?', 'choose from layers, heads')
    """
    names = list(names)
    name = ABBREVIATED.get(name, name)
    close = [one for one in names if one in name or name in one] or difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"


def check_types(options: Any) -> None:
    """Give numbers and flags of a frozen dataclass the types that it declares.

    Raises TypeError for a value of another type, and ValueError for a value that is none of the choices of a Literal.

    >>> from justjump.nn import ModelConfig
    >>> ModelConfig(layers="2")
    Traceback (most recent call last):
    TypeError: layers='2' is of type str, expected an int
    """
    for name, kind in get_type_hints(type(options)).items():
        value = getattr(options, name)
        if get_origin(kind) is Literal and value not in get_args(kind):
            raise ValueError(f"{name}={value!r} is unknown: choose one of {', '.join(get_args(kind))}")
        if value is not None:
            kind = {int | None: int, float | None: float}.get(kind, kind)
        if kind is bool and not isinstance(value, bool):
            raise TypeError(f"{name}={value!r} is of type {type(value).__name__}, expected True or False")
        if kind not in (int, float):
            continue
        if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
            wanted = "an int" if kind is int else "a float"
            raise TypeError(f"{name}={value!r} is of type {type(value).__name__}, expected {wanted}")
        object.__setattr__(options, name, kind(value))
