"""This installation: versions, kernels and threads."""

import json
import os
import platform

import torch

import justjump
from justjump.data.datasets import cache_dir
from justjump.ops import native


def info(as_json: bool) -> None:
    """Print which kernels run, with how many threads, and the versions of what they depend on."""
    facts = {
        "justjump": justjump.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "path": "native kernels" if native.available() else f"PyTorch ({native.why_not()})",
        "isa": native.isa() if native.available() else None,
        "isas": native.available_isas() if native.available() else [],
        "threads": torch.get_num_threads(),
        "thread_pool": native.thread_backend() if native.available() else None,
        "data_dir": os.environ.get("JUSTJUMP_DATA"),
        "cache": str(cache_dir()),
    }
    if as_json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        shown = ", ".join(value) if isinstance(value, list) else "-" if value is None else value
        print(f"{name.replace('_', ' '):<12} {shown}")
