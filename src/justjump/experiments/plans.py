"""How the layers of a network will be computed on a graph."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from justjump.data import Graph
from justjump.experiments.words import count
from justjump.nn import ModelConfig
from justjump.ops import History, Plan, native
from justjump.train import Protocol, prepare
from justjump.train.batches import check_batches, make_batches
from justjump.train.start import as_graph, default_split


@dataclass(frozen=True)
class LayerPlan:
    """How one layer is computed in training.

    Attributes:
        layer: its number, counted from 1
        attends_to: the representations that it sees, such as ``"h(0) .. h(2)"``
        edges: that it visits, self-loops among them; the last layer has those to the training nodes only; of the first
            mini-batch, if there are some
        form, history, backward, reason: see :class:`~justjump.ops.Plan`
    """

    layer: int
    attends_to: str
    edges: int
    form: str
    history: str
    backward: str
    reason: str


def layer_plans(graph: Graph, config: ModelConfig, protocol: Protocol) -> list[LayerPlan]:
    """The plan of each layer in training."""
    graph = as_graph(graph, protocol)
    check_batches(graph, config, protocol)
    return plans_of(_sizes(graph, config, protocol), config)


def plans_of(sizes: Sequence[tuple[int, int]], config: ModelConfig) -> list[LayerPlan]:
    """The same, given the number of nodes that each layer reads, and of edges that it visits."""
    config, plans = config.suited(), []
    for t, (nodes, edges) in enumerate(sizes, 1):
        rows = torch.empty(1, 1).expand(nodes, config.hidden)  # sizes without memory
        history = History([rows] * t)
        if config.model == "dna":
            history = history.window(config.window, config.keep_first)
            seen = history.attended
            plan = Plan.choose(history, edges=edges, heads=config.heads, groups=config.groups)
        else:
            seen = [t - 1]
            plan = Plan.baseline(history)
        packed = plan.layout is not None and config.update == "none"  # an update takes standard rows
        layout = f"packed, {plan.layout.stride} per node" if plan.layout and packed else "standard"
        plans.append(LayerPlan(t, _names(seen), edges, plan.form, layout, _backward(plan), plan.why))
    return plans


def _sizes(graph: Graph, config: ModelConfig, protocol: Protocol) -> list[tuple[int, int]]:
    """The number of nodes that each layer reads, and of edges that it visits."""
    inputs, train = prepare(graph, protocol.scale), default_split(graph, protocol, seed=0).train
    batches = make_batches(inputs, train, protocol, config.layers, seed=0)
    if batches is not None:
        hops = next(batches.epoch(0)).hops
        return [(hops.sizes[len(hops) - t + 1], hops.layer(t).num_edges) for t in range(1, len(hops) + 1)]
    whole = inputs.adj.num_edges
    last = inputs.adj.toward(torch.from_numpy(train)).num_edges if graph.batch is None else whole
    return [(graph.num_nodes, edges) for edges in [whole] * (config.layers - 1) + [last]]


def _backward(plan: Plan) -> str:
    if plan.form in ("torch", "native"):
        return "autograd" if plan.form == "torch" else "native"
    return "keeps scores" if plan.keeps_scores else "recomputes scores"


def _names(steps: list[int]) -> str:
    """
    >>> _names([0]), _names([0, 1, 2]), _names([0, 2, 3])
    ('h(0)', 'h(0) .. h(2)', 'h(0), h(2), h(3)')
    """
    if len(steps) > 1 and steps == list(range(steps[0], steps[-1] + 1)):
        return f"h({steps[0]}) .. h({steps[-1]})"
    return ", ".join(f"h({step})" for step in steps)


def show_plan(graph: Graph, config: ModelConfig, protocol: Protocol, as_json: bool = False) -> None:
    """Print which form each layer takes on this graph, what it keeps for its gradients, and why."""
    plans = layer_plans(graph, config, protocol)
    if as_json:
        print(json.dumps([asdict(plan) for plan in plans]))
        return
    kernels = f"native kernels ({native.isa()})" if native.available() else "PyTorch"
    print(f"{graph.name}: {count(graph.num_nodes, 'node')}, {config.model} {config.notation} on {kernels}")
    if protocol.batch_size is not None:
        print(f"the first mini-batch, of up to {count(protocol.batch_size, 'training node')}:")
    show_layers(plans)


def show_layers(plans: Sequence[LayerPlan]) -> None:
    """Print a table of the layers, and the reasons."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("layer", "attends to", "edges", "form", "history", "backward"):
        table.add_column(title, no_wrap=True, justify="right" if title in ("layer", "edges") else "left")
    for plan in plans:
        table.add_row(str(plan.layer), plan.attends_to, f"{plan.edges:,}", plan.form, plan.history, plan.backward)
    Console().print(table)
    for reason in dict.fromkeys(plan.reason for plan in plans):
        print(reason)
