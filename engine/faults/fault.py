"""What an entry of the catalogue is made of."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from unspiral.engine.faults.plans import Outage, Plan, Refusal, Says
from unspiral.engine.faults.reply import Reply, Text, ToolUse

__all__ = ["CALL", "GROUPS", "TALK", "Fault", "Group", "Parameter", "none"]

Group: TypeAlias = Literal["status", "connection", "stream", "pace", "reply"]

#: the groups in the order of the pages, with what each is about
GROUPS: Mapping[Group, str] = {
    "status": "The API refuses: an error status instead of an answer.",
    "connection": "The connection fails: before, within or at the end of a response.",
    "stream": "The response arrives, but it is not what the protocol says.",
    "pace": "The bytes come slowly, late, in bulk, or stop coming.",
    "reply": "A well-formed reply that a loop must be able to live with.",
}

#: the reply that is broken when a schedule names none
TALK = Reply((Text("I will read the file first, and then say what is in it."),))
CALL = Reply((Text("I will read the file."), ToolUse()))


@attrs.frozen
class Parameter:
    """A number that a schedule may set.

    Attributes:
        default: its value otherwise.
        low: the least value.
        high: the greatest.
        doc: what it means, with its unit.
        whole: it counts something, so that it has no fraction.
    """

    default: int | float
    low: int | float
    high: int | float
    doc: str
    whole: bool = False


def none() -> Mapping[str, Parameter]:
    """Return the parameters of a fault that has none."""
    return {}


@attrs.frozen
class Fault:
    """One thing that a Messages API can do to a client.

    Attributes:
        name: in schedules and journals.
        group: what kind of fault it is.
        description: what happens on the wire.
        rule: the recovery rule that it tests.
        expect: what a correct client does or sees.
        plan: how it is made.
        parameters: the numbers that a schedule may set.
        reply: the good reply that is broken, unless a schedule names another.
    """

    name: str
    group: Group
    description: str
    rule: str
    expect: str
    plan: Plan
    parameters: Mapping[str, Parameter] = attrs.field(factory=none)
    reply: Reply = TALK

    @property
    def speaks(self) -> bool:
        """Whether it brings its own reply, or none, so that a schedule names none."""
        return isinstance(self.plan, Says | Refusal | Outage)

    @property
    def calls(self) -> bool:
        """Whether the reply that it breaks must call a tool."""
        return not self.speaks and self.reply is CALL
