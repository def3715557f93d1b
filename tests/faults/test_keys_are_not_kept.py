"""A key that a client sends in a broken place is in no journal, drawing or answer."""

import pytest

from tests.faults.connecting import BODY, FIELDS, connect, good, head, played, serving
from unspiral.engine.cli.tally import Tally
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.journal_text import record_line
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.server import FaultServer
from unspiral.engine.report.journal import journal_lines
from unspiral.engine.report.lines import plain

KEY = b"sk-ant-planted"
CHUNKED = head(b"transfer-encoding: chunked")

BROKEN = {
    "a space before the colon": head(b"x-api-key : " + KEY),
    "no colon": head(b"x-api-key " + KEY),
    "a name": head(KEY + b" x: 1"),
    "a value": head(b"x-api-key: " + KEY + b"\x00"),
    "a continuation": b"POST / HTTP/1.1\r\n " + KEY + b"\r\n\r\n",
    "a request line": KEY + b" x\r\n\r\n",
    "a header first": b"x-api-key: " + KEY + b"\r\nhost: x\r\n\r\n",
    "a method": KEY + b"() / HTTP/1.1\r\n\r\n",
    "a target": b"GET /\x7f" + KEY + b" HTTP/1.1\r\n\r\n",
    "a version": b"GET / " + KEY + b"\r\n\r\n",
    "a length": head(b"content-length: " + KEY),
    "two lengths": head(b"content-length: 1", b"content-length: " + KEY),
    "a coding": head(b"transfer-encoding: " + KEY),
    "two hosts": head(b"host: " + KEY),
    "a chunk": CHUNKED + KEY + b"\r\n",
    "the end of a chunk": CHUNKED + b"1\r\na" + KEY + b"\r\n",
    "a trailer": CHUNKED + b"0\r\nx " + KEY + b"\r\n\r\n",
    "another protocol": b"\x16\x03\x01" + KEY + b"\r\n\r\n",
    "a query": good(target=b"/v1/messages?key=" + KEY),
    "a cut head": b"POST / HTTP/1.1\r\n" + FIELDS + b"x-api-key: " + KEY,
    "a header of a request": good(b"authorization: " + KEY, body=BODY),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_key_in_a_broken_place_is_kept_nowhere(data: bytes) -> None:
    journal = MemoryJournal()
    told: list[str] = []
    answers: list[bytes] = []

    async def main() -> None:
        server = FaultServer(Schedule(), Tally(journal, told.append))
        async with server:
            client = await connect(server)
            await client.send(data)
            client.writer.write_eof()
            answers.append(await client.reader.read())
            await client.close()

    played(main)
    kept = "".join(map(record_line, journal.records))
    drawn = plain(journal_lines(journal.records))
    seen = "\n".join([kept, drawn, *told]) + answers[0].decode("latin-1")
    assert "planted" not in seen
    assert told or len(journal.records) > 2


def test_a_problem_is_still_told() -> None:
    server, journal = serving(Schedule())

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(BROKEN["a space before the colon"])
            assert b"illegal header line" in await client.reader.read()
            await client.close()

    played(main)
    assert "400: illegal header line" in "".join(map(record_line, journal.records))
