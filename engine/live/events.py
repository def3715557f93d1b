"""What a run tells whoever watches it, in order; nobody needs to know the table."""

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from unspiral.engine.core.step import Snapshot, Step
from unspiral.engine.live.message import History, Message

__all__ = [
    "Answered",
    "Called",
    "Calling",
    "Continued",
    "Decided",
    "Ended",
    "LiveEvent",
    "Refused",
    "Said",
    "Shown",
    "Status",
    "Tombstone",
    "ToolsRan",
    "Waiting",
    "Warned",
]


@attrs.frozen
class Said:
    """A piece of an answer while it is streamed; it may be withdrawn.

    Attributes:
        kind: "text" or "thinking".
        text: the piece.
        attempt: the n-th request of the run, so that a withdrawal can name it.
    """

    kind: str
    text: str
    attempt: int


@attrs.frozen
class Tombstone:
    """What was said in an attempt is withdrawn: it is part of no history."""

    attempt: int


@attrs.frozen
class Answered:
    """A whole answer of the model that is kept."""

    message: Message


@attrs.frozen
class Calling:
    """A call of a tool begins.

    Attributes:
        id: of the call.
        name: of the tool.
        given: its input; hostile.
    """

    id: str
    name: str
    given: Mapping[str, object]


@attrs.frozen
class Called:
    """A call has come to its result.

    Attributes:
        id: of the call.
        name: of the tool.
        text: of the result; hostile.
        error: whether it is an error.
    """

    id: str
    name: str
    text: str
    error: bool


@attrs.frozen
class ToolsRan:
    """The results of all calls of an answer, one each."""

    message: Message


@attrs.frozen
class Waiting:
    """The loop waits before it asks again.

    Attributes:
        seconds: for how long.
        why: what the last attempt said.
    """

    seconds: float
    why: str


@attrs.frozen
class Status:
    """What is being done, for a screen: "compacting", or None when that is over."""

    word: str | None


@attrs.frozen
class Warned:
    """Something that whoever watches should know; the run goes on."""

    text: str


@attrs.frozen
class Shown:
    """An error that no recovery mended. It is told once."""

    text: str


@attrs.frozen
class Refused:
    """The prompt is not taken; no run begins.

    Attributes:
        why: what hooks said, or that nobody waited for them.
        stopped: the user has stopped it; no hook has refused it.
    """

    why: str
    stopped: bool = False


@attrs.frozen
class Decided:
    """A row was taken.

    Attributes:
        step: the step, with the guards that were asked.
        seconds: that the phase took.
        facts: numbers of the moment: tokens, charges, and the like.
    """

    step: Step
    seconds: float
    facts: Mapping[str, int | str]


@attrs.frozen
class Continued:
    """The loop goes round again, and why.

    Attributes:
        reason: of the continue.
        history: the conversation from now on.
        snapshot: where the table stands.
    """

    reason: str
    history: History
    snapshot: Snapshot


@attrs.frozen
class Ended:
    """The run has ended.

    Attributes:
        terminal: the terminal reason.
        history: the conversation, every call with its result.
        text: what was answered last.
        snapshot: where the table stands.
    """

    terminal: str
    history: History
    text: str
    snapshot: Snapshot


LiveEvent: TypeAlias = (
    Said
    | Tombstone
    | Answered
    | Calling
    | Called
    | ToolsRan
    | Waiting
    | Status
    | Warned
    | Shown
    | Refused
    | Decided
    | Continued
    | Ended
)
