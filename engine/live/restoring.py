"""What a session has come to, worked out from its events; pure.

The history is well formed, so that it can be sent: a call whose result was kept has it,
though the message of all results was not written any more; one that was about to run
gets a result that says so, and is reported, since it may have had effects; and one that
was not begun gets a result that says that. Counters come from the snapshot of the
machine and from ledgers: nothing is counted anew.
"""

from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.core import run
from unspiral.engine.core.plain import as_list, as_object
from unspiral.engine.errors import BadValue, SessionError
from unspiral.engine.live import session_events as words
from unspiral.engine.live.mending import mended
from unspiral.engine.live.message import Block, History, Message, tool_result
from unspiral.engine.live.session_events import (
    Event,
    block_from_plain,
    message_from_plain,
)
from unspiral.engine.live.untyped import fields_of, text_at

__all__ = ["CUT_SHORT", "NOT_BEGUN", "Call", "Restored", "restore"]

CUT_SHORT = (
    "The run was interrupted while this call was running. It may have had effects, "
    "wholly or in part: look before you make it again."
)
NOT_BEGUN = "The run was interrupted before this call was run."


@attrs.frozen
class Call:
    """A call that was about to run.

    Attributes:
        id: its id.
        name: the tool.
        given: its input.
    """

    id: str
    name: str
    given: Mapping[str, object]


@attrs.frozen
class Restored:
    """What a session has come to.

    Attributes:
        about: what its first event says.
        history: the conversation; every call has its result.
        kept: the same as it is kept, for a `Keeper` that goes on with it.
        machine: the last snapshot of the run that was interrupted, for
            `core.run.Run.resume`; None if no run was.
        ledgers: the last value of each.
        in_flight: calls that had begun and have no result: they may have had effects.
        terminal: where the last run ended, or "" if it was interrupted.
        last: the number of the last event.
    """

    about: Mapping[str, object]
    history: History
    kept: History
    machine: Mapping[str, object] | None = None
    ledgers: Mapping[str, object] = attrs.field(factory=dict[str, object])
    in_flight: tuple[Call, ...] = ()
    terminal: str = ""
    last: int = 0

    @property
    def unbegun(self) -> str | None:
        """The task of a session that was killed before anything was done for it."""
        if self.machine or self.terminal or self.history:
            return None
        return text_at(self.about, "task") or None


def restore(events: Iterable[Event], path: str = "") -> Restored:
    """Work out what a session has come to.

    Args:
        events: all of them, or all but decisions, in their order.
        path: the session, for errors.

    Raises:
        SessionError: an event says what no session can say.
    """
    so_far = _SoFar()
    for event in events:
        try:
            so_far.take(event)
        except BadValue as error:
            raise SessionError(path, str(error), event.n) from None
    if not so_far.last:
        raise SessionError(path, "it holds no event")
    return so_far.restored()


@attrs.define
class _SoFar:
    """What the events up to one say."""

    about: Mapping[str, object] = attrs.field(factory=dict[str, object])
    history: list[Message] = attrs.field(factory=list[Message])
    identity: Mapping[str, object] = attrs.field(factory=dict[str, object])
    machine: Mapping[str, object] | None = None
    ledgers: dict[str, object] = attrs.field(factory=dict[str, object])
    begun: dict[str, Call] = attrs.field(factory=dict[str, Call])
    results: dict[str, Block] = attrs.field(factory=dict[str, Block])
    terminal: str = ""
    last: int = 0

    def take(self, event: Event) -> None:
        if (event.kind == words.BEGIN) is (self.last > 0):
            raise BadValue(
                "the kind", event.kind, f"{words.BEGIN!r} at first, never again"
            )
        self.last = event.n
        match event.kind:
            case words.BEGIN:
                self.about = event.value
            case words.MACHINE:
                self.begins(event.value)
            case words.STATE:
                self.state(event.value)
            case words.CALL:
                call = _call(event.value)
                self.begun[call.id] = call
                self.results.pop(call.id, None)
            case words.RESULT:
                self.result(event.value)
            case words.END:
                self.ended(event.value)
            case _:  # of a later version, or of no consequence here
                pass

    def begins(self, value: Mapping[str, object]) -> None:
        """A run begins, perhaps where another one was interrupted: that is told now."""
        stands = {name: value.get(name) for name in ("phase", "memory")}
        self.identity = {k: v for k, v in value.items() if k not in stands}
        self.machine = self.snapshot(stands)
        self.begun.clear()
        self.results.clear()
        self.terminal = ""

    def state(self, value: Mapping[str, object]) -> None:
        if "keep" in value or "messages" in value:
            self.change(value.get("keep"), value.get("messages"))
        if "machine" in value:
            self.machine = self.snapshot(value["machine"])
        if "ledgers" in value:
            ledgers = as_object(value["ledgers"])
            if ledgers is None:
                raise BadValue("the ledgers", repr(value["ledgers"]), "an object")
            self.ledgers |= ledgers

    def change(self, keep: object, messages: object) -> None:
        length = len(self.history)
        whole = isinstance(keep, int) and not isinstance(keep, bool)
        if not whole or not isinstance(keep, int) or not 0 <= keep <= length:
            allowed = f"a number of messages, at most {length:,}"
            raise BadValue("what is kept of the history", repr(keep), allowed)
        added = as_list(messages)
        if added is None:
            raise BadValue("what is added to the history", repr(messages), "a list")
        self.history[keep:] = map(message_from_plain, added)
        for message in self.history[keep:]:
            for block in message.content:
                if block.get("type") == "tool_result":
                    self.begun.pop(str(block.get("tool_use_id")), None)
                    self.results.pop(str(block.get("tool_use_id")), None)
        self.terminal = ""

    def snapshot(self, value: object) -> Mapping[str, object]:
        if not self.identity:
            allowed = f"told after the event {words.MACHINE!r}"
            raise BadValue("where the machine stands", repr(value), allowed)
        stands = fields_of(value)
        if set(stands) != {"phase", "memory"}:
            allowed = "'phase' and 'memory'"
            raise BadValue("where the machine stands", repr(value), allowed)
        says = {"format": run.FORMAT, "version": run.VERSION}
        return {**says, **self.identity, **stands}

    def result(self, value: Mapping[str, object]) -> None:
        block = block_from_plain(value.get("block"))
        if block.get("type") != "tool_result":
            raise BadValue("a result", repr(block), "a tool_result block")
        id_ = str(block.get("tool_use_id"))
        self.begun.pop(id_, None)
        self.results[id_] = block

    def ended(self, value: Mapping[str, object]) -> None:
        terminal = value.get("terminal")
        if not isinstance(terminal, str) or not terminal:
            raise BadValue("a terminal", repr(terminal), "a text")
        self.terminal, self.machine = terminal, None

    def restored(self) -> Restored:
        return Restored(
            about=self.about,
            history=mended(self.history, self.missing),
            kept=tuple(self.history),
            machine=self.machine,
            ledgers=self.ledgers,
            in_flight=tuple(self.begun.values()),
            terminal=self.terminal,
            last=self.last,
        )

    def missing(self, call: str) -> Block:
        if call in self.results:
            return self.results[call]
        text = CUT_SHORT if call in self.begun else NOT_BEGUN
        return tool_result(call, text, error=True)


def _call(value: Mapping[str, object]) -> Call:
    block = block_from_plain({"type": "tool_use", **value})
    given = fields_of(block.get("input"))
    return Call(str(block.get("id")), str(block.get("name")), given)
