"""Run the kernel tests on the package in PYTHONPATH, past an editable install of the checkout."""

import sys

import pytest

sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]

import justjump  # noqa: E402 - after the finders have changed

print("testing", justjump.__file__)
# The test that forces an instruction set starts a process of its own, without the sanitizer's libraries.
sys.exit(
    pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/ops/test_native.py",
            "tests/ops/test_native_layer.py",
            "tests/ops/test_sparse_layer.py",
            "--deselect",
            "tests/ops/test_native.py::test_environment_forces_isa",
        ]
    )
)
