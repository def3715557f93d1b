"""Errors of running machines and of recorded files: two branches of the tree.

Import them from `unspiral.engine.errors`, where the whole tree is drawn.
"""

import attrs

from unspiral.engine.error_base import UnspiralError, suggestion

__all__ = [
    "CertificateError",
    "Deadlock",
    "EndlessDecision",
    "IllegalEvent",
    "JournalError",
    "NothingWillHappen",
    "OutOfRange",
    "RecordError",
    "RunError",
    "ScriptError",
    "SessionError",
    "StuckError",
    "TraceError",
]

_NAMED = 5  # tasks that a message names


class RunError(UnspiralError):
    """A running machine was answered wrongly, or is itself at fault."""


@attrs.define(str=False)
class IllegalEvent(RunError):
    """An event that the phase does not offer, or not now. Nothing has changed.

    Attributes:
        machine: the name of the machine.
        phase: where the run stands.
        event: what was sent.
        allowed: the events available here and now.
    """

    machine: str
    phase: str
    event: str
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        if not self.allowed:
            return (
                f"{self.machine}: the run has ended in {self.phase!r}, "
                f"it takes no event {self.event!r}"
            )
        return (
            f"{self.machine}: phase {self.phase!r} takes no event {self.event!r} now"
            f"{suggestion(self.event, self.allowed)}"
        )


@attrs.define(str=False)
class StuckError(RunError):
    """No alternative applies: the declaration is not total (a fault of the machine).

    Attributes:
        machine: the name of the machine.
        phase: where the run stands.
        event: what was answered, or "" in a deciding phase.
        memory: the memory at that moment.
    """

    machine: str
    phase: str
    event: str
    memory: dict[str, int | bool | str]

    def __str__(self) -> str:
        what = f"event {self.event!r}" if self.event else "a decision"
        return (
            f"{self.machine}: no row of phase {self.phase!r} takes {what} with "
            f"{self.memory}; add an `otherwise` row"
        )


@attrs.define(str=False)
class OutOfRange(RunError):
    """An action leaves the domain of a counter (a fault of the machine).

    Attributes:
        machine: the name of the machine.
        row: the row whose action it is.
        counter: the counter.
        value: what it would become.
        low: the least value of its domain.
        high: the greatest value of its domain.
    """

    machine: str
    row: str
    counter: str
    value: int
    low: int
    high: int

    def __str__(self) -> str:
        return (
            f"{self.machine}: row {self.row!r} sets {self.counter} to {self.value}, "
            f"outside {self.low}..{self.high}; guard the row, or saturate with min/max"
        )


@attrs.define(str=False)
class EndlessDecision(RunError):
    """Deciding phases lead to no acting phase and no end (a fault of the machine).

    Attributes:
        machine: the name of the machine.
        phase: where the deciding began.
        decisions: how many were made before it was given up.
    """

    machine: str
    phase: str
    decisions: int

    def __str__(self) -> str:
        return (
            f"{self.machine}: after {self.decisions:,} decisions from phase "
            f"{self.phase!r} nobody was asked; some deciding phases form a cycle"
        )


@attrs.define(str=False)
class Deadlock(RunError):
    """A phase asks for an event and none is available (a fault of the machine).

    Attributes:
        machine: the name of the machine.
        phase: where the run stands.
        memory: the memory at that moment.
    """

    machine: str
    phase: str
    memory: dict[str, int | bool | str]

    def __str__(self) -> str:
        return (
            f"{self.machine}: phase {self.phase!r} offers no event with {self.memory}; "
            "make one always available"
        )


@attrs.define(str=False)
class NothingWillHappen(RunError):
    """In virtual time, everything waits and nothing can wake it: it would hang.

    Attributes:
        seconds: the virtual time since the beginning.
        tasks: the names of the tasks that wait.
    """

    seconds: float
    tasks: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.tasks[:_NAMED]) or "no task at all"
        more = len(self.tasks) - _NAMED
        names += f" and {more:,} more" if more > 0 else ""
        return (
            f"after {self.seconds:,.1f} virtual seconds nothing is ready, no timer is "
            f"set and nobody can wake the loop; waiting: {names} (a thread that "
            "asyncio has not started is not seen: use asyncio.to_thread)"
        )


@attrs.define(str=False)
class ScriptError(RunError):
    """A script does not fit the run.

    Attributes:
        machine: the name of the machine.
        position: how many events of the script were answered before.
        phase: where the run stands.
        event: the event that is not offered, or "" if the script is at its end.
        allowed: the events available here and now.
    """

    machine: str
    position: int
    phase: str
    event: str
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        here = f"{self.machine}: the run stands in phase {self.phase!r}"
        if not self.event:
            listed = ", ".join(self.allowed)
            return (
                f"{here} after all {self.position} events of the script; "
                f"go on with one of: {listed}"
            )
        number = f"event {self.event!r} (number {self.position + 1} of the script)"
        return f"{here}, which takes no {number}{suggestion(self.event, self.allowed)}"


class RecordError(UnspiralError):
    """A recorded file cannot be used."""


@attrs.define(str=False)
class TraceError(RecordError):
    """A trace or snapshot that is malformed or belongs to another machine.

    Attributes:
        problem: what is wrong.
        line: the line of the file, counted from 1, or 0.
    """

    problem: str
    line: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


@attrs.define(str=False)
class CertificateError(RecordError):
    """A certificate that does not hold.

    Attributes:
        field: the part of the certificate that is wrong.
        problem: what is wrong with it.
    """

    field: str
    problem: str

    def __str__(self) -> str:
        return f"certificate refused, {self.field}: {self.problem}"


@attrs.define(str=False)
class JournalError(RecordError):
    """A journal of requests and answers that cannot be read.

    Attributes:
        path: the file.
        line: its line, counted from 1, or 0 if it is about the whole file.
        problem: what is wrong.
    """

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.problem}"


@attrs.define(str=False)
class SessionError(RecordError):
    """A session that cannot be read: damaged, of another version, or not ours.

    Attributes:
        path: the file, or "".
        problem: what is wrong.
        event: the number of the event, counted from 1, or 0.
        line: the line of an exported file, counted from 1, or 0.
    """

    path: str
    problem: str
    event: int = 0
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        event = f"event {self.event}" if self.event else ""
        return ": ".join(each for each in (where, event, self.problem) if each)
