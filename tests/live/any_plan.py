"""Whole runs at random: what the server, tools, hooks, people and consumers do.

A plan is a value; `play` runs it in virtual time, with the real client over the fault
transport, then takes the session up from its store and gives it another prompt.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from tests.live.any_parts import NAMES, Acts, Speaks, gate_of, hooks_of, tools_of
from tests.live.faulty import KEY, PATIENCE
from tests.live.running import Shelf, compiled
from tests.live.watched import (
    Stopped,
    Told,
    Watched,
    WatchedGate,
    WatchedHooks,
    WatchedModel,
)
from unspiral.engine.core.table import Table
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.faults.schedule import DONE, Context, Play, Schedule, Step
from unspiral.engine.faults.transport import FaultTransport
from unspiral.engine.live.agent import Agent, Settings, World
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.client import make_model
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.ports import (
    Abort,
    Hooks,
    LoopClock,
    Model,
    Permission,
    Tools,
)
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.result_budget import ResultLimits
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.tools.executor import Bounds
from unspiral.engine.live.tools.registry import Toolbox
from unspiral.engine.live.waiting import Backoff
from unspiral.machines.agent_loop import AGENT_LOOP
from unspiral.machines.query_loop import QUERY_LOOP

How: TypeAlias = Literal["user", "interrupt", "cancel", "close"]

_DAY = 1_800_000_000.0
_SMALL = {"max_turns": 6, "stop_block_cap": 2, "token_budget_on": False}


@attrs.frozen
class Stop:
    """When somebody stops the run: after some seconds, or some events."""

    how: How
    seconds: float | None = None
    events: int = 0


@attrs.frozen
class Plan:
    """A run, before it is one."""

    steps: tuple[Step, ...]
    side: Play | None = DONE
    tools: tuple[Acts, ...] = (Acts(), Acts(), Acts(), Acts())
    hooks: tuple[Speaks, ...] = ()
    rules: Mapping[str, str] = attrs.field(factory=dict[str, str])
    person: str = "yes"
    stop: Stop | None = None
    again: Stop | None = None
    budgets: Budgets = attrs.field(factory=Budgets)
    window: int = 200_000
    results: ResultLimits = attrs.field(factory=ResultLimits)
    cap: int = 10
    slow: float = 0.0
    machine: int = 0
    goes_on: bool = False
    early: bool = False


def table_of(plan: Plan) -> Table:
    """The machine of a plan."""
    if plan.machine == 0:
        return compiled(AGENT_LOOP, "hardened", {"token_budget_on": False})
    if plan.machine == 1:
        return compiled(AGENT_LOOP, "hardened", {"max_turns": 4, "persistent": True})
    edition = "published" if plan.machine == 2 else "documented"
    return compiled(QUERY_LOOP, edition, _SMALL)


# -- parts that can be exchanged -------------------------------------------------------


def _same(part: Any) -> Any:
    return part


@attrs.frozen
class Breaks:
    """What stands between the agent and its parts; as it is, nothing."""

    model: Callable[[Model], Model] = _same
    tools: Callable[[Tools], Tools] = _same
    hooks: Callable[[Hooks], Hooks] = _same
    gate: Callable[[Permission], Permission] = _same
    agent: Callable[[Agent], Any] = _same
    store: Callable[[MemoryStore], MemoryStore] = _same


WHOLE = Breaks()


# -- a run -----------------------------------------------------------------------------


def play(plan: Plan, breaks: Breaks = WHOLE) -> list[Watched]:
    """Run a plan, and another prompt after it; return what happened."""
    played: list[Watched] = []
    run_virtual(_main(plan, breaks, played))
    return played


async def _main(plan: Plan, breaks: Breaks, played: list[Watched]) -> None:
    context = Context(window=plan.window)
    schedule = Schedule(plan.steps, side=plan.side, context=context)
    transport = FaultTransport(schedule)
    transport.player.wall = _wall
    client = make_model(
        KEY,
        base_url="http://faults.invalid",
        transport=transport,
        patience=PATIENCE,
        wall=_wall,
    )
    store = MemoryStore(now=_wall)
    hooks = hooks_of(plan.hooks)
    restored: Restored | None = None
    for number, stop in enumerate((plan.stop, plan.again)):
        on = number and plan.goes_on and restored and restored.machine
        prompt = None if on else f"Mend the parser, part {number}."
        before = () if restored is None else restored.history
        settings = _settings(plan)
        seen = Watched(
            table_of(plan),
            settings,
            before,
            frozenset(n for n, rule in plan.rules.items() if rule == "deny"),
            frozenset(n for n, a in zip(NAMES, plan.tools, strict=True) if a.shell),
            store,
            prompt,
        )
        played.append(seen)
        world = World(
            model=breaks.model(WatchedModel(client, seen)),
            tools=breaks.tools(Toolbox(tools_of(plan.tools, seen))),
            permission=breaks.gate(WatchedGate(gate_of(plan.rules, plan.person), seen)),
            hooks=breaks.hooks(WatchedHooks(hooks, seen)),
            store=breaks.store(store),
            keep=Shelf(),
            clock=LoopClock(),
            waits=LoopClock(),
            wall=_wall,
            pause=Backoff(lambda: 0.5),
        )
        abort = Abort()
        agent = breaks.agent(Agent(seen.table, world, settings, abort, restored))
        await _consumed(agent, abort, seen, stop, plan.slow)
        restored = store.restored()
    await client.aclose()
    await asyncio.sleep(60)  # what lingers comes to its end
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, left


async def _consumed(
    agent: Agent, abort: Abort, seen: Watched, stop: Stop | None, slow: float
) -> None:
    """Take the events, and stop as it is planned."""
    task = asyncio.ensure_future(_taken(agent, abort, seen, stop, slow))
    timer = None
    if stop is not None and stop.seconds is not None and stop.how != "close":
        loop = asyncio.get_running_loop()
        timer = loop.call_later(stop.seconds, _stop, stop, abort, seen, task)
    try:
        await asyncio.gather(task, return_exceptions=True)
    finally:
        if timer is not None:
            timer.cancel()
    if not task.cancelled():
        task.result()


def _stop(
    stop: Stop, abort: Abort, seen: Watched, task: "asyncio.Future[None] | None"
) -> None:
    seen.records.append(Stopped(stop.how, LoopClock().now()))
    if stop.how == "cancel":
        if task is not None:
            task.cancel()
    elif stop.how != "close":
        abort.set(stop.how)


async def _taken(
    agent: Agent, abort: Abort, seen: Watched, stop: Stop | None, slow: float
) -> None:
    count = 0
    async with contextlib.aclosing(agent.run(seen.prompt)) as events:
        async for each in events:
            now = LoopClock().now()
            seen.records.append(Told(each, len(seen.store.events()), repr(each), now))
            count += 1
            if stop is not None and count == stop.events:
                _stop(stop, abort, seen, asyncio.current_task())
                if stop.how == "close":
                    return
            if slow:
                await asyncio.sleep(slow)


def _wall() -> float:
    return _DAY + LoopClock().now()


def _settings(plan: Plan) -> Settings:
    return Settings(
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        window=Window.scaled(plan.window),
        budgets=plan.budgets,
        results=plan.results,
        rounds=Bounds(cap=plan.cap, seconds=20.0, early=plan.early),
    )
