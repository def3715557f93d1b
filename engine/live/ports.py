"""What the loop needs of the world, as protocols of one to three methods.

The real ones talk to the anthropic SDK, run tools and commands, and keep sessions; a
test passes fakes. What a port answers is a fact; none of them knows the machine's rows.
"""

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import attrs

from unspiral.engine.live.message import Block, Message

__all__ = [
    "Abort",
    "Ask",
    "Clock",
    "Delta",
    "HookCall",
    "HookPoint",
    "HookWord",
    "Hooks",
    "LoopClock",
    "Model",
    "Outcome",
    "Permission",
    "Piece",
    "Ready",
    "Ruling",
    "Store",
    "ToolOutcome",
    "ToolSpec",
    "Tools",
]


class Clock(Protocol):
    """Time."""

    def now(self) -> float:
        """Return seconds since some beginning."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class LoopClock:
    """The clock of the running event loop."""

    def now(self) -> float:
        """Return the time of the loop, in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


@attrs.define
class Abort:
    """Whether the run is to be stopped, and why.

    Attributes:
        reason: "user": stop; "interrupt": the user has typed something new; None: go
            on.
    """

    reason: Literal["user", "interrupt"] | None = None
    _event: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _heard: dict[object, Callable[[], object]] = attrs.field(
        factory=dict[object, "Callable[[], object]"], init=False
    )

    def set(self, reason: Literal["user", "interrupt"] = "user") -> None:
        """Ask the run to stop."""
        self.reason = self.reason or reason
        self._event.set()
        for call_soon in self._heard.values():
            call_soon()

    def hear(self, who: object, call: Callable[[], None]) -> None:
        """Call something soon whenever somebody asks; no task has to wait for it."""
        loop = asyncio.get_running_loop()
        self._heard[who] = functools.partial(loop.call_soon, call)

    def leave(self, who: object) -> None:
        """Call it no more."""
        self._heard.pop(who, None)

    async def wait(self) -> None:
        """Wait until somebody asks."""
        await self._event.wait()


# -- the model -------------------------------------------------------------------------


@attrs.frozen
class ToolSpec:
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: Mapping[str, object]


@attrs.frozen
class Ask:
    """One request to the model.

    Attributes:
        model: its name.
        messages: the history that is sent.
        system: the system prompt.
        tools: what is offered.
        max_tokens: the most output tokens.
        stream: whether to stream.
        source: who asks: "main", "compact", ...
    """

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 8_000
    stream: bool = True
    source: str = "main"


@attrs.frozen
class Delta:
    """A piece of an answer while it is streamed: text or thinking, for a screen."""

    kind: Literal["text", "thinking"]
    text: str


@attrs.frozen
class Ready:
    """A call that is complete, while the answer that it is of is still streamed."""

    call: Block


#: what may be told of an answer that is not complete
Piece: TypeAlias = Delta | Ready


@attrs.frozen
class Outcome:
    """What came of one attempt: a fact, named as the events of a request are.

    Attributes:
        fact: "answered", "prompt_too_long", "media_rejected", "rate_limited",
            "overloaded", "server_error", "connection_lost", "stream_died",
            "unauthorized", "output_overflow", "permanent", "exception", ...
        message: the answer, if there is one.
        stop: its stop reason.
        bad_calls: by the id of a call whose input is no JSON object, what is wrong.
        input_tokens: charged, cached ones included.
        output_tokens: charged.
        cached_tokens: of the input, read from a cache.
        written_tokens: of the input, written to a cache.
        wait: seconds that the server asks to wait, or None.
        room: output tokens that would fit, for "output_overflow", or None.
        text: the error as told by whoever raised it, for people.
        status: the HTTP status, or None.
    """

    fact: str
    message: Message | None = None
    stop: str | None = None
    bad_calls: Mapping[str, str] = attrs.field(factory=dict[str, str])
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    wait: float | None = None
    room: int | None = None
    text: str = ""
    status: int | None = None


class Model(Protocol):
    """Whoever answers requests."""

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        """Send one request once, and read its answer strictly to the end.

        Never raises but for cancellation: whatever goes wrong is an outcome.
        """
        ...

    async def refresh(self) -> bool:
        """Renew the credentials; return whether there was anything to renew."""
        ...


# -- tools, permission, hooks ----------------------------------------------------------


@attrs.frozen
class ToolOutcome:
    """What came of a tool.

    Attributes:
        text: for the model.
        error: whether it failed.
        stop: a hook or the tool says that the run is to end, and why; or "".
    """

    text: str
    error: bool = False
    stop: str = ""


class Tools(Protocol):
    """The tools of a run."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is offered."""
        ...

    def safe(self, name: str, given: Mapping[str, object], /) -> bool:
        """Tell whether this call may run beside others; False if in doubt."""
        ...

    def problem(self, name: str, given: Mapping[str, object], /) -> str:
        """Return what is wrong with a call, and how to call the tool; "" if nothing."""
        ...

    async def run(self, name: str, given: Mapping[str, object], /) -> ToolOutcome:
        """Run a tool. Never raises but for cancellation."""
        ...


Ruling: TypeAlias = Literal["allow", "deny", "ask"]


class Permission(Protocol):
    """The gate: may this call run?"""

    async def rule(
        self, name: str, given: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        """Decide, deny first; return whether it may run, and why or why not."""
        ...


HookPoint: TypeAlias = Literal[
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "Stop",
    "StopFailure",
    "SessionStart",
]


@attrs.frozen
class HookCall:
    """What a hook is told."""

    point: HookPoint
    facts: Mapping[str, object]


@attrs.frozen
class HookWord:
    """What all hooks of a point said together.

    Attributes:
        prevent: the run is to end here, and why; or "".
        blocks: every reason of a hook that blocks, in the order of the hooks.
        ruling: on permission, the strictest; None if no hook has one.
        given: the changed input of a tool, or None.
        context: texts to be told to the model.
        crashes: what went wrong with hooks that failed; none of it blocks.
    """

    prevent: str = ""
    blocks: tuple[str, ...] = ()
    ruling: Ruling | None = None
    given: Mapping[str, object] | None = None
    context: tuple[str, ...] = ()
    crashes: tuple[str, ...] = ()


class Hooks(Protocol):
    """The hooks of a run."""

    async def call(self, call: HookCall, /) -> HookWord:
        """Call all hooks of a point, in parallel, and merge what they say."""
        ...


# -- the session -----------------------------------------------------------------------


class Store(Protocol):
    """Where a session is kept, append-only."""

    def append(self, kind: str, value: Mapping[str, object], /) -> None:
        """Keep an event; it is durable when this returns.

        Raises:
            FileProblem: it cannot be kept.
        """
        ...
