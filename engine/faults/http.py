"""HTTP/1.1 as far as the fault server needs it: requests by h11, responses by hand.

The one module that knows h11. It reads requests, since reading what strangers send is
what a well-kept library is for. Responses are written here, because a fault breaks
their framing on purpose, which h11 rightly refuses to do. No sockets, no clock.
"""

from collections.abc import Mapping
from typing import TypeAlias

import attrs
import h11

from unspiral.engine.faults.acts import Head
from unspiral.engine.faults.phrase import phrase

__all__ = [
    "CONTINUE",
    "LAST_CHUNK",
    "MAX_HEAD",
    "Bad",
    "Complete",
    "Opened",
    "Piece",
    "Reader",
    "chunk",
    "head_bytes",
]

MAX_HEAD = 64 * 1024  #: bytes of a request line with its headers
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


@attrs.frozen
class Opened:
    """The request line and the headers of a request.

    Attributes:
        method: such as "POST".
        target: path and query.
        headers: by lower-case name; of a repeated one the last.
        length: bytes that the body is declared to have, or None if it comes in chunks.
        chunks: whether the client understands an answer in chunks.
        keeps: whether it wants to keep the connection; HTTP/1.0 is never kept.
        waits: whether it waits for a word before it sends the body.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    length: int | None
    chunks: bool
    keeps: bool
    waits: bool


@attrs.frozen
class Piece:
    """A piece of the body."""

    data: bytes


@attrs.frozen
class Complete:
    """The end of the request."""


@attrs.frozen
class Bad:
    """What came is no request: nothing more can be read from this connection.

    Attributes:
        status: the HTTP status that says so.
        problem: in a few words.
    """

    status: int
    problem: str


Event: TypeAlias = Opened | Piece | Complete | Bad


class Reader:
    """Reads the requests of one connection, one after the other."""

    def __init__(self) -> None:
        self._h11 = _fresh()
        self._bad: Bad | None = None
        self._bytes = False

    @property
    def begun(self) -> bool:
        """Whether bytes of a request have come that is not complete."""
        return self._bytes

    def feed(self, data: bytes) -> None:
        """Take bytes; b"" says that no more come."""
        if self._bad is None:
            self._bytes = self._bytes or bool(data)
            self._h11.receive_data(data)

    def next(self) -> Event | None:
        """Return what comes next; None if more bytes are needed."""
        if self._bad is None:
            try:
                return self._event(self._h11.next_event())
            except h11.RemoteProtocolError as error:
                self._bad = Bad(error.error_status_hint, _phrase(error))
        return self._bad

    def _event(self, event: object) -> Event | None:
        match event:
            case h11.Request():
                return self._opened(event)
            case h11.Data():
                return Piece(bytes(event.data))
            case h11.EndOfMessage():
                # What follows belongs to the next request: a fresh reader takes it.
                rest = self._h11.trailing_data[0]
                self._h11 = _fresh()
                self._bytes = False
                if rest:
                    self.feed(rest)
                return Complete()
            case _:
                return None

    def _opened(self, request: h11.Request) -> Opened | Bad:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in request.headers
        }
        if {"content-length", "transfer-encoding"} <= headers.keys():
            self._bad = Bad(400, "both content-length and transfer-encoding")
            return self._bad
        modern = request.http_version >= b"1.1"
        if "transfer-encoding" in headers and not modern:
            self._bad = Bad(400, "transfer-encoding in HTTP/1.0")
            return self._bad
        size = sum(len(name) + len(value) for name, value in request.headers)
        if size + len(request.target) > MAX_HEAD:  # h11 takes more if it comes at once
            self._bad = Bad(431, "the headers are too long")
            return self._bad
        words = headers.get("connection", "").lower()
        chunked = "transfer-encoding" in headers
        return Opened(
            request.method.decode("latin-1"),
            request.target.decode("latin-1"),
            headers,
            None if chunked else int(headers.get("content-length", "0")),
            modern,
            modern and "close" not in words,
            self._h11.they_are_waiting_for_100_continue,
        )


# What h11 says may quote what came, and that may be a key. Only these words are ours.
_PHRASES = (
    "bad Content-Length",
    "conflicting Content-Length headers",
    "continuation line at start of headers",
    "Found multiple Host: headers",
    "illegal chunk header",
    "illegal header line",
    "Illegal header name",
    "Illegal header value",
    "Illegal method characters",
    "illegal request line",
    "Illegal target characters",
    "malformed chunk footer",
    "Missing mandatory Host: header",
    "multiple Transfer-Encoding headers",
    "no request line received",
    "Only Transfer-Encoding: chunked is supported",
    "peer closed connection without sending complete message body",
    "peer unexpectedly closed connection",
    "Receive buffer too long",
)


def _phrase(error: h11.RemoteProtocolError) -> str:
    """Return what is wrong, without anything that the client sent."""
    told = str(error)
    return next((each for each in _PHRASES if told.startswith(each)), "no HTTP request")


def _fresh() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)


def head_bytes(head: Head, *, chunks: bool, keeps: bool) -> bytes:
    """Write the status line and the headers.

    Args:
        head: as the answer has it.
        chunks: whether a body without a declared length is sent in chunks.
        keeps: whether the connection is kept.
    """
    lines = [f"HTTP/1.1 {head.status} {phrase(head.status)}"]
    lines += [f"{name}: {value}" for name, value in head.headers]
    if head.length is not None:
        lines.append(f"content-length: {head.length}")
    elif chunks:
        lines.append("transfer-encoding: chunked")
    if not keeps:
        lines.append("connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


_SMALL = 64 * 1024  # bytes of a chunk that may well be copied


def chunk(data: bytes) -> tuple[bytes, ...]:
    """Write a piece of a body as one chunk, in parts: a big one is not copied."""
    if len(data) <= _SMALL:
        return (b"%x\r\n%b\r\n" % (len(data), data),)
    return b"%x\r\n" % len(data), data, b"\r\n"
