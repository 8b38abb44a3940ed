"""Several processes: the files of their runs are the same bytes."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from justjump import fit
from justjump.train import RunError

from .conftest import Make, random_graph

pytestmark = pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
SMALL: dict[str, Any] = {"layers": 2, "hidden": 16, "heads": 4, "groups": 4, "max_epochs": 3}


@pytest.mark.slow
def test_the_files_are_the_same_bytes(make_parts: Make, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parts = make_parts(random_graph(sparse=True))
    found = []
    for workers in (1, 2, 3):
        output = tmp_path / f"run-{workers}"
        run = fit(parts, workers=workers, output=output, progress=False, log=output / "curves", **SMALL)
        assert run.finished
        assert len(list((output / "curves").glob("events.out.tfevents.*"))) == 1
        found.append([(output / name).read_bytes() for name in ("model.safetensors", "split.safetensors")])
    assert found[0] == found[1] == found[2]
    assert "TrainingWarning" not in capfd.readouterr().err  # of a worker, where nobody can catch it


@pytest.mark.slow
def test_an_error_of_a_worker_is_one_sentence(make_parts: Make, tmp_path: Path) -> None:
    parts = make_parts()
    output = tmp_path / "run"
    output.mkdir()
    (output / "state.safetensors").write_bytes(b"nonsense")
    with pytest.raises(RunError, match=r"state.safetensors cannot be read .*: delete it to start the run again"):
        fit(parts, workers=2, output=output, progress=False, **SMALL)


@pytest.mark.slow
def test_a_killed_worker_is_named(make_parts: Make, tmp_path: Path) -> None:
    parts = make_parts()
    output = tmp_path / "run"

    def kill() -> None:
        while not (output / "state.safetensors").exists():
            time.sleep(0.05)
        multiprocessing.active_children()[0].kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with pytest.raises(RunError, match="was ended by signal 9: the same command goes on"):
        fit(parts, workers=2, output=output, progress=False, **{**SMALL, "max_epochs": 100_000, "stop": "never"})
    killer.join()
    assert (output / "state.safetensors").exists()


@pytest.mark.slow
def test_torchrun_starts_them(make_parts: Make, tmp_path: Path) -> None:
    parts = make_parts()
    alone = fit(parts, progress=False, **SMALL)
    script = tmp_path / "script.py"
    script.write_text(
        "from justjump import fit\nfrom justjump.data.parts import open_parts\n"
        f"fit(open_parts({str(parts.folder)!r}), output={str(tmp_path / 'run')!r}, progress=False, **{SMALL!r})\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=120)
    alone.save(tmp_path / "alone")
    name = "model.safetensors"
    assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_what_is_refused(make_parts: Make) -> None:
    parts = make_parts()
    with pytest.raises(ValueError, match="9 workers cannot share 4 parts: choose 1 to 4 workers"):
        fit(parts, workers=9)
    with pytest.raises(ValueError, match="2 workers are others: leave it out"):
        fit(parts, workers=2, on_epoch=print)
    with pytest.raises(ValueError, match="norm='batch' takes the mean over all nodes"):
        fit(parts, norm="batch")
