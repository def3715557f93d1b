"""What happened is on the disk, line by line; what we did not write is refused."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.errors import FileProblem, JournalError
from unspiral.engine.faults.acts import Usage
from unspiral.engine.faults.journal import (
    Answered,
    Asked,
    Began,
    Ended,
    Left,
    Noise,
    Outaged,
    Record,
)
from unspiral.engine.faults.journal_file import FileJournal, read_journal
from unspiral.engine.faults.journal_text import journal_from_text, record_line
from unspiral.engine.faults.pairing import Fault, Pairing
from unspiral.engine.faults.request import Endpoint

INTS = st.integers(-(2**63), 2**63)
COUNTS = st.integers(0, 2**63)
NUMBERS = st.integers(1, 2**63)
TIMES = st.floats(0, 1e9).map(lambda value: round(value, 6))
TEXTS = st.text(st.characters(), max_size=8)  # lone surrogates too
PAIRINGS = st.builds(Pairing, st.sampled_from(get_args(Fault)), COUNTS, TEXTS)
FIELDS: dict[object, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: COUNTS,
    float: TIMES,
    str: TEXTS,
    int | None: st.none() | COUNTS,
    tuple[str, ...]: st.lists(TEXTS, max_size=2).map(tuple),
    tuple[Pairing, ...]: st.lists(PAIRINGS, max_size=2).map(tuple),
    Usage: st.builds(Usage, COUNTS, COUNTS),
    Left: st.sampled_from(get_args(Left)),
}
NAMED: dict[str, st.SearchStrategy[Any]] = {
    "n": NUMBERS,
    "count": NUMBERS,
    "seed": INTS,
    "status": st.none() | st.integers(100, 599),
    "same_as": st.none() | NUMBERS,
    "max_tokens": st.none() | INTS,
    "endpoint": st.sampled_from(get_args(Endpoint)),
}


def record_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {
            field.name: NAMED[field.name] if field.name in NAMED else FIELDS[field.type]
            for field in attrs.fields(kind)
        }
    ).map(lambda fields: kind(**fields))


@st.composite
def journals(draw: st.DrawFn) -> list[Record]:
    """Draw a journal that could have been written."""
    records: list[Record] = [attrs.evolve(draw(record_of(Began)), version=1)]
    asked = draw(st.lists(record_of(Asked), max_size=4, unique_by=lambda each: each.n))
    for each in asked:
        records.append(each)
        records += draw(st.lists(record_of(Outaged) | record_of(Noise), max_size=1))
        if draw(st.booleans()):
            records.append(attrs.evolve(draw(record_of(Answered)), n=each.n))
    if draw(st.booleans()):
        records.append(Ended(draw(TIMES), len(asked)))
    return records


@given(journals())
def test_what_is_written_is_read_as_it_was(records: list[Record]) -> None:
    text = "".join(map(record_line, records))

    reading = journal_from_text(text)

    assert reading.records == tuple(records)
    assert reading.whole is isinstance(records[-1], Ended)
    assert not reading.torn
    assert text.isascii()
    assert text.count("\n") == len(records)


@given(journals(), st.data())
def test_a_journal_that_is_cut_anywhere_is_read_up_to_the_last_whole_line(
    records: list[Record], data: st.DataObject
) -> None:
    text = "".join(map(record_line, records))
    least = text.index("\n")  # the beginning is whole
    cut = text[: data.draw(st.integers(least, len(text)))]

    reading = journal_from_text(cut)

    ends_within = bool(cut) and cut[-1] != "\n"
    closed = ends_within and text[len(cut)] == "\n"  # only the line break is missing
    count = cut.count("\n") + closed
    assert reading.records == tuple(records[:count])
    assert reading.torn is (ends_within and not closed)


def test_a_line_holds_its_kind_and_what_is_not_at_its_default() -> None:
    assert record_line(Began(schedule="storm")) == (
        '{"kind":"begin","version":1,"schedule":"storm"}\n'
    )
    assert json.loads(record_line(Answered(3, 1.23456789, "reply"))) == {
        "kind": "answer",
        "n": 3,
        "t": 1.234568,
        "answer": "reply",
    }


def test_a_number_of_a_client_that_no_field_can_mean_is_cut() -> None:
    line = record_line(Asked(1, "main", 0.0, "messages", max_tokens=10**300))

    (_, asked) = journal_from_text(record_line(Began()) + line).records

    assert isinstance(asked, Asked)
    assert asked.max_tokens == 2**63


BEGIN = '{"kind":"begin","version":1}'
ASK = '{"kind":"request","n":1,"run":"a","t":0,"endpoint":"messages"}'
ANSWER = '{"kind":"answer","n":1,"t":1,"answer":"reply"}'

END = '{"kind":"end","t":1,"requests":0}'


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ([ASK], 1, "a journal has one line of the kind 'begin', the first"),
        ([BEGIN, BEGIN], 2, "one line of the kind 'begin'"),
        (['{"kind":"begin","version":2}'], 1, "version 2 is not known here; 1 is"),
        (['{"kind":"begin"}'], 1, "begin: field 'version' is missing"),
        ([BEGIN, ASK, ASK], 3, "request 1 is asked twice"),
        ([BEGIN, ANSWER], 2, "request 1 is answered and was not asked"),
        ([BEGIN, ASK, ANSWER, ANSWER], 4, "request 1 is answered twice"),
        ([BEGIN, '{"kind":"end","t":1,"requests":2}'], 2, "counts 2 requests"),
        ([BEGIN, *[END] * 2], 3, "there is nothing after the end"),
        ([BEGIN, END, '{"kind":"noise","t":1,"what":""}'], 3, "nothing after the end"),
        ([BEGIN, ASK.replace('"n":1', '"n":-3')], 2, "request.n cannot be -3"),
        ([BEGIN, ASK.replace("messages", "\\u001b[2J")], 2, "request.endpoint cannot"),
        ([BEGIN, ASK.replace('"t":0', '"t":-1')], 2, "request.t cannot be -1"),
        ([BEGIN, ASK[:-1] + ',"messages":-1}'], 2, "request.messages cannot be -1"),
        ([BEGIN, ASK, ANSWER[:-1] + ',"status":-5}'], 3, "answer.status cannot be -5"),
        ([BEGIN, ""], 2, "it is no JSON"),
        ([BEGIN, "{"], 2, "it is no JSON"),
        ([BEGIN, "[" * 100_000], 2, "it is nested too deeply"),
        ([BEGIN, "9" * 10_000], 2, "it is no JSON"),
        ([BEGIN, "[]"], 2, "a line cannot be []: it must be an object"),
        ([BEGIN, "{}"], 2, "no kind None"),
        ([BEGIN, '{"kind":["end"]}'], 2, "no kind ['end']"),
        ([BEGIN, '{"kind":"requests"}'], 2, "'request'"),
        ([BEGIN, '{"kind":"noise","t":1,"t":1,"what":""}'], 2, "'t' is there twice"),
        ([BEGIN, '{"kind":"noise","t":NaN,"what":""}'], 2, "NaN is no number here"),
        ([BEGIN, '{"kind":"noise","t":1e999,"what":""}'], 2, "noise.t cannot be inf"),
        ([BEGIN, '{"kind":"noise","t":true,"what":""}'], 2, "noise.t cannot be True"),
        ([BEGIN, '{"kind":"noise","t":1}'], 2, "noise: field 'what' is missing"),
        ([BEGIN, '{"kind":"noise","t":1,"what":3}'], 2, "it must be a text"),
        ([BEGIN, '{"kind":"noise","t":1,"what":"","cuont":3}'], 2, "'count'"),
        ([BEGIN, '{"kind":"noise","t":1,"what":"","count":1.0}'], 2, "whole number"),
        ([BEGIN, ASK[:-1] + ',"side":1}'], 2, "it must be true or false"),
        ([BEGIN, ASK[:-1] + ',"tools":"read"}'], 2, "it must be a list"),
        ([BEGIN, ASK[:-1] + ',"tools":[1]}'], 2, "it must be a text"),
        ([BEGIN, ASK[:-1] + ',"max_tokens":9223372036854775809}'], 2, "64 bits"),
        (
            [BEGIN, ASK[:-1] + ',"broken":[{"fault":"x","message":1,"id":""}]}'],
            2,
            "it must be one of call_without_result",
        ),
        ([BEGIN, ASK, ANSWER[:-1] + ',"left":"lost"}'], 3, "one of kept, gone"),
        ([BEGIN, ASK, ANSWER[:-1] + ',"usage":[1,2]}'], 3, "it must be an object"),
    ],
)
def test_what_we_did_not_write_is_refused_with_its_line(
    lines: list[str], line: int, problem: str
) -> None:
    with pytest.raises(JournalError) as refused:
        journal_from_text("\n".join(lines) + "\n", "a.jsonl")

    assert refused.value.line == line
    assert problem in refused.value.problem
    assert str(refused.value).startswith(f"a.jsonl:{line}: ")
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        (BEGIN[:-1], 1),
        ("garbage", 1),
        (f"{BEGIN}\n\0\0\0", 2),
        (f"{BEGIN}\ngarbage", 2),
        (f"{BEGIN}\n[1, 2", 2),
        (f'{BEGIN}\n{{"kind":"noise" x', 2),
        (f'{BEGIN}\n{{"kind":"noise","t":01', 2),
        (f'{BEGIN}\n{{"kind":"noise","t":1}}}}', 2),
        (f'{BEGIN}\n{{"kind":"noise","t":]', 2),
        (f'{BEGIN}\n{{"kind":"noise","what":"\\q', 2),
        (f'{BEGIN}\n{{"kind":' + "[" * 100_000, 2),
    ],
)
def test_an_end_that_no_line_of_ours_begins_with_is_not_taken_for_a_cut_line(
    text: str, line: int
) -> None:
    with pytest.raises(JournalError) as refused:
        journal_from_text(text)

    assert refused.value.line == line


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_a_text_that_does_not_begin_as_a_journal_is_refused(text: str) -> None:
    with pytest.raises(JournalError) as refused:
        journal_from_text(text)

    assert refused.value.line >= 1


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(JournalError, match="more than 1,000,000 lines"):
        journal_from_text("\n" * 1_000_001)


def test_a_file_that_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(BEGIN.encode() + b"\n\xff\n")

    with pytest.raises(JournalError, match="no UTF-8 text") as refused:
        read_journal(path)

    assert refused.value.line == 2


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such file"):
        read_journal(tmp_path / "none.jsonl")


def test_a_journal_on_the_disk_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records: list[Record] = [Began(), Asked(1, "main", 0.5, "messages"), Ended(1, 1)]

    with FileJournal(path) as journal:
        for record in records:
            journal.write(record)
            assert path.read_text("ascii").endswith(record_line(record))

    assert read_journal(path).records == tuple(records)


def test_a_journal_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("truth\n", "ascii")

    with pytest.raises(FileProblem, match="it exists already and is not overwritten"):
        FileJournal(path)

    assert path.read_text("ascii") == "truth\n"


def test_a_journal_is_replaced_if_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("truth\n", "ascii")

    with FileJournal(path, replace=True) as journal:
        journal.write(Began())

    assert path.read_text("ascii") == record_line(Began())


@pytest.mark.parametrize("replace", [True, False])
def test_a_journal_that_a_server_writes_is_left_to_it(
    tmp_path: Path, replace: bool
) -> None:
    path = tmp_path / "a.jsonl"

    with FileJournal(path) as journal:
        for _ in range(2):  # whether something stands there or not
            with pytest.raises(FileProblem, match="another server writes its journal"):
                FileJournal(path, replace=replace)
            journal.write(Began())

    with FileJournal(path, replace=True) as again:
        again.write(Began(seed=1))
    assert read_journal(path).records == (Began(seed=1),)


@pytest.mark.parametrize("read", [True, False])
def test_a_pipe_is_refused_at_once(tmp_path: Path, read: bool) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if read else None

    with pytest.raises(FileProblem, match="it is a pipe"):
        FileJournal(path)

    if end is not None:
        os.close(end)


def test_an_empty_file_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()

    with FileJournal(path) as journal:
        journal.write(Began())

    assert read_journal(path).records == (Began(),)


@pytest.mark.parametrize("name", ["", "none/a.jsonl", "a\0b"])
def test_a_path_that_cannot_be_opened_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileProblem):
        FileJournal(f"{tmp_path}/{name}")


def test_a_closed_journal_takes_nothing_and_is_closed_twice(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "a.jsonl")
    journal.close()
    journal.close()

    with pytest.raises(FileProblem, match="it is closed"):
        journal.write(Began())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    del tmp_path
    with FileJournal("/dev/full") as journal:
        for _ in range(2):
            with pytest.raises(FileProblem, match="no space left on device"):
                journal.write(Began())


FULL = """
import resource, sys
from unspiral.engine.errors import FileProblem
from unspiral.engine.faults.journal import Began, Noise
from unspiral.engine.faults.journal_file import FileJournal
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
journal = FileJournal(sys.argv[1])
journal.write(Began())
try:
    for number in range(1000):
        journal.write(Noise(number, "x" * 50))
except FileProblem as error:
    print(error.problem)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
try:
    journal.write(Noise(0, "y"))
except FileProblem as error:
    print(error.problem)
"""

ENDLESS = """
import sys
from unspiral.engine.faults.journal import Began, Noise
from unspiral.engine.faults.journal_file import FileJournal
journal = FileJournal(sys.argv[1])
journal.write(Began())
number = 0
while True:
    number += 1
    journal.write(Noise(number, "x" * 5000))
    if number == 100:
        print("begun", flush=True)
"""


def test_a_line_that_found_no_room_is_taken_back_and_none_comes_after_it(
    tmp_path: Path,
) -> None:
    pytest.importorskip("resource")
    path = tmp_path / "a.jsonl"

    result = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", FULL, str(path)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert result.stdout == "no space is left for a whole line\n" * 2
    assert path.read_text("ascii").endswith("}\n")
    # A line of noise has 85 bytes: eleven of them go behind the first line.
    assert len(read_journal(path).records) == 1 + 11


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process is killed so")
def test_after_a_kill_every_line_but_perhaps_the_last_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", ENDLESS, str(path)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        begun = process.stdout.readline()
        process.kill()

    reading = read_journal(path)

    assert begun == "begun\n"
    assert process.returncode == -signal.SIGKILL
    assert not reading.whole
    noises = reading.records[1:]
    assert len(noises) >= 100
    assert [each.t for each in noises if isinstance(each, Noise)] == [
        float(number) for number in range(1, len(noises) + 1)
    ]
    assert path.stat().st_size > 500_000
