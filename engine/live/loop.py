"""The driver: performs the phase that the table is in, sends what came of it, goes on.

It decides nothing. A performer answers a phase with one of its events; the table, run
by the library `transitions`, says where that leads; a continue builds the next state.
So another row, limit or target is another behaviour, with nothing changed here.

An iteration is what lies between two continues. The driver is synchronous, phases need
not be; what a phase tells is handed over before the next one begins, so that a slow
consumer holds up the loop, and at most one answer waits.
"""

import asyncio
import collections
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TypeAlias

from unspiral.engine.core.library import Driver
from unspiral.engine.core.step import Snapshot, Step, available_events
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
    Tombstone,
)
from unspiral.engine.live.message import History, settled, text_of, user_text
from unspiral.engine.live.ports import Abort, Clock
from unspiral.engine.live.state import Here, Memory, Performer, State, Workspace

__all__ = ["ABORTED", "Facts", "Loop"]

ABORTED = "aborted"  #: the event of every phase that can be stopped in the middle

Facts: TypeAlias = Mapping[str, int | str]

_UNSETTLED = "The run ended before this call was run."
_INTERRUPTED = "The user stopped the run here."


def _no_facts() -> Facts:
    return {}


class Loop:
    """One run of a table with performers for its phases.

    Args:
        table: the machine at its limits.
        performers: by the name of the phase; every acting phase needs one. One that
            has nothing to wait for returns its event, any other a coroutine of it.
        clock: time.
        abort: how the run can be stopped.
        settles: phases that see to an abort by themselves, since they must settle.
        facts: returns numbers of the moment, for the record of each step.

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
        facts: Callable[[], Facts] = _no_facts,
    ) -> None:
        _check(table, performers)
        self._table = table
        self._performers = performers
        self._clock = clock
        self._abort = abort
        self._settles = settles
        self._facts = facts
        self._told: collections.deque[LiveEvent] = collections.deque()
        self._waker: asyncio.Future[None] | None = None

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
        watch = asyncio.ensure_future(self._watch())
        try:
            while driver.model.state not in self._table.terminals:
                begun = self._clock.now()
                event: str | None = None
                if self._table.events[driver.model.state]:
                    here = self._here(driver.snapshot, state, work)
                    came = self._begun(here)
                    if isinstance(came, str):
                        event = came
                    else:
                        async with contextlib.aclosing(
                            self._telling(came, stops=self._stops(here))
                        ) as told:
                            async for each in told:
                                yield each
                        event = ABORTED if came.cancelled() else came.result()
                while self._told:
                    yield self._told.popleft()
                step = driver.send(event)
                yield Decided(step, self._clock.now() - begun, self._facts())
                if self._goes_round(step):
                    state, told_now = _continued(step, state, work)
                    for each in told_now:
                        yield each
                    work = _fresh(state)
        finally:
            watch.cancel()
        for each in self._last(driver.snapshot, work):
            yield each

    # -- one phase ---------------------------------------------------------------------

    def _here(self, snapshot: Snapshot, state: State, work: Workspace) -> Here:
        table = self._table
        return Here(
            snapshot.phase,
            state,
            work,
            Memory(table.positions, snapshot.memory),
            table.limits,
            self._tell,
            available_events(table, snapshot),
        )

    def _stops(self, here: Here) -> bool:
        return ABORTED in here.offered and here.phase not in self._settles

    def _begun(self, here: Here) -> "str | asyncio.Future[str]":
        """Begin to perform a phase; return its event, or what will have it."""
        if self._abort.reason is not None and self._stops(here):
            return ABORTED
        came = self._performers[here.phase](here)
        return came if isinstance(came, str) else asyncio.ensure_future(came)

    async def _telling(
        self, task: "asyncio.Future[str]", *, stops: bool
    ) -> AsyncGenerator[LiveEvent]:
        """Yield what is told until a phase is performed; stop it on an abort."""
        task.add_done_callback(lambda _: self._wake())
        told_to_stop = False
        try:
            while True:
                while self._told:
                    yield self._told.popleft()
                if task.done():
                    return
                if stops and self._abort.reason is not None and not told_to_stop:
                    told_to_stop = True
                    task.cancel()
                self._waker = asyncio.get_running_loop().create_future()
                await self._waker
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        await self._abort.wait()
        self._wake()

    def _tell(self, event: LiveEvent) -> None:
        self._told.append(event)
        self._wake()

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    # -- what a row leads to -----------------------------------------------------------

    def _goes_round(self, step: Step) -> bool:
        return step.row.reason in CONTINUES and step.row.target == self._table.initial

    def _last(self, snapshot: Snapshot, work: Workspace) -> list[LiveEvent]:
        """Return what is told at the end."""
        told: list[LiveEvent] = []
        if work.answer is not None and not work.told:
            told.append(Answered(work.answer))
        if work.withheld:
            told.append(Shown(work.withheld))
        whole = with_answer(work)
        if work.round is not None:
            whole = (*whole, work.round.message)
        whole = settled(whole, _UNSETTLED)
        ends = {each.name: each.kind for each in self._table.flat.terminals}
        if ends[snapshot.phase] == "abort" and self._abort.reason == "user":
            whole = (*whole, user_text(_INTERRUPTED, "note"))
        text = "" if work.answer is None else text_of(work.answer)
        told.append(Ended(snapshot.phase, whole, text, snapshot))
        return told


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


def _continued(
    step: Step, state: State, work: Workspace
) -> tuple[State, list[LiveEvent]]:
    """Return the next state, and what is told of it."""
    after = go_on(step.row.reason, state, work)
    told: list[LiveEvent] = []
    kept = after.history[len(work.base) :][:1] == (work.answer,)
    if kept and work.answer is not None and not work.told:
        told.append(Answered(work.answer))
    elif work.said and not work.told and not kept:
        told.append(Tombstone(work.said))
    told.append(Continued(step.row.reason, after.history, step.after))
    return after, told
