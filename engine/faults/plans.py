"""How a fault is made out of a good answer: a few plans, each a value.

    Refusal   an error status instead of a reply
    Says      a whole reply that an agent must be able to live with
    Breaks    the connection ends at some place, in some way
    Edits     the events, or the body, are not what they should be
    Slows     the bytes come slowly, or stop coming
    Outage    nobody listens: the one fault that no request brings about

A plan gets the situation (what was asked, what would have been answered) and returns
acts. It knows nothing of schedules and of who performs the acts.
"""

import email.utils
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import attrs

from unspiral.engine.faults.acts import (
    Act,
    Body,
    Close,
    End,
    Forever,
    Garbage,
    Head,
    Headers,
    Reset,
    Wait,
)
from unspiral.engine.faults.reply import Reply
from unspiral.engine.faults.wire import (
    Event,
    Said,
    as_json,
    error_body,
    message_body,
    message_events,
)

__all__ = [
    "Breaks",
    "Edits",
    "Outage",
    "Plan",
    "Refusal",
    "Says",
    "Situation",
    "Slows",
    "good_acts",
    "head",
]

Number: TypeAlias = int | float


@attrs.frozen
class Situation:
    """What a plan may look at.

    Attributes:
        said: the good reply, with its ids and tokens.
        stream: whether a stream was asked for.
        request_id: of this response.
        numbers: the parameters of the fault.
        time: seconds since 1970, for the one header that holds a date.
    """

    said: Said
    stream: bool
    request_id: str
    numbers: Mapping[str, Number]
    time: float


def head(situation: Situation, length: int | None = None) -> Head:
    """Return the head of a good response."""
    kind = "text/event-stream" if situation.stream else "application/json"
    headers = (("content-type", kind), ("request-id", situation.request_id))
    return Head(200, headers, length)


def good_acts(situation: Situation) -> tuple[Act, ...]:
    """Return the acts of the good reply, nothing broken."""
    if situation.stream:
        return (head(situation), *_bodies(message_events(situation.said)), End())
    data = as_json(message_body(situation.said))
    return (head(situation, len(data)), Body(data), End())


def _bodies(events: Sequence[Event | bytes]) -> list[Body]:
    return [
        Body(each if isinstance(each, bytes) else each.to_bytes()) for each in events
    ]


@attrs.frozen
class Refusal:
    """An error status with the body of an error.

    Attributes:
        status: the HTTP status.
        kind: the `type` of the error.
        message: what it says; parameters stand in braces.
        headers: further headers; parameters stand in braces, and `{date}` is the time
            of `{seconds}` from now.
        details: the machine-readable part, or None.
        page: an HTML page that stands in place of the error, or "".
    """

    status: int
    kind: str = ""
    message: str = ""
    headers: Headers = ()
    details: Mapping[str, object] | None = None
    page: str = ""

    def acts(self, situation: Situation) -> tuple[Act, ...]:
        """Return what is done."""
        numbers = dict(situation.numbers)
        later = situation.time + float(numbers.get("seconds", 0))
        date = email.utils.formatdate(later, usegmt=True)
        body = error_body(
            self.kind,
            self.message.format(**numbers),
            situation.request_id,
            self.details,
        )
        data = self.page.encode() if self.page else as_json(body)
        headers = (
            ("content-type", "text/html" if self.page else "application/json"),
            ("request-id", situation.request_id),
            *(
                (name, value.format(**numbers, date=date))
                for name, value in self.headers
            ),
        )
        return (Head(self.status, headers, len(data)), Body(data), End())


@attrs.frozen
class Says:
    """A whole reply: no fault of the line, but one for the loop that reads it."""

    reply: Reply

    def acts(self, situation: Situation) -> tuple[Act, ...]:
        """Return what is done: the reply is already in the situation."""
        return good_acts(situation)


Place: TypeAlias = Literal[
    "before", "head", "first_event", "middle", "tool_json", "message_stop"
]


@attrs.frozen
class Breaks:
    """The response ends before it is complete.

    Attributes:
        place: how far it gets. An answer that is not streamed breaks off after none, a
            tenth, a half or nine tenths of its body.
        ending: how it ends; with `End` even the framing is in good order.
        garbage: what comes instead of a response, for the place "before".
    """

    place: Place
    ending: End | Close | Reset
    garbage: bytes = b""

    def acts(self, situation: Situation) -> tuple[Act, ...]:
        """Return what is done."""
        if self.place == "before":
            garbage = (Garbage(self.garbage),) if self.garbage else ()
            return (*garbage, self.ending)
        if situation.stream:
            events = message_events(situation.said)[: self._events(situation)]
            return (head(situation), *_bodies(events), self.ending)
        data = as_json(message_body(situation.said))
        shares = {"head": 0, "first_event": 10, "message_stop": 90}
        sent = data[: len(data) * shares.get(self.place, 50) // 100]
        length = len(sent if isinstance(self.ending, End) else data)
        bodies = (Body(sent),) if sent else ()
        return (head(situation, length), *bodies, self.ending)

    def _events(self, situation: Situation) -> int:
        events = message_events(situation.said)
        match self.place:
            case "before" | "head":
                return 0
            case "first_event":
                return 1
            case "middle":  # inside the first block, after a delta
                return min(3, len(events))
            case "message_stop":
                return len(events) - 1
            case "tool_json":  # without the last piece of the last input
                return max(
                    number
                    for number, event in enumerate(events)
                    if number == 1 or b'"input_json_delta"' in event.to_bytes()
                )


@attrs.frozen
class Edits:
    """The answer arrives whole, and is not what it should be.

    Attributes:
        stream: from the events of the good answer, and the parameters, to those sent;
            one may be written already, so that many answers share its bytes.
        body: from the bytes of the body to those sent, in pieces; None: an answer that
            is not streamed stays good.
        kind: the content type, or "" for the right one.
        declared: from the bytes sent to those that the head declares; None: what is
            right.
    """

    stream: Callable[[list[Event], Mapping[str, Number]], Sequence[Event | bytes]]
    body: Callable[[bytes, Mapping[str, Number]], Sequence[bytes]] | None = None
    kind: str = ""
    declared: Callable[[int], int] | None = None

    def acts(self, situation: Situation) -> tuple[Act, ...]:
        """Return what is done."""
        if situation.stream:
            events = message_events(situation.said)
            bodies = _bodies(self.stream(events, situation.numbers))
        else:
            data = as_json(message_body(situation.said))
            edited = self.body(data, situation.numbers) if self.body else (data,)
            bodies = [Body(piece) for piece in edited]
        size = sum(len(each.data) for each in bodies)
        length = None if situation.stream else size
        if self.declared is not None:
            length = self.declared(size)
        top = head(situation, length)
        if self.kind:
            top = attrs.evolve(
                top,
                headers=(("content-type", self.kind), *top.headers[1:]),
            )
        ending = End() if self.declared is None else Close()
        return (top, *(each for each in bodies if each.data), ending)


@attrs.frozen
class Slows:
    """The bytes come slowly, or stop coming.

    Attributes:
        how: "drip": a few bytes every `seconds`; "silence": after the first delta
            nothing more comes; "pings": after it, only pings come.
    """

    how: Literal["no_response", "drip", "silence", "pings"]

    def acts(self, situation: Situation) -> tuple[Act, ...]:
        """Return what is done."""
        seconds = float(situation.numbers.get("seconds", 1))
        still = Forever((Wait(3600),))
        if self.how == "no_response":
            return (still,)
        good = good_acts(situation)
        whole = [act for act in good if isinstance(act, Body)]
        if self.how == "drip":
            size = int(situation.numbers["bytes"])
            data = b"".join(body.data for body in whole)
            slow: list[Act] = []
            for start in range(0, len(data), size):
                slow += [Wait(seconds), Body(data[start : start + size])]
            return (good[0], *slow, End())
        if not situation.stream:  # a body cannot ping: it stays away
            return (good[0], Body(whole[0].data[:1]), still)
        if self.how == "silence":
            return (good[0], *whole[:3], still)
        ping = Event("ping", {"type": "ping"}).to_bytes()
        return (good[0], *whole[:3], Forever((Wait(seconds), Body(ping))))


@attrs.frozen
class Outage:
    """Nobody listens for `seconds`: every connection is refused."""

    def acts(self, situation: Situation) -> tuple[Act, ...]:
        """Return nothing but the end: no request gets this far."""
        del situation
        return (Reset(),)


Plan: TypeAlias = Refusal | Says | Breaks | Edits | Slows | Outage
