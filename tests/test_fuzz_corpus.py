"""The corpus of the fuzzers, replayed: each input is read or refused with one of the library's own errors."""

import importlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUZZ = ROOT / "fuzz"
KERNELS = ROOT / "build" / "fuzz" / "fuzz" / "fuzz_kernels"
READERS = ("npz", "planetoid", "csv", "parquet", "run")

pytestmark = pytest.mark.skipif(not FUZZ.is_dir(), reason="the fuzzers come with a checkout, not with the package")


def _inputs() -> list[object]:
    paths = [path for target in READERS for path in sorted((FUZZ / "corpus" / target).glob("*"))]
    return [pytest.param(path, id=f"{path.parent.name}-{path.name}") for path in paths]


@pytest.fixture(scope="module")
def attempt() -> Iterator[Callable[[str, bytes], str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FUZZ))
        yield importlib.import_module("targets").attempt


@pytest.mark.parametrize("path", _inputs())
def test_readers_read_or_refuse(attempt: Callable[[str, bytes], str], path: Path) -> None:
    assert attempt(path.parent.name, path.read_bytes()) in ("read", "refused")


@pytest.mark.slow
@pytest.mark.skipif(not KERNELS.exists(), reason="the fuzzer of the kernels is not built: make fuzz FUZZERS=kernels")
def test_kernels_replay_their_corpus() -> None:
    command = [str(KERNELS), "-runs=0", str(FUZZ / "corpus" / "kernels")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0, done.stderr[-3000:]
