"""The drawing of a journal: every request in its row, totals that can be checked."""

import json
from typing import Any

import pytest

from tests.faults.asking import Played, assistant, called, incoming, result, user
from unspiral.engine.faults.acts import Usage
from unspiral.engine.faults.journal import (
    Answered,
    Asked,
    Began,
    Ended,
    Noise,
    Outaged,
    Record,
)
from unspiral.engine.faults.journal_text import journal_from_text, record_line
from unspiral.engine.faults.pairing import Pairing
from unspiral.engine.faults.schedule import call, fail, say
from unspiral.engine.report.journal import journal_lines, journal_object
from unspiral.engine.report.lines import plain


def drawn(records: list[Record], run: str | None = None) -> str:
    return plain(journal_lines(records, "storm.jsonl", run=run))


def storm() -> list[Record]:
    played = Played(call("read"), fail("overloaded", 3), say("Well."), name="storm")
    first = [user(), assistant(called("t1")), result("t1")]
    played.ask(incoming(user()))
    for wait in (0.25, 1.0, 2.0, 4.0):
        played.now += wait
        played.ask(incoming(*first))
    played.player.stop(played.now)
    return played.journal.records


STORM = """\
storm.jsonl; schedule storm, seed 0; whole, 12.25 s

n  time   wait          request          answer                   in+out
1  0.00                 1 message        200 call read; tool_use  65+7
2  1.25   0.25          3 messages (+2)  529 overloaded
3  3.25   1.00  ..      same as 2        529 overloaded
4  6.25   2.00  ...     same as 2        529 overloaded
5  11.25  4.00  ......  same as 2        200 text; end_turn       83+2

run main: 5 requests, 3 not answered as asked, 3 sent again unchanged, longest wait 4.00
  s
  tokens charged: 148 in, 9 out; sent in vain: 249
  nothing new over 3 requests: 3 to 5
  in each request every call has its result
"""


def test_a_storm_is_drawn_with_its_waits_and_what_it_cost() -> None:
    assert drawn(storm()) == STORM


def test_a_history_that_was_rewritten_is_told() -> None:
    played = Played()
    long = [user(), assistant(called("t1")), result("t1"), assistant(called("t2"))]
    played.ask(incoming(*long, result("t2")))
    played.ask(incoming(user("What was said: all is well.")))

    assert "1 message, kept 0 of 5" in drawn(played.journal.records)


def test_two_runs_are_told_apart_and_one_can_be_shown() -> None:
    played = Played(fail("overloaded"))
    played.ask(incoming(target="/run/one/v1/messages"))
    played.ask(incoming(target="/run/two/v1/messages"))
    records = played.journal.records

    both, one = drawn(records), drawn(records, "one")

    assert "one: 1 message" in both
    assert "two: 1 message" in both
    assert "run two: 1 request" in both
    assert "two" not in one


def test_broken_histories_side_requests_and_unfinished_answers_are_told() -> None:
    played = Played(strict=False)
    played.ask(incoming(tools=[]))
    played.ask(incoming(user(), assistant(called("lost")), user("and?")))
    played.player.receive(incoming(), 9)

    text = drawn(played.journal.records)

    assert "not ended in good order" in text
    assert "1 on the side" in text
    assert "BROKEN" in text
    assert "request 2 is broken: messages.1: call without result 'lost'" in text
    assert "answers that never ended: 3" in text
    assert "every call has its result" not in text


def test_a_run_without_a_request_to_the_model_has_no_verdict() -> None:
    records: list[Record] = [
        Began(),
        Asked(1, "main", 0.0, "count_tokens"),
        Answered(1, 1.0, "overloaded", status=529, good=False),
    ]

    text = drawn(records)

    assert "run main: 0 requests, 0 not answered as asked" in text
    assert "every call" not in text


def test_a_journal_that_counts_what_is_not_there_is_drawn() -> None:
    asked = [
        Asked(1, "main", 0.0, "messages", side=True, since_progress=99),
        Asked(2, "main", 0.0, "messages", since_progress=5),
    ]

    assert "nothing new" not in drawn([Began(), *asked])
    assert "nothing new" not in drawn([Began(), asked[1]])


def test_outages_and_noise_stand_in_their_places() -> None:
    records: list[Record] = [
        Began(),
        Outaged(1.0, 2.0),
        Noise(4.0, "400: illegal request line"),
        Asked(1, "main", 5.0, "messages", messages=1),
        Answered(1, 5.5, "reply", status=200, detail="text; end_turn"),
        Noise(6.0, "more of the same", 12_000),
        Ended(7.0, 1),
    ]

    rows = drawn(records).split("\n")

    told = [row for row in rows if "port" in row or "noise" in row or "text" in row]
    assert [
        word in row
        for word, row in zip(
            ("closed for 2.00 s", "illegal request line", "200 text", "12,000 times"),
            told,
            strict=True,
        )
    ] == [True] * 4


@pytest.mark.parametrize("evil", ["\x1b[2Jgone", "a\nb", "\u202eevil", "x" * 5_000])
def test_no_text_of_a_client_reaches_the_terminal_as_it_is(evil: str) -> None:
    records: list[Record] = [
        Began(schedule=evil),
        Asked(
            1,
            evil,
            0.0,
            "unknown",
            path=evil,
            broken=(Pairing("call_without_result", 0, evil),),
        ),
        Answered(1, 1.0, evil, detail=evil),
        Noise(1.0, evil),
    ]

    text = drawn(records)

    assert all(char.isprintable() for char in text if char != "\n")
    assert max(map(len, text.split("\n"))) < 500


def test_as_json_it_holds_every_exchange_and_the_totals() -> None:
    records = storm()

    value = json.loads(json.dumps(journal_object(records)))

    assert [each["asked"]["n"] for each in value["exchanges"]] == [1, 2, 3, 4, 5]
    assert value["exchanges"][1]["answered"]["answer"] == "overloaded"
    assert value["whole"] is True
    (total,) = value["totals"]
    assert (total["requests"], total["faults"], total["resent"]) == (5, 3, 3)
    assert total["longest_wait"] == 4.0
    assert (total["stretch"], total["stretch_length"]) == ([3, 5], 3)


def test_totals_add_up_to_what_was_charged() -> None:
    records: list[Record] = [Began()]
    for n in range(1, 8):
        records.append(Asked(n, "main", n, "messages", tokens=100, messages=1))
        records.append(Answered(n, n + 0.5, "reply", usage=Usage(100, n)))

    found: Any = journal_object(records)["totals"]
    total = found[0]

    assert total["input"] == 700
    assert total["output"] == sum(range(1, 8))
    assert total["failed_input"] == 0


def test_what_is_written_and_read_is_drawn_alike() -> None:
    records = storm()
    text = "".join(map(record_line, records))

    assert drawn(list(journal_from_text(text).records)) == drawn(records)
