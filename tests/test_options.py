"""Options are declared once, and checked where they are given."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import pytest

from justjump.nn import ModelConfig
from justjump.options import check_types, command_options, described, documented, for_command, option
from justjump.train import Protocol


@documented
@dataclass(frozen=True)
class Meal:
    """What to eat."""

    dish: Literal["soup", "stew"] = option("soup", "What is cooked.")
    plates: int = option(1, "How many.")
    salt: float = option(0.5, "How much.")
    hot: bool = option(True, "Whether it is warmed.", in_commands=False)
    guests: int | None = option(None, "Who else comes.")
    spice: Literal["none", "hot"] = option("none", "What is added.", later=True)

    def __post_init__(self) -> None:
        check_types(self)


@pytest.mark.parametrize("kind", [ModelConfig, Protocol])
def test_the_docstring_describes_every_field(kind: type) -> None:
    for one in fields(kind):
        assert f"    {one.name}: {one.metadata['help'].rstrip('.')}" in (kind.__doc__ or "")


def test_the_docstring_lists_choices() -> None:
    assert Meal.__doc__ is not None
    assert Meal.__doc__.startswith("What to eat.\n\nAttributes:\n    dish: What is cooked (``'soup'``, ``'stew'``).\n")


def test_commands_offer_all_but_what_is_for_python_alone() -> None:
    assert [one.name for one in command_options(Meal)] == ["dish", "plates", "salt", "guests", "spice"]


def test_options_that_joined_later_are_described_where_they_are_set() -> None:
    usual = {"dish": "soup", "plates": 2, "salt": 0.5, "hot": True, "guests": None}
    assert described(Meal(plates=2)) == usual
    assert described(Meal(plates=2, spice="hot")) == usual | {"spice": "hot"}


def test_numbers_of_other_libraries_become_python_s() -> None:
    meal = Meal(plates=np.int64(2), salt=1, guests=np.int32(3))  # type: ignore[arg-type]
    assert [type(value) for value in (meal.plates, meal.salt, meal.guests)] == [int, float, int]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"plates": 1.5}, "plates=1.5 is of type float, expected an int"),
        ({"plates": True}, "plates=True is of type bool, expected an int"),
        ({"salt": "much"}, "salt='much' is of type str, expected a float"),
        ({"hot": 1}, "hot=1 is of type int, expected True or False"),
        ({"guests": "ann"}, "guests='ann' is of type str, expected an int"),
        ({"dish": "pie"}, "dish='pie' is unknown: choose one of soup, stew"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(values: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        Meal(**values)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("batch_size=0 must be at least 1", "--batch-size 0 must be at least 1"),
        ("lower batch_size or fanout=...", "lower --batch-size or --fanout"),
        ("fanout=[15, 10] has 2 numbers, fanout=(15, 10), too", "--fanout 15,10 has 2 numbers, --fanout 15,10, too"),
        ("label='my column' is", "--label 'my column' is"),
        ("read it with directed=True, or stratified=False.", "read it with --directed, or --no-stratified."),
        ("a rate=0.5. Then", "a rate=0.5. Then"),
        ("label=3/nodes.csv, /data/label=3/batch_size.csv", "label=3/nodes.csv, /data/label=3/batch_size.csv"),
        ("the node's column 'label=3' is 'batch_size'", "the node's column 'label=3' is 'batch_size'"),
        ("my_label=3 and label=3", "my_label=3 and --label 3"),
    ],
)
def test_messages_name_options_as_they_are_typed(python: str, command: str) -> None:
    assert for_command(python, ["batch_size", "fanout", "label", "directed", "stratified"]) == command
