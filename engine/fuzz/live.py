"""Strategies for what stands around a live loop: its hooks and its tools.

The values are those of `engine.live`, for property tests of a loop that runs. They
stand apart from the other strategies, which need nothing of the live loop.
"""

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import attrs
from hypothesis import strategies as st

from unspiral.engine.live.hooks import Hook
from unspiral.engine.live.ports import HookCall, HookPoint, HookWord, ToolOutcome
from unspiral.engine.live.tools.registry import Tool, Traits, tool

__all__ = ["Says", "hooks", "tools"]

#: what a hook says, or a tool answers, at one call; an error is raised
Word: TypeAlias = HookWord | ToolOutcome | Exception | None

_POINTS: tuple[HookPoint, ...] = (
    "Stop",
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "PreCompact",
    "PostCompact",
    "StopFailure",
    "SessionStart",
)
_RULINGS = ("deny", "ask", "allow")
_MOST = 4  # calls at which something is said


@attrs.define(eq=False)
class Says:
    """A function that says one word a call, in order, and then always the last one.

    Attributes:
        words: what it says; an error is raised.
        last: what it says when all are said.
    """

    words: tuple[Word, ...]
    last: Word = None
    _count: "itertools.count[int]" = attrs.field(
        factory=itertools.count, init=False, repr=False
    )

    async def say(self) -> Word:
        """Say the next word.

        Raises:
            Exception: that is the word.
        """
        number = next(self._count)
        word = self.words[number] if number < len(self.words) else self.last
        if isinstance(word, Exception):
            raise word
        return word

    async def __call__(self, call: HookCall) -> Word:
        """Say the next word to a hook's call."""
        del call
        return await self.say()


def hooks(points: Sequence[HookPoint] = _POINTS) -> st.SearchStrategy[Hook]:
    """Return a strategy for hooks that block, prevent, rule, tell, or crash.

    Each says something at its first calls and nothing after them, so that a loop which
    ends only when its hooks are silent does end.

    Args:
        points: at which they are called.
    """
    words: st.SearchStrategy[Word] = st.one_of(
        st.none(),
        st.just(HookWord(blocks=("Not yet.",))),
        st.just(HookWord(prevent="Enough.")),
        st.builds(HookWord, ruling=st.sampled_from(_RULINGS)),
        st.just(HookWord(context=("Mind the gap.",))),
        st.just(ValueError("the hook crashed")),
    )
    said = st.lists(words, max_size=_MOST).map(lambda drawn: Says(tuple(drawn)))
    point = st.sampled_from(tuple(points))
    where = st.lists(point, min_size=1, unique=True, max_size=3)
    return st.builds(Hook, said, where.map(tuple))


def tools(name: str = "act") -> st.SearchStrategy[Tool]:
    """Return a strategy for tools that answer, fail, raise, or end the run.

    A tool takes an optional text. It shrinks to one that answers "done" at each call.

    Args:
        name: of the tool.
    """
    outcomes: st.SearchStrategy[Word] = st.one_of(
        st.just(ToolOutcome("done")),
        st.just(ToolOutcome("no such file", error=True)),
        st.just(ValueError("the tool crashed")),
        st.just(ToolOutcome("enough", stop="The tool ends the run.")),
    )
    said = st.lists(outcomes, max_size=_MOST)
    traits = st.builds(Traits, runs_shell=st.booleans(), interruptible=st.booleans())
    return st.builds(_tool, st.just(name), said, traits, safe=st.booleans())


def _tool(name: str, words: Sequence[Word], traits: Traits, *, safe: bool) -> Tool:
    says = Says(tuple(words), ToolOutcome("done"))

    @tool(
        {"properties": {"text": {"type": "string"}}},
        name=name,
        description="Do something.",
        safe=safe,
        traits=traits,
    )
    async def act(text: str = "") -> Word:
        del text
        return await says.say()

    return act
