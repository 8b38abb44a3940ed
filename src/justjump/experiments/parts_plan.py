"""How a network will be trained on a graph in parts, and what that costs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from justjump.data.parts import Parts, open_parts
from justjump.experiments.plans import LayerPlan, plans_of, show_layers
from justjump.experiments.words import count
from justjump.nn import ModelConfig
from justjump.ops import native
from justjump.train import Protocol
from justjump.train.parts.costs import RATE, PartSize, between_workers, epoch_bytes, part_bytes, seconds_to_send
from justjump.train.parts.nodes import Chosen, labels_of
from justjump.train.parts.pieces import check_supported
from justjump.train.show import shown_bytes
from justjump.train.start import default_split


def parts_plan(
    parts: Parts, config: ModelConfig, protocol: Protocol, workers: int
) -> tuple[list[LayerPlan], dict[str, Any]]:
    """The plan of each layer on the largest part, and what training costs."""
    check_supported(config, protocol)
    number = max(range(len(parts)), key=lambda p: parts.manifest.parts[p].sizes.edges)
    part = parts[number]
    train = Chosen.of(parts, default_split(labels_of(parts), protocol, seed=0).train)
    last = int((part.rowptr[1:] - part.rowptr[:-1])[train.nodes[number].numpy()].sum())
    local = part.num_nodes + part.num_halo
    plans = plans_of([(local, part.num_edges)] * (config.layers - 1) + [(local, last)], config)
    size = PartSize(part.num_nodes, part.num_halo, part.num_edges, parts.manifest.num_features)
    sent = epoch_bytes(between_workers(parts, workers), config)
    costs = {
        "part": number,
        "nodes": part.num_nodes,
        "halo": part.num_halo,
        "part_bytes": round(part_bytes(size, config)),
        "row_bytes": 8 * config.hidden * (config.layers + 1) * (parts.manifest.num_nodes + parts.manifest.num_halo),
        "workers": workers,
        "epoch_bytes": round(sent),
        "seconds": seconds_to_send(sent, workers),
    }
    return plans, costs


def show_parts_plan(folder: Path, config: ModelConfig, protocol: Protocol, workers: int, as_json: bool) -> None:
    """Print the plan of the layers on the largest part, its memory, and what the workers send."""
    parts = open_parts(folder, verify=False)
    plans, costs = parts_plan(parts, config, protocol, workers)
    if as_json:
        print(json.dumps({"layers": [asdict(plan) for plan in plans], **costs}))
        return
    kernels = f"native kernels ({native.isa()})" if native.available() else "PyTorch"
    name = parts.manifest.name
    print(f"{name} in {count(len(parts), 'part')}: {config.model} {config.notation} on {kernels}")
    print(f"the largest part has {count(costs['nodes'], 'node')}, and reads {count(costs['halo'], 'node')} of others:")
    show_layers(plans)
    print(f"memory of a worker with --scratch: about {shown_bytes(costs['part_bytes'])}")
    print(f"representations and their gradients, in --scratch or in memory: {shown_bytes(costs['row_bytes'])}")
    if workers > 1:
        time = f"{costs['seconds']:.1f} s at {RATE / 1e9:.0f} Gbit/s"
        print(f"{workers} workers send {shown_bytes(costs['epoch_bytes'])} an epoch, which takes {time}")
