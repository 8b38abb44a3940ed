"""Several processes: the files of their runs are the same bytes."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import worker_kinds
from justjump import fit
from justjump.train.parts import workers
from two_hosts import Hosts, may_make_them, two_hosts

from .conftest import Make, random_graph

pytestmark = pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
SMALL: dict[str, Any] = {"layers": 2, "hidden": 16, "heads": 4, "groups": 4, "max_epochs": 3}
SCRIPT = """
import ast, os, signal, sys
from justjump import fit
from justjump.data import open_parts

def die_once(progress):
    if progress.epoch == 2 and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)

fit(open_parts(sys.argv[1]), output=sys.argv[2], on_epoch=die_once, **ast.literal_eval(sys.argv[3]))
"""


ON_A_HOST = """
import ast, sys
from datetime import timedelta
import torch.distributed as dist
from justjump import fit
from justjump.data import open_parts

rank, folder, output, options = int(sys.argv[1]), *sys.argv[2:4], ast.literal_eval(sys.argv[4])
dist.init_process_group("gloo", "tcp://10.99.0.1:29500", timedelta(seconds=5), rank=rank, world_size=2)
try:
    fit(open_parts(folder), output=output, **options)
except ValueError as error:
    sys.exit(str(error))
"""


def assert_same_files(one: Path, other: Path) -> None:
    for name in ("model.safetensors", "split.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


@pytest.mark.slow
def test_the_files_are_the_same_bytes(
    make_parts: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By workers of one machine, which read rows where they are, and by workers that send them."""
    parts = make_parts(random_graph(sparse=True))
    found = []
    for number in (1, 2, 3, 4):
        output = tmp_path / f"run-{number}"
        run = fit(parts, workers=number, output=output, progress=False, log=output / "curves", **SMALL)
        assert run.finished
        assert len(list((output / "curves").glob("events.out.tfevents.*"))) == 1
        found.append([(output / name).read_bytes() for name in ("model.safetensors", "split.safetensors")])
    monkeypatch.setattr(workers, "work", worker_kinds.far_apart)
    fit(parts, workers=3, output=tmp_path / "far", progress=False, **SMALL)
    found.append([(tmp_path / "far" / name).read_bytes() for name in ("model.safetensors", "split.safetensors")])
    assert all(files == found[0] for files in found)
    assert "TrainingWarning" not in capfd.readouterr().err  # of a worker, where nobody can catch it


@pytest.mark.slow
def test_workers_that_die_are_replaced_and_the_bytes_are_the_same(
    make_parts: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One dies when it starts, one in an exchange, and one in a checkpoint."""
    parts = make_parts()
    fit(parts, output=tmp_path / "alone", progress=False, **SMALL)
    monkeypatch.setattr(workers, "work", worker_kinds.lose_workers)
    fit(parts, workers=2, output=tmp_path / "run", progress=False, **SMALL)
    said = re.findall(
        r"worker (\d) was ended by signal 9 .*: new workers go on after epoch (\d)", capfd.readouterr().err
    )
    assert said == [("1", "0"), ("1", "1"), ("0", "2")]
    names = ["model.safetensors", "run.json", "split.safetensors"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == names
    assert_same_files(tmp_path / "alone", tmp_path / "run")


@pytest.mark.slow
def test_torchrun_starts_them_and_starts_them_again(make_parts: Make, tmp_path: Path) -> None:
    parts = make_parts()
    fit(parts, output=tmp_path / "alone", progress=False, **SMALL)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    command += [str(tmp_path / "script.py"), str(parts.folder), str(tmp_path / "run"), repr(SMALL)]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, check=True, env=environment, capture_output=True, timeout=120, text=True)
    assert "the run goes on after epoch 1" in ended.stderr
    assert_same_files(tmp_path / "alone", tmp_path / "run")


@pytest.mark.slow
@pytest.mark.skipif(not may_make_them(), reason="only root on Linux may make network namespaces (ip netns)")
def test_a_link_that_is_cut_in_the_middle_is_an_error_and_the_run_goes_on(make_parts: Make, tmp_path: Path) -> None:
    parts, output = make_parts(), tmp_path / "run"
    options: dict[str, Any] = {"model": "gcn", "layers": 1, "hidden": 16, "groups": 1, "stop": "never"}
    options["max_epochs"] = 150
    command = [str(tmp_path / "script.py"), "{rank}", str(parts.folder), str(output), repr(options)]
    (tmp_path / "script.py").write_text(ON_A_HOST)

    def start(hosts: Hosts) -> list["subprocess.Popen[str]"]:
        return [hosts.on(n, sys.executable, command[0], str(n), *command[2:]) for n in range(2)]

    with two_hosts() as hosts:
        workers = start(hosts)
        while not (output / "state.safetensors").exists():
            time.sleep(0.01)
        hosts.link("down")
        said = [worker.communicate(timeout=60)[1] for worker in workers]
        assert not (output / "run.json").exists(), "it was in the middle"
        for number, text in enumerate(said):
            last = text.splitlines()[-1]
            assert f"worker {number} lost the others: " in last, text
            assert last.endswith("; the same command goes on from the last epoch that was saved")
        hosts.link("up")
        again = start(hosts)
        said = [worker.communicate(timeout=120)[1] for worker in again]
        assert [worker.returncode for worker in again] == [0, 0], said
        assert "the run goes on after epoch" in said[0]
    fit(parts, output=tmp_path / "alone", progress=False, **options)
    assert_same_files(tmp_path / "alone", output)


def test_what_is_refused(make_parts: Make) -> None:
    parts = make_parts()
    with pytest.raises(ValueError, match="9 workers cannot share 4 parts: choose 1 to 4 workers"):
        fit(parts, workers=9)
    with pytest.raises(ValueError, match="2 workers are others: leave it out"):
        fit(parts, workers=2, on_epoch=print)
    with pytest.raises(ValueError, match="worker_timeout=0 is no time to wait: give a number of seconds above 0"):
        fit(parts, workers=2, worker_timeout=0)
    with pytest.raises(ValueError, match="norm='batch' takes the mean over all nodes"):
        fit(parts, norm="batch")
