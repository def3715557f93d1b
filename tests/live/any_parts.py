"""Tools that end in every way, hooks that say anything, people who may not be there."""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from tests.live.watched import Began, Over, Watched
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.permission import Gate, Question
from unspiral.engine.live.ports import HookCall, HookPoint, HookWord, ToolOutcome
from unspiral.engine.live.rules import Rules
from unspiral.engine.live.tools.registry import Tool, Traits, tool

__all__ = ["NAMES", "POINTS", "Acts", "Speaks", "gate_of", "hooks_of", "tools_of"]

NAMES = ("ant", "bee", "cat", "dog")
POINTS: tuple[HookPoint, ...] = (
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "Stop",
    "StopFailure",
    "SessionStart",
)
Ends: TypeAlias = Literal["says", "fails", "raises", "stops", "hangs", "lingers"]
Says: TypeAlias = Literal[
    "nothing",
    "block",
    "prevent",
    "deny",
    "ask",
    "allow",
    "change",
    "context",
    "crash",
    "hang",
    "nonsense",
]


@attrs.frozen
class Acts:
    """What a tool does."""

    ends: Ends = "says"
    seconds: float = 0.1
    size: int = 20
    safe: bool = True
    shell: bool = False
    interruptible: bool = False


@attrs.frozen
class Speaks:
    """What a hook says, the first times that it is called."""

    says: Says
    points: tuple[HookPoint, ...]
    times: int = 1


def tools_of(acts: Sequence[Acts], seen: Watched) -> list[Tool]:
    """The tools, by the names that they have."""
    return [_tool(n, each, seen) for n, each in zip(NAMES, acts, strict=True)]


def _tool(name: str, acts: Acts, seen: Watched) -> Tool:
    given = {"n": {"type": "integer"}, "text": {"type": "string"}}
    traits = Traits(acts.shell, acts.interruptible)

    @tool(
        {"properties": given, "required": ["n"]},
        name=name,
        safe=acts.safe,
        traits=traits,
    )
    async def acting(n: int, text: str = "") -> ToolOutcome:
        """Do something."""
        who = object()
        seen.records.append(Began(name, {"n": n, "text": text}, acts.safe, who))
        try:
            return await _act(acts, f"{name} {n}: ")
        finally:
            seen.records.append(Over(who))

    return acting


async def _act(acts: Acts, said: str) -> ToolOutcome:
    if acts.ends == "hangs":
        await asyncio.sleep(10_000)
    if acts.ends == "lingers":
        try:
            await asyncio.sleep(10_000)
        except asyncio.CancelledError:
            await asyncio.sleep(5)
    if acts.seconds:
        await asyncio.sleep(acts.seconds)
    if acts.ends == "raises":
        raise ValueError(said)
    text = (said + "all is well. " * (acts.size // 13 + 1))[: acts.size + len(said)]
    stop = f"{said}enough" if acts.ends == "stops" else ""
    return ToolOutcome(text, error=acts.ends == "fails", stop=stop)


def hooks_of(speaks: Sequence[Speaks]) -> HookList:
    """The hooks; each counts how often it is called."""
    return HookList(
        tuple(
            Hook(_Hook(each, number), each.points, seconds=3, name=f"hook-{number}")
            for number, each in enumerate(speaks)
        )
    )


@attrs.define(eq=False)
class _Hook:
    """A hook that says its word some times, and nothing more."""

    speaks: Speaks
    number: int
    count: "itertools.count[int]" = attrs.field(factory=lambda: itertools.count(1))

    async def __call__(self, call: HookCall) -> object:
        turn = next(self.count)
        if turn > self.speaks.times:
            return None
        text = f"word {self.number}.{turn}"
        given: Any = call.facts.get("tool_input", {})
        words: Mapping[Says, object] = {
            "block": HookWord(blocks=(text, f"{text}, twice")),
            "prevent": HookWord(prevent=text, blocks=(f"{text} blocks",)),
            "deny": HookWord(ruling="deny"),
            "ask": HookWord(ruling="ask"),
            "allow": HookWord(ruling="allow"),
            "change": HookWord(given={**given, "text": text}),
            "context": HookWord(context=(text,)),
            "nonsense": {"decision": text},
        }
        if self.speaks.says == "crash":
            raise ValueError(text)
        if self.speaks.says == "hang":
            await asyncio.sleep(10_000)
        return words.get(self.speaks.says)


def gate_of(rules: Mapping[str, str], person: str) -> Gate:
    """The gate, with a person who answers, or nobody."""
    kinds = {
        kind: [name for name, rule in rules.items() if rule == kind]
        for kind in ("allow", "ask", "deny")
    }
    free = [name for name in NAMES if name not in rules]
    parsed = Rules.parse([*kinds["allow"], *free], kinds["ask"], kinds["deny"])
    asks = None if person == "nobody" else _Person(person)
    return Gate("/workspace", parsed, ask=asks)


@attrs.frozen
class _Person:
    answer: str

    async def __call__(self, question: Question) -> bool:
        await asyncio.sleep(0.2)
        if self.answer == "fails":
            raise ValueError(question.tool)
        return self.answer == "yes"
