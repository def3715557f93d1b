"""A part that is broken on purpose breaks the law that is about it: the laws can fail.

Each stands between the agent and the world; what really happened is written down next
to the world, so that the laws see the truth, and not what the broken part says of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping

import attrs
import pytest

from tests.live.any_parts import Acts, Speaks
from tests.live.any_plan import Breaks, Plan, Stop, play
from tests.live.laws import broken
from unspiral.engine.faults.reply import Reply, Text, ToolUse
from unspiral.engine.faults.schedule import Play, Step
from unspiral.engine.live.agent import Agent
from unspiral.engine.live.events import (
    Answered,
    Ended,
    LiveEvent,
    Shown,
    Tombstone,
    ToolsRan,
)
from unspiral.engine.live.message import Message, tool_result
from unspiral.engine.live.ports import (
    Ask,
    HookCall,
    Hooks,
    HookWord,
    Model,
    Outcome,
    Permission,
    Piece,
    Ruling,
    ToolOutcome,
    Tools,
    ToolSpec,
)


def says(*texts: str) -> Step:
    return Step(Play(reply=Reply(tuple(map(Text, texts)))))


def calls(*numbers: int, name: str = "ant") -> Step:
    blocks = tuple(ToolUse(name, {"n": n}) for n in numbers)
    return Step(Play(reply=Reply((Text("I call."), *blocks))))


WORK = Plan((calls(1, 2), says("Done.")))


# -- the parts -------------------------------------------------------------------------


@attrs.define
class _Model:
    """A model that another one is asked through."""

    model: Model

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        return await self.model.attempt(self.changed(ask), tell)

    async def refresh(self) -> bool:
        return await self.model.refresh()

    def changed(self, ask: Ask) -> Ask:
        return ask


class _LosesResults(_Model):
    """Sends calls, and not what came of them."""

    def changed(self, ask: Ask) -> Ask:
        kept = tuple(m for m in ask.messages if m.kind != "results")
        return attrs.evolve(ask, messages=kept)


class _Rewrites(_Model):
    """Sends what the model said in other words."""

    def changed(self, ask: Ask) -> Ask:
        def other(message: Message) -> Message:
            if message.role == "user":
                return message
            said = ({"type": "text", "text": "I said that."}, *message.content[1:])
            return attrs.evolve(message, content=said)

        return attrs.evolve(ask, messages=tuple(map(other, ask.messages)))


@attrs.define
class _Tools:
    """Tools that others are called through."""

    tools: Tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self.tools.specs)

    def safe(self, name: str, given: Mapping[str, object], /) -> bool:
        return self.tools.safe(name, given)

    def problem(self, name: str, given: Mapping[str, object], /) -> str:
        return self.tools.problem(name, given)

    async def run(self, name: str, given: Mapping[str, object], /) -> ToolOutcome:
        return await self.tools.run(name, given)


class _RunsTwice(_Tools):
    """Runs each call twice."""

    async def run(self, name: str, given: Mapping[str, object], /) -> ToolOutcome:
        await self.tools.run(name, given)
        return await self.tools.run(name, given)


class _AllSafe(_Tools):
    """Says of every tool that it is safe."""

    def safe(self, name: str, given: Mapping[str, object], /) -> bool:
        del name, given
        return True


@attrs.define
class _Open:
    """A gate that is open, whatever the real one says."""

    gate: Permission

    async def rule(
        self, name: str, given: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        await self.gate.rule(name, given, hook)
        return True, ""


@attrs.define
class _Deaf:
    """Hooks that are heard, and not heeded."""

    hooks: Hooks

    async def call(self, call: HookCall, /) -> HookWord:
        await self.hooks.call(call)
        return HookWord()


@attrs.define
class _Agent:
    """An agent whose events go through here."""

    agent: Agent
    change: Callable[[LiveEvent], list[LiveEvent]]

    async def run(self, prompt: str | None = None) -> AsyncGenerator[LiveEvent]:
        async for each in self.agent.run(prompt):
            for event in self.change(each):
                yield event


def telling(change: Callable[[LiveEvent], list[LiveEvent]]) -> Breaks:
    return Breaks(agent=lambda agent: _Agent(agent, change))


def lost(kind: type) -> Breaks:
    """Events of a kind are not told."""
    return telling(lambda event: [] if isinstance(event, kind) else [event])


def twice(kind: type) -> Breaks:
    """Events of a kind are told twice."""
    return telling(lambda event: [event] * (1 + isinstance(event, kind)))


def _backwards(event: LiveEvent) -> list[LiveEvent]:
    if not isinstance(event, ToolsRan):
        return [event]
    content = tuple(reversed(event.message.content))
    return [ToolsRan(attrs.evolve(event.message, content=content))]


def _orphan(event: LiveEvent) -> list[LiveEvent]:
    if not isinstance(event, Ended):
        return [event]
    result = Message("user", (tool_result("nobody", "x"),), "results")
    return [attrs.evolve(event, history=(*event.history, result))]


class _Stubborn(_Model):
    """Goes on asking when it is told to stop."""

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        task = asyncio.ensure_future(self.model.attempt(ask, tell))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await task
            await self.model.attempt(ask, tell)
            raise


DIED = Step(Play("reset_mid_stream"))
BAD = Step(Play("billing"))
UNSAFE = tuple(Acts(safe=False) for _ in range(4))
STOPPED = Plan((Step(Play("stall")), says("y")), stop=Stop("user", seconds=5.0))
BLOCKED = (Speaks("block", ("Stop",)),)

CASES: Mapping[str, tuple[str, Plan, Breaks]] = {
    "results are not sent": ("law_01", WORK, Breaks(model=_LosesResults)),
    "a result without a call": ("law_02", WORK, telling(_orphan)),
    "an answer is told of which nothing is kept": (
        "law_04",
        WORK,
        lost(Answered),
    ),
    "results in another order": ("law_05", WORK, telling(_backwards)),
    "a tool runs twice": ("law_07", WORK, Breaks(tools=_RunsTwice)),
    "what the model said is changed": ("law_08", WORK, Breaks(model=_Rewrites)),
    "an error is told twice": ("law_34", Plan((BAD,)), twice(Shown)),
    "an error is swallowed": ("law_34", Plan((BAD,)), lost(Shown)),
    "a hook is not heeded": (
        "law_40",
        Plan((says("a"), says("b")), hooks=BLOCKED),
        Breaks(hooks=_Deaf),
    ),
    "the gate is open": (
        "law_43",
        Plan(WORK.steps, rules={"ant": "deny"}),
        Breaks(gate=_Open),
    ),
    "unsafe calls run side by side": (
        "law_59",
        Plan(WORK.steps, tools=UNSAFE),
        Breaks(tools=_AllSafe),
    ),
    "what was seen is not withdrawn": (
        "law_71",
        Plan((DIED, says("x"))),
        lost(Tombstone),
    ),
    "the end is told twice": ("one_end", WORK, twice(Ended)),
    "a request after an abort": ("law_14", STOPPED, Breaks(model=_Stubborn)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_part_breaks_the_law_that_is_about_it(case: str) -> None:
    law, plan, breaks = CASES[case]

    assert broken(play(plan)) == []
    assert law in {each.partition(":")[0] for each in broken(play(plan, breaks))}
