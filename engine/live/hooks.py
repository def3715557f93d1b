"""Calls the hooks of a point and merges what they say.

A hook is any callable that takes a `HookCall` and returns a `HookWord` or None, or an
awaitable of one; commands are such callables (`hook_commands`). All of a point run side
by side, each to its end or its time-out, equal ones once. A hook that crashes, hangs or
talks nonsense blocks nothing; it is told as a crash. What the words lead to is not
known here.
"""

import asyncio
import concurrent.futures
import copy
import inspect
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import attrs

from unspiral.engine.live.ports import (
    Clock,
    HookCall,
    HookPoint,
    HookWord,
    LoopClock,
    Ruling,
)

__all__ = ["Hook", "HookFunction", "HookList", "merge"]

P = ParamSpec("P")
T = TypeVar("T")

HookFunction: TypeAlias = Callable[[HookCall], object]

_GRACE = 2.0  # seconds that a hook has to end after it was told to
_STRICTNESS: tuple[Ruling, ...] = ("deny", "ask", "allow")  # the strictest first


@attrs.frozen
class Hook:
    """A hook, and when it is called.

    Attributes:
        run: what is called. A plain function runs in a thread of its own; when its time
            is out it is left to itself, since a thread cannot be ended.
        points: at which it is called.
        tools: only for calls of these tools (`tool_name` of the facts); empty: all.
        seconds: that it may take.
        name: for people.
    """

    run: HookFunction
    points: Collection[HookPoint]
    tools: Collection[str] = ()
    seconds: float = 60.0
    name: str = "hook"

    def is_for(self, call: HookCall) -> bool:
        """Tell whether it is to be called."""
        named = not self.tools or call.facts.get("tool_name") in self.tools
        return call.point in self.points and named


@attrs.frozen
class HookList:
    """The hooks of a run, in order; implements `ports.Hooks`.

    Attributes:
        hooks: of all points.
        clock: for the time-outs.
    """

    hooks: tuple[Hook, ...] = ()
    clock: Clock = attrs.field(factory=LoopClock)

    async def call(self, call: HookCall, /) -> HookWord:
        """Call all hooks of a point, in parallel, and merge what they say.

        Never raises but for cancellation, which ends them all.
        """
        chosen: list[Hook] = []
        for hook in self.hooks:
            if hook.is_for(call) and all(hook.run != other.run for other in chosen):
                chosen.append(hook)
        if not chosen:
            return HookWord()
        tasks = [asyncio.ensure_future(self._one(hook, call)) for hook in chosen]
        try:
            return merge(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, hook: Hook, call: HookCall) -> HookWord:
        """Call one hook; whatever goes wrong is in its word."""
        work = asyncio.ensure_future(_safely(hook.run, call))
        timer = asyncio.ensure_future(self.clock.sleep(hook.seconds))
        both: set[asyncio.Future[Any]] = {work, timer}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return _word_of(hook, work)
            return _crash(hook, f"it took longer than {hook.seconds:g} seconds")
        finally:
            timer.cancel()
            if not work.done():
                work.cancel()
                await self._ended(work)

    async def _ended(self, work: "asyncio.Future[object]") -> None:
        """Give a hook that was told to end a moment to do so, then leave it."""
        grace = asyncio.ensure_future(self.clock.sleep(_GRACE))
        both: set[asyncio.Future[Any]] = {work, grace}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            grace.cancel()


async def _safely(run: HookFunction, call: HookCall) -> object:
    """Call a hook with facts of its own; return what it says, or what it raised."""
    try:
        facts = MappingProxyType(copy.deepcopy(dict(call.facts)))
        own = attrs.evolve(call, facts=facts)
        target = cast("object", getattr(run, "__call__", run))  # noqa: B004 - to look at
        if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(target):
            said: object = run(own)
        else:
            loop = asyncio.get_running_loop()
            said = await loop.run_in_executor(_Threads(), run, own)
        if inspect.isawaitable(said):
            said = await cast("Awaitable[object]", said)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - not ours
        return error
    return said


def _word_of(hook: Hook, work: "asyncio.Future[object]") -> HookWord:
    if work.cancelled():
        return _crash(hook, "it cancelled itself")
    said = work.result()
    if said is None:
        return HookWord()
    if isinstance(said, BaseException):
        return _crash(hook, f"it raised {type(said).__name__}: {_told(said)}")
    problem = _problem(said)
    if problem:
        return _crash(hook, problem)
    word = cast("HookWord", said)
    named = tuple(f"{hook.name}: {crash}" for crash in word.crashes)
    return attrs.evolve(word, crashes=named)


def _told(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except Exception:  # noqa: BLE001 - a hook's error is not ours either
        return "(its text cannot be had)"


def _crash(hook: Hook, problem: str) -> HookWord:
    return HookWord(crashes=(f"{hook.name}: {problem}",))


def _problem(said: object) -> str:
    """Return what is wrong with what a hook returned, or ""."""
    if not isinstance(said, HookWord):
        return f"it returned a {type(said).__name__}, not a HookWord or None"
    word = cast("Any", said)  # its fields may hold anything
    if not isinstance(word.prevent, str) or not all(
        map(_are_texts, (word.blocks, word.context, word.crashes))
    ):
        return "its word holds something else than texts"
    if word.ruling not in (None, *_STRICTNESS):
        return "its ruling is none"
    if not isinstance(word.given, Mapping | None):
        return "the input that it gives is no object"
    return ""


def _are_texts(value: object) -> bool:
    if not isinstance(value, tuple):
        return False
    return all(isinstance(each, str) for each in cast("tuple[object, ...]", value))


def merge(words: Sequence[HookWord]) -> HookWord:
    """Merge what hooks said, in the order of the hooks.

    The strictest ruling holds, whatever the order; every reason is kept; of several
    changed inputs that differ the first is taken, and that is told.
    """
    rulings = {word.ruling for word in words}
    inputs = [word.given for word in words if word.given is not None]
    crashes = [crash for word in words for crash in word.crashes]
    if _differ(inputs):
        crashes.append("several hooks changed the input; the first change was taken")
    return HookWord(
        prevent="\n".join(word.prevent for word in words if word.prevent),
        blocks=tuple(block for word in words for block in word.blocks),
        ruling=next((each for each in _STRICTNESS if each in rulings), None),
        given=inputs[0] if inputs else None,
        context=tuple(text for word in words for text in word.context),
        crashes=tuple(crashes),
    )


def _differ(inputs: Sequence[Mapping[str, object]]) -> bool:
    try:
        return any(dict(each) != dict(inputs[0]) for each in inputs)
    except RecursionError:  # nested too deeply to be compared
        return True


class _Threads(concurrent.futures.Executor):
    """A thread for each call, that does not keep the program from ending."""

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> "concurrent.futures.Future[T]":
        """Call something in a thread of its own."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - told to whoever waits
                future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        return future
