"""Requests are read whole whatever the pieces; what is no request is told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.connecting import BODY, good, head
from unspiral.engine.faults.acts import Head
from unspiral.engine.faults.http import (
    MAX_HEAD,
    Bad,
    Complete,
    Event,
    Opened,
    Piece,
    Reader,
    chunk,
    head_bytes,
)


def read(*pieces: bytes) -> list[Event]:
    """Return what a reader makes of pieces, up to the first that is bad."""
    reader = Reader()
    events: list[Event] = []
    for piece in pieces:
        reader.feed(piece)
        while event := reader.next():
            events.append(event)
            if isinstance(event, Bad):
                return events
    return events


def bodies(events: list[Event]) -> list[bytes]:
    """Return the bodies of the requests that are complete."""
    found: list[bytes] = []
    body = b""
    for event in events:
        if isinstance(event, Piece):
            body += event.data
        elif isinstance(event, Complete):
            found.append(body)
            body = b""
    return found


def chunked(body: bytes) -> bytes:
    return head(b"transfer-encoding: chunked") + b"".join(chunk(body)) + b"0\r\n\r\n"


@given(st.lists(st.integers(1, 900), max_size=8))
def test_pipelined_requests_are_read_whole_however_they_are_cut(
    cuts: list[int],
) -> None:
    data = good() + chunked(b"two") + good(body=b"three")
    pieces: list[bytes] = []
    start = 0
    for cut in cuts:
        pieces.append(data[start : start + cut])
        start += cut
    events = read(*pieces, data[start:])
    assert bodies(events) == [BODY, b"two", b"three"]


@given(st.binary(max_size=300))
def test_a_reader_takes_any_bytes(data: bytes) -> None:
    assert all(isinstance(each, Opened | Piece | Complete | Bad) for each in read(data))


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n",
        b"HELLO\r\n\r\n",
        head(b"content-length: 3", b"content-length: 4") + b"abcd",
        head(b"content-length: 3", b"transfer-encoding: chunked") + b"0\r\n\r\n",
        head(b"transfer-encoding: gzip, chunked") + b"0\r\n\r\n",
        head(b"transfer-encoding: chunked") + b"zz\r\n",
        head(b"content-length: -1"),
        head(b"content-length: " + b"9" * 5_000),
        head(b"bad name: 1"),
        head(b"transfer-encoding: chunked", version=b"1.0") + b"0\r\n\r\n",
    ],
)
def test_what_is_no_request_is_bad(data: bytes) -> None:
    last = read(data)[-1]
    assert isinstance(last, Bad)
    assert 400 <= last.status < 600


@pytest.mark.parametrize(
    "data",
    [
        head(b"a: " + b"x" * MAX_HEAD),
        head(*[b"a: x"] * MAX_HEAD),
        head(target=b"/" + b"x" * MAX_HEAD),
        head()[:-2] + b"a: " + b"x" * 2 * MAX_HEAD,
    ],
)
def test_a_head_that_is_too_long_is_told_so(data: bytes) -> None:
    [bad] = read(data)
    assert isinstance(bad, Bad)
    assert bad.status == 431


def test_nothing_more_is_read_after_what_is_bad() -> None:
    reader = Reader()
    reader.feed(b"\x00\r\n\r\n")
    first = reader.next()
    reader.feed(good())
    assert isinstance(first, Bad)
    assert reader.next() is first


@pytest.mark.parametrize(
    ("lines", "version", "keeps", "chunks", "waits"),
    [
        ((), b"1.1", True, True, False),
        ((b"connection: close",), b"1.1", False, True, False),
        ((b"Connection: Close",), b"1.1", False, True, False),
        ((), b"1.0", False, False, False),
        ((b"connection: keep-alive",), b"1.0", False, False, False),
        ((b"expect: 100-continue",), b"1.1", True, True, True),
        ((b"expect: 100-continue",), b"1.0", False, False, False),
    ],
)
def test_a_head_says_what_the_client_bears(
    lines: tuple[bytes, ...], version: bytes, keeps: bool, chunks: bool, waits: bool
) -> None:
    length = b"content-length: 9"
    [opened] = read(head(length, *lines, version=version))
    assert isinstance(opened, Opened)
    assert (opened.keeps, opened.chunks, opened.waits) == (keeps, chunks, waits)
    assert opened.length == 9


def test_a_reader_knows_whether_a_request_has_begun() -> None:
    reader = Reader()
    begun = [reader.begun]
    reader.feed(good()[:-1])
    while reader.next():
        pass
    begun.append(reader.begun)
    reader.feed(good()[-1:])
    while reader.next():
        pass
    begun.append(reader.begun)
    assert begun == [False, True, False]


@pytest.mark.parametrize(
    ("length", "chunks", "keeps", "framing"),
    [
        (3, True, True, b"content-length: 3\r\n"),
        (3, False, False, b"content-length: 3\r\nconnection: close\r\n"),
        (None, True, True, b"transfer-encoding: chunked\r\n"),
        (None, False, False, b"connection: close\r\n"),
    ],
)
def test_a_head_is_written_with_its_framing(
    length: int | None, chunks: bool, keeps: bool, framing: bytes
) -> None:
    written = head_bytes(Head(529, (("a", "b"),), length), chunks=chunks, keeps=keeps)
    assert written == b"HTTP/1.1 529 Overloaded\r\na: b\r\n" + framing + b"\r\n"


@given(st.sampled_from([1, 9, 65_536, 65_537, 200_000]))
def test_a_big_chunk_is_written_like_a_small_one(size: int) -> None:
    data = b"x" * size
    assert b"".join(chunk(data)) == b"%x\r\n%b\r\n" % (size, data)
