"""Full exploration and verdict of the reference loop, beside SPIN on the same loop.

Everything is measured in turn in one run, each in a process of its own; the times of
SPIN leave out compiling. Read the ratios: the absolute numbers belong to the machine on
which they were measured.

    python benchmarks/explore.py [tiny|S|M ...]

SPIN (Debian packages `spin` and `gcc`) gets a Promela text printed from our table
(`benchmarks/promela.py`); where it is not installed its columns are left out. Its plain
search stores a few states more, one for each way in which its process ends.
"""

import multiprocessing
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

import attrs

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.promela import promela
from benchmarks.reference_loop import SIZES, reference_loop
from unspiral.engine.check import check
from unspiral.engine.core.table import compile_table

__all__ = ["Measure", "full", "have_spin", "main", "spin", "verdict"]

T = TypeVar("T")
KIB, MIB = 2**10, 2**20
HASH_BITS = {"tiny": 18, "S": 22, "M": 26}


@attrs.frozen
class Measure:
    """What one program said, how long it took and what it kept in memory.

    Attributes:
        answer: its verdict.
        states: the states that it stored.
        transitions: the transitions that it took.
        seconds: how long that took.
        memory: the bytes that it needed for it, 0 if that was not measured.
    """

    answer: str
    states: int
    transitions: int
    seconds: float
    memory: int = 0

    @property
    def rate(self) -> float:
        """Return the states a second."""
        return self.states / max(self.seconds, 1e-9)


def full(size: str) -> Measure:
    """Explore every state, nothing reduced."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = check(reference_loop(*SIZES[size]), full=True)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = (after - before) * KIB
    answer = said.verdict.value
    return Measure(answer, said.states, said.transitions, said.seconds, memory)


def verdict(size: str) -> Measure:
    """Get the verdict with its bounds, with all reductions."""
    said = check(reference_loop(*SIZES[size]))
    most = said.bounds.model_calls_per_run if said.bounds else None
    answer = f"{said.verdict.value}, at most {most:,} model calls"
    return Measure(answer, said.states, said.transitions, said.seconds)


def have_spin() -> bool:
    """Tell whether SPIN can be run."""
    return all(shutil.which(tool) for tool in ("spin", "gcc"))


def spin(size: str, *, termination: bool) -> Measure:
    """Let SPIN search the same loop: all states, or a run that does not end."""
    options = ["-DTERMINATION"] if termination else []
    safety = [] if termination else ["-DSAFETY"]
    search = [f"-w{HASH_BITS[size]}", "-m2000000", *(["-a"] if termination else [])]
    with tempfile.TemporaryDirectory() as folder:
        text = promela(compile_table(reference_loop(*SIZES[size])))
        Path(folder, "loop.pml").write_text(text, "ascii")
        _run(folder, "spin", *options, "-a", "loop.pml")
        _run(folder, "gcc", "-O2", "-DNOREDUCE", *safety, "-o", "pan", "pan.c")
        said = _run(folder, "./pan", *search)
    errors = _number(said, r"errors: (\d+)")
    return Measure(
        answer="a run does not end" if errors else "no error",
        states=_number(said, r"([\d.e+]+) states, stored"),
        transitions=_number(said, r"([\d.e+]+) transitions"),
        seconds=float(_found(said, r"elapsed time ([\d.]+) s") or "0"),
        memory=int(float(_found(said, r"([\d.]+)\s+total actual memory")) * MIB),
    )


def _run(folder: str, *command: str) -> str:
    done = subprocess.run(  # noqa: S603 - commands of this file
        command, cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def _found(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _number(text: str, pattern: str) -> int:
    return int(float(_found(text, pattern) or "0"))  # large ones as 2.6e+08


def _apart(ask: Callable[[str], T], size: str) -> T:
    """Ask in a process of its own, so that memory is counted from nothing."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as processes:
        return processes.submit(ask, size).result()


def _line(name: str, measure: Measure) -> str:
    each = measure.memory / max(measure.states, 1)
    memory = f"{each:>6.0f} B/state" if measure.memory else ""
    return (
        f"  {name:<24}{measure.states:>13,} states {measure.transitions:>13,} "
        f"transitions {measure.seconds:>9.2f} s {measure.rate:>12,.0f} states/s "
        f"{memory}  {measure.answer}".rstrip()
    )


def main(*sizes: str) -> None:
    """Measure and print."""
    for size in sizes or ("S",):
        print(f"reference loop, size {size} {SIZES[size]}")
        ours, answer = _apart(full, size), _apart(verdict, size)
        print(_line("full exploration", ours))
        print(_line("verdict with bounds", answer))
        if not have_spin():
            print("  SPIN is not installed: its lines are left out")
            continue
        theirs = spin(size, termination=False)
        ending = spin(size, termination=True)
        print(_line("SPIN, all states", theirs))
        print(_line("SPIN, termination", ending))
        faster = ending.seconds / max(answer.seconds, 1e-9)
        print(f"  states a second: {ours.rate / theirs.rate:.1f} x SPIN's")
        print(f"  verdict: {faster:.1f} x faster than SPIN's termination check")


if __name__ == "__main__":
    main(*sys.argv[1:])
