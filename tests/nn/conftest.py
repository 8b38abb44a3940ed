"""Every test of the layers runs on both paths."""

import pytest

from justjump.ops import native


@pytest.fixture(params=["native", "torch"], autouse=True)
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The native kernels, and PyTorch alone as on a machine without a compiler."""
    if request.param == "torch":
        monkeypatch.setattr(native, "available", lambda: False)
    elif not native.available():
        pytest.skip(f"no native kernels here: {native.why_not()}")
