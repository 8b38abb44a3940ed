"""Names that are imported when they are used."""

import subprocess
import sys

import pytest

import justjump
from justjump.lazy import lazy_names


def test_the_command_line_does_not_wait_for_torch() -> None:
    code = "import sys, justjump.cli; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_every_public_name_is_there() -> None:
    for package in (justjump, justjump.train):
        for name in package.__all__:
            assert getattr(package, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'justjump' has no attribute 'fits'"):
        lazy_names("justjump", {"train": ["fit"]})("fits")
    assert not hasattr(justjump, "fits")
