"""How the layers of a network will be computed on a graph."""

import json
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
from justjump.train.start import default_split


@dataclass(frozen=True)
class LayerPlan:
    """How one layer is computed in training.

    Attributes:
        layer: its number, counted from 1
        attends_to: the representations that it sees, such as ``"h(0) .. h(2)"``
        edges: that it visits, self-loops among them; the last layer has those to the training nodes only
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
    inputs = prepare(graph, protocol.scale)
    train = torch.from_numpy(default_split(graph, protocol, seed=0).train)
    rows = torch.empty(1, 1).expand(graph.num_nodes, config.hidden)  # sizes without memory
    plans = []
    for t in range(1, config.layers + 1):
        edges = inputs.adj.num_edges if t < config.layers else inputs.adj.toward(train).num_edges
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
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("layer", "attends to", "edges", "form", "history", "backward"):
        table.add_column(title, no_wrap=True, justify="right" if title in ("layer", "edges") else "left")
    for plan in plans:
        table.add_row(str(plan.layer), plan.attends_to, f"{plan.edges:,}", plan.form, plan.history, plan.backward)
    Console().print(table)
    for reason in dict.fromkeys(plan.reason for plan in plans):
        print(reason)
