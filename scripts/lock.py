"""Write locks/run.txt and locks/test.txt: every file that `make` may install, with its SHA-256.

    make lock

Both hold all files of a release, for every platform and every Python from 3.10 on; pip takes the one that fits. The
versions are those of constraints.txt, and the newest that go with them. torch is left out, with the libraries for GPUs
that some of its builds need: the same version of it has other files on other indexes (builds for the CPU, for CUDA, for
ROCm), so a hash of one of them would refuse the others.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
OLDEST_PYTHON = "3.10"
BUILD = ["scikit-build-core", "nanobind", "cmake", "ninja"]
# What the CUDA builds of torch require.
GPU = [
    "cuda-bindings",
    "cuda-toolkit",
    "nvidia-cudnn-cu13",
    "nvidia-cusparselt-cu13",
    "nvidia-nccl-cu13",
    "nvidia-nvshmem-cu13",
    "triton",
]
HEADER = """\
# {what}
# Made by `make lock`; change constraints.txt and run it again. torch is not here: see scripts/lock.py.
"""


def main() -> None:
    test = compiled("--extra", "test", "--constraint", "constraints.txt")
    write("test.txt", "What the package, its build, its tests and its site need.", test)
    # The same versions: what is in test.txt constrains what goes into run.txt.
    run = compiled("--constraint", str(LOCKS / "test.txt"), "--constraint", "constraints.txt", more="\n".join(BUILD))
    write("run.txt", "What the package and its build need.", run)


def compiled(*options: str, more: str = "") -> str:
    """The requirements of pyproject.toml and those in ``more`` with everything they need, one release per entry."""
    with tempfile.TemporaryDirectory() as folder:
        excluded, others = Path(folder) / "excluded.txt", Path(folder) / "others.in"
        excluded.write_text("\n".join(GPU) + "\n", encoding="utf-8")
        others.write_text(more + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
        command += ["--python-version", OLDEST_PYTHON, "--no-header", "--no-annotate", "--no-emit-package", "torch"]
        command += ["--excludes", str(excluded), *options, "pyproject.toml", str(others)]
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def write(name: str, what: str, text: str) -> None:
    LOCKS.mkdir(exist_ok=True)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    (LOCKS / name).write_text(HEADER.format(what=what) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
