"""The corpus of the fuzzers, replayed: readers read or refuse each input, and all checks of the kernels hold."""

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUZZ = ROOT / "fuzz"
READERS = ("npz", "planetoid", "csv", "parquet", "run")
COMPILERS = (os.environ.get("CXX", "c++"), "c++", "g++", "clang++")

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


def _run(*command: object) -> str:
    # cmake and ninja come with the environment of the tests. Some containers forbid the search for leaks.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "ASAN_OPTIONS": "detect_leaks=0"}
    program = shutil.which(str(command[0]), path=path) or str(command[0])
    words = [program, *map(str, command[1:])]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-5000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C++ compiler to build fuzz/replay.cpp with")
def test_kernels_replay_their_corpus() -> None:
    build, corpus = ROOT / "build" / "replay", FUZZ / "corpus" / "kernels"  # kept: later runs build only what changed
    _run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DJUSTJUMP_REPLAY=ON")
    _run("cmake", "--build", build, "--parallel", 2)
    count = len(list(corpus.iterdir()))
    assert count > 100
    assert _run(build / "fuzz" / "replay_kernels", corpus) == f"{count} inputs replayed\n"
