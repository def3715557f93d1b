"""Follows a run and says what is wrong with it, at the step that shows it.

Finite failures (a law that forbids, a counter out of range) show at a step. Endless
ones show when the run comes back: if everything that can matter is as it was, the rest
can be repeated for ever. So a death spiral, and a duty that is never met, are found in
a finite run without asking the proof. Knows runs and laws, and neither Hypothesis nor
`check`.
"""

from collections.abc import Iterable

import attrs

from unspiral.engine.core.library import Driver
from unspiral.engine.core.step import Snapshot, Step, initial_snapshot
from unspiral.engine.core.table import Row
from unspiral.engine.errors import (
    Deadlock,
    EndlessDecision,
    OutOfRange,
    RunError,
    StuckError,
)
from unspiral.engine.fuzz.failure import Failure, Kind
from unspiral.engine.fuzz.rules import Rules
from unspiral.engine.fuzz.walk import Subject, Walk, table_for

__all__ = ["Judge", "failures", "failures_of"]


@attrs.define
class _Stay:
    """Where a run has been since something last happened, with what was counted."""

    places: dict[object, tuple[int, int]] = attrs.field(
        factory=dict[object, tuple[int, int]]
    )
    count: int = 0

    def begin(self) -> None:
        """Forget: what happened ends every loop that was under way."""
        self.places.clear()
        self.count = 0

    def arrive(self, place: object, at: int) -> tuple[int, int] | None:
        """Note a place; return when it was last as now, and what was counted since."""
        known = self.places.setdefault(place, (at, self.count))
        return None if known[0] == at else (known[0], self.count - known[1])


class Judge:
    """One run being judged.

    Attributes:
        broken: the failures found, in the order in which they showed.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.broken: dict[tuple[Kind, str], Failure] = {}
        self._taken: list[Row] = []
        self._states = [0] * len(rules.watchers)
        self._idle = _Stay()
        self._stays: dict[int, _Stay] = {
            number: _Stay()
            for number, each in enumerate(rules.watchers)
            if each.observer.pending or each.observer.recurrent is not None
        }
        self._driver = Driver(rules.table) if rules.driver else None
        self._note(initial_snapshot(rules.table))

    def see(self, step: Step) -> None:
        """Judge one more step of the run."""
        self._taken.append(step.row)
        if self._driver is not None:
            self._compare(self._driver, step)
        if step.row.progress:
            self._idle.begin()
        self._idle.count += sum(step.row.cost.values())
        for number in self.rules.moved[step.row.index]:
            self._law(number, step)
        self._note(step.after)

    def stop(self, walk: Walk) -> None:
        """Judge that the run is over: it has ended, is at fault, or is just cut."""
        if walk.fault is not None:
            self._fail(*_fault(walk.fault))
        if not walk.ended:
            return
        for number, watcher in enumerate(self.rules.watchers):
            if self._states[number] in watcher.observer.pending:
                law = watcher.observer.law
                self._fail(
                    "law", law.name, f"{law.name}: the run ends before it is kept"
                )

    @property
    def _steps(self) -> int:
        return len(self._taken)

    def _law(self, number: int, step: Step) -> None:
        watcher = self.rules.watchers[number]
        observer = watcher.observer
        letter = watcher.letter(step)
        before = self._states[number]
        after = self._states[number] = observer.delta[before][letter]
        if after in observer.bad and before not in observer.bad:
            self._fail(
                "law", observer.law.name, f"{observer.law.name} (row {step.row.name})"
            )
        stay = self._stays.get(number)
        if stay is None:
            return
        if observer.recurrent is None:
            if after not in observer.pending:
                stay.begin()
        elif before not in observer.counting or after not in observer.counting:
            stay.begin()
        elif letter >> observer.recurrent & 1:
            stay.count += 1

    def _note(self, here: Snapshot) -> None:
        """Look whether the run has come back to where it was."""
        place = self.rules.place(here)
        back = self._idle.arrive(place, self._steps)
        if self.rules.spirals and back is not None and back[1]:
            self._spiral(here, *back)
        for number, stay in self._stays.items():
            observer = self.rules.watchers[number].observer
            state = self._states[number]
            duty = observer.recurrent is None
            if state not in (observer.pending if duty else observer.counting):
                continue
            back = stay.arrive((place, state), self._steps)
            if back is not None and (duty or back[1]):
                name = observer.law.name
                text = f"{name}: what breaks it can be repeated for ever"
                self._fail("law", name, text, self._steps - back[0])

    def _spiral(self, here: Snapshot, since: int, cost: int) -> None:
        """Tell of a death spiral; those with the same continue reasons are one."""
        loop = self._taken[since:]
        reasons = sorted({row.reason for row in loop if row.reason})
        way = ", ".join(reasons) or here.phase
        text = f"through {way}: {cost} a round, and no progress"
        self._fail("spiral", way, text, len(loop))

    def _compare(self, driver: Driver, step: Step) -> None:
        try:
            other = driver.send(step.event)
        except RunError as error:
            self._differ(step, str(error))
            return
        if other != step:
            self._differ(step, f"row {other.row.name}, to {other.after}")
        elif tuple(driver.model.asked) != step.asked:
            self._differ(step, "other guards were asked")

    def _differ(self, step: Step, other: str) -> None:
        self._driver = None
        text = f"step takes row {step.row.name}, transitions: {other}"
        self._fail("driver", step.row.name, text)

    def _fail(self, kind: Kind, subject: str, text: str, loop: int = 0) -> None:
        found = Failure(kind, subject, text, self._steps, loop)
        self.broken.setdefault((kind, subject), found)


def _fault(error: RunError) -> tuple[Kind, str, str]:
    match error:
        case StuckError(phase=phase, event=event):
            return "stuck", f"{phase}:{event}" if event else phase, str(error)
        case OutOfRange(row=row):
            return "range", row, str(error)
        case Deadlock(phase=phase):
            return "deadlock", phase, str(error)
        case EndlessDecision(phase=phase):
            return "endless", phase, str(error)
        case _:
            return "stuck", type(error).__name__, str(error)


def failures(rules: Rules, walk: Walk) -> tuple[Failure, ...]:
    """Return what is wrong with a run, in the order in which it showed."""
    judge = Judge(rules)
    for step in walk.steps:
        judge.see(step)
    judge.stop(walk)
    return tuple(judge.broken.values())


def failures_of(
    subject: Subject, events: Iterable[str], laws: Iterable[str] | None = None
) -> tuple[Failure, ...]:
    """Play a schedule and return what is wrong with the run; for tests.

    Args:
        subject: the machine, at its first edition; or a table, at any.
        events: the schedule; an event that is not offered in its turn is left out.
        laws: the laws to watch; all of the machine unless given.

    Raises:
        UnknownName: no such law.
        DeclarationError: the machine or a law cannot be compiled.
    """
    table = table_for(subject)
    return failures(Rules(table, laws), Walk.along(table, events))
