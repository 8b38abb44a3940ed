"""What `make` installs is locked by hashes, and the locks fit pyproject.toml and constraints.txt."""

import hashlib
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = ["run.txt", "test.txt"]
UNLOCKED = ["atheris"]  # only `make fuzz` installs it, where there is a wheel
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]


def releases(name: str) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a lock, each with its options."""
    text = (ROOT / "locks" / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    parts = [line.partition(" --") for line in lines]
    return [(Requirement(first), (" --" + rest).split()) for first, _, rest in parts]


def pinned(requirements: list[Requirement], python: str) -> dict[str, str]:
    """The versions that a Python on 64-bit Linux installs."""
    machine = {"platform_machine": "x86_64", "sys_platform": "linux", "os_name": "posix"}
    environment = {"python_version": python, "python_full_version": f"{python}.9", **machine}
    fit = [r for r in requirements if r.marker is None or r.marker.evaluate(environment)]
    versions: dict[str, str] = {canonicalize_name(r.name): str(r.specifier) for r in fit}
    assert len(versions) == len(fit), "one release of each"
    return versions


def constraints() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return [requirement for requirement in found if requirement.name not in UNLOCKED]


def wanted(lock: str) -> list[Requirement]:
    """What must be in a lock: the requirements of the package, of its build and, for the tests, of all extras."""
    extras = PROJECT["project"]["optional-dependencies"].values() if lock == "test.txt" else []
    texts = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], "cmake>=3.18", "ninja>=1.11"]
    found = [Requirement(text) for text in [*texts, *(text for extra in extras for text in extra)]]
    return [requirement for requirement in found if requirement.name not in ("torch", "justjump", *UNLOCKED)]


def test_what_is_installed_without_a_hash_is_said() -> None:
    text = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    (promise,) = re.findall(r"\*\*What `make` installs is checked\*\*[^.]*\.", text)
    _, _, exceptions = promise.partition("except")
    assert [name for name in ("torch", *UNLOCKED) if name not in exceptions] == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", LOCKS)
def test_the_locks_hold_every_requirement(lock: str, python: str) -> None:
    locked = pinned([requirement for requirement, _ in releases(lock)], python)
    for requirement in wanted(lock):
        version = locked[canonicalize_name(requirement.name)].removeprefix("==")
        assert requirement.specifier.contains(version), f"{requirement} has {version}: run make lock"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locks_agree_with_the_constraints(python: str) -> None:
    test, run = (pinned([r for r, _ in releases(lock)], python) for lock in ("test.txt", "run.txt"))
    chosen = pinned(constraints(), python)
    del chosen["torch"]
    assert {name: test.get(name) for name in chosen} == chosen, "run make lock"
    assert {name: test.get(name) for name in run} == run


@pytest.mark.parametrize("lock", LOCKS)
def test_every_release_in_a_lock_has_hashes_and_nothing_else(lock: str) -> None:
    for requirement, options in releases(lock):
        assert re.fullmatch(r"==[\w.!+]+", str(requirement.specifier)), requirement
        assert options, requirement
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option) for option in options), requirement
        # torch is left out with the libraries of its builds for GPUs: their files differ from index to index.
        assert not re.match(r"torch$|nvidia-|cuda-|triton", requirement.name), requirement
        assert requirement.url is None
    assert "://" not in (ROOT / "locks" / lock).read_text(encoding="utf-8")


@pytest.mark.slow
def test_sbom_and_provenance(tmp_path: Path) -> None:
    files = [tmp_path / "justjump-0.tar.gz", tmp_path / "justjump-0-py3-none-any.whl"]
    for path in files:
        path.write_bytes(path.name.encode())
    script = ROOT / "scripts" / "provenance.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True)
    sbom = tmp_path / "justjump-0.cdx.json"
    bill = json.loads(sbom.read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "justjump"
    names = {canonicalize_name(component["name"]) for component in bill["components"]}
    assert names == {canonicalize_name(r.name) for r, _ in releases("run.txt")} | {"torch"}
    notes = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    expected = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in [*files, sbom]}
    assert notes["sha256"] == expected
    assert notes["tools"].keys() >= {"scikit-build-core", "nanobind", "cmake"}


def test_the_lock_script_names_files_that_are_there() -> None:
    names = runpy.run_path(str(ROOT / "scripts" / "lock.py"))
    assert (names["ROOT"], names["LOCKS"]) == (ROOT, ROOT / "locks")
    assert {canonicalize_name(Requirement(text).name) for text in PROJECT["build-system"]["requires"]} <= {
        *names["BUILD"]
    }
