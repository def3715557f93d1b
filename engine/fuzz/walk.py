"""A run under test: answered event by event, and stopped by whatever goes wrong.

Phases that decide are taken at once, so that a run always waits for an event, has
ended, or is at fault. What a fault means, and whether laws hold, is for `judge` to say.
"""

from collections.abc import Iterable
from typing import Self, TypeAlias

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    memory_of,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.trace import Trace
from unspiral.engine.errors import Deadlock, EndlessDecision, RunError

__all__ = ["Subject", "Walk", "table_for"]

#: what strategies are made for: a machine at its first edition, or a compiled table
Subject: TypeAlias = Machine | Table


def table_for(subject: Subject) -> Table:
    """Return the table of a subject.

    Raises:
        DeclarationError: the machine cannot be compiled.
    """
    return subject if isinstance(subject, Table) else compile_table(subject)


class Walk:
    """One run.

    Attributes:
        table: the machine.
        events: what was answered, in order.
        steps: the steps taken, those of deciding phases too.
        here: where the run stands.
        options: the events that can be answered now; none at the end or at a fault.
        fault: why the run cannot go on, or None.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.events: list[str] = []
        self.steps: list[Step] = []
        self.here: Snapshot = initial_snapshot(table)
        self.options: tuple[str, ...] = ()
        self.fault: RunError | None = None
        self._settle()

    @classmethod
    def along(cls, table: Table, events: Iterable[str]) -> Self:
        """Answer these events; one that is not offered when its turn comes is left out.

        So every list of names is a run, and any part of a failing list can be tried.
        """
        walk = cls(table)
        walk.follow(events)
        return walk

    @property
    def ended(self) -> bool:
        """Whether a terminal is reached."""
        return self.here.phase in self.table.terminals

    @property
    def trace(self) -> Trace:
        """The steps as a trace."""
        return Trace(self.table, tuple(self.steps))

    def follow(self, events: Iterable[str]) -> None:
        """Answer those of the events that are offered when their turn comes."""
        for event in events:
            if event in self.options:
                self.answer(event)

    def last_round(self) -> tuple[str, ...]:
        """Return the events since the run was last in the phase where it stands."""
        found: list[str] = []
        for taken in reversed(self.steps):
            if taken.event is not None:
                found.append(taken.event)
            if taken.before.phase == self.here.phase:
                return tuple(reversed(found))
        return ()

    def answer(self, event: str) -> None:
        """Answer one of the options, and take what is decided then."""
        self.events.append(event)
        if self._take(event):
            self._settle()

    def _take(self, event: str | None) -> bool:
        try:
            taken = step(self.table, self.here, event)
        except RunError as error:
            self.fault, self.options = error, ()
            return False
        self.steps.append(taken)
        self.here = taken.after
        return True

    def _settle(self) -> None:
        """Take the steps of phases that decide, until somebody is asked."""
        begin = self.here
        seen: set[Snapshot] = set()
        while self._decides():
            if self.here in seen:
                machine = self.table.machine.name
                self.fault = EndlessDecision(machine, begin.phase, len(seen))
                break
            seen.add(self.here)
            if not self._take(None):
                return
        self.options = ()
        if self.fault is None and not self.ended:
            self.options = available_events(self.table, self.here)
            if not self.options:
                name, here = self.table.machine.name, self.here
                self.fault = Deadlock(name, here.phase, memory_of(self.table, here))

    def _decides(self) -> bool:
        return not self.ended and not self.table.events[self.here.phase]
