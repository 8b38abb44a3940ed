"""Write what is known of the files that `make dist` has built: an SBOM and the provenance.

    python scripts/provenance.py dist

- ``justjump-VERSION.cdx.json``: a CycloneDX bill of materials of the package, its requirements in the locked versions
  with the SHA-256 of their files, and of what the native module is built with. torch has no hash: see scripts/lock.py.
- ``provenance.json``: the commit, the versions of Python, compiler and build tools, and the SHA-256 of every file.
"""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOOLS = ["build", "scikit-build-core", "nanobind", "cmake", "ninja", "cyclonedx-bom"]


def main(folder: Path) -> None:
    (sdist,) = folder.glob("*.tar.gz")
    name = sdist.name.removesuffix(".tar.gz")
    write_sbom(folder / f"{name}.cdx.json")
    (folder / "provenance.json").write_text(json.dumps(provenance(folder, name), indent=2) + "\n", encoding="utf-8")


def write_sbom(path: Path) -> None:
    (torch,) = re.findall(r"^torch==\S+$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    locked = (ROOT / "locks" / "run.txt").read_text(encoding="utf-8") + torch + "\n"
    # A list of requirements has no graph of them; the tool warns about that.
    command = [
        sys.executable,
        "-W",
        "ignore::UserWarning",
        "-m",
        "cyclonedx_py",
        "requirements",
        "--pyproject",
        "pyproject.toml",
    ]
    command += ["--output-reproducible", "--output-format", "JSON", "--output-file", str(path.resolve()), "-"]
    subprocess.run(command, cwd=ROOT, input=locked, text=True, check=True)


def provenance(folder: Path, name: str) -> dict[str, Any]:
    """What was built, from what, with what."""
    files = sorted(path for path in folder.iterdir() if path.name.startswith(name))
    return {
        "name": name,
        "commit": output("git", "rev-parse", "HEAD"),
        "unchanged": output("git", "status", "--porcelain") == "",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "compiler": (output(os.environ.get("CXX", "c++"), "--version") or "none").splitlines()[0],
        "tools": {tool: version(tool) for tool in TOOLS},
        "locks": {path.name: sha256(path) for path in sorted((ROOT / "locks").glob("*.txt"))},
        "sha256": {path.name: sha256(path) for path in files},
    }


def output(*command: str) -> str | None:
    """What a program prints, or None where it is not there or fails."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
