"""The paths that the tests of operations run on."""

from collections.abc import Callable, Iterator

import pytest

from justjump.ops import native
from specification import switch_kernels_off


@pytest.fixture(params=native.available_isas() if native.available() else [])
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each instruction set of this machine."""
    before = native.isa()
    native.set_isa(request.param)
    yield request.param
    native.set_isa(before)


@pytest.fixture
def kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    switch_kernels_off(monkeypatch)


@pytest.fixture
def threads() -> Iterator[Callable[[int | None], None]]:
    """Sets the number of the kernels' threads."""
    yield native.set_threads
    native.set_threads(None)
