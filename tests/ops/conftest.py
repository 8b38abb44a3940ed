"""Fixtures of the tests of operations."""

from collections.abc import Callable, Iterator

import pytest
import torch

from justjump.ops import native


@pytest.fixture(params=native.available_isas() if native.available() else [])
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    before = native.isa()
    native.set_isa(request.param)
    yield request.param
    native.set_isa(before)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
