"""An agent with a scripted model and plain tools, run in virtual time, for tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tests.live.histories import answer, call
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.step import Step, step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.live.agent import Agent, Settings, World
from unspiral.engine.live.events import (
    Answered,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Shown,
    ToolsRan,
)
from unspiral.engine.live.hooks import HookList
from unspiral.engine.live.message import History, open_calls, wire
from unspiral.engine.live.ports import (
    Abort,
    Ask,
    Hooks,
    LoopClock,
    Outcome,
    Permission,
    Piece,
    Ruling,
)
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.session_events import Notes
from unspiral.engine.live.tools.registry import Tool, Toolbox, tool
from unspiral.machines.query_loop import QUERY_LOOP

SUMMARY = Outcome("answered", answer("<summary>All is well.</summary>"), "end_turn")


def said(text: str = "It is done.", id_: str = "", stop: str = "end_turn") -> Outcome:
    """An answer in words."""
    message = answer(text, id_=id_)
    return Outcome("answered", message, stop, input_tokens=10, output_tokens=5)


def calls(*names: str, id_: str = "", **given: object) -> Outcome:
    """An answer with calls, each with an id of its own."""
    blocks = [call(f"{id_ or 'c'}_{n}", name, **given) for n, name in enumerate(names)]
    message = answer(*blocks, id_=id_)
    return Outcome("answered", message, "tool_use", input_tokens=10, output_tokens=5)


def refused(fact: str, text: str = "", **more: Any) -> Outcome:
    """No answer."""
    return Outcome(fact, text=text or fact, **more)


@attrs.define
class Script:
    """A model that answers as it is told; the last answer goes on for ever.

    Side tasks are answered from `summaries`, in the same way.
    """

    outcomes: Sequence[Outcome]
    summaries: Sequence[Outcome] = (SUMMARY,)
    seconds: float = 1.0
    asks: list[Ask] = attrs.field(factory=list[Ask])
    deltas: Sequence[Piece] = ()

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        earlier = sum(each.source == ask.source for each in self.asks)
        self.asks.append(ask)
        for delta in self.deltas if ask.source == "main" else ():
            tell(delta)
        await LoopClock().sleep(self.seconds)
        script = self.outcomes if ask.source == "main" else self.summaries
        return script[min(earlier, len(script) - 1)]

    async def refresh(self) -> bool:
        return False

    @property
    def main(self) -> list[Ask]:
        return [ask for ask in self.asks if ask.source == "main"]


class Yes:
    """A gate that is open."""

    async def rule(
        self, name: str, given: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        del name, given, hook
        return True, ""


class Shelf:
    """Keeps large results nowhere."""

    def keep(self, call: str, text: str, /) -> str:
        del text
        return f"results/{call}"


@tool({"properties": {"path": {"type": "string"}}}, safe=True)
async def look(path: str = "") -> str:
    """Look at something."""
    await LoopClock().sleep(0.1)
    return f"This is {path or 'it'}."


@tool({"properties": {}}, safe=False)
async def change() -> str:
    """Change something."""
    await LoopClock().sleep(0.1)
    return "Changed."


@attrs.define
class Ran:
    """A run that is over."""

    events: list[LiveEvent]
    model: Script
    agent: Agent

    @property
    def end(self) -> str:
        last = self.events[-1]
        assert isinstance(last, Ended)
        return last.terminal

    @property
    def history(self) -> History:
        last = self.events[-1]
        assert isinstance(last, Ended)
        return last.history

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.events if isinstance(each, Continued)]

    @property
    def steps(self) -> list[Step]:
        return [each.step for each in self.events if isinstance(each, Decided)]

    @property
    def shown(self) -> list[str]:
        return [each.text for each in self.events if isinstance(each, Shown)]

    def facts(self, phase: str) -> list[str | None]:
        """The events that a phase came to."""
        return [each.event for each in self.steps if each.before.phase == phase]


def wrong(ran: Ran) -> list[str]:
    """What no run may do, whatever the world does; empty."""
    found = [*_ends(ran), *steps_wrong(ran.steps, ran.agent.table)]
    for number, ask in enumerate(ran.model.asks):
        found += [f"request {number}: {each}" for each in malformed(ask)]
    if open_calls(ran.history):
        found.append("a call of the history is open")
    answers = [each for each in ran.events if isinstance(each, Answered)]
    if len({id(each.message) for each in answers}) != len(answers):
        found.append("an answer is told twice")
    rounds = [each for each in ran.events if isinstance(each, ToolsRan)]
    if len(rounds) > len(answers):
        found.append("tools of an answer ran that was not told")
    return found


def _ends(ran: Ran) -> list[str]:
    ends = [n for n, each in enumerate(ran.events) if isinstance(each, Ended)]
    shown = ran.shown
    return [
        *([] if ends == [len(ran.events) - 1] else [f"it ends at {ends}"]),
        *([] if len(shown) <= 1 else [f"errors are shown {len(shown)} times"]),
    ]


def steps_wrong(
    steps: Sequence[Step], table: Table, *, ended: bool = True
) -> list[str]:
    """The trace is what the machine does with these events, row by row."""
    found: list[str] = []
    for number, each in enumerate(steps):
        if step(table, each.before, each.event) != each:
            found.append(f"step {number} is none of the machine")
        if number and each.before != steps[number - 1].after:
            found.append(f"step {number} does not follow the one before")
    if ended and steps and steps[-1].after.phase not in table.terminals:
        found.append("the trace does not end in a terminal")
    return found


def malformed(ask: Ask) -> list[str]:
    """What the API would refuse in a request."""
    sent = wire(ask.messages)
    found: list[str] = []
    if not sent or sent[0]["role"] != "user":
        found.append("it does not begin with the user")
    waiting: list[str] = []
    seen: set[str] = set()
    for message in sent:
        content: Any = message["content"]
        ids = [b["tool_use_id"] for b in content if b["type"] == "tool_result"]
        if sorted(ids) != sorted(waiting):
            found.append(f"results {ids} for calls {waiting}")
        if ids and any(b["type"] != "tool_result" for b in content[: len(ids)]):
            found.append("results do not come first")
        waiting = [b["id"] for b in content if b["type"] == "tool_use"]
        found += [f"id {each} comes twice" for each in waiting if each in seen]
        seen |= set(waiting)
    if waiting:
        found.append(f"calls {waiting} are open")
    return found


_tables: dict[tuple[object, ...], tuple[Machine, Table]] = {}


def compiled(machine: Machine, edition: str, limits: Mapping[str, LimitValue]) -> Table:
    """A table, compiled once for all tests."""
    key = (id(machine), edition, *sorted(limits.items(), key=str))
    if key not in _tables:
        _tables[key] = machine, compile_table(machine, edition, limits)
    return _tables[key][1]


@attrs.define
class Bench:
    """What a run is made of; every part can be another one."""

    model: Script
    machine: Machine = QUERY_LOOP
    edition: str = "hardened"
    limits: Mapping[str, LimitValue] = attrs.field(
        factory=lambda: {"token_budget_on": False}
    )
    tools: Sequence[Tool] = (look, change)
    permission: Permission = attrs.field(factory=Yes)
    hooks: Hooks = attrs.field(factory=HookList)
    store: Notes = attrs.field(factory=MemoryStore)
    settings: Settings = attrs.field(factory=lambda: Settings("claude-sonnet-5-5"))
    abort: Abort = attrs.field(factory=Abort)
    table: Table | None = None
    restored: Restored | None = None
    wall: Callable[[], float] = lambda: 1_800_000_000.0
    notes: Callable[[], str] = str

    def agent(self) -> Agent:
        world = World(
            model=self.model,
            tools=Toolbox(self.tools),
            permission=self.permission,
            hooks=self.hooks,
            store=self.store,
            keep=Shelf(),
            clock=LoopClock(),
            waits=LoopClock(),
            wall=self.wall,
            pause=lambda retry, hint: hint or float(retry),
            notes=self.notes,
        )
        table = self.table or compiled(self.machine, self.edition, self.limits)
        return Agent(table, world, self.settings, self.abort, self.restored)

    def run(
        self,
        prompt: str | None = "Mend the parser.",
        watch: Callable[[LiveEvent], None] = lambda _: None,
    ) -> Ran:
        """Run to the end, in virtual time."""

        async def main() -> Ran:
            agent, events = self.agent(), list[LiveEvent]()
            async for each in agent.run(prompt):
                events.append(each)
                watch(each)
            return Ran(events, self.model, agent)

        return run_virtual(main())
