"""Model-based testing: does a loop that somebody wrote do what a machine says?

The loop stays as it is. An *adapter* lets one schedule happen to it (answers of fakes
for the model, the tools, ...) and tells how the loop ended. What it did on the way it
need not tell: it is asked for an answer, by phase, whenever its fakes are called, and
the first question that the machine would not have asked is the departure.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import attrs
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample

from unspiral.engine.core.table import Table
from unspiral.engine.errors import BadValue
from unspiral.engine.fuzz.finding import Path
from unspiral.engine.fuzz.schedules import schedules
from unspiral.engine.fuzz.shorten import shortened
from unspiral.engine.fuzz.walk import Subject, Walk, table_for

__all__ = ["Adapter", "Answers", "Departed", "Departure", "compare", "differential"]


# Both end the loop under test, which may catch every `Exception` as many agents do.


class Departed(BaseException):
    """The loop asked what the machine would not have asked; raised through the loop."""


class Cut(BaseException):
    """The schedule is at its end while the loop goes on; raised through the loop."""


@attrs.frozen
class Departure:
    """Where a loop and its machine part.

    Attributes:
        events: the shortest schedule found.
        kind: `asks`: the loop asks in another phase than the machine; `goes on`: it
            asks, and the machine has ended; `ends`: it ends, and the machine has not;
            `end`: both end, in different ways; `crash`: the loop raised an error.
        expected: the phase or terminal in which the machine stands.
        found: the phase or end of the loop, or its error.
    """

    events: Path
    kind: Literal["asks", "goes on", "ends", "end", "crash"]
    expected: str
    found: str

    def __str__(self) -> str:
        said = {
            "asks": f"the machine is in {self.expected}, the loop asks {self.found}",
            "goes on": f"the machine has ended ({self.expected}), the loop asks "
            f"{self.found}",
            "ends": f"the machine is in {self.expected}, the loop ends: {self.found}",
            "end": f"the machine ends {self.expected}, the loop {self.found}",
            "crash": f"the machine is in {self.expected}, the loop raises {self.found}",
        }
        after = " ".join(self.events) or "nothing"
        return f"after {after}: {said[self.kind]}"


class Answers:
    """What the fakes of an adapter ask, each time that the loop calls one.

    Attributes:
        given: the events that were answered.
    """

    def __init__(self, table: Table, events: Sequence[str]) -> None:
        self._walk = Walk(table)
        self._left = list(events)
        self.departure: Departure | None = None

    @property
    def given(self) -> Path:
        """The events that were answered so far."""
        return tuple(self._walk.events)

    @property
    def standing(self) -> str:
        """The phase or terminal in which the machine stands."""
        return self._walk.here.phase

    def ask(self, phase: str) -> str:
        """Return what happens in a phase of the loop; call it in a fake.

        Raises:
            Departed: the machine is elsewhere.
            Cut: the schedule is at its end.
        """
        if self.departure is None and phase != self.standing:
            self.depart("asks" if self._walk.options else "goes on", phase)
        if self.departure is not None:
            raise Departed(str(self.departure))
        while self._left:
            event = self._left.pop(0)
            if event in self._walk.options:
                self._walk.answer(event)
                return event
        raise Cut

    def depart(
        self, kind: Literal["asks", "goes on", "ends", "end", "crash"], found: str
    ) -> None:
        """Note where the loop departs, the first time."""
        self.departure = Departure(self.given, kind, self.standing, found)


#: lets a schedule happen to a loop: calls `ask(phase)` for each answer, and returns
#: the name of the terminal in which the loop has ended
Adapter: TypeAlias = Callable[[Callable[[str], str]], str]


def compare(
    subject: Subject, adapter: Adapter, events: Iterable[str]
) -> Departure | None:
    """Let one schedule happen to a loop and to its machine; return where they part."""
    table = table_for(subject)
    answers = Answers(table, tuple(events))
    try:
        end = adapter(answers.ask)
    except (Cut, Departed):
        return answers.departure
    except Exception as error:  # noqa: BLE001 - it is the loop that is under test
        if answers.departure is None:
            answers.depart("crash", f"{type(error).__name__}: {error}"[:200])
        return answers.departure
    if answers.departure is None and end != answers.standing:
        ended = answers.standing in table.terminals
        answers.depart("end" if ended else "ends", str(end))
    return answers.departure


def differential(
    subject: Subject,
    adapter: Adapter,
    *,
    examples: int = 500,
    number: int = 0,
    max_events: int = 60,
) -> Departure | None:
    """Look for a schedule on which a loop does not do what a machine says.

    Args:
        subject: the machine, at its first edition; or a table, at any.
        adapter: lets a schedule happen to the loop. It must begin afresh at each call,
            and must let through what `ask` raises.
        examples: how many schedules are tried.
        number: the seed of the draws.
        max_events: of a schedule. A loop that goes on without being asked never
            returns: no schedule ends it.

    Returns:
        The departure with the shortest schedule found, or None: they never parted.

    Raises:
        BadValue: less than one example.
        DeclarationError: the machine cannot be compiled.
    """
    if examples < 1:
        raise BadValue("examples", str(examples), "1 or more")
    table = table_for(subject)

    def parts(events: Path) -> Departure | None:
        return compare(table, adapter, events)

    try:
        found = find(
            schedules(table, max_events=max_events),
            lambda events: parts(events) is not None,
            settings=settings(
                max_examples=examples,
                database=None,
                deadline=None,
                phases=(Phase.generate, Phase.shrink),
            ),
            random=random.Random(number),  # noqa: S311 - a draw, no secret
        )
    except NoSuchExample:
        return None
    return parts(_short(found, parts))


def _short(events: Path, parts: Callable[[Path], Departure | None]) -> Path:
    def fails(tried: Path) -> int | None:
        departure = parts(tried)
        return None if departure is None else len(departure.events)

    return shortened(events, fails)
