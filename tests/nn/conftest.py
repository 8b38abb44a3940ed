"""Every test of the layers runs on both paths."""

import pytest

from justjump.ops import native
from specification import NO_KERNELS, switch_kernels_off


@pytest.fixture(params=["native", "torch"], autouse=True)
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The native kernels, and PyTorch alone."""
    if request.param == "torch":
        switch_kernels_off(monkeypatch)
    elif not native.available():
        pytest.skip(NO_KERNELS)
