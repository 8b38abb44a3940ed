"""How much memory there is."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path


def available_memory() -> float:
    """Bytes of memory that can still be taken, or infinity if the system does not tell."""
    available = math.inf
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        available = 1024 * sum(int(lines[key].split()[0]) for key in ("MemAvailable", "SwapFree"))
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            available = min(available, max(limit - taken, 0))
    except (OSError, ImportError, KeyError, ValueError, IndexError):
        pass
    return min([available, *free_in_group()])


def free_in_group() -> list[int]:
    """Bytes that the control groups of this process, such as that of a container, leave to it, if they limit it."""
    found = []
    for folder, limit, used, cache in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        with suppress(OSError, ValueError, KeyError):
            most, now = (int((Path(folder) / name).read_text()) for name in (limit, used))
            parts = dict(line.split() for line in (Path(folder) / "memory.stat").read_text().splitlines())
            found.append(max(0, most - now + int(parts[cache])))  # what files have cached is free when it is needed
    return found
