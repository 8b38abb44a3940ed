"""What the commands influence and attention print about nodes and runs."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from justjump.analysis.jacobian import Influence
from justjump.analysis.receptive_field import ReceptiveFields
from justjump.analysis.subject import Subject, row_of
from justjump.data import Graph
from justjump.experiments import paper
from justjump.experiments.words import count
from justjump.train import Run

# Number of the most influential nodes that are printed.
LISTED = 5
# Number of labels of one node that are named.
MOST_LABELS = 8


def graph_title(graph: Graph) -> str:
    """The paper's name of a dataset, or a graph's own name."""
    return paper.DATASETS[graph.name].title if graph.name in paper.DATASETS else graph.name


def node_name(graph: Graph, node: int) -> str:
    """A node's name, or its number."""
    return str(node) if graph.node_names is None else graph.node_names[node]


def class_name(of: Graph | Run, number: int) -> str:
    """The name of a class in plain words."""
    return "unknown" if number < 0 else of.class_names[number].replace("_", " ")


def shown_number(value: float) -> str:
    """A number of any size as people read it.

    >>> shown_number(0.12345), shown_number(-1234.5), shown_number(float("nan"))
    ('0.1235', '-1,234', 'unknown')
    """
    if np.isnan(value):
        return "unknown"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def label_words(of: Graph | Run, values: Any) -> str:
    """What is true, or predicted, of one node: a class, the labels that it has, or numbers."""
    if of.task == "multiclass":
        return class_name(of, int(values))
    names = [name.replace("_", " ") for name in of.class_names]
    if of.task == "regression":
        numbers = [shown_number(float(value)) for value in values]
        return numbers[0] if len(numbers) == 1 else ", ".join(map(" ".join, zip(names, numbers, strict=True)))
    if np.isnan(values).all():
        return "unknown"
    there = _some([name for name, value in zip(names, values, strict=True) if value == 1])
    unknown = _some([name for name, value in zip(names, values, strict=True) if np.isnan(value)])
    return (there or "none") + (f" ({unknown} unknown)" if unknown else "")


def _some(names: list[str]) -> str:
    more = len(names) - MOST_LABELS
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST_LABELS])} and {more} more"


def opinion(graph: Graph, subject: Subject, node: int) -> str:
    """What a run predicts for a node (or its graph), and how right that is, if the truth is known."""
    row = row_of(graph, node)
    predicted, label = subject.predicted[row], graph.labels[row]
    words = label_words(subject.run, predicted)
    if not graph.labelled[row]:
        return words
    if graph.task == "regression":
        off = [f"{'+' * (error > 0)}{shown_number(error)}" for error in (predicted - label).tolist()]
        return f"{words} (off by {', '.join(off)})"
    if graph.task == "multilabel" and (wrong := int(((predicted != label) & ~np.isnan(label)).sum())):
        return f"{words} ({wrong} of {count(int((~np.isnan(label)).sum()), 'label')} wrong)"
    return f"{words} ({'right' if subject.is_right(graph.labels)[row] else 'wrong'})"


def kind_of_label(graph: Graph) -> str:
    """What a label is called in text.

    >>> from justjump.data import load
    >>> kind_of_label(load("cora"))
    'class'
    """
    if graph.task == "multiclass":
        return "class"
    return "labels" if graph.task == "multilabel" else ", ".join(graph.class_names[:3])


def node_line(graph: Graph, node: int) -> str:
    """A node with its name, its number and its label: the user sees which node was found."""
    number = "" if graph.node_names is None else f" (number {node})"
    label = label_words(graph, graph.labels[row_of(graph, node)])
    whose = "true" if graph.batch is None else f"in graph {row_of(graph, node)}, whose true"
    kind = kind_of_label(graph)
    said = f"{whose} {kind}: {label}" if graph.batch is None else f"{whose} {kind} is {label}"
    return f"node {node_name(graph, node)}{number} of {graph_title(graph)}, {said}"


def node_table(graph: Graph, titles: list[str], opinions: list[str], scores: list[Influence]) -> Table:
    """One column per run: its prediction, the influence by distance, and the most influential nodes."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("", *titles):
        table.add_column(Text(heading))
    table.add_row(f"predicted {kind_of_label(graph)}", *map(Text, opinions), end_section=True)
    by_hop = [[f"{share:5.1%}" for share in np.bincount(score.hops, score.share)] for score in scores]
    for hop, shares in enumerate(zip_longest(*by_hop, fillvalue="")):
        table.add_row(f"influence from {count(hop, 'hop')}", *shares)
    table.add_section()
    strongest = [_strongest(graph, score) for score in scores]
    for place, nodes in enumerate(zip_longest(*strongest, fillvalue="")):
        table.add_row("" if place else "most influential", *map(Text, nodes))
    return table


def _strongest(graph: Graph, score: Influence) -> list[str]:
    order = np.argsort(-score.share, kind="stable")[:LISTED]
    return [f"{score.share[place]:5.1%}  {node_name(graph, int(score.nodes[place]))}" for place in order]


def summary(title: str, field: ReceptiveFields) -> dict[str, Any]:
    """The influence on all nodes in one run, ready for JSON."""
    return {
        "run": title,
        "share_by_hop": [round(float(share), 6) for share in field.by_hop.mean(axis=0)],
        "receptive_field_median": float(np.median(field.field)),
        "receptive_field_mean": float(field.field.mean()),
        "reach_mean": float(field.reach.mean()),
    }


def summary_table(titles: list[str], fields: list[ReceptiveFields]) -> Table:
    """The influence on all nodes, with one row per run."""
    table = Table(title="Mean share of the influence by hops, in percent", box=SIMPLE_HEAD, pad_edge=False)
    hops = max(field.by_hop.shape[1] for field in fields)
    table.add_column("run", no_wrap=True)
    for column in (*map(str, range(hops)), "nodes", "reach"):
        table.add_column(column, justify="right", no_wrap=True)
    for title, field in zip(titles, fields, strict=True):
        mean = [f"{100 * share:.1f}" for share in field.by_hop.mean(axis=0)]
        nodes = f"{np.median(field.field):.0f}, {field.field.mean():.1f}"
        table.add_row(title, *mean, *[""] * (hops - len(mean)), nodes, f"{field.reach.mean():.0f}")
    return table
