"""A machine inside your own agent: you do the work, it says what comes next.

Sans I/O: a run performs nothing and waits for nothing. Your loop does what the current
phase asks for, sends what came of it as an event, and is told the next phase, with the
reason, or the terminal, and why no other way was taken. A run can be put down as plain
JSON at any moment and taken up again elsewhere.
"""

from collections.abc import Mapping

import attrs

from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.plain import (
    identity,
    plain_memory,
    read_snapshot,
    read_table,
    require_keys,
    same,
)
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import EndlessDecision, IllegalEvent, TraceError

__all__ = ["Decision", "Refusal", "Run", "settle", "start"]

FORMAT, VERSION = "unspiral.run", 1
MAX_DECISIONS = 10_000  #: between two questions to the environment
_KEYS = (
    "format",
    "version",
    "machine",
    "edition",
    "digest",
    "limits",
    "assumptions",
    "phase",
    "memory",
)


@attrs.frozen
class Refusal:
    """An alternative that was asked and not taken.

    Attributes:
        row: its row.
        target: where it would have led.
        guard: its guard, with limits put in.
        verdict: what the guard said.
    """

    row: str
    target: str
    guard: str
    verdict: bool = False

    def __str__(self) -> str:
        return f"not {self.row} -> {self.target}: {self.guard} is false"


@attrs.frozen
class Decision:
    """What a run says after an event.

    Attributes:
        phase: the phase that you must perform next, or None at the end.
        reason: the reason of the last continue taken, or "".
        terminal: the terminal reason, or None while the run goes on.
        steps: the rows taken: that of the event and those of the phases that decide.
        why_not: every alternative that was asked and refused, in order.
        allowed: the events that may be sent next.
    """

    phase: str | None
    reason: str
    terminal: str | None
    steps: tuple[Step, ...]
    why_not: tuple[Refusal, ...]
    allowed: tuple[str, ...]


class Run:
    """A run of one machine at fixed limits; made by `start` or `Run.resume`.

    Attributes:
        table: the machine at its limits.
        decision: what was said last.
    """

    def __init__(self, table: Table, snapshot: Snapshot) -> None:
        steps = settle(table, snapshot)
        self.table = table
        self._snapshot = steps[-1].after if steps else snapshot
        self.decision = _decision(table, steps, self._snapshot)

    @property
    def phase(self) -> str:
        """Return the phase that must be performed, or the terminal."""
        return self._snapshot.phase

    @property
    def finished(self) -> bool:
        """Tell whether a terminal is reached."""
        return self.phase in self.table.terminals

    @property
    def memory(self) -> dict[str, int | bool | str]:
        """Return the memory by name."""
        return plain_memory(self.table, self._snapshot)

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the events that may be sent now."""
        return self.decision.allowed

    def send(self, event: str) -> Decision:
        """Say what came of the phase; be told what is next.

        Raises:
            IllegalEvent: the phase does not offer this event now. Nothing has changed,
                and the error lists the events that it offers.
            StuckError: no alternative applies (a fault of the machine).
            OutOfRange: an action leaves a counter's domain (a fault of the machine).
            EndlessDecision: the machine decides without end (a fault of the machine).
        """
        if event not in self.allowed:
            machine = self.table.machine.name
            raise IllegalEvent(machine, self.phase, str(event)[:100], self.allowed)
        first = step(self.table, self._snapshot, event)
        steps = [first, *settle(self.table, first.after)]
        self._snapshot = steps[-1].after
        self.decision = _decision(self.table, steps, self._snapshot)
        return self.decision

    def snapshot(self) -> dict[str, object]:
        """Return the state of the run as plain values for `json.dumps`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **identity(self.table),
            "phase": self.phase,
            "memory": self.memory,
        }

    @classmethod
    def resume(cls, machine: Machine, snapshot: Mapping[str, object]) -> "Run":
        """Take up a run where a snapshot says that it stood.

        Raises:
            TraceError: the snapshot is of another machine or version of it, malformed,
                or says what cannot be (an unknown phase, memory outside its domain).
        """
        if not isinstance(snapshot, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise TraceError("a snapshot must be an object")
        if snapshot.get("format") != FORMAT:
            raise TraceError(f"the snapshot does not say format {FORMAT!r}")
        if not same(snapshot.get("version"), VERSION):
            raise TraceError(f"only version {VERSION} of the format can be read")
        require_keys(snapshot, _KEYS)
        table = read_table(machine, snapshot)
        here = read_snapshot(table, snapshot["phase"], snapshot["memory"])
        if here.phase in table.phases and not table.events[here.phase]:
            problem = f"phase {here.phase!r} decides: no run rests in it"
            raise TraceError(problem)
        return cls(table, here)


def start(
    machine: Machine,
    limits: Mapping[str, LimitValue] | None = None,
    *,
    edition: str | None = None,
) -> Run:
    """Start a run of a machine inside your own agent.

    Args:
        machine: the machine.
        limits: values that override those of the edition.
        edition: the name of an edition; the machine's first unless given.

    Raises:
        DeclarationError: the machine cannot be compiled.
        UnknownName: no such edition or limit.
        BadValue: a limit cannot have this value.
        RunError: the machine begins with a decision that it cannot make.
    """
    table = compile_table(machine, edition, limits)
    return Run(table, initial_snapshot(table))


def settle(table: Table, snapshot: Snapshot) -> list[Step]:
    """Take the steps of deciding phases until the environment is asked or the end.

    Raises:
        EndlessDecision: they lead to no question to the environment.
    """
    steps: list[Step] = []
    here = snapshot
    while here.phase in table.events and not table.events[here.phase]:
        if len(steps) == MAX_DECISIONS:
            machine = table.machine.name
            raise EndlessDecision(machine, snapshot.phase, MAX_DECISIONS)
        steps.append(step(table, here))
        here = steps[-1].after
    return steps


def _decision(table: Table, steps: list[Step], here: Snapshot) -> Decision:
    ended = here.phase in table.terminals
    reasons = [each.row.reason for each in steps if each.row.reason]
    return Decision(
        phase=None if ended else here.phase,
        reason=reasons[-1] if reasons else "",
        terminal=here.phase if ended else None,
        steps=tuple(steps),
        why_not=tuple(
            Refusal(row.name, row.target, row.guard_text or "True")
            for each in steps
            for row in each.row.earlier
        ),
        allowed=available_events(table, here),
    )
