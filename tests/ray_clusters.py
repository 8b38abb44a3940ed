"""Ray clusters whose nodes are processes of this machine."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
    "RAY_worker_niceness": "0",  # the other tests would starve them
}


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A head node without processors of its own, and two nodes with one each."""
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    os.environ.update(ENVIRONMENT, PYTHONPATH=os.pathsep.join(sys.path))
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        started.add_node(num_cpus=1, memory=8 * 2**30)
    started.wait_for_nodes()
    try:
        yield started
    finally:
        ray.shutdown()
        started.shutdown()
        os.environ.clear()
        os.environ.update(before)
