"""What `make dist` makes: an sdist that holds what the build needs, a wheel that runs where there is no compiler."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".typed", ".npz", ".txt", ".css", ".js", ".cpp", ".h"}


def sources() -> list[Path]:
    """The files that the build reads."""
    found = [path for folder in ("csrc", "src") for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return [*found, *(ROOT / name for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"))]


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist and the wheel of `make dist`, or the wheel of `make setup`, if they are newer than the sources.

    What is missing is made in ``folder``.
    """
    newest = max(path.stat().st_mtime for path in sources())
    found = []
    for kind, suffix in (("sdist", "tar.gz"), ("wheel", "whl")):
        made = [*(ROOT / "dist").glob(f"*.{suffix}"), *(ROOT / "build" / "wheel").glob(f"*.{suffix}")]
        made = [path for path in made if path.stat().st_mtime > newest]
        if not made:
            # Without isolation: the test environment has all that the build needs, and no network is asked for it. What
            # is tested is what is in the wheel, not its speed, so the kernels are compiled fast.
            quick = {"JUSTJUMP_OPTIMIZE": "-O1", "CMAKE_CXX_FLAGS_RELEASE": "-O1", "JUSTJUMP_BASELINE": "ON"}
            options = [f"--{kind}", "--no-isolation"]
            options += [f"--config-setting=cmake.define.{name}={value}" for name, value in quick.items()]
            run([sys.executable, "-m", "build", *options, "--outdir", str(folder), str(ROOT)])
            made = [*folder.glob(f"*.{suffix}")]
        found.append(made[0])
    sdist, wheel = found
    return sdist, wheel


def run(command: list[str], **settings: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def new_environment(folder: Path, wheel: Path) -> Path:
    """The programs of a virtual environment with the wheel in it."""
    venv.create(folder, with_pip=False)
    programs = folder / "bin"
    python = str(programs / "python")
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", str(wheel)])
    # Installing torch and the rest would take minutes and a network, so they come from the running environment. Its
    # folders stand behind the new one's, and .pth files in them are not read: an editable justjump there has no effect.
    (site,) = folder.glob("lib/python*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(here) + "\n", encoding="utf-8")
    return programs


def check_sdist(path: Path) -> None:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {path.relative_to(ROOT).as_posix() for path in sources()}


def check_wheel(path: Path) -> None:
    names = zipfile.ZipFile(path).namelist()
    assert {name.partition("/")[0] for name in names} == {"justjump", path.name.partition("-cp")[0] + ".dist-info"}
    files = {name for name in names if name.startswith("justjump/")}
    package = ROOT / "src"
    expected = {p.relative_to(package).as_posix() for p in sources() if p.is_relative_to(package)}
    (native,) = files - expected
    assert files >= expected
    # One wheel for Python 3.12 and all that follow; nanobind has no stable ABI for those before.
    if sys.version_info >= (3, 12):
        assert "-cp312-abi3-" in path.name
        assert re.fullmatch(r"justjump/_native\.abi3\.(so|pyd)", native)
    else:
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        assert f"-{tag}-{tag}-" in path.name
        assert native.startswith("justjump/_native.")


@pytest.mark.slow
def test_the_wheel_runs_the_demo_where_there_is_no_compiler(tmp_path: Path) -> None:
    sdist, wheel = build(tmp_path / "dist")
    check_sdist(sdist)
    check_wheel(wheel)
    programs = new_environment(tmp_path / "venv", wheel)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JUSTJUMP"))}
    environment["PATH"] = str(programs)
    assert not any(shutil.which(name, path=environment["PATH"]) for name in ("c++", "g++", "clang++", "cc", "cmake"))

    def justjump(*arguments: str) -> str:
        return run([str(programs / "justjump"), *arguments], env=environment, cwd=tmp_path)

    where = [str(programs / "python"), "-c", "import justjump; print(justjump.__file__)"]
    assert Path(run(where, env=environment, cwd=tmp_path).strip()).is_relative_to(tmp_path / "venv")
    assert json.loads(justjump("info", "--json"))["path"] == "native kernels"
    accuracies = re.findall(r"^ (?:DNA|GCN).+ 1 +(\d+\.\d+) ", justjump("demo", "--splits", "1"), re.MULTILINE)
    assert len(accuracies) == 3
    assert all(80 < float(accuracy) < 90 for accuracy in accuracies)
