"""Traces: lists of steps, as values and as JSON lines.

The first line says of which machine at which limits the trace is, every further line
is one step. Reading takes each step again on the table that the caller has, so a trace
that was cut, edited or made by another machine is refused, and what is returned is
what `step` says. This module knows text, not files.
"""

import json
from collections.abc import Iterable

import attrs

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.plain import (
    identity,
    parse_object,
    plain_memory,
    read_table,
    require_identity,
    require_keys,
    same,
)
from unspiral.engine.core.step import Snapshot, Step, initial_snapshot, step
from unspiral.engine.core.table import Table
from unspiral.engine.errors import RunError, TraceError

__all__ = ["MAX_CHARACTERS", "MAX_STEPS", "Trace", "dump", "load", "record", "table_of"]

FORMAT, VERSION = "unspiral.trace", 1
MAX_CHARACTERS = 256 * 2**20  #: of the text of a trace; a longer one is refused
MAX_STEPS = 1_000_000  #: of a trace; a longer one is refused
_MAX_LINE = 100_000

_HEAD = (
    "format",
    "version",
    "machine",
    "edition",
    "digest",
    "limits",
    "assumptions",
    "steps",
)
_STEP = ("phase", "event", "row", "reason", "target", "memory", "asked")


@attrs.frozen(eq=False)
class Trace:
    """A run, or its beginning, on one table.

    Attributes:
        table: the machine at its limits.
        steps: the steps, from the start of the run.
    """

    table: Table
    steps: tuple[Step, ...]

    @property
    def machine(self) -> str:
        """Return the name of the machine."""
        return self.table.machine.name

    @property
    def edition(self) -> str:
        """Return the name of the edition, or ""."""
        return self.table.edition

    @property
    def digest(self) -> str:
        """Return the fingerprint of the table."""
        return self.table.digest

    @property
    def last(self) -> Snapshot:
        """Return the snapshot after the last step."""
        return self.steps[-1].after if self.steps else initial_snapshot(self.table)

    @property
    def terminal(self) -> str:
        """Return the terminal in which the run ended, or "" if it has not."""
        return self.last.phase if self.last.phase in self.table.terminals else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the continue reasons in the order taken."""
        return tuple(each.row.reason for each in self.steps if each.row.reason)

    @property
    def cost(self) -> dict[str, int]:
        """Return what all steps cost together."""
        total: dict[str, int] = {}
        for each in self.steps:
            for name, amount in each.row.cost.items():
                total[name] = total.get(name, 0) + amount
        return total


def record(table: Table, events: Iterable[str | None]) -> Trace:
    """Return the trace of a run in which these events are answered, one a step.

    Args:
        table: the machine.
        events: the answers; None at each step of a deciding phase.

    Raises:
        RunError: an event that is not offered, or a fault of the machine.
    """
    steps: list[Step] = []
    here = initial_snapshot(table)
    for event in events:
        steps.append(step(table, here, event))
        here = steps[-1].after
    return Trace(table, tuple(steps))


def dump(trace: Trace) -> str:
    """Return a trace as JSON lines."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        **identity(trace.table),
        "steps": len(trace.steps),
    }
    lines = [head, *(_plain(trace.table, each) for each in trace.steps)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _plain(table: Table, taken: Step) -> dict[str, object]:
    return {
        "phase": taken.before.phase,
        "event": taken.event,
        "row": taken.row.name,
        "reason": taken.row.reason,
        "target": taken.row.target,
        "memory": plain_memory(table, taken.after),
        "asked": [[row.name, verdict] for row, verdict in taken.asked],
    }


def load(text: str, table: Table) -> Trace:
    """Read a trace of this table; every step is taken again.

    Raises:
        TraceError: it is malformed, cut, edited, too large, or of another machine or
            other limits; the error names the line.
    """
    lines = _lines(text)
    head = _head(lines)
    require_identity(head, table, line=1)
    if not same(head["steps"], len(lines) - 1):
        problem = f"{len(lines) - 1} steps follow, not {str(head['steps'])[:20]}"
        raise TraceError(f"the trace was cut or joined: {problem}", 1)
    steps: list[Step] = []
    here = initial_snapshot(table)
    for number, line in enumerate(lines[1:], 2):
        steps.append(_step(line, number, table, here))
        here = steps[-1].after
    return Trace(table, tuple(steps))


def table_of(text: str, machine: Machine) -> Table:
    """Compile the machine at the edition, limits and assumptions that a trace names.

    Raises:
        TraceError: the trace is malformed, or of another machine.
    """
    return read_table(machine, _head(_lines(text)), line=1)


def _lines(text: str) -> list[str]:
    if len(text) > MAX_CHARACTERS:
        problem = f"{len(text):,} characters; at most {MAX_CHARACTERS:,} are read"
        raise TraceError(problem)
    # Not splitlines: a name in JSON may hold other line ends than "\n".
    lines = text.split("\n")
    if lines[-1].strip():
        raise TraceError("the last line has no end: the trace was cut", len(lines))
    lines.pop()
    if not lines:
        raise TraceError("the trace is empty", 1)
    if len(lines) - 1 > MAX_STEPS:
        raise TraceError(f"{len(lines) - 1:,} steps; at most {MAX_STEPS:,} are read")
    for number, line in enumerate(lines, 1):
        if len(line) > _MAX_LINE:
            problem = f"{len(line):,} characters; at most {_MAX_LINE:,} are read"
            raise TraceError(problem, number)
    return lines


def _head(lines: list[str]) -> dict[str, object]:
    head = parse_object(lines[0], line=1)
    if head.get("format") != FORMAT:
        raise TraceError(f"the first line does not say format {FORMAT!r}", 1)
    if not same(head.get("version"), VERSION):
        raise TraceError(f"only version {VERSION} of the format can be read", 1)
    require_keys(head, _HEAD, line=1)
    return head


def _step(line: str, number: int, table: Table, here: Snapshot) -> Step:
    found = parse_object(line, number)
    require_keys(found, _STEP, number)
    event = found["event"]
    if event is not None and not isinstance(event, str):
        raise TraceError("event must be a string or null", number)
    if found["phase"] != here.phase:
        problem = f"the run stands in {here.phase!r}, and this step is elsewhere"
        raise TraceError(problem, number)
    try:
        taken = step(table, here, event)
    except RunError as error:
        raise TraceError(str(error), number) from None
    for key, value in _plain(table, taken).items():
        if not same(found[key], value):
            problem = f"{key} is not what the machine says, {str(value)[:200]}"
            raise TraceError(problem, number)
    return taken
