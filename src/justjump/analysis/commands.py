"""What the commands on trained networks do and print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from justjump.analysis.attention import attended, attention_blocks
from justjump.analysis.attention_statistics import Box, By, attention_statistics
from justjump.analysis.figures import attention_figure, influence_figure, reach_figure
from justjump.analysis.files import check_extra, figure_paths, save_figure, write_parquet
from justjump.analysis.hops import neighbourhood
from justjump.analysis.jacobian import influence, influences
from justjump.analysis.receptive_field import HELD, ReceptiveFields
from justjump.analysis.subject import Subject, find_node, open_subjects, pick_node
from justjump.data import Graph
from justjump.experiments import paper
from justjump.train import RunError
from justjump.train.process import keep_memory

# More nodes than these overlap; the nearest ones are drawn.
MOST_NODES = 250
# Influences of so many nodes make one block of the table.
TABLE_NODES = 256


def influence_of_one(
    folders: list[Path],
    node: str | None,
    hops: int,
    output: Path,
    graph: str | None,
    directed: bool,
    data_dir: Path | None,
) -> None:
    """Draw who influences a node, or one that the first run gets right and the second wrong, in each run."""
    check_extra()
    found, subjects = open_subjects(folders, graph, directed, data_dir)
    number = pick_node(found, subjects[0], subjects[1]) if node is None else find_node(found, node)
    around = neighbourhood(found, number, hops, MOST_NODES)
    shares, notes = [], []
    for subject in subjects:
        scores = influence(subject.run.model, found, number, inputs=subject.inputs)
        share = np.zeros(found.num_nodes)
        share[scores.nodes] = scores.share
        shares.append(share[around.nodes])
        says = _class_name(found, int(subject.predicted[number]))
        verdict = "" if found.labels[number] < 0 else " (right)" if _is_right(found, subject, number) else " (wrong)"
        notes.append(f"says {says}{verdict}; nodes drawn hold {shares[-1].sum():.0%}")
    name = found.node_names[number] if found.node_names else str(number)
    label = "" if found.labels[number] < 0 else f", {_class_name(found, int(found.labels[number]))}"
    left_out = f", the nearest {MOST_NODES} nodes" if around.truncated else ""
    caption = f"{_title(found)}, node {name}{label}: its {hops}-hop neighbourhood{left_out}"
    figure = influence_figure(around, shares, [subject.title for subject in subjects], notes, caption)
    _report(save_figure(figure, output))


def influence_of_all(
    folders: list[Path], output: Path, graph: str | None, directed: bool, data_dir: Path | None, as_json: bool
) -> None:
    """Write the influence of every node on every other within reach, and sum it up."""
    check_extra()
    if output.suffix != ".parquet":
        raise RunError(f"--output {output} must end in .parquet: with --all it is a table")
    found, subjects = open_subjects(folders, graph, directed, data_dir)
    keep_memory()
    fields: list[ReceptiveFields] = []
    with _bar() as bar:
        rows = write_parquet(output, _tables(found, subjects, fields, bar))
    titles = [subject.title for subject in subjects]
    caption = f"Influence on {found.num_nodes:,} nodes of {_title(found)}"
    pictures = save_figure(reach_figure(fields, titles, caption), output.with_suffix(""))
    if as_json:
        print(json.dumps([_summary(title, field) for title, field in zip(titles, fields, strict=True)]))
    else:
        Console().print(_summary_table(titles, fields))
        print(
            f"nodes: median, mean of the fewest nodes that hold {HELD:.0%} of the influence; reach: nodes within T hops"
        )
    print(f"{rows:,} rows are in {output}", file=sys.stderr)
    _report(pictures)


def _tables(
    graph: Graph, subjects: list[Subject], fields: list[ReceptiveFields], bar: Progress
) -> Iterator[dict[str, Any]]:
    """Blocks of rows (run, node, source, hops, share); adds the receptive fields of each run to ``fields``."""
    nodes = np.arange(graph.num_nodes)
    for subject in subjects:
        parts: list[ReceptiveFields] = []
        task = bar.add_task(subject.title, total=len(nodes))
        layers = subject.run.config.layers
        every = influences(subject.run.model, subject.inputs, nodes)
        for begin in range(0, len(nodes), TABLE_NODES):
            starts = nodes[begin : begin + TABLE_NODES]
            block = []
            for found in islice(every, len(starts)):
                block.append(found)
                bar.advance(task)
            parts.append(ReceptiveFields.of(block, layers))
            yield {
                "run": subject.title,
                "node": np.repeat(starts, [len(found.nodes) for found in block]),
                "source": np.concatenate([found.nodes for found in block]),
                "hops": np.concatenate([found.hops for found in block]).astype(np.int8),
                "share": np.concatenate([found.share for found in block]).astype(np.float32),
            }
        fields.append(ReceptiveFields.joined(parts))


def _summary(title: str, field: ReceptiveFields) -> dict[str, Any]:
    return {
        "run": title,
        "share_by_hop": [round(float(share), 6) for share in field.by_hop.mean(axis=0)],
        "receptive_field_median": float(np.median(field.field)),
        "receptive_field_mean": float(field.field.mean()),
        "reach_mean": float(field.reach.mean()),
    }


def _summary_table(titles: list[str], fields: list[ReceptiveFields]) -> Table:
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


def attention(
    folder: Path,
    by: By,
    layer: int | None,
    output: Path,
    weights: Path | None,
    graph: str | None,
    directed: bool,
    data_dir: Path | None,
) -> None:
    """Draw the distribution of attention weights and write its numbers; with ``weights``, every weight too."""
    check_extra()
    found, (subject,) = open_subjects([folder], graph, directed, data_dir)
    model = subject.run.model
    boxes = attention_statistics(model, subject.inputs, by, layer, found.num_classes)
    panels = _panels(by, boxes, found)
    which = "all layers" if by == "layer" else f"layer {boxes[0].layer} of {model.config.layers}"
    pictures = save_figure(attention_figure(panels, f"{subject.title} on {_title(found)}, {which}"), output)
    table = figure_paths(output)[0].with_suffix(".parquet")
    write_parquet(table, [_columns(boxes, found)])
    for title, own in panels:
        given = ", ".join(f"{_given_to(box)} {box.median:.3f}" for box in own)
        print(f"{title}: median {given}")
    if weights is not None:
        layers = range(1, model.config.layers + 1) if by == "layer" else [boxes[0].layer]
        rows = write_parquet(weights, _weights(subject, layers))
        print(f"{rows:,} rows are in {weights}", file=sys.stderr)
    _report([table, *pictures])


def _panels(by: By, boxes: list[Box], graph: Graph) -> list[tuple[str, list[Box]]]:
    panels: dict[str, list[Box]] = {}
    for box in boxes:
        title = "all edges and heads" if by == "all" else f"layer {box.layer}"
        if box.head is not None:
            title = f"head {box.head + 1}"
        elif box.label is not None:
            title = _class_name(graph, box.label)
        panels.setdefault(title, []).append(box)
    return list(panels.items())


def _columns(boxes: list[Box], graph: Graph) -> dict[str, Any]:
    numbers = ("count", "mean", "low", "q1", "median", "q3", "high", "largest")
    return {
        "layer": [box.layer for box in boxes],
        "head": [None if box.head is None else box.head + 1 for box in boxes],
        "class": [None if box.label is None else graph.class_names[box.label] for box in boxes],
        "given_to": [_given_to(box) for box in boxes],
        **{name: [getattr(box, name) for box in boxes] for name in numbers},
    }


def _weights(subject: Subject, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Every weight of some layers: a row for each edge, head and what the share is given to."""
    heads = subject.run.config.heads
    for layer in layers:
        steps = attended(subject.run.model, layer)
        for block in attention_blocks(subject.run.model, subject.inputs, layer):
            shares = [*block.weight.unbind(1), block.refused]  # each [e, H]
            edges = len(block.source)
            for step, share in zip([*steps, None], shares, strict=True):
                yield {
                    "source": block.source.numpy().repeat(heads),
                    "target": block.target.numpy().repeat(heads),
                    "layer": np.full(edges * heads, layer, dtype=np.int8),
                    "head": np.tile(np.arange(1, heads + 1, dtype=np.int16), edges),
                    "given_to": "refused" if step is None else f"h{step}",
                    "weight": share.flatten().numpy(),
                }


def _given_to(box: Box) -> str:
    return "refused" if box.given_to is None else f"h{box.given_to}"


def _title(graph: Graph) -> str:
    return paper.DATASETS[graph.name].title if graph.name in paper.DATASETS else graph.name


def _class_name(graph: Graph, number: int) -> str:
    return graph.class_names[number].replace("_", " ")


def _is_right(graph: Graph, subject: Subject, node: int) -> bool:
    return bool(subject.predicted[node] == graph.labels[node])


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _report(paths: list[Path]) -> None:
    print(f"written: {', '.join(map(str, paths))}", file=sys.stderr)
