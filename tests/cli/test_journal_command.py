"""`unspiral journal`: files that are read, and files that are refused."""

import json
from pathlib import Path

import pytest

from tests.faults.asking import Played, incoming
from unspiral.engine.cli.app import app
from unspiral.engine.faults.journal_file import FileJournal
from unspiral.engine.faults.schedule import fail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    played = Played(fail("overloaded", 2))
    for run in ("one", "two", "one"):
        played.ask(incoming(target=f"/run/{run}/v1/messages"))
    played.player.stop(9)
    file = tmp_path / "a.jsonl"
    with FileJournal(file) as journal:
        for record in played.journal.records:
            journal.write(record)
    return file


def code(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app.main(words)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_it_is_drawn(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("journal", str(path)) == 0

    told = capsys.readouterr().out
    assert told.count("529 overloaded") == 3
    assert "run one: 2 requests" in told


def test_one_run_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("journal", str(path), "--run", "two") == 0

    assert capsys.readouterr().out.count("529 overloaded") == 1


def test_a_run_that_is_not_there_is_told_with_the_nearest(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code("journal", str(path), "--run", "tow") == 2

    assert "did you mean 'two'" in capsys.readouterr().err


def test_as_json_it_is_one_object(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code("journal", str(path), "--json") == 0

    assert len(json.loads(capsys.readouterr().out)["exchanges"]) == 3


def test_the_last_line_may_be_cut(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(path.read_bytes()[:-20])

    assert code("journal", str(path)) == 0
    assert "last line cut" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no journal\n", ":1: it is no JSON"),
        ('{"kind":"begin","version":9}\n', "version 9 is not known here"),
        ("", ":1: it is no JSON"),
        ("garbage", ":1: it is no JSON"),
        ('{"kind":"begin","version":1}\n\0\0', ":2: it is no JSON"),
    ],
)
def test_another_file_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    file = tmp_path / "b.jsonl"
    file.write_text(text)

    assert code("journal", str(file)) == 2
    assert problem in capsys.readouterr().err


def test_a_file_that_is_not_there_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code("journal", str(tmp_path / "none.jsonl")) == 2

    err = capsys.readouterr().err
    assert "no such file" in err
    assert err.count("\n") == 1
