"""Run jobs with Ray, on this machine or on a cluster."""

from __future__ import annotations

import logging
import os
import socket
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import justjump
from justjump.data import Graph
from justjump.experiments.graph_spec import GraphSpec, provide_graph
from justjump.experiments.jobs import Claim, Done, Failed, Job, OnEvent
from justjump.train import RunError
from justjump.train.process import ctrl_c_waits

# A job whose worker or node is lost starts again; a job that loses its process every time must end at last.
RETRIES = 5
# Jobs that are queued per processor, so that no processor is idle while the driver is busy.
QUEUED_PER_CPU = 2
SECONDS_TO_WAIT = 0.2
SECONDS_TO_CONNECT = 10.0
# Ray gives its own processes 30 seconds to start, which a busy machine may exceed; the second time they are in memory.
STARTS = 2


@dataclass(frozen=True)
class RayEngine:
    """Runs jobs as Ray tasks with one processor each.

    Args:
        address: the address of a running cluster, as ``ray.init`` takes it; by default, Ray runs on this machine alone
    """

    address: str | None = None

    def __call__(self, jobs: Sequence[Job], on_event: OnEvent, claim: Claim) -> bool:
        ray = _ray()
        ours = not ray.is_initialized()
        if ours:
            self.connect(ray)
        try:
            with ctrl_c_waits() as is_stopped:
                return _Tasks(ray, jobs, on_event, claim).run(is_stopped)
        finally:
            if ours:
                ray.shutdown()

    def connect(self, ray: Any) -> None:
        """Start Ray on this machine, or join the cluster at the address."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
        if self.address is not None:
            _check_answers(self.address)
        where = {"address": self.address} if self.address else {"num_cpus": len(os.sched_getaffinity(0))}
        for left in reversed(range(STARTS if self.address is None else 1)):
            try:
                ray.init(**where, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
                return
            except Exception as error:  # Ray raises some of no kind of its own
                ray.shutdown()
                if not left:
                    line = " ".join(str(error).split())
                    there = f"no Ray cluster answers at {self.address}" if self.address else "Ray does not start here"
                    raise RunError(f"{there}: {line}") from error


def _check_answers(address: str) -> None:
    """Raise if nothing listens at the address: Ray itself would take minutes to give up."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # "auto", or another name that Ray knows
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        raise RunError(f"no Ray cluster answers at {address} ({error}): is its head node running?") from error


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise RunError("--engine ray needs Ray: pip install 'justjump[cluster]'") from error
    return ray


class _Tasks:
    """The tasks of one call, from the first submission to the last result."""

    def __init__(self, ray: Any, jobs: Sequence[Job], on_event: OnEvent, claim: Claim) -> None:
        self.ray, self.jobs, self.on_event, self.claim = ray, jobs, on_event, claim
        self.task = ray.remote(num_cpus=1, max_retries=RETRIES)(_run)
        self.graphs: dict[GraphSpec, Any] = {}  # each graph is put into the object store once
        self.running: dict[Any, int] = {}

    def run(self, is_stopped: Any) -> bool:
        waiting = iter(range(len(self.jobs)))
        more = True
        while (more or self.running) and not is_stopped():
            room = max(1, int(QUEUED_PER_CPU * self.ray.cluster_resources().get("CPU", 1)))
            while more and len(self.running) < room:
                more = self._submit_next(waiting)
            if self.running:
                done, _ = self.ray.wait(list(self.running), num_returns=1, timeout=SECONDS_TO_WAIT)
                for task in done:
                    self.on_event(self._result(task))
        for task in self.running:
            self.ray.cancel(task, force=True)
        return not is_stopped()

    def _submit_next(self, waiting: Any) -> bool:
        number = next(waiting, None)
        if number is None:
            return False
        if self.claim(number):
            job = self.jobs[number]
            if job.spec not in self.graphs:
                self.graphs[job.spec] = self.ray.put(job.spec.load())
            task = self.task.options(memory=job.memory).remote(job, self.graphs[job.spec], justjump.__version__)
            self.running[task] = number
        return True

    def _result(self, task: Any) -> Done | Failed:
        number = self.running.pop(task)
        try:
            outcome = self.ray.get(task)
        except self.ray.exceptions.RayError as error:
            line = " ".join(str(error).split())
            return Failed(number, f"Ray gave up after {RETRIES} retries: {line[:300]}", traceback.format_exc())
        return Done(number, outcome) if isinstance(outcome, dict) else Failed(number, *outcome)


def _run(job: Job, graph: Graph, version: str) -> dict[str, Any] | tuple[str, str]:
    """Run a job in a worker. Returns its result, or the message and the traceback of its error."""
    import torch

    if justjump.__version__ != version:
        return f"a node has justjump {justjump.__version__}, the driver {version}: install the same on all nodes", ""
    torch.set_num_threads(1)
    try:
        provide_graph(job.spec, graph)
        return job.run()
    except Exception as error:
        return str(error) or type(error).__name__, traceback.format_exc()
