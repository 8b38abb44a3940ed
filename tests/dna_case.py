"""One case of a DNA layer: how its inputs are drawn, the obvious version, and every way to run the fast one."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import torch
from torch import Tensor

from justjump.ops import Adjacency, History, Plan, Projections, dna_conv, dna_extend
from justjump.ops.dna import reference
from justjump.ops.grouped.reference import grouped_linear
from justjump.ops.history import attended_steps
from justjump.ops.layout import Layout
from specification import (
    Expected,
    GraphSpec,
    Inputs,
    check,
    edge_weights,
    expect,
    first_targets,
    graph,
    random,
    results,
)

# How the history lies in memory. "extend" appends to a packed history, with a ReLU.
Path = Literal["tensor", "apart", "list", "packed", "extend"]
PATHS: tuple[Path, ...] = get_args(Path)
PYTORCH_PATHS: tuple[Path, ...] = ("tensor", "list", "extend")


@dataclass(frozen=True)
class DnaCase:
    """H heads of C channels, T representations, and the options of the operator."""

    graph: GraphSpec = "small"
    heads: int = 4
    channels: int = 4
    groups: int = 8
    steps: int = 2
    dtype: torch.dtype = torch.float64
    dropout: float = 0.4
    seed: int = 7
    bias: bool = True
    window: int | None = None
    keep_first: bool = False
    targets: int | None = None  # fewer than there are sources
    step_bias: bool = False
    unit: bool = False  # queries and keys of unit length

    @property
    def width(self) -> int:
        return self.heads * self.channels

    @property
    def attended(self) -> list[int]:
        return attended_steps(self.steps, self.window, self.keep_first)

    def inputs(self) -> dict[str, Tensor]:
        adj, block = graph(self.graph), self.width // self.groups
        drawn = {"history": random(adj.num_nodes, self.steps, self.width, seed=1)}
        for i, name in enumerate(("query", "key", "value")):
            drawn[name] = random(self.groups, block, block, seed=2 + i, size=1 / math.sqrt(block))
            if self.bias:
                drawn[f"{name}_bias"] = random(self.width, seed=5 + i)
        if self.step_bias:
            drawn["step_bias"] = random(len(self.attended), self.heads, seed=8)
        if self.unit:
            drawn["qk_scale"] = random(self.heads, seed=10).exp() * 2
        drawn["edge_weight"] = edge_weights(adj.num_edges, torch.float64)
        return {name: x.to(self.dtype) for name, x in drawn.items()}

    def adjacency(self, inputs: Inputs) -> Adjacency:
        adj, weight = graph(self.graph), inputs["edge_weight"]
        if self.targets is not None:
            return first_targets(adj, self.targets, weight)
        return Adjacency._trusted(adj.shape, adj.rowptr, adj.col, weight)  # gradcheck takes it below zero

    def obvious(self, inputs: Inputs) -> Tensor:
        adj, x = self.adjacency(inputs), inputs["history"]
        assert adj.weight is not None
        asks, asked = x[: adj.shape[0], -1], x[:, self.attended]
        query, key, value = (
            grouped_linear(rows, inputs[name], inputs.get(f"{name}_bias")).unflatten(-1, (self.heads, self.channels))
            for rows, name in ((asks, "query"), (asked, "key"), (asked, "value"))
        )
        dropout, scores = (self.dropout, self.seed), (inputs.get("step_bias"), inputs.get("qk_scale"))
        out, _ = reference.dna_attention(query, key, value, adj.rowptr, adj.col, adj.weight, *dropout, *scores)
        return out.flatten(1)

    def run(self, inputs: Inputs, path: Path = "tensor") -> Tensor:
        projections = Projections(*(inputs.get(name) for name in _PROJECTIONS))  # type: ignore[arg-type]
        arguments = (projections, self.adjacency(inputs), self.heads, self.dropout, torch.tensor(self.seed))
        history = self.history(inputs["history"], path)
        if path == "extend":
            dna_extend(history, *arguments, window=self.window, keep_first=self.keep_first)
            return history.newest
        return dna_conv(history.window(self.window, self.keep_first), *arguments)

    def history(self, x: Tensor, path: Path = "tensor") -> History:
        if path == "tensor":
            return History(x)
        if path == "apart":
            return History(torch.cat([x, x], dim=2)[..., : self.width])
        history = History(list(x.unbind(1)))
        if path == "packed":
            history.to_layout(Layout(self.heads, self.channels, self.dtype))
        return history

    def check(self, path: Path = "tensor") -> None:
        """Compare output and every gradient with the obvious version."""
        check(lambda x: self.run(x, path), self.inputs(), expected(self, path == "extend"))

    def results(self, path: Path = "tensor") -> list[Tensor]:
        """Output and every gradient."""
        return results(lambda x: self.run(x, path), self.inputs())

    def plan(self) -> Plan:
        history = self.history(self.inputs()["history"]).window(self.window, self.keep_first)
        return Plan.choose(history, edges=graph(self.graph).num_edges, heads=self.heads, groups=self.groups)


_PROJECTIONS = ("query", "query_bias", "key", "key_bias", "value", "value_bias", "step_bias", "qk_scale")


@cache
def expected(case: DnaCase, relu: bool) -> Expected:
    return expect(case.obvious, case.inputs(), relu)
