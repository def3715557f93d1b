"""Histories made well-formed: every call has one result, and nothing answers nothing.

A run leaves no history in any other shape; a process that was killed does, and so may a
file that somebody else wrote. Pure, and total: it never raises. A history that is well
formed already is returned as it is.
"""

from collections import deque
from collections.abc import Callable, Sequence

import attrs

from unspiral.engine.live.message import (
    Block,
    History,
    Message,
    results_message,
    user_text,
)

__all__ = ["mended"]

_NO_BEGINNING = "The beginning of this conversation was not kept."


def mended(history: Sequence[Message], missing: Callable[[str], Block]) -> History:
    """Return a history with which the next request can be sent.

    What has no result gets one, at once after its answer. A result without a call is
    left out. If an id comes back, the later call and its result get another one.

    Args:
        history: the messages.
        missing: makes the result of a call that has none, from its id.
    """
    mending = _Mending(missing)
    for message in history:
        mending.take(message)
    mending.settle()
    return mending.whole()


@attrs.define
class _Mending:
    """A history that is being mended.

    Attributes:
        missing: makes a result.
        done: the messages so far.
        waiting: the ids of the calls that have no result yet, in their order, with the
            ids that they had.
        names: the same the other way round; an id may have been given twice.
        place: where in `done` a result would go.
        uses: how often an id was given to a call.
    """

    missing: Callable[[str], Block]
    done: list[Message] = attrs.field(factory=list[Message])
    waiting: dict[str, str] = attrs.field(factory=dict[str, str])
    names: dict[str, deque[str]] = attrs.field(factory=dict[str, deque[str]])
    place: int = 0
    uses: dict[str, int] = attrs.field(factory=dict[str, int])

    def take(self, message: Message) -> None:
        if message.kind == "error":  # for the user only: it is never sent
            self.add(message, [b for b in message.content if not _paired(b)])
        elif message.role == "assistant":
            self.settle()
            self.add(message, self.calls(message))
            self.place = len(self.done)
        else:
            at_once = message.kind == "results" and self.place == len(self.done)
            self.add(message, self.results(message))
            if at_once:
                self.place = len(self.done)

    def add(self, message: Message, content: list[Block]) -> None:
        """Append a message; one of which nothing is left is left out."""
        if content == list(message.content):
            self.done.append(message)
        elif content:
            self.done.append(attrs.evolve(message, content=tuple(content)))

    def calls(self, message: Message) -> list[Block]:
        content: list[Block] = []
        for block in message.content:
            if block.get("type") == "tool_use":
                had = str(block.get("id"))
                has = self.unused(had)
                self.waiting[has] = had
                self.names.setdefault(had, deque()).append(has)
                content.append(block if had == has else {**block, "id": has})
            elif not _paired(block):
                content.append(block)
        return content

    def results(self, message: Message) -> list[Block]:
        content: list[Block] = []
        for block in message.content:
            if block.get("type") == "tool_result":
                had = str(block.get("tool_use_id"))
                if self.names.get(had):
                    has = self.names[had].popleft()
                    del self.waiting[has]
                    same = had == has
                    content.append(block if same else {**block, "tool_use_id": has})
            elif not _paired(block):
                content.append(block)
        return content

    def unused(self, id_: str) -> str:
        found = id_
        while found in self.uses:
            self.uses[id_] += 1
            found = f"{id_}-{self.uses[id_]}"
        self.uses[found] = 1
        return found

    def settle(self) -> None:
        """Give the calls that wait their results, after those that came."""
        if not self.waiting:
            return
        blocks: list[Block] = [
            {**self.missing(had), "tool_use_id": has}
            for has, had in self.waiting.items()
        ]
        self.waiting.clear()
        self.names.clear()
        before = self.done[self.place - 1]
        if before.role == "user":
            content = (*before.content, *blocks)
            self.done[self.place - 1] = attrs.evolve(before, content=content)
        else:
            self.done.insert(self.place, results_message(blocks))

    def whole(self) -> History:
        sent = (each for each in self.done if each.kind != "error" and each.content)
        first = next(sent, None)
        if first is None or first.role == "user":
            return tuple(self.done)
        return (user_text(_NO_BEGINNING, "note"), *self.done)


def _paired(block: Block) -> bool:
    return block.get("type") in ("tool_use", "tool_result")
