"""Checks of channel, head and group counts that every layer shares."""

from numbers import Integral

_MOST_NAMED = 4096  # larger heads and groups are not named: finding all divisors of a huge number would take for ever


def check_sizes(channels: int, heads: int, groups: int, name: str = "channels") -> None:
    """Raise ValueError unless heads and groups divide the channels, and one of them divides the other."""
    for what, value in ((name, channels), ("heads", heads), ("groups", groups)):
        check_count(what, value)
    check_divides("heads", heads, name, channels)
    check_divides("groups", groups, name, channels)
    if max(groups, heads) % min(groups, heads):
        raise ValueError(
            f"groups={groups} does not divide heads={heads} (or the reverse): choose groups from "
            f"{_divisors(channels, heads)}"
        )


def check_divides(what: str, parts: int, name: str, channels: int) -> None:
    if channels % parts:
        raise ValueError(f"{what}={parts} does not divide {name}={channels}: choose one of {_divisors(channels)}")


def check_dna_sizes(channels: int, heads: int) -> None:
    """Whoever means ``DNAConv(in_channels, out_channels)`` gets a sentence about it."""
    check_count("channels", channels)
    check_count("heads", heads)
    if channels % heads:
        raise ValueError(
            f"heads={heads} does not divide channels={channels}: choose one of {_divisors(channels)}. The second "
            "argument of DNAConv(channels, heads, groups) is the number of heads; its output has as many channels as "
            "its input"
        )


def check_count(name: str, value: int) -> int:
    """The value, if it is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is of type {type(value).__name__}, expected an int")
    if value < 1:
        raise ValueError(f"{name}={value} must be at least 1")
    return value


def _divisors(channels: int, heads: int = 1) -> str:
    """The divisors of the channels that divide the heads or are multiples of them."""
    numbers = range(1, min(channels, _MOST_NAMED) + 1)
    fits = [n for n in numbers if channels % n == 0 and max(n, heads) % min(n, heads) == 0]
    return ", ".join([*map(str, fits), *(["..."] if channels > _MOST_NAMED else [])])
