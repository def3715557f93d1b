"""What really happened in a run, in order, written down between the agent and the rest.

Whoever records sits next to the world: what a broken part between it and the agent
does, twice or not at all, is seen here as it is. Nothing is judged.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import attrs

from unspiral.engine.core.table import Table
from unspiral.engine.live.agent import Settings
from unspiral.engine.live.events import Continued, Decided, Ended, LiveEvent
from unspiral.engine.live.message import History
from unspiral.engine.live.ports import (
    Ask,
    HookCall,
    Hooks,
    HookWord,
    LoopClock,
    Model,
    Outcome,
    Permission,
    Piece,
    Ruling,
)
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.session_events import Event

T = TypeVar("T")


@attrs.frozen
class Asked:
    """A request leaves; so many events of the session are kept by then."""

    ask: Ask
    kept: int
    at: float


@attrs.frozen
class Came:
    """What came of a request."""

    ask: Ask
    outcome: Outcome


@attrs.frozen
class Began:
    """A tool begins to run."""

    name: str
    given: Mapping[str, object]
    safe: bool
    who: object


@attrs.frozen
class Over:
    """A tool has come to an end, however."""

    who: object


@attrs.frozen
class Hearing:
    """The hooks of a point are about to be called."""

    call: HookCall


@attrs.frozen
class Heard:
    """The hooks of a point have spoken."""

    call: HookCall
    word: HookWord


@attrs.frozen
class Ruled:
    """The gate has ruled."""

    name: str
    given: Mapping[str, object]
    allowed: bool


@attrs.frozen
class Stopped:
    """Somebody asks the run to stop, or takes it away."""

    how: str
    at: float


@attrs.frozen
class Told:
    """The consumer has got an event; `text` is how it looked then."""

    event: LiveEvent
    kept: int
    text: str
    at: float


Record: TypeAlias = (
    Asked | Came | Began | Over | Hearing | Heard | Ruled | Stopped | Told
)


def event_of(record: object, kind: type[T]) -> T | None:
    """The event of a kind that a record tells of, if it does."""
    event = record.event if isinstance(record, Told) else None
    return event if isinstance(event, kind) else None


@attrs.define
class Watched:
    """A run, from the prompt on.

    Attributes:
        table: that was run.
        settings: of the agent.
        before: the history that it began with.
        denied: tools that the rules forbid.
        shells: tools of which a failure cancels siblings.
        store: the session.
        records: what happened.
        prompt: of the user; None: the run is gone on with.
    """

    table: Table
    settings: Settings
    before: History
    denied: frozenset[str]
    shells: frozenset[str]
    store: MemoryStore
    prompt: str | None
    records: list[Record] = attrs.field(factory=list[Record])

    def all(self, kind: type[T]) -> list[T]:
        """Return the records of a kind, or the events of a kind that were told."""
        found: list[T] = []
        for each in self.records:
            if isinstance(each, kind):
                found.append(each)
            elif isinstance(each, Told) and isinstance(each.event, kind):
                found.append(each.event)
        return found

    @property
    def main(self) -> list[Asked]:
        return [each for each in self.all(Asked) if each.ask.source == "main"]

    @property
    def end(self) -> Ended | None:
        ends = self.all(Ended)
        return ends[-1] if ends else None

    @property
    def kind(self) -> str:
        """Of the terminal: done, limit, error, abort, hook; "" without one."""
        kinds = {each.name: each.kind for each in self.table.flat.terminals}
        return "" if self.end is None else kinds[self.end.terminal]

    @property
    def decided(self) -> list[Decided]:
        return self.all(Decided)

    @property
    def iterations(self) -> list[list[Record]]:
        """The records between two continues."""
        parts: list[list[Record]] = [[]]
        for each in self.records:
            parts[-1].append(each)
            if isinstance(each, Told) and isinstance(each.event, Continued):
                parts.append([])
        return parts

    @property
    def stopped(self) -> Stopped | None:
        """The first word of the user that asks to stop."""
        stops = [e for e in self.all(Stopped) if e.how in {"user", "interrupt"}]
        return stops[0] if stops else None

    def after(self, one: object) -> Sequence[Record]:
        """The records after one."""
        at = next(n for n, each in enumerate(self.records) if each is one)
        return self.records[at + 1 :]

    def events(self) -> list[Event]:
        """The session, as it is kept."""
        return self.store.events()


# -- who records -----------------------------------------------------------------------


@attrs.define
class WatchedModel:
    """Writes down what is asked, and what comes of it."""

    model: Model
    seen: Watched

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        kept = len(self.seen.store.events())
        self.seen.records.append(Asked(ask, kept, LoopClock().now()))
        outcome = await self.model.attempt(ask, tell)
        self.seen.records.append(Came(ask, outcome))
        return outcome

    async def refresh(self) -> bool:
        return await self.model.refresh()


@attrs.define
class WatchedHooks:
    """Writes down what hooks are told, and what they say."""

    hooks: Hooks
    seen: Watched

    async def call(self, call: HookCall, /) -> HookWord:
        self.seen.records.append(Hearing(call))
        word = await self.hooks.call(call)
        self.seen.records.append(Heard(call, word))
        return word


@attrs.define
class WatchedGate:
    """Writes down what is ruled."""

    gate: Permission
    seen: Watched

    async def rule(
        self, name: str, given: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        allowed, why = await self.gate.rule(name, given, hook)
        self.seen.records.append(Ruled(name, given, allowed))
        return allowed, why
