"""Plays a scenario: loop, tools, hooks and client are real; waits take no time."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import attrs

from unspiral.engine.core.table import compile_table
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.transport import FaultTransport
from unspiral.engine.live.agent import Agent, Settings, World
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.client import make_model
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.events import Called, Continued, Ended, LiveEvent
from unspiral.engine.live.hook_commands import CommandHook
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.keeping import WorkspaceKeep
from unspiral.engine.live.permission import Gate
from unspiral.engine.live.ports import Abort, LoopClock, Model
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.tools.builtin import builtin_tools
from unspiral.engine.live.tools.registry import Toolbox
from unspiral.engine.live.tools.workspace import Workspace
from unspiral.engine.live.waiting import Backoff
from unspiral.engine.scenarios.project import check, write
from unspiral.engine.scenarios.scenario import Scenario
from unspiral.machines.agent_loop import AGENT_LOOP

MODEL, OTHER = "claude-sonnet-5-5", "claude-haiku-5-5"
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class Quick:
    """A clock whose waits take no time: only tools and hooks do."""

    def now(self) -> float:
        return LoopClock().now()

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.sleep(0)


@attrs.frozen
class Played:
    """A run that is over."""

    events: list[LiveEvent]
    journal: MemoryJournal
    wrong: tuple[str, ...]

    @property
    def end(self) -> str:
        last = self.events[-1]
        assert isinstance(last, Ended)
        return last.terminal

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.events if isinstance(each, Continued)]

    @property
    def called(self) -> list[tuple[str, bool]]:
        """The calls that came to a result, and whether that was an error."""
        return [(e.name, e.error) for e in self.events if isinstance(e, Called)]


def play(scenario: Scenario, folder: Path) -> Played:
    """Play a scenario in an empty folder."""
    write(scenario, folder)
    journal = MemoryJournal()

    async def main() -> list[LiveEvent]:
        transport = FaultTransport(scenario.schedule, journal)
        async with aclosing(make_model("none", transport=transport)) as model:
            agent = _agent(scenario, folder, model)
            return [each async for each in agent.run(scenario.task)]

    events = asyncio.run(main())
    last = events[-1]
    terminal = last.terminal if isinstance(last, Ended) else "refused"
    return Played(events, journal, check(scenario, terminal, folder))


def _agent(scenario: Scenario, folder: Path, model: Model) -> Agent:
    workspace, clock = Workspace(folder), LoopClock()
    hooks = (
        Hook(CommandHook(words, workspace.root, PATH), (point,))
        for point, words in scenario.hooks
    )
    world = World(
        model=model,
        tools=Toolbox(builtin_tools(workspace, PATH, clock)),
        permission=Gate(workspace.root, scenario.rules, scenario.mode),
        hooks=HookList(tuple(hooks)),
        store=MemoryStore(),
        keep=WorkspaceKeep(workspace),
        clock=clock,
        waits=Quick(),
        wall=lambda: 1_800_000_000.0,
        pause=Backoff(lambda: 0.5),
    )
    budgets: Any = dict(scenario.budgets)
    settings = Settings(
        MODEL,
        OTHER if scenario.fallback else "",
        system="You are a coding agent.",
        window=Window.scaled(scenario.window or 200_000),
        budgets=Budgets(**budgets),
    )
    limits = {
        "token_budget_on": False,
        "fallback_model": scenario.fallback,
        **scenario.limits,
    }
    table = compile_table(AGENT_LOOP, scenario.edition or "hardened", limits)
    return Agent(table, world, settings, Abort())
