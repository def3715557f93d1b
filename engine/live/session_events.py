"""The events of a session: their words, and how a run writes them; no file is touched.

    begin      once: what the session is about, in the words of whoever made it
    machine    a run begins: the machine and its limits, and where it stands
    state      what a run has come to: a change of the history, where the machine
               stands, ledgers; all of it in one event, so that no kill parts them
    call       a call of a tool is about to run
    result     a call has its result
    decision   a record of `live.record`
    end        a run has ended, in which terminal

A change of the history keeps its first messages and appends others: an answer keeps
all of them, a compaction none. Kinds that are not known are passed over by whoever
reads, so that later versions may write more.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, cast, get_args

import attrs

from unspiral.engine.core.plain import as_list, identity, plain_memory
from unspiral.engine.core.step import Snapshot
from unspiral.engine.core.table import Table
from unspiral.engine.errors import BadValue
from unspiral.engine.live.message import Block, Kind, Message, Role
from unspiral.engine.live.ports import Store
from unspiral.engine.live.untyped import fields_of

__all__ = [
    "BEGIN",
    "CALL",
    "DECISION",
    "END",
    "MACHINE",
    "RESULT",
    "STATE",
    "Event",
    "Keeper",
    "Notes",
    "message_from_plain",
    "message_to_plain",
]

BEGIN, MACHINE, STATE, CALL, RESULT, DECISION, END = (
    "begin",
    "machine",
    "state",
    "call",
    "result",
    "decision",
    "end",
)

_ROLES, _KINDS = get_args(Role), get_args(Kind)
#: fields that a block must have, by its type; of others nothing is known
_FIELDS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": Mapping},
    "tool_result": {"tool_use_id": str},
}


@attrs.frozen
class Event:
    """An event of a session.

    Attributes:
        n: its number, from 1, without gaps.
        t: when, in seconds since 1970.
        kind: what it is.
        value: what it says, as plain JSON.
    """

    n: int
    t: float
    kind: str
    value: Mapping[str, object]


# -- messages --------------------------------------------------------------------------


def message_to_plain(message: Message) -> dict[str, object]:
    """Return a message as plain JSON; what is at its default is left out."""
    plain: dict[str, object] = {
        "role": message.role,
        "kind": message.kind,
        "content": list(message.content),
    }
    if message.id:
        plain["id"] = message.id
    if message.tokens:
        plain["tokens"] = message.tokens
    return plain


def message_from_plain(value: object) -> Message:
    """Take up a message that was kept.

    Raises:
        BadValue: it is none.
    """
    kept = fields_of(value)
    role, kind = kept.get("role"), kept.get("kind")
    id_, tokens = kept.get("id", ""), kept.get("tokens", 0)
    content = as_list(kept.get("content"))
    if not kept.keys() <= {"role", "kind", "content", "id", "tokens"}:
        raise BadValue("the fields of a message", ", ".join(kept), "those of a message")
    if role not in _ROLES:
        raise BadValue("the role of a message", repr(role), " or ".join(_ROLES))
    if kind not in _KINDS:
        raise BadValue("the kind of a message", repr(kind), " or ".join(_KINDS))
    if not isinstance(id_, str):
        raise BadValue("the id of a message", repr(id_), "a text")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise BadValue("the tokens of a message", repr(tokens), "0 or more")
    if content is None:
        found = repr(kept.get("content"))
        raise BadValue("the content of a message", found, "a list of blocks")
    blocks = tuple(map(block_from_plain, content))
    return Message(cast("Role", role), blocks, cast("Kind", kind), id_, tokens)


def block_from_plain(value: object) -> Block:
    """Take up a block that was kept.

    Raises:
        BadValue: it is none.
    """
    block = fields_of(value)
    type_ = block.get("type")
    if not isinstance(type_, str) or not type_:
        raise BadValue("a block", repr(value), "an object with a 'type'")
    for name, wanted in _FIELDS.get(type_, {}).items():
        found = block.get(name)
        if not isinstance(found, wanted) or (found == "" and name != "text"):
            allowed = "an object" if wanted is Mapping else "a text"
            raise BadValue(f"{name!r} of a {type_} block", repr(found), allowed)
    return block


# -- writing ---------------------------------------------------------------------------


class Notes(Store, Protocol):
    """A store that also takes what may get lost in a kill: it explains, no more."""

    def note(self, kind: str, value: Mapping[str, object], /) -> None:
        """Keep an event together with the next one that is appended."""
        ...


def _common(before: list[Message], after: Sequence[Message]) -> int:
    """Return how many messages at the beginning are equal."""
    most = min(len(before), len(after))
    if before[:most] == list(after[:most]):  # in C: nearly always they all are
        return most
    pairs = zip(before, after, strict=False)
    return next(n for n, (a, b) in enumerate(pairs) if a is not b and a != b)


def _listed(history: Sequence[Message]) -> list[Message]:
    return list(history)


@attrs.define
class Keeper:
    """Writes what a run does as events.

    An event of the state is one write, and durable when it returns. So the prompt goes
    through `appended` before the first request; an answer before its tools run; and
    `became` takes, with the history after a continue, the snapshot that belongs to it.

    A session that is resumed is gone on with from `Restored.kept`, and its history made
    `Restored.history` before anything else: `Keeper(store, table, restored.kept)`, then
    `became(restored.history)`, then `began(snapshot)`.

    Attributes:
        store: where they go.
        table: of the run.
        history: as it is kept up to now.
    """

    store: Notes
    table: Table
    history: list[Message] = attrs.field(factory=list[Message], converter=_listed)

    def began(self, snapshot: Snapshot) -> None:
        """Write that a run of the table begins, or is gone on with, from here.

        It is on the disk with the next event: a kill does not part it from the prompt.
        """
        stands = _stands(self.table, snapshot)
        self.store.note(MACHINE, {**identity(self.table), **stands})

    def appended(
        self,
        messages: Iterable[Message],
        snapshot: Snapshot | None = None,
        ledgers: Mapping[str, object] | None = None,
    ) -> None:
        """Write messages that follow those before. It takes no look at those."""
        self._state(len(self.history), tuple(messages), snapshot, ledgers)

    def became(
        self,
        history: Sequence[Message],
        snapshot: Snapshot | None = None,
        ledgers: Mapping[str, object] | None = None,
    ) -> None:
        """Write that the history is now another one, or has become longer."""
        keep = _common(self.history, history)
        self._state(keep, tuple(history[keep:]), snapshot, ledgers)

    def _state(
        self,
        keep: int,
        messages: tuple[Message, ...],
        snapshot: Snapshot | None,
        ledgers: Mapping[str, object] | None,
    ) -> None:
        state: dict[str, object] = {}
        if messages or keep < len(self.history):
            plain = [message_to_plain(each) for each in messages]
            state |= {"keep": keep, "messages": plain}
        if snapshot is not None:
            state["machine"] = _stands(self.table, snapshot)
        if ledgers:
            state["ledgers"] = dict(ledgers)
        if state:
            self.store.append(STATE, state)
            self.history[keep:] = messages

    def calling(self, call: Block) -> None:
        """Write that a call is about to run. It may have effects once this returns."""
        fields = {name: call.get(name) for name in ("id", "name", "input")}
        self.store.append(CALL, fields)

    def called(self, result: Block) -> None:
        """Write the result of a call."""
        self.store.append(RESULT, {"block": result})

    def decided(self, record: Mapping[str, object]) -> None:
        """Write a record; it is on the disk with the next state at the latest."""
        self.store.note(DECISION, record)

    def ended(self, terminal: str) -> None:
        """Write that the run has ended."""
        self.store.append(END, {"terminal": terminal})


def _stands(table: Table, snapshot: Snapshot) -> dict[str, object]:
    return {"phase": snapshot.phase, "memory": plain_memory(table, snapshot)}
