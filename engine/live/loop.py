"""The driver: performs the phase that the table is in, sends what came of it, goes on.

It decides nothing. A performer answers a phase with one of its events; the table, run
by the library `transitions`, says where that leads; a continue builds the next state.
So another row, limit or target is another behaviour, with nothing changed here.

An iteration is what lies between two continues. The driver is synchronous, phases are
not; what a phase tells is handed over before the next one begins, so that a slow
consumer holds up the loop, and at most one answer waits.
"""

import asyncio
import collections
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from unspiral.engine.core.library import Driver
from unspiral.engine.core.step import Snapshot, Step, available_events, memory_of
from unspiral.engine.core.table import Table
from unspiral.engine.errors import UnknownName
from unspiral.engine.live.continues import CONTINUES, go_on, with_answer
from unspiral.engine.live.events import (
    Answered,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Shown,
    ToolsRan,
)
from unspiral.engine.live.message import History, settled, text_of
from unspiral.engine.live.ports import Abort, Clock
from unspiral.engine.live.state import Here, State, Workspace

__all__ = ["ABORTED", "Loop", "Performer"]

ABORTED = "aborted"  #: the event of every phase that can be stopped in the middle

Performer = Callable[[Here], Awaitable[str]]

_UNSETTLED = "The run ended before this call was run."


class Loop:
    """One run of a table with performers for its phases.

    Args:
        table: the machine at its limits.
        performers: by the name of the phase; every acting phase needs one.
        clock: time.
        abort: how the run can be stopped.
        settles: phases that see to an abort by themselves, since they must settle.
        facts: numbers for the record of each step.

    Raises:
        UnknownName: a phase has no performer, or a continue of the table no meaning.
    """

    def __init__(  # noqa: PLR0913 - each is of another kind, and named
        self,
        table: Table,
        performers: Mapping[str, Performer],
        clock: Clock,
        abort: Abort,
        *,
        settles: frozenset[str] = frozenset(),
        facts: Callable[[Here], Mapping[str, int | str]] = lambda _: {},
    ) -> None:
        _check(table, performers)
        self._table = table
        self._performers = performers
        self._clock = clock
        self._abort = abort
        self._settles = settles
        self._facts = facts
        self._told: collections.deque[LiveEvent] = collections.deque()
        self._news = asyncio.Event()

    async def run(
        self, history: History, snapshot: Snapshot | None = None
    ) -> AsyncGenerator[LiveEvent]:
        """Run to a terminal; the last event is `Ended`.

        Closing the generator stops the run where it is.

        Args:
            history: the conversation; its calls have results.
            snapshot: where the table stands; None: at its start.
        """
        driver = Driver(self._table, snapshot)
        state = State(history)
        work = _fresh(state)
        while driver.snapshot.phase not in self._table.terminals:
            begun = self._clock.now()
            here = self._here(driver.snapshot, state, work)
            step: Step | None = None
            async for each in self._performed(driver, here):
                if isinstance(each, Step):
                    step = each
                else:
                    yield each
            assert step is not None  # noqa: S101 - the last that is yielded
            yield Decided(step, self._clock.now() - begun, self._facts(here))
            if self._goes_round(step):
                for kept in _kept(step.row.reason, work):
                    yield kept
                state = go_on(step.row.reason, state, work)
                work = _fresh(state)
                yield Continued(step.row.reason)
        for each in _last(work):
            yield each
        whole = settled(_whole(work), _UNSETTLED)
        text = "" if work.answer is None else text_of(work.answer)
        yield Ended(driver.snapshot.phase, whole, text)

    def _here(self, snapshot: Snapshot, state: State, work: Workspace) -> Here:
        return Here(
            snapshot.phase,
            state,
            work,
            memory_of(self._table, snapshot),
            self._table.limits,
            self._tell,
        )

    async def _performed(
        self, driver: Driver, here: Here
    ) -> AsyncGenerator[LiveEvent | Step]:
        """Yield what a phase tells, then the step that it leads to."""
        if not self._table.events[here.phase]:
            yield driver.send()
            return
        offered = available_events(self._table, driver.snapshot)
        stops = ABORTED in offered and here.phase not in self._settles
        task = asyncio.ensure_future(self._performers[here.phase](here))
        try:
            async for told in self._telling(task, stops=stops):
                yield told
        finally:
            if not task.done():
                await _cancel(task)
        yield driver.send(ABORTED if task.cancelled() else task.result())

    async def _telling(
        self, task: "asyncio.Future[str]", *, stops: bool
    ) -> AsyncGenerator[LiveEvent]:
        """Yield what is told until a phase is performed; stop it on an abort."""
        abort = asyncio.ensure_future(self._abort.wait())
        try:
            while not task.done() or self._told:
                while self._told:
                    yield self._told.popleft()
                self._news.clear()
                news = asyncio.ensure_future(self._news.wait())
                watched: set[asyncio.Future[Any]] = {task, news}
                if stops:
                    watched.add(abort)
                if not task.done():
                    await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if stops and abort.done() and not task.done():
                    await _cancel(task)
        finally:
            abort.cancel()

    def _tell(self, event: LiveEvent) -> None:
        self._told.append(event)
        self._news.set()

    def _goes_round(self, step: Step) -> bool:
        return step.row.reason in CONTINUES and step.row.target == self._table.initial


async def _cancel(task: "asyncio.Future[str]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _check(table: Table, performers: Mapping[str, Performer]) -> None:
    for phase in table.phases:
        if table.events[phase] and phase not in performers:
            raise UnknownName("performer", phase, tuple(performers), "the live loop")
    for row in table.rows:
        if row.target == table.initial and row.reason not in CONTINUES:
            where = f"the continues of the live loop (row {row.name})"
            raise UnknownName("reason", row.reason, tuple(CONTINUES), where)


def _fresh(state: State) -> Workspace:
    return Workspace(state.history, state.history, state.looked)


def _kept(reason: str, work: Workspace) -> list[LiveEvent]:
    """Return what a continue makes part of the conversation."""
    told: list[LiveEvent] = []
    if CONTINUES[reason](work)[len(work.base) :][:1] == (work.answer,):
        told += [] if work.answer is None else [Answered(work.answer)]
        told += [] if work.round is None else [ToolsRan(work.round.message)]
    return told


def _whole(work: Workspace) -> History:
    whole = with_answer(work)
    return whole if work.round is None else (*whole, work.round.message)


def _last(work: Workspace) -> list[LiveEvent]:
    told: list[LiveEvent] = []
    if work.answer is not None:
        told.append(Answered(work.answer))
    if work.round is not None:
        told.append(ToolsRan(work.round.message))
    if work.withheld:
        told.append(Shown(work.withheld))
    return told
