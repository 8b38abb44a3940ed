"""The commands influence and attention: what they compute, draw, write and print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from justjump.analysis.attention import attended, attention_blocks, step_name
from justjump.analysis.attention_parts import attention_of_parts
from justjump.analysis.attention_statistics import Box, By, attention_statistics
from justjump.analysis.figures import attention_figure, influence_figure, reach_figure
from justjump.analysis.files import FORMATS, check_extra, check_table, figure_paths, save_figure, write_parquet
from justjump.analysis.hops import neighbourhood
from justjump.analysis.jacobian import influence, influences
from justjump.analysis.receptive_field import HELD, ReceptiveFields
from justjump.analysis.subject import Subject, find_node, model_title, open_subjects, pick_node, row_of
from justjump.analysis.summaries import (
    class_name,
    graph_title,
    label_words,
    node_line,
    node_name,
    node_table,
    opinion,
    summary,
    summary_table,
)
from justjump.data import Graph
from justjump.data.parts import is_parts, open_parts
from justjump.files import new_folder
from justjump.train import RunError
from justjump.train.parts.nodes import labels_of
from justjump.train.process import keep_memory
from justjump.train.run import find_run

# Largest number of nodes in a picture: more would overlap. The nearest ones are drawn.
MOST_NODES = 250
# Number of nodes whose influences make one block of the table.
TABLE_NODES = 256


def influence_of_one(
    folders: list[Path],
    node: str | None,
    hops: int,
    output: Path,
    graph: str | None,
    directed: bool,
    data_dir: Path | None,
    label: str | None = None,
) -> None:
    """Draw which nodes influence a node in each run; without ``node``, one that only the first run gets right."""
    check_extra()
    pictures = figure_paths(output)
    found, subjects = open_subjects(folders, graph, directed, data_dir, label)
    _say_linear_shares(subjects)
    number = pick_node(found, subjects[0], subjects[1]) if node is None else find_node(found, node)
    around = neighbourhood(found, number, hops, MOST_NODES)
    titles = [subject.title for subject in subjects]
    opinions = [opinion(found, subject, number) for subject in subjects]
    scores = [influence(subject.run.model, found, number, inputs=subject.inputs) for subject in subjects]
    shares, notes = [], []
    for score, says in zip(scores, opinions, strict=True):
        share = np.zeros(found.num_nodes)
        share[score.nodes] = score.share
        shares.append(share[around.nodes])
        notes.append(f"says {says}; nodes drawn hold {shares[-1].sum():.0%}")
    row = row_of(found, number)
    truth = f", {label_words(found, found.labels[row])}" if found.labelled[row] else ""
    left_out = f", the nearest {MOST_NODES} nodes" if around.truncated else ""
    caption = f"{graph_title(found)}, node {node_name(found, number)}{truth}: its {hops}-hop neighbourhood{left_out}"
    save_figure(influence_figure(around, shares, titles, notes, caption), pictures)
    print(node_line(found, number))
    Console().print(node_table(found, titles, opinions, scores))
    _report(pictures)


def influence_of_all(
    folders: list[Path],
    output: Path,
    graph: str | None,
    directed: bool,
    data_dir: Path | None,
    as_json: bool,
    label: str | None = None,
) -> None:
    """Write the influence of every node on every node within its reach, and print a summary."""
    check_extra()
    check_table("--output", output)
    found, subjects = open_subjects(folders, graph, directed, data_dir, label)
    _say_linear_shares(subjects)
    keep_memory()
    fields: list[ReceptiveFields] = []
    with _bar() as bar:
        rows = write_parquet(output, _tables(found, subjects, fields, bar))
    titles = [subject.title for subject in subjects]
    caption = f"Influence on {found.num_nodes:,} nodes of {graph_title(found)}"
    pictures = [output.with_suffix(suffix) for suffix in FORMATS]
    save_figure(reach_figure(fields, titles, caption), pictures)
    if as_json:
        print(json.dumps([summary(title, field) for title, field in zip(titles, fields, strict=True)]))
    else:
        Console().print(summary_table(titles, fields))
        print(
            f"nodes: median, mean of the fewest nodes that hold {HELD:.0%} of the influence; reach: nodes within T hops"
        )
    print(f"{rows:,} rows are in {output}", file=sys.stderr)
    _report(pictures)


def _say_linear_shares(subjects: list[Subject]) -> None:
    for subject in subjects:
        if share := subject.run.config.linear_share:
            print(
                f"note: {share:g} of the output of {subject.title} is a linear model of a node's own features, which "
                "this influence leaves out",
                file=sys.stderr,
            )


def _tables(
    graph: Graph, subjects: list[Subject], fields: list[ReceptiveFields], bar: Progress
) -> Iterator[dict[str, Any]]:
    """Blocks of rows (run, node, source, hops, share); adds the receptive fields of each run to ``fields``."""
    nodes = np.arange(graph.num_nodes)
    for subject in subjects:
        blocks: list[ReceptiveFields] = []
        task = bar.add_task(subject.title, total=len(nodes))
        layers = subject.run.config.layers
        every = influences(subject.run.model, subject.inputs, nodes)
        for begin in range(0, len(nodes), TABLE_NODES):
            starts = nodes[begin : begin + TABLE_NODES]
            block = []
            for found in islice(every, len(starts)):
                block.append(found)
                bar.advance(task)
            blocks.append(ReceptiveFields.of(block, layers))
            node = np.repeat(starts, [len(found.nodes) for found in block])
            source = np.concatenate([found.nodes for found in block])
            yield {
                "run": subject.title,
                "node": node,
                "source": source,
                **_names(graph, node=node, source=source),
                "hops": np.concatenate([found.hops for found in block]).astype(np.int8),
                "share": np.concatenate([found.share for found in block]).astype(np.float32),
            }
        fields.append(ReceptiveFields.joined(blocks))


def _names(graph: Graph, **columns: np.ndarray) -> dict[str, list[str]]:
    """Columns with the names of the nodes in other columns, if the nodes have names."""
    if graph.node_names is None:
        return {}
    return {f"{column}_name": [graph.node_names[node] for node in nodes] for column, nodes in columns.items()}


def attention(
    folder: Path,
    by: By,
    layer: int | None,
    output: Path,
    weights: Path | None,
    graph: str | None,
    directed: bool,
    data_dir: Path | None,
    label: str | None = None,
    workers: int = 1,
    scratch: Path | None = None,
) -> None:
    """Draw the distribution of attention weights and write its numbers; with ``weights``, also every weight."""
    check_extra()
    pictures = figure_paths(output)
    table = pictures[0].with_suffix(".parquet")
    if weights is not None:
        check_table("--weights", weights)
        if weights == table:
            raise RunError(f"--weights {weights} is the table that --output {output} makes: choose another name")
    parts = open_parts(graph) if graph is not None and is_parts(graph) else None
    if parts is not None:
        if weights is not None:
            raise RunError("--weights looks at the whole graph in memory: leave it out for a graph in parts")
        run, found = find_run(folder), labels_of(parts)
    else:
        found, (subject,) = open_subjects([folder], graph, directed, data_dir, label)
        run = subject.run
    if by == "class" and (found.task != "multiclass" or found.batch is not None):
        what = "its graphs have the labels" if found.batch is not None else f"{found.name} is a {found.task} task"
        raise RunError(f"--by class needs one class per node, but {what}: choose all, layer or head")
    if by == "class" and not found.labelled.any():
        raise RunError(f"--by class needs labels, and {found.name} has none: choose all, layer or head")
    model = run.model
    if parts is not None:
        with new_folder(scratch, "--scratch"):
            boxes = attention_of_parts(run, parts, by, layer, workers, scratch)
    else:
        boxes = attention_statistics(model, subject.inputs, by, layer, found.num_classes)
    panels = _panels(by, boxes, found)
    which = "all layers" if by == "layer" else f"layer {boxes[0].layer} of {model.config.layers}"
    save_figure(attention_figure(panels, f"{model_title(run)} on {graph_title(found)}, {which}"), pictures)
    write_parquet(table, [_columns(boxes, found)])
    for title, own in panels:
        given = ", ".join(f"{step_name(box.given_to)} {box.median:.3f}" for box in own)
        print(f"{title}: median {given}")
    if weights is not None:
        layers = range(1, model.config.layers + 1) if by == "layer" else [boxes[0].layer]
        rows = write_parquet(weights, _weights(found, subject, layers))
        print(f"{rows:,} rows are in {weights}", file=sys.stderr)
    _report([table, *pictures])


def _panels(by: By, boxes: list[Box], graph: Graph) -> list[tuple[str, list[Box]]]:
    panels: dict[str, list[Box]] = {}
    for box in boxes:
        title = "all edges and heads" if by == "all" else f"layer {box.layer}"
        if box.head is not None:
            title = f"head {box.head + 1}"
        elif box.label is not None:
            title = class_name(graph, box.label)
        panels.setdefault(title, []).append(box)
    return list(panels.items())


def _columns(boxes: list[Box], graph: Graph) -> dict[str, Any]:
    numbers = ("count", "mean", "low", "q1", "median", "q3", "high", "largest")
    return {
        "layer": [box.layer for box in boxes],
        "head": [None if box.head is None else box.head + 1 for box in boxes],
        "class": [None if box.label is None else graph.class_names[box.label] for box in boxes],
        "given_to": [step_name(box.given_to) for box in boxes],
        **{name: [getattr(box, name) for box in boxes] for name in numbers},
    }


def _weights(graph: Graph, subject: Subject, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Every weight of some layers: one row per edge, head and representation (or refusal)."""
    heads = subject.run.config.heads
    for layer in layers:
        steps = attended(subject.run.model, layer)
        for block in attention_blocks(subject.run.model, subject.inputs, layer):
            shares = [*block.weight.unbind(1), block.refused]  # each [e, H]
            edges = len(block.source)
            source, target = block.source.numpy().repeat(heads), block.target.numpy().repeat(heads)
            for step, share in zip([*steps, None], shares, strict=True):
                yield {
                    "source": source,
                    "target": target,
                    **_names(graph, source=source, target=target),
                    "layer": np.full(edges * heads, layer, dtype=np.int8),
                    "head": np.tile(np.arange(1, heads + 1, dtype=np.int16), edges),
                    "given_to": step_name(step),
                    "weight": share.flatten().numpy(),
                }


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _report(paths: list[Path]) -> None:
    print(f"written: {', '.join(map(str, paths))}", file=sys.stderr)
