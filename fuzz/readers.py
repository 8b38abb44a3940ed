"""Fuzz one reader: with atheris guided by coverage, without it by mutations of the corpus that a seed determines.

    python fuzz/readers.py npz --seconds 60

A reader must succeed or raise one of the library's own errors, within a limit of memory and time. What does not goes to
fuzz/findings/<target>/, in its smallest form that was found.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import atheris
except ImportError:
    atheris = None

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]
# atheris instruments nothing that the finder of an editable install finds: it comes last, for the native module alone.
sys.meta_path.sort(key=lambda finder: type(finder).__module__.startswith("_editable"))
MEMORY = 2**30  # bytes that a reader may take besides what is there
PATIENCE = 10  # seconds for one input
MODULES = ("justjump.data", "justjump.train", "justjump.files", "justjump.options", "justjump.nn")


class TooSlowError(BaseException):
    """An input took longer than PATIENCE. No reader catches it."""


class Fuzzer:
    """Runs inputs, and keeps each kind of finding once: by the error and the line that raised it."""

    def __init__(self, target: str, seed: int) -> None:
        self.target, self.rng = target, random.Random(seed)
        self.cases, self.results, self.findings = 0, Counter[str](), dict[str, Path]()
        self.start = time.monotonic()
        self.corpus = [path.read_bytes() for path in sorted((HERE / "corpus" / target).glob("*"))]

    def run(self, data: bytes) -> None:
        self.cases += 1
        try:
            with _limited_time():
                from targets import attempt

                self.results[attempt(self.target, data)] += 1
        except (Exception, TooSlowError) as error:
            self.results["findings"] += 1
            self.keep(data, error)

    def keep(self, data: bytes, error: BaseException) -> None:
        kind = describe(error)
        if kind in self.findings:
            return
        self.findings[kind] = Path()  # while it is minimised, the same finding is none
        data = self.minimised(data, kind)
        folder = HERE / "findings" / self.target
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.sha256(kind.encode()).hexdigest()[:12]
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))
        self.findings[kind] = path
        print(f"{self.target}: FINDING {kind}: {path}", flush=True)

    def minimised(self, data: bytes, kind: str) -> bytes:
        """Cut pieces off as long as the finding stays the same."""
        if "TooSlowError" in kind:
            return data
        size, tries = len(data) // 2, 0
        while size and tries < 400:
            at = 0
            while at < len(data) and tries < 400:
                shorter, tries = data[:at] + data[at + size :], tries + 1
                if self.fails_as(shorter, kind):
                    data = shorter
                else:
                    at += size
            size //= 2
        return data

    def fails_as(self, data: bytes, kind: str) -> bool:
        from targets import attempt

        try:
            with _limited_time():
                attempt(self.target, data)
        except (Exception, TooSlowError) as error:
            return describe(error) == kind
        return False

    def report(self) -> None:
        seconds = time.monotonic() - self.start
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.results.items()))
        rate = self.cases / max(seconds, 1e-9)
        print(f"{self.target}: {self.cases} files in {seconds:.0f} s ({rate:.0f} per second): {counts or 'none'}; "
              f"{len(self.findings)} kinds of findings", flush=True)  # fmt: skip


def describe(error: BaseException) -> str:
    """The error and the last line of justjump's that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "justjump" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "targets"
    return f"{type(error).__name__} at {place}"


@contextmanager
def _limited_time() -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise TooSlowError(f"longer than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def limit_memory() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def by_mutation(fuzzer: Fuzzer, seconds: float, cases: int) -> None:
    from mutate import mutate

    end = time.monotonic() + seconds
    while time.monotonic() < end and (cases == 0 or fuzzer.cases < cases):
        fuzzer.run(mutate(fuzzer.rng.choice(fuzzer.corpus), fuzzer.rng, fuzzer.corpus))


def by_coverage(fuzzer: Fuzzer, seconds: float, cases: int) -> None:
    """libFuzzer does not return, so the report comes from inside."""
    from mutate import mutate

    def mutator(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.3:
            return bytes(atheris.Mutate(data, len(data)))
        return mutate(data, rng, fuzzer.corpus)[:max_size]

    def one(data: bytes) -> None:
        try:
            fuzzer.run(data)
            if time.monotonic() < end and fuzzer.cases != cases:
                return
        except KeyboardInterrupt:
            print("stopped", flush=True)
        fuzzer.report()
        os._exit(1 if fuzzer.findings else 0)

    found = HERE / "findings" / "corpus" / fuzzer.target  # inputs that reach new code, beside the ones that are kept
    found.mkdir(parents=True, exist_ok=True)
    flags = ["-rss_limit_mb=0", f"-timeout={4 * PATIENCE}", "-max_len=20000", "-handle_int=0"]
    arguments = [sys.argv[0], *flags, f"-seed={fuzzer.rng.randrange(1, 2**31)}", str(found)]
    atheris.Setup([*arguments, str(HERE / "corpus" / fuzzer.target)], one, custom_mutator=mutator)
    end = time.monotonic() + seconds
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=["npz", "planetoid", "csv", "parquet", "run"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=0, help="end after so many inputs; 0: when the time is over")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="mutations alone, even where there is atheris")
    options = parser.parse_args()
    guided = atheris is not None and not options.plain
    if guided:
        with atheris.instrument_imports(include=list(MODULES), enable_loader_override=False):
            import targets
    else:
        import targets
    import torch

    torch.set_num_threads(1)
    fuzzer = Fuzzer(options.target, options.seed)
    for data in fuzzer.corpus:  # imports what readers import late, before time and memory are limited
        targets.attempt(options.target, data)
    limit_memory()
    with suppress(KeyboardInterrupt):
        (by_coverage if guided else by_mutation)(fuzzer, options.seconds, options.cases)
    fuzzer.report()
    sys.exit(1 if fuzzer.findings else 0)


if __name__ == "__main__":
    main()
