"""Every answer and every call of a session has an id of its own; pure.

The API gives each one another, but not all that speak its protocol do. A history in
which two calls share an id is refused, and whatever is decided on one would hold for
the other. So an id that was used before, or that cannot be sent back, is replaced as
the answer comes in, before anybody has seen it.
"""

import re
from collections.abc import Iterable

import attrs

from unspiral.engine.live.message import Block, Message, calls_of
from unspiral.engine.live.ports import Outcome

__all__ = ["Ids"]

_SENDABLE = re.compile(r"[A-Za-z0-9_-]{1,128}")


@attrs.define
class Ids:
    """The ids that were used."""

    _answers: set[str] = attrs.field(factory=set[str])
    _calls: set[str] = attrs.field(factory=set[str])

    @classmethod
    def of(cls, history: Iterable[Message]) -> "Ids":
        """Return those of a history."""
        answers, calls = set[str](), set[str]()
        for message in history:
            if message.role == "assistant":
                answers.add(message.id)
                calls.update(str(call.get("id")) for call in calls_of(message))
        return cls(answers, calls)

    def own(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose answer has ids of its own."""
        message = outcome.message
        if message is None:
            return outcome
        id_ = _unused(message.id, self._answers, "msg")
        bad = dict(outcome.bad_calls)
        blocks = tuple(self._block(each, bad) for each in message.content)
        if id_ == message.id and all(
            a is b for a, b in zip(blocks, message.content, strict=True)
        ):
            return outcome
        answer = attrs.evolve(message, id=id_, content=blocks)
        return attrs.evolve(outcome, message=answer, bad_calls=bad)

    def _block(self, block: Block, bad: dict[str, str]) -> Block:
        if block.get("type") != "tool_use":
            return block
        old = str(block.get("id"))
        new = _unused(old, self._calls, "call")
        if new == old:
            return block
        if old in bad:
            bad[new] = bad[old]
        return {**block, "id": new}


def _unused(id_: str, used: set[str], stem: str) -> str:
    wanted = found = id_ if _SENDABLE.fullmatch(id_) else stem
    number = len(used)  # so that ids that are always the same cost no search
    while found in used:
        number += 1
        found = f"{wanted}_{number}"
    used.add(found)
    return found
