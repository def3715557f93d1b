"""Do the tool calls of a history have their results, and where the API wants them?

The rule (SPEC F.5 and the Messages API): every `tool_use` block of an assistant message
is answered by exactly one `tool_result` in the very next message, which is the user's
and begins with its results; a result answers a call of the message before; no two calls
of a history share an id. A history that breaks it is refused with 400, and so is every
later request that still holds it: an agent that does not mend it is bricked.

The API joins neighbours of the same role before it looks, and so does this. Calls at
the very end of a history are no break: there is no next message yet that could lack
their results (a prefill, or a `pause_turn` that is sent back). Tools that the server
runs (`server_tool_use`) have their results in the same message and do not count.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, cast

import attrs

__all__ = ["MOST", "Fault", "Pairing", "find_breaks"]

MOST = 1_000  #: breaks that are told of one history
_LONGEST_ID = 200  # characters of an id that are told

Fault: TypeAlias = Literal[
    "call_without_result",
    "result_without_call",
    "duplicate_call",
    "duplicate_result",
    "result_not_first",
    "misplaced_call",
    "misplaced_result",
]


@attrs.frozen
class Pairing:
    """One break of the rule.

    Attributes:
        fault: its kind. "misplaced_call": not the assistant's; "misplaced_result": not
            in the user's message right after its call; "result_not_first": something
            else comes before it.
        message: the index of the message, from 0, as the API counts them.
        id: the id of the call, or "" if it has none.
    """

    fault: Fault
    message: int
    id: str

    def __str__(self) -> str:
        return f"messages.{self.message}: {self.fault.replace('_', ' ')} {self.id!r}"


def find_breaks(messages: Sequence[Mapping[str, object]]) -> list[Pairing]:
    """Return where the rule is broken, in the order of the blocks, at most `MOST`.

    A block is told once, whatever else is wrong with it. It takes linear time, and
    nothing that a message holds makes it fail.
    """
    reader = _Reader()
    for number, message in enumerate(messages):
        reader.read(number, message)
    reader.turn("")
    # A missing result is known only later: the order of the blocks is restored.
    found = sorted(reader.found, key=lambda each: each[0])[:MOST]
    return [
        Pairing(fault, number, name[:_LONGEST_ID]) for (number, _), fault, name in found
    ]


_ROLES = ("user", "assistant")
_Place: TypeAlias = tuple[int, int]  # the index of the message, and of the block


class _Reader:
    """Reads a history once, from its beginning."""

    def __init__(self) -> None:
        self.found: list[tuple[_Place, Fault, str]] = []
        self.role = ""  # of the current turn: of neighbours that the API joins
        self.calls: set[str] = set()  # of the history so far
        self.answered: set[str] = set()  # those that have their result
        self.asked: dict[str, _Place] = {}  # the calls of the current turn
        self.waiting: dict[str, _Place] = {}  # of the one before: without result so far
        self.begun = False  # the current turn holds something that is no result

    def read(self, number: int, message: Mapping[str, object]) -> None:
        """Take the next message."""
        role = message.get("role")
        role = role if isinstance(role, str) and role in _ROLES else "other"
        if role != self.role:
            self.turn(role)
        content = message.get("content")
        if not isinstance(content, list):
            self.begun = self.begun or isinstance(content, str)
            return
        for index, block in enumerate(cast("list[object]", content)):
            fields = cast("dict[str, object]", block) if isinstance(block, dict) else {}
            kind = fields.get("type")
            if kind == "tool_result":
                self._result((number, index), _id(fields, "tool_use_id"))
                continue
            self.begun = True
            if kind == "tool_use":
                self._call((number, index), _id(fields, "id"))

    def turn(self, role: str) -> None:
        """End the current turn: what still waits for a result now has none."""
        for name, place in self.waiting.items():
            self.found.append((place, "call_without_result", name))
        self.waiting, self.asked = self.asked, {}
        self.role, self.begun = role, False

    def _call(self, place: _Place, name: str) -> None:
        if self.role != "assistant":
            self.found.append((place, "misplaced_call", name))
        elif not name:
            self.found.append((place, "call_without_result", name))
        elif name in self.calls:
            self.found.append((place, "duplicate_call", name))
            self.asked.setdefault(name, place)
        else:
            self.calls.add(name)
            self.asked[name] = place

    def _result(self, place: _Place, name: str) -> None:
        if self.role != "user":
            self.found.append((place, "misplaced_result", name))
        elif name in self.waiting:
            del self.waiting[name]
            self.answered.add(name)
            if self.begun:
                self.found.append((place, "result_not_first", name))
        elif name in self.answered:
            self.found.append((place, "duplicate_result", name))
        elif name in self.calls:
            self.found.append((place, "misplaced_result", name))
        else:
            self.found.append((place, "result_without_call", name))


def _id(fields: Mapping[str, object], key: str) -> str:
    """Return an id; one that is no text pairs with nothing."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""
