"""What executing a call is: hooks, the gate, the tool itself, hooks again.

Each ends with a fact, as an event of the phase; where that leads is not known here.
Nothing that hooks, the gate or a tool do can raise out of it, but for cancellation.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import attrs

from unspiral.engine.live.ports import (
    Clock,
    HookCall,
    HookPoint,
    Hooks,
    HookWord,
    Permission,
    ToolOutcome,
    Tools,
)
from unspiral.engine.live.tools.calls import Call
from unspiral.engine.live.tools.lanes import Lanes
from unspiral.engine.live.untyped import copied

__all__ = ["Done", "Performer", "owned"]

_LONGEST = 500  # characters of an error's text


class Done(NamedTuple):
    """What came of executing a call.

    Attributes:
        event: "finished", "failed" or "denied".
        text: of the result.
    """

    event: str
    text: str


@attrs.frozen
class Performer:
    """Executes calls.

    Attributes:
        tools: what is run.
        permission: the gate.
        hooks: that are heard before and after.
        clock: for the time limits.
        lanes: keep unsafe calls from all others.
        grace: seconds that a tool has to end when it is told to.
    """

    tools: Tools
    permission: Permission
    hooks: Hooks
    clock: Clock
    lanes: Lanes
    grace: float

    async def perform(self, call: Call, seconds: float) -> Done:
        """Execute a call.

        Args:
            call: it.
            seconds: that the tool may take.
        """
        denial = await self._before(call)
        if denial:
            return Done("denied", denial)
        if not await self.lanes.enter(call, safe=call.safe):
            return Done(
                "failed", "Not run: an earlier call could not be ended and still runs."
            )
        if call.ending:  # a hook or the gate has swallowed that it was cancelled
            self.lanes.leave(call)
            raise asyncio.CancelledError
        return await self._run(call, seconds)

    async def after(self, call: Call) -> None:
        """Hear the hooks on a call that has finished."""
        word = await self._hear("PostToolUse", call, {"tool_response": call.text})
        call.notes += word.blocks

    def safe(self, name: str, given: Mapping[str, object]) -> bool:
        """Tell whether a call may run beside others; False if in doubt."""
        try:
            return self.tools.safe(name, given) is True
        except Exception:  # noqa: BLE001 - in doubt it is not
            return False

    def problem(self, name: str, given: Mapping[str, object]) -> str:
        """Return what is wrong with a call, or ""."""
        try:
            return self.tools.problem(name, given)
        except Exception as error:  # noqa: BLE001 - told to the model
            return f"The input cannot be checked: {_text_of(error)}"

    # -- before ------------------------------------------------------------------------

    async def _before(self, call: Call) -> str:
        """Hear the hooks and ask the gate; return why the call may not run, or ""."""
        word = await self._hear("PreToolUse", call, {})
        if word.given is not None:
            problem = self._change(call, word.given)
            if problem:
                return f"Not run: a hook changed its input.\n{problem}"
        ruling = "deny" if word.blocks else word.ruling
        # What is ruled on is what is run.
        given = cast("Mapping[str, object]", copied(call.given))
        try:
            allowed, why = await self.permission.rule(call.name, given, ruling)
        except Exception as error:  # noqa: BLE001 - a gate that fails is shut
            allowed, why = False, f"the gate failed: {_text_of(error)}"
        if allowed is True and ruling != "deny":
            return ""
        return "\n".join((f"Not allowed: {why or 'a hook forbids it'}.", *word.blocks))

    def _change(self, call: Call, given: Mapping[str, object]) -> str:
        mine = owned(given)
        if mine is None:
            return "It is no JSON that can be read."
        call.given = mine
        problem = self.problem(call.name, mine)
        call.safe = not problem and self.safe(call.name, mine)
        return problem

    async def _hear(
        self, point: HookPoint, call: Call, more: Mapping[str, object]
    ) -> HookWord:
        facts = {
            "tool_name": call.name,
            "tool_input": call.given,
            "tool_use_id": call.id,
            **more,
        }
        try:
            word = await self.hooks.call(HookCall(point, facts))
        except Exception as error:  # noqa: BLE001 - a crash blocks nothing
            word = HookWord(crashes=(_text_of(error),))
        call.stop = call.stop or word.prevent
        call.notes += word.context
        call.crashes += word.crashes
        return word

    # -- the tool ----------------------------------------------------------------------

    async def _run(self, call: Call, seconds: float) -> Done:
        running = asyncio.ensure_future(self._called(call))
        timer = asyncio.ensure_future(self.clock.sleep(seconds))
        call.running = running
        both: set[asyncio.Future[Any]] = {running, timer}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                return Done("failed", f"It took longer than {seconds:g} s.")
            return _done(call, running)
        finally:
            timer.cancel()
            if running.done():
                self.lanes.leave(call)
            else:
                await self._end(call, running)

    async def _called(self, call: Call) -> object:
        try:
            return await self.tools.run(call.name, call.given)
        except Exception as error:  # noqa: BLE001 - told to the model
            return error

    async def _end(self, call: Call, running: "asyncio.Future[object]") -> None:
        """Tell a tool to end, and give it time; one that does not is left inside."""
        running.add_done_callback(lambda _: self.lanes.leave(call))
        running.cancel()
        grace = asyncio.ensure_future(self.clock.sleep(self.grace))
        both: set[asyncio.Future[Any]] = {running, grace}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            grace.cancel()
            if not running.done():
                self.lanes.abandon(call)


def _done(call: Call, running: "asyncio.Future[object]") -> Done:
    if running.cancelled():
        return Done("failed", "The tool cancelled itself.")
    said = running.result()
    if isinstance(said, ToolOutcome):
        call.stop = call.stop or said.stop
        return Done("failed" if said.error else "finished", said.text)
    if isinstance(said, Exception):
        return Done("failed", f"The tool failed: {_text_of(said)}")
    return Done("failed", f"The tool returned a {type(said).__name__}.")


def _text_of(error: BaseException) -> str:
    name = type(error).__name__
    with contextlib.suppress(Exception):
        return f"{name}: {error}"[:_LONGEST]
    return name


def owned(given: object) -> Mapping[str, object] | None:
    """Return a copy of an input that nobody else holds; None if it is no input."""
    if not isinstance(given, Mapping):
        return None
    try:
        return cast(
            "Mapping[str, object]", copied(dict(cast("Mapping[str, object]", given)))
        )
    except Exception:  # noqa: BLE001 - too deep, or with a will of its own
        return None
