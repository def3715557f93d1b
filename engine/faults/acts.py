"""What a server does on a connection, as values: the words in which answers are told.

The server performs them on a socket, the transport as an `httpx2` response; an answer
is the same tuple of acts for both. Nothing here knows HTTP beyond "status and headers",
"a piece of the body", "its end", and the ways to break off.
"""

from typing import TypeAlias

import attrs

__all__ = [
    "FREE",
    "Act",
    "Answer",
    "Body",
    "Close",
    "End",
    "Forever",
    "Garbage",
    "Head",
    "Reset",
    "Usage",
    "Wait",
]

Headers: TypeAlias = tuple[tuple[str, str], ...]


@attrs.frozen
class Head:
    """The status line and the headers.

    Attributes:
        status: the HTTP status, 200 to 599.
        headers: pairs, without those of the framing.
        length: bytes that the body is declared to have (`content-length`), or None
            if it is sent in chunks.
    """

    status: int
    headers: Headers = ()
    length: int | None = None


@attrs.frozen
class Body:
    """A piece of the body, sent as one chunk."""

    data: bytes


@attrs.frozen
class End:
    """The body ends in good order; the connection is kept."""


@attrs.frozen
class Wait:
    """Nothing is sent for some seconds."""

    seconds: float


@attrs.frozen
class Forever:
    """Acts that are repeated until the client leaves: `Body` and `Wait` only."""

    acts: tuple["Body | Wait", ...]


@attrs.frozen
class Garbage:
    """Bytes that are no HTTP, instead of a response."""

    data: bytes


@attrs.frozen
class Close:
    """The connection is closed (FIN), whatever was promised."""


@attrs.frozen
class Reset:
    """The connection is reset (RST): what was on its way is lost."""


Act: TypeAlias = Head | Body | End | Wait | Forever | Garbage | Close | Reset


@attrs.frozen
class Usage:
    """Tokens that an answer charges.

    Attributes:
        input: of the request.
        output: of the reply.
    """

    input: int = 0
    output: int = 0


FREE = Usage()  #: nothing is charged


@attrs.frozen
class Answer:
    """What is done upon one request.

    Attributes:
        name: the fault's name, or "reply", "side", "count_tokens", "models", "refused"
            (the request itself is at fault).
        acts: what is done, in order. The last is `End`, `Close`, `Reset` or `Forever`.
        usage: what it charges: nothing, if the message was not even begun.
        detail: a few words on what the answer says, such as "tool_use read".
        good: it is what was asked for, byte by byte, however slowly it comes. Some
            faults leave an answer whole that is not streamed.
    """

    name: str
    acts: tuple[Act, ...]
    usage: Usage = FREE
    detail: str = ""
    good: bool = True

    @property
    def status(self) -> int | None:
        """The HTTP status, or None if there is no response."""
        return next((act.status for act in self.acts if isinstance(act, Head)), None)
