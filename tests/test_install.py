"""Without a working compiler the package installs and runs on PyTorch alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

RUN = """
import sys, warnings, torch
# an editable install of the checkout would come before PYTHONPATH
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from justjump.nn import DNAConv
    from justjump.ops import native
assert not native.available()
assert sum("without its native kernels" in str(w.message) for w in caught) == 1, [str(w.message) for w in caught]
print(DNAConv(8, heads=2)(torch.ones(3, 2, 8), torch.tensor([[0, 1], [1, 2]])).shape)
"""


@pytest.mark.slow
def test_install_without_a_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "CXX": "/nonexistent/c++", "CC": "/nonexistent/cc"}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    command = [*pip, "--target", str(tmp_path / "site"), f"--config-settings=build-dir={tmp_path / 'build'}", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "site" / "justjump").glob("_native*"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "torch.Size([3, 8])" in done.stdout
