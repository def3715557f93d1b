"""Runs the calls of one answer: each a run of `tool_call`, together a round of tools.

A call starts when all before it have started and either nothing runs, or it and all
that run are safe; at most `cap` run at once. What happens to a call is stated to its
machine as a fact, if the machine offers it; the rows say where that leads. Results are
given in the order of the calls, exactly one each.

Calls can be added while an answer is still streamed, and discarded with it; until it is
whole only safe ones start. `run_calls` is for an answer that is complete.
"""

import asyncio
import functools
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Literal, Protocol, cast, runtime_checkable

import attrs

from unspiral.engine.core.step import Step
from unspiral.engine.errors import Deadlock
from unspiral.engine.live.fuse import round_digest
from unspiral.engine.live.message import Block
from unspiral.engine.live.ports import Abort, Clock, Hooks, Permission, Tools
from unspiral.engine.live.tools.calls import Call, CallTables, Told
from unspiral.engine.live.tools.lanes import Lanes
from unspiral.engine.live.tools.performing import Performer, owned
from unspiral.engine.live.tools.registry import MOST, PLAIN, Traits
from unspiral.engine.live.tools.texts import bounded, sendable

__all__ = ["TABLES", "Bounds", "Executor", "HasTraits", "ToolRound", "run_calls"]

Fact = Literal["executed", "unproductive", "hook_stopped", "aborted"]

TABLES = CallTables()  #: the machine as it is published

_CULPRIT = 40  # characters of the call that failed
_PARTLY = "What it had done by then is done."
_ABORTS = {
    "user": ("user_rejected", "The user stopped the run before this call was done."),
    "interrupt": ("interrupted", "The user wrote something new before it was done."),
}


@attrs.frozen
class Bounds:
    """Limits of a round.

    Attributes:
        cap: calls that run at once.
        seconds: that a call may take, unless its tool says otherwise.
        grace: seconds that a tool has to end when it is told to.
        early: whether safe calls start while the answer is still streamed. If it is
            withdrawn then, what they did was for nothing, and may be done again.
    """

    cap: int = 10
    seconds: float = 600.0
    grace: float = 2.0
    early: bool = False


@runtime_checkable
class HasTraits(Protocol):
    """Tools of which more can be asked than `ports.Tools` demands."""

    def traits(self, name: str) -> Traits:
        """Return what the executor must know of a tool."""
        ...


@attrs.frozen
class ToolRound:
    """What the calls of an answer brought.

    Attributes:
        results: one a call, in the order of the calls.
        fact: what the round was. An abort is told before a hook's stop, and that before
            the rest. "unproductive": every call failed, was not run, or repeated an
            earlier one with the same outcome.
        stop: why the run is to end, or "".
        statuses: the terminal of each call.
        notes: what hooks say to the model.
        crashes: what went wrong with hooks.
        digests: of each call with its outcome: the memory for later rounds.
        steps: of each call, for records.
    """

    results: tuple[Block, ...]
    fact: Fact
    stop: str
    statuses: tuple[str, ...]
    notes: tuple[str, ...]
    crashes: tuple[str, ...]
    digests: tuple[str, ...]
    steps: tuple[tuple[Step, ...], ...]


async def run_calls(  # noqa: PLR0913, PLR0917 - each is of another kind
    calls: Sequence[Block],
    bad: Mapping[str, str],
    tools: Tools,
    permission: Permission,
    hooks: Hooks,
    clock: Clock,
    abort: Abort,
    tell: Callable[[object], None],
    *,
    earlier: Container[str] = (),
    tables: CallTables = TABLES,
    bounds: Bounds = Bounds(),
    lanes: Lanes | None = None,
    begun: "Executor | None" = None,
) -> ToolRound:
    """Run the calls of an answer.

    Args:
        calls: its `tool_use` blocks.
        bad: by the id of a call whose input is no JSON object, what is wrong.
        tools: what can be called.
        permission: the gate.
        hooks: that are heard before and after each call.
        clock: for the time limits.
        abort: how the run can be stopped.
        tell: takes each step of each call as it happens, as `Told`.
        earlier: digests of earlier rounds, which repeats are measured against.
        tables: the machine of a call.
        bounds: limits.
        lanes: of the run, so that calls of earlier rounds that could not be ended are
            known; None: of this round.
        begun: has the first of the calls already.
    """
    performer = Performer(
        tools, permission, hooks, clock, lanes or Lanes(bounds.cap), bounds.grace
    )
    executor = begun or Executor(performer, abort, tell, tables, bounds)
    try:
        for call in calls[len(executor.blocks) :]:
            executor.add(call, bad.get(str(call.get("id")), ""))
        return await executor.finish(earlier)
    finally:
        await executor.stop()


class Executor:
    """Runs calls as they are added.

    `stop` must be awaited in the end, whatever happens.

    Args:
        performer: executes them.
        abort: how the run can be stopped.
        tell: takes each step of each call, as `Told`.
        tables: the machine of a call.
        bounds: limits.
    """

    def __init__(
        self,
        performer: Performer,
        abort: Abort,
        tell: Callable[[object], None],
        tables: CallTables = TABLES,
        bounds: Bounds = Bounds(),
    ) -> None:
        self._performer = performer
        self._abort, self._tell = abort, tell
        self._tables, self._bounds = tables, bounds
        self._calls: list[Call] = []
        self._news = asyncio.Event()
        self._broken: BaseException | None = None
        self._hears = False
        tools = performer.tools
        self._known = {spec.name for spec in tools.specs}
        # Asked of the name alone: a protocol that is looked at whole takes its time.
        told = callable(getattr(tools, "traits", None))
        self._told = cast("HasTraits", tools) if told else None
        self._whole = False  # the answer: until then only safe calls begin
        self._stopped = False  # nothing begins any more

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The calls that were added."""
        return tuple(call.block for call in self._calls)

    def add(self, block: Block, problem: str = "") -> None:
        """Take a call; it starts as soon as it may.

        Args:
            block: it, complete.
            problem: what is wrong with it, if its input could not be read; or "".
        """
        traits = self._traits(str(block.get("name")))
        driver = self._tables.driver(interruptible=traits.interruptible)
        call = Call(block, driver)
        taken = any(other.id == call.id for other in self._calls)
        self._calls.append(call)
        if not self._hears and not self._stopped:
            self._hears = True
            self._abort.hear(self, self._aborted)
        if call.name not in self._known:
            problem = self._performer.problem(call.name, {})
            self._state(call, "unknown", problem or "There is no such tool.")
        else:
            self._state(call, "known_shell" if traits.runs_shell else "known")
            problem = problem or ("Its id was used before." if taken else "")
            self._check(call, problem)
        if self._stopped:
            self._outside(call, "discarded", "")
        self._pump()

    async def finish(self, earlier: Container[str] = ()) -> ToolRound:
        """Start what may not start before an answer is whole; wait for every result.

        Args:
            earlier: digests of earlier rounds.

        Raises:
            RunError: a fault of the machine.
        """
        self._whole = True
        self._pump()
        while not all(call.ended and call.task is None for call in self._calls):
            self._require_hope()
            await self._news.wait()
            self._news.clear()
        self._require_hope()
        return self._round(earlier)

    async def discard(self) -> None:
        """Throw all calls away: the answer that they are of does not count."""
        self._stopped = True
        for call in self._calls:
            self._outside(call, "discarded", "")
        await self.stop()

    async def stop(self) -> None:
        """Let nothing go on or begin, and wait until it has ended."""
        self._stopped = True
        tasks = [call.task for call in self._calls if call.task is not None]
        for call in self._calls:
            call.end()
        self._abort.leave(self)
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    # -- one call ----------------------------------------------------------------------

    def _traits(self, name: str) -> Traits:
        return PLAIN if self._told is None else self._told.traits(name)

    def _check(self, call: Call, problem: str) -> None:
        given = owned(call.block.get("input"))
        if not problem and given is None:
            problem = "Its input is no JSON object that can be read."
        call.given = given or {}
        problem = problem or self._performer.problem(call.name, call.given)
        if problem:
            self._state(call, "invalid", problem)
        else:
            call.safe = self._performer.safe(call.name, call.given)

    def _state(self, call: Call, event: str, text: str = "") -> None:
        """State a fact of a call; the table says where it leads."""
        if text:
            call.text = sendable(bounded(text, MOST))
        for step in call.send(event):
            self._tell(Told(call.id, call.name, call.given, step, call.text))
        if event == "failed" and call.memory.get("is_shell"):
            culprit = " ".join(f"{call.name} {dict(call.given)}".split())[:_CULPRIT]
            text = f"Cancelled: a parallel call failed ({culprit}). {_PARTLY}"
            for other in self._calls:
                if other is not call:
                    self._outside(other, "sibling_failed", text)

    def _outside(self, call: Call, event: str, text: str) -> None:
        """State what happened around a call, if its machine has an ear for it.

        A tool that is done already is left to say so itself.
        """
        done = call.running is not None and call.running.done()
        if call.offers(event) and not (done and event != "discarded"):
            self._state(call, event, text)
            call.end()

    async def _work(self, call: Call) -> None:
        seconds = self._traits(call.name).seconds or self._bounds.seconds
        done = await self._performer.perform(call, seconds)
        if call.phase != "executing":
            return  # something from outside came first
        self._state(call, done.event, done.text or "(no output)")
        if done.event == "finished":
            await self._performer.after(call)

    # -- all of them -------------------------------------------------------------------

    def _pump(self) -> None:
        """Start what may start, and give the results that are due."""
        if self._stopped:
            return
        self._heed_abort()
        for call in self._calls:
            if call.phase == "queued":
                if not self._may_start(call):
                    break
                self._state(call, "started")
            if call.phase == "executing" and call.task is None:
                call.begin(self._work(call), functools.partial(self._over, call))
        for call in self._calls:
            if call.phase == "completed" and call.task is None:
                self._state(call, "yielded")
            if not call.ended:
                break
        self._news.set()

    def _may_start(self, call: Call) -> bool:
        busy = [other for other in self._calls if other.task is not None]
        if call in busy or len(busy) >= self._bounds.cap:
            return False
        if not (self._whole or call.safe):
            return False
        return not busy or (call.safe and all(other.safe for other in busy))

    def _over(self, call: Call, task: "asyncio.Task[None]") -> None:
        call.task = None
        if not task.cancelled() and task.exception() is not None:
            self._broken = self._broken or task.exception()
        self._go_on()

    def _aborted(self) -> None:
        if not self._stopped:
            self._go_on()

    def _go_on(self) -> None:
        """Start what may start; what goes wrong is told to whoever waits."""
        try:
            self._pump()
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._broken = self._broken or error
            self._news.set()

    def _heed_abort(self) -> None:
        if self._abort.reason is None:
            return
        event, text = _ABORTS[self._abort.reason]
        for call in self._calls:
            begun = call.phase == "executing"
            self._outside(call, event, f"{text} {_PARTLY}" if begun else text)
            if self._abort.reason == "user" and call.phase != "executing":
                call.end()  # hooks after it are not waited for

    def _require_hope(self) -> None:
        """Raise what has broken, or if nothing will ever come."""
        if self._broken is not None:
            raise self._broken
        waiting = [call for call in self._calls if not call.ended]
        if waiting and all(call.task is None for call in self._calls):
            call = waiting[0]
            raise Deadlock(call.table.machine.name, call.phase, dict(call.memory))

    def _round(self, earlier: Container[str]) -> ToolRound:
        calls = self._calls
        results = tuple(call.result() for call in calls)
        digests = tuple(
            round_digest([call.block], [result])
            for call, result in zip(calls, results, strict=True)
        )
        new = any(
            call.real and digest not in earlier
            for call, digest in zip(calls, digests, strict=True)
        )
        stop = "\n".join(dict.fromkeys(call.stop for call in calls if call.stop))
        return ToolRound(
            results,
            self._fact(stop, new=new),
            stop,
            tuple(call.phase for call in calls),
            tuple(note for call in calls for note in call.notes),
            tuple(crash for call in calls for crash in call.crashes),
            digests,
            tuple(tuple(call.steps) for call in calls),
        )

    def _fact(self, stop: str, *, new: bool) -> Fact:
        if self._abort.reason is not None:
            return "aborted"
        if stop:
            return "hook_stopped"
        return "executed" if new else "unproductive"
