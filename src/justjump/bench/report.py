"""The bench command: run the cases, print the table."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from justjump.bench.cases import CASES
from justjump.bench.compare import Limits, Measured, limits, measure
from justjump.bench.growth import CONFIG, EDGES, grow
from justjump.data import is_available
from justjump.files import replace_text
from justjump.ops import native


def bench(
    names: list[str],
    threads: int,
    repetitions: int,
    synthetic: bool,
    keep_memory: bool,
    data_dir: Path | None,
    as_json: bool,
    markdown: Path | None,
    csv_file: Path | None,
) -> None:
    """Measure the named cases (all where none is named) and print them."""
    for name in names:
        if name not in CASES:
            raise ValueError(f"there is no case {name!r}: choose from {', '.join(CASES)}")
    names = names or list(CASES)
    folder = None if data_dir is None else str(data_dir)
    missing = sorted({CASES[name].dataset for name in names if not is_available(CASES[name].dataset, folder)})
    if missing and not synthetic:
        raise ValueError(
            f"the files of {', '.join(missing)} are not here: name their folder with --data-dir, load them once with "
            "justjump.load, or use --synthetic for random graphs of the same size"
        )
    if csv_file is not None:
        earlier_runs(csv_file)  # a file that the rows do not fit is told before minutes of measuring
    machine = limits(threads)
    console = Console(stderr=True)
    rows = [
        measure(name, threads, repetitions, synthetic, keep_memory, folder, machine)
        for name in track(names, "measuring both sides in turn", console=console, disable=not console.is_terminal)
    ]
    if as_json:
        print(json.dumps({"machine": describe(threads), **asdict(machine), "cases": [asdict(row) for row in rows]}))
    else:
        Console().print(table(rows))
        print(describe(threads))
        print("bar: the ratio we set out for; gather, FLOP: our attention's rates as a share of the limits")
        print(f"limits in this run: copy {machine.copy_gb:.1f} GB/s, matmul {machine.matmul_gflop:.0f} GFLOP/s")
    if markdown is not None:
        replace_text(markdown, as_markdown(rows, machine, threads, synthetic))
    if csv_file is not None:
        words = (("some cases", len(names) < len(CASES)), ("synthetic", synthetic), ("keep-memory", keep_memory))
        note = "; ".join(word for word, holds in words if holds)
        replace_text(csv_file, earlier_runs(csv_file) + as_csv(rows, threads, note))


def growth(threads: int, as_json: bool, markdown: Path | None) -> None:
    """Measure a training step on random graphs of growing size."""
    console = Console(stderr=True)
    sizes = track(EDGES, "training on random graphs", console=console, disable=not console.is_terminal)
    rows = [grow(edges, threads) for edges in sizes]
    head = ("edges", "nodes", "seconds per step", "ns / edge / T", "peak MB", "bytes / edge")
    body = [
        (
            f"{row.edges:,}",
            f"{row.nodes:,}",
            f"{row.seconds:.2f}",
            f"{row.nanoseconds_per_edge:.1f}",
            f"{row.memory_mb:,.0f}",
            f"{2**20 * row.memory_mb / row.edges:.0f}",
        )
        for row in rows
    ]
    if as_json:
        print(json.dumps({"machine": describe(threads), "sizes": [asdict(row) for row in rows]}))
    else:
        result = Table(*head, box=SIMPLE_HEAD, pad_edge=False)
        for line in body:
            result.add_row(*line)
        Console().print(result)
    if markdown is not None:
        lines = [f"| {' | '.join(head)} |", "|---:" * len(head) + "|", *(f"| {' | '.join(line)} |" for line in body)]
        text = "\n".join(lines) + f"\n\n{time.strftime('%Y-%m-%d')}; {describe(threads)}. Network: DNA "
        text += f"{CONFIG.notation} (layers/hidden/groups/heads), T = 1, 2, 3.\n"
        replace_text(markdown, text)


HEAD = ("case", "PyG ms", "ours ms", "ratio", "bar", "PyG MB", "ours MB", "gather", "FLOP")


def cells(row: Measured) -> tuple[str, ...]:
    """A row of the table as text; shares are of the limits measured in the same run."""
    return (
        row.name,
        _number(row.pyg_ms),
        _number(row.ours_ms),
        f"{row.ratio:.0f}x" if row.ratio >= 10 else f"{row.ratio:.1f}x",
        f"{row.bar:.0f}x" if row.bar else "-",
        f"{row.pyg_mb:,.0f}",
        f"{row.ours_mb:,.0f}",
        _percent(row.gathered_share),
        _percent(row.flop_share),
    )


def table(rows: list[Measured]) -> Table:
    """Forward + backward (layers) or a whole training step, medians."""
    result = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in HEAD:
        result.add_column(title, justify="left" if title == "case" else "right", no_wrap=title != "case")
    for row in rows:
        result.add_row(*cells(row))
    return result


def as_markdown(rows: list[Measured], machine: Limits, threads: int, synthetic: bool) -> str:
    """The table for a results page, with the machine and the date."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" + "|---:" * (len(HEAD) - 1) + "|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    graphs = "random graphs of the datasets' sizes" if synthetic else "the real datasets"
    return (
        "\n".join(lines)
        + f"\n\n{time.strftime('%Y-%m-%d')}; {describe(threads)}; {graphs}. Limits measured in the same run: copy "
        f"{machine.copy_gb:.1f} GB/s, matmul {machine.matmul_gflop:.0f} GFLOP/s.\n"
    )


COLUMNS = ("date", "commit", "case", "pyg_ms", "ours_ms", "ratio", "pyg_mb", "ours_mb", "threads", "note")


def earlier_runs(path: Path) -> str:
    """The text of a file of runs, the heading alone where there is none."""
    heading = ",".join(COLUMNS) + "\n"
    if not path.exists():
        return heading
    text = path.read_text(encoding="utf-8")
    if not text.startswith(heading):
        raise ValueError(f"{path} does not begin with the line {heading.strip()}: name a file of this command")
    return text if text.endswith("\n") else text + "\n"


def as_csv(rows: list[Measured], threads: int, note: str) -> str:
    """A line for each case; an empty note stands for all cases on the real datasets, each side as its users get it."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    date, commit = time.strftime("%Y-%m-%d"), checkout()
    for row in rows:
        numbers = (f"{value:.4g}" for value in (row.pyg_ms, row.ours_ms, row.ratio))
        writer.writerow((date, commit, row.case, *numbers, f"{row.pyg_mb:.0f}", f"{row.ours_mb:.0f}", threads, note))
    return lines.getvalue()


def checkout() -> str:
    """The commit of the sources that run, empty where they are no checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def describe(threads: int) -> str:
    """The machine and the software in one line."""
    import torch_geometric

    return (
        f"{processor()}, {os.cpu_count()} cores, {threads} threads, torch {torch.__version__}, "
        f"torch_geometric {torch_geometric.__version__}, kernels: {native.isa() if native.available() else 'none'}"
    )


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _number(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
