"""Show and export the results in a store, and merge the stores of several machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from justjump.experiments.reproduce import STORE_FILE
from justjump.experiments.store import Store
from justjump.experiments.words import count
from justjump.files import replace_file
from justjump.train import RunError


def store_file(place: Path) -> Path:
    """The file of a store that is named by its file or by its folder."""
    return place if place.is_file() or (place.suffix and not place.is_dir()) else place / STORE_FILE


def results(place: Path, merge: Sequence[Path], export_csv: Path | None, parquet: Path | None, as_json: bool) -> None:
    """Merge other stores into this one, export it, and print what it holds."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise RunError("results need pandas: pip install 'justjump[analysis]'") from error
    if merge:
        _merge(place, merge)
    with Store(store_file(place), read_only=True) as store:
        frame, failures = store.frame(), store.failures()
    if export_csv is not None:
        replace_file(export_csv, lambda path: frame.to_csv(path, index=False))
    if parquet is not None:
        replace_file(parquet, lambda path: frame.to_parquet(path, index=False))
    if as_json:
        print(json.dumps({"results": json.loads(frame.to_json(orient="records")), "failures": failures}))
        return
    for target in (export_csv, parquet):
        if target is not None:
            print(f"{count(len(frame), 'result')} in {target}", file=sys.stderr)
    if frame.empty:
        print("no results yet")
    else:
        _print(frame.assign(variant=_variant(frame)))
    for failure in failures:
        config = failure["config"]
        network = f"{config['model']} {config['layers']}/{config['hidden']}/{config['groups']}/{config['heads']}"
        print(f"failed: {failure['dataset']} {network} split {failure['seed']}: {failure['message']}")


def _merge(place: Path, others: Sequence[Path]) -> None:
    with Store(store_file(place)) as store:
        for other in others:
            if store_file(other).resolve() == store_file(place).resolve():
                raise ValueError(f"--merge {other} is the store itself")
            with Store(store_file(other), read_only=True) as theirs:
                merged = store.merge(theirs)
            print(f"{other}: {count(merged.added, 'result')} added, {merged.known} were here already", file=sys.stderr)
            if merged.different:
                print(
                    f"  {len(merged.different)} of them differ and stay as they are here ({merged.different[0]}, ...): "
                    "was another version or another instruction set used?",
                    file=sys.stderr,
                )


def _variant(frame: Any) -> Any:
    """The model, with its jumping knowledge if it has some."""
    jump = frame["config.jump"].where(frame["config.jump"] != "none", "")
    return (frame["config.model"] + " " + jump).str.strip()


def _print(frame: Any) -> None:
    """One line per dataset and kind of network."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("dataset", "model", "configurations", "runs", "best test", "seconds"):
        table.add_column(column, justify="left" if column in ("dataset", "model") else "right")
    sizes = [f"config.{name}" for name in ("layers", "hidden", "groups", "heads")]
    for (_, variant), group in frame.groupby(["dataset", "variant"]):
        tests = group["test_accuracy"].astype(float).groupby([group[size] for size in sizes]).mean()
        name, counts = group["graph_name"].iloc[0], (str(len(tests)), str(len(group)))
        table.add_row(name, variant, *counts, f"{100 * tests.max():.2f}", f"{group['seconds'].sum():,.0f}")
    Console().print(table)
    print("best test: best mean of a configuration, for orientation only; sweep chooses on validation")
