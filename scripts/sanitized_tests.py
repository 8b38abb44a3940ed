"""Run the kernel tests on the package in PYTHONPATH, past an editable install of the checkout."""

import sys

import pytest

sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]

import justjump  # noqa: E402 - after the finders have changed

print("testing", justjump.__file__)
# The test that forces an instruction set starts a process of its own, without the sanitizer's libraries.
OPERATORS = ("dna", "gat", "spmm", "grouped", "dropout", "layout")
SKIPPED = "tests/ops/test_native.py::test_environment_forces_the_instruction_set"
arguments = ["-q", "-p", "no:cacheprovider", *(f"tests/ops/{name}" for name in OPERATORS)]
sys.exit(pytest.main([*arguments, "tests/ops/test_native.py", "tests/ops/test_history.py", "--deselect", SKIPPED]))
