"""Run all fuzzers in turn for some seconds each, and print cases, coverage and findings.

    python fuzz/run.py --seconds 60 kernels npz planetoid csv parquet run threads

What libFuzzer says goes to build/fuzz/<target>.log. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "fuzz"
FINDINGS = HERE / "findings"
TARGETS = ("kernels", "npz", "planetoid", "csv", "parquet", "run", "threads")
MOST_RESTARTS = 20
_MEMORY_MB, _PATIENCE = 2048, 30  # of one case
# Of freed memory, the last 8 MB are watched, which is more than most cases take. A finding is run again by hand anyway:
# no stack is kept for each allocation.
_SANITIZER = {"ASAN_OPTIONS": "malloc_context_size=0:quarantine_size_mb=8:max_malloc_fill_size=0"}


def kernels(seconds: float, cases: int, seed: int) -> int:
    """libFuzzer ends at a finding: begin again until the time is over. Returns the number of findings."""
    own, found = FINDINGS / "kernels", FINDINGS / "corpus" / "kernels"
    for folder in (own, found):
        folder.mkdir(parents=True, exist_ok=True)
    start, done, coverage, kinds = time.monotonic(), 0, 0, set()
    for restart in range(MOST_RESTARTS):
        left = seconds - (time.monotonic() - start)
        if left < 1 or (cases and done >= cases):
            break
        flags = [
            f"-max_total_time={int(left)}", f"-artifact_prefix={own}/", "-max_len=23", "-print_final_stats=1",
            f"-rss_limit_mb={_MEMORY_MB}", f"-timeout={_PATIENCE}", f"-seed={seed + restart}",
            "-reload=0", "-entropic=0",  # weighing every edge of every case takes longer than the case
        ]  # fmt: skip
        flags += [f"-runs={cases - done}"] if cases else []
        command = [str(BUILD / "fuzz" / "fuzz_kernels"), *flags, str(found), str(HERE / "corpus/kernels")]
        log = _log("kernels", command, _SANITIZER)
        done += int(
            (re.findall(r"number_of_executed_units: (\d+)|^#(\d+)", log, re.MULTILINE) or [("0", "")])[-1][0] or 0
        )
        coverage = max([coverage, *map(int, re.findall(r"cov: (\d+)", log))])
        kind = re.search(r"FINDING: .*|SUMMARY: .*|runtime error: .*", log)
        if kind is None:
            break
        kinds.add(kind.group())
        print(f"kernels: {kind.group()}", *re.findall(r"written to (\S+)", log)[-1:], flush=True)
    took = time.monotonic() - start
    rate = done / max(took, 1e-9)
    print(f"kernels: {done} cases in {took:.0f} s ({rate:.0f} per second), coverage {coverage}; {len(kinds)} findings")
    return len(kinds)


def reader(target: str, seconds: float, cases: int, seed: int) -> int:
    command = [sys.executable, str(HERE / "readers.py"), target, "--seconds", str(seconds), "--cases", str(cases)]
    command += ["--seed", str(seed)]
    log = _log(target, command)
    lines = [line for line in log.splitlines() if line.startswith(f"{target}: ")]
    coverage = re.findall(r"cov: (\d+)", log)
    print(*(lines or [f"{target}: ended without a report, see {BUILD / target}.log"]), sep="\n", end="")
    print(f", coverage {coverage[-1]}" if coverage else "", flush=True)
    return sum("FINDING" in line for line in lines) + (not lines)


def threads(seconds: float) -> int:
    log = _log("threads", [str(BUILD / "fuzz" / "fuzz_threads"), str(seconds)])
    warnings = re.findall(r"WARNING: ThreadSanitizer.*|fuzz_threads: .*", log)
    jobs = re.findall(r"^threads: .*", log, re.MULTILINE)
    print(*(warnings or jobs or [f"threads: ended without a report, see {BUILD / 'threads.log'}"]), sep="\n")
    return len(warnings) + (not jobs and not warnings)


def _log(target: str, command: list[str], settings: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run a command with its output in a file. Ctrl-C reaches the command, too: it ends by itself, and so do we."""
    path = BUILD / f"{target}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **settings})
        try:
            process.wait()
        except KeyboardInterrupt:
            process.wait(timeout=60)
            raise
    return path.read_text(errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=TARGETS, help="all of them by default")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument(
        "--cases", type=int, default=0, help="end a target after so many cases; 0: when the time is over"
    )
    parser.add_argument("--seed", type=int, default=1, help="another one for another million of cases")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"there is no target {sorted(unknown)[0]}: choose from {', '.join(TARGETS)}")
    findings = 0
    try:
        for target in options.targets:
            print(f"{target}: is being loaded, and then runs for {options.seconds:g} s", flush=True)
            if target == "kernels":
                findings += kernels(options.seconds, options.cases, options.seed)
            elif target == "threads":
                findings += threads(options.seconds)
            else:
                findings += reader(target, options.seconds, options.cases, options.seed)
    except KeyboardInterrupt:
        sys.exit("stopped")
    print(f"{findings} findings" + (f": see {FINDINGS.relative_to(HERE.parent)}" if findings else ""))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
