"""`unspiral why`: each continue and stop of a session, with what was refused."""

import json
from pathlib import Path

import pytest

from tests.live.sessions import TABLE
from tests.live.test_record import records_of, run_of
from unspiral.engine.cli.app import app
from unspiral.engine.cli.session_folder import SessionFolder
from unspiral.engine.core.step import Step
from unspiral.engine.live.record import record_to_plain
from unspiral.engine.live.session import Session, read_session
from unspiral.engine.live.session_events import DECISION, Keeper
from unspiral.engine.live.session_file import export_session
from unspiral.engine.live.why import whys

ID = "20261201-120000-aaaa"
ABOUT = {"task": "Mend the \x1b[2J parser"}
Told = pytest.CaptureFixture[str]


def code(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        app.main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


STEPS = run_of([0, 1, 2, 5, 1, 0, 3, 2, 4, 7])[1]
RECORDS = records_of(STEPS)


def made(folder: Path, steps: list[Step] = STEPS, id_: str = ID) -> Path:
    path = SessionFolder(folder).path_of(id_)
    with Session.create(path, ABOUT) as session:
        keeper = Keeper(session, TABLE)
        for each in records_of(steps):
            keeper.decided(record_to_plain(each))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNSPIRAL_SESSIONS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made(tmp_path)
    return tmp_path


def unwrapped(text: str) -> str:
    return " ".join(text.split())


# -- which -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [ID, "2026", "last", f"./{ID}.session", "out.jsonl"])
def test_it_is_named_by_its_id_or_a_beginning_or_last_or_a_file(
    folder: Path, capsys: Told, name: str
) -> None:
    export_session(read_session(folder / f"{ID}.session"), folder / "out.jsonl")

    assert code("why", name) == 0

    assert " stops: " in capsys.readouterr().out


def test_the_newest_is_the_last(folder: Path, capsys: Told) -> None:
    made(folder, STEPS[:1], "20261202-120000-aaaa")

    assert code("why", "last") == 0

    assert capsys.readouterr().out.startswith("20261202-120000-aaaa: ")


def test_another_folder_can_be_named(tmp_path: Path, capsys: Told) -> None:
    made(tmp_path)

    assert code("why", ID, "--sessions", tmp_path) == 0
    assert " stops: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("20261201-120000-aaxa",), f"did you mean '{ID}'"),
        (("../x",), "cannot be read"),
        (("..",), "no session '..'"),
        (("last", "100000"), "the number of a step cannot be '100000'"),
        (("last", "0"), "0 is not in the range"),
        (("last", "x"), "'x' is not a valid integer"),
        (("notes.jsonl",), "it cannot be read"),
    ],
)
def test_what_is_not_there_is_one_message(
    folder: Path, capsys: Told, words: tuple[str, ...], said: str
) -> None:
    del folder

    assert code("why", *words) == 2

    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


# -- what is told ----------------------------------------------------------------------


def test_every_continue_and_stop_is_told_with_all_that_was_refused(
    folder: Path, capsys: Told
) -> None:
    del folder
    assert code("why", "last") == 0

    out = unwrapped(capsys.readouterr().out)
    found = whys(RECORDS)
    assert len(found) > 1
    for each in found:
        what = f"goes on: {each.record.reason}"
        ending = f"stops: {each.record.target}" if each.record.ends else what
        assert f"step {each.record.n} {ending}" in out
        for refused in (guard for record in each.round for guard in record.refused):
            line = f"not {refused.row} -> {refused.target}: {refused.guard} is false"
            assert unwrapped(line) in out


def test_one_step_is_told_whatever_it_is(folder: Path, capsys: Told) -> None:
    del folder
    assert code("why", "last", "1") == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"step 1 leads to {STEPS[0].row.target}")
    assert lines[2].startswith(f"  1. {STEPS[0].before.phase}")


def test_a_session_that_has_not_got_that_far_says_so(
    tmp_path: Path, capsys: Told
) -> None:
    path = made(tmp_path, STEPS[:2])

    assert code("why", path) == 0
    assert "it has not gone on or stopped yet (2 steps)" in capsys.readouterr().out


def test_as_json_it_is_one_object_with_whole_records(
    folder: Path, capsys: Told
) -> None:
    del folder
    assert code("why", "last", "--json") == 0

    told = json.loads(capsys.readouterr().out)
    found = whys(RECORDS)
    assert told["session"] == ID
    assert [each["n"] for each in told["decisions"]] == [w.record.n for w in found]
    for each, one in zip(told["decisions"], found, strict=True):
        assert each.pop("round") == [record_to_plain(r) for r in one.round]
        assert each == record_to_plain(one.record)


@pytest.mark.parametrize("number", [1, whys(RECORDS)[0].record.n])
def test_as_json_one_step_is_one_decision(
    folder: Path, capsys: Told, number: int
) -> None:
    del folder
    assert code("why", "last", number, "--json") == 0

    (only,) = json.loads(capsys.readouterr().out)["decisions"]
    assert only["n"] == only["round"][-1]["n"] == number


# -- hostile sessions ------------------------------------------------------------------


def test_nothing_hostile_reaches_the_terminal(folder: Path, capsys: Told) -> None:
    del folder
    assert code("why", "last") == 0

    out = capsys.readouterr().out
    assert "Mend the \\x1b[2J parser" in out
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "record",
    [
        {},
        {**record_to_plain(RECORDS[0]), "phase": "\x1b[2J"},
        {**record_to_plain(RECORDS[0]), "asked": [["a", "b", "\x1b[2J", True]]},
        {**record_to_plain(RECORDS[0]), "more": 1},
    ],
)
def test_a_record_that_is_none_is_refused_by_its_number(
    tmp_path: Path, capsys: Told, record: dict[str, object]
) -> None:
    path = tmp_path / "a.session"
    with Session.create(path, ABOUT) as session:
        session.append(DECISION, record)

    assert code("why", path) == 2

    captured = capsys.readouterr()
    assert "a.session: event 2: " in captured.err
    assert "\x1b" not in captured.err
    assert captured.out == ""
