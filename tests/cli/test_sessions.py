"""`unspiral sessions`: what is kept is listed whatever it is, and comes out and in."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.sessions import written
from unspiral.engine.cli.app import app
from unspiral.engine.cli.session_entries import entry_of
from unspiral.engine.cli.session_folder import (
    SessionFolder,
    folder_of,
    located,
    new_id,
)
from unspiral.engine.errors import BadValue, FileProblem, UnknownName
from unspiral.engine.live.session import Session, read_session
from unspiral.engine.live.session_lock import Lock, is_locked

NOON = 1_796_126_400.0  # 2026-12-01, 12:00
ABOUT = {
    "task": "Mend the parser",
    "machine": "query_loop",
    "edition": "hardened",
    "set": {"max_turns": 20},
    "model": "claude-sonnet-5-5",
    "workspace": "/w",
    "scenario": "",
}
HOSTILE = "\x1b[2Jred\x07\u202e\n[red]x[/red]"


class Ticking:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self, begin: float) -> None:
        self.time = begin

    def __call__(self) -> float:
        self.time += 1
        return self.time


def made(
    folder: Path,
    id_: str = "20261201-120000-aaaa",
    about: Mapping[str, object] = ABOUT,
    *,
    end: str = "completed",
    now: float = NOON,
) -> Path:
    """Write a session of three turns, two steps each."""
    path = SessionFolder(folder).path_of(id_)
    with Session.create(path, about, now=Ticking(now - 1)) as session:
        keepers = list(written(session, 3))
        spent = {"micro_dollars": 123_400, "tokens": 9}
        keepers[-1].appended((), ledgers={"spent": spent})
        if end:
            keepers[-1].ended(end)
    return path


def code(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        app.main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    return capsys


Told = pytest.CaptureFixture[str]

# -- the list --------------------------------------------------------------------------


def test_each_session_is_listed_the_newest_first(tmp_path: Path, told: Told) -> None:
    made(tmp_path)
    made(
        tmp_path,
        "20261202-120000-bbbb",
        {"task": ""},
        end="max_turns",
        now=NOON + 86400,
    )

    assert code("sessions", "--sessions", tmp_path) == 0

    assert told.readouterr().out == (
        "20261202-120000-bbbb  2026-12-02 12:00:00Z  max_turns  6 steps  $0.1234\n"
        "  (no task)\n"
        "20261201-120000-aaaa  2026-12-01 12:00:00Z  completed  6 steps  $0.1234\n"
        "  Mend the parser  [query_loop hardened, claude-sonnet-5-5]\n"
    )


def test_as_json_it_is_a_list_of_objects(tmp_path: Path, told: Told) -> None:
    path = made(tmp_path)

    assert code("sessions", "--sessions", tmp_path, "--json") == 0

    assert json.loads(told.readouterr().out) == [
        {
            "id": "20261201-120000-aaaa",
            "path": str(path),
            "begun": "2026-12-01T12:00:00Z",
            "task": "Mend the parser",
            "machine": "query_loop",
            "edition": "hardened",
            "model": "claude-sonnet-5-5",
            "steps": 6,
            "state": "completed",
            "micro_dollars": 123_400,
            "problem": None,
        }
    ]


def test_one_without_an_end_was_interrupted(tmp_path: Path) -> None:
    path = made(tmp_path, end="")

    assert entry_of("a", str(path)).state == "interrupted"


def test_one_that_is_open_is_running_and_is_not_disturbed(tmp_path: Path) -> None:
    path = made(tmp_path)

    with Session.resume(path) as session:
        assert entry_of("a", str(path)).state == "running"
        session.append("note", {})

    assert entry_of("a", str(path)).state == "completed"


def test_one_whose_process_was_killed_is_not_running(tmp_path: Path) -> None:
    path = made(tmp_path, end="")
    program = (
        "import sys, time\n"
        "from unspiral.engine.live.session import Session\n"
        "session = Session.resume(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "time.sleep(600)\n"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        assert is_locked(str(path))
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert entry_of("a", str(path)).state == "interrupted"


def test_to_ask_whether_it_is_locked_makes_no_file(tmp_path: Path) -> None:
    assert not is_locked(str(tmp_path / "none"))
    (tmp_path / "link.lock").symlink_to(tmp_path / "other")

    assert not is_locked(str(tmp_path / "link"))
    assert [each.name for each in tmp_path.iterdir()] == ["link.lock"]


def test_to_ask_leaves_the_lock_free(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    Lock(path).release()
    assert not is_locked(path)

    lock = Lock(path)
    assert is_locked(path)
    lock.release()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (b"no database" * 1_000, "it is damaged or no session"),
        (None, "it is no regular file"),
    ],
)
def test_a_broken_one_is_listed_and_the_others_too(
    tmp_path: Path, told: Told, data: bytes | None, problem: str
) -> None:
    made(tmp_path)
    broken = tmp_path / "20261203-120000-cccc.session"
    if data is None:
        broken.mkdir()
    else:
        broken.write_bytes(data)

    assert code("sessions", "--sessions", tmp_path) == 0

    out = told.readouterr().out
    assert out.startswith("20261203-120000-cccc  broken\n  ")
    assert problem in out
    assert "Mend the parser" in out


def test_a_session_that_is_cut_anywhere_is_listed(tmp_path: Path) -> None:
    whole = made(tmp_path).read_bytes()
    cut = tmp_path / "cut.session"

    for size in range(0, len(whole), 997):
        cut.write_bytes(whole[:size])
        entry = entry_of("cut", str(cut))

        assert entry.problem or entry.steps


def test_other_files_are_no_sessions(tmp_path: Path, told: Told) -> None:
    for name in ("a.txt", "b.session.lock", "c.session-wal", ".session", "-d.session"):
        (tmp_path / name).write_bytes(b"")

    assert code("sessions", "--sessions", tmp_path) == 0

    assert told.readouterr().out == f"no sessions in {tmp_path}\n"


def test_a_list_makes_no_folder(tmp_path: Path, told: Told) -> None:
    folder = tmp_path / "none"

    assert code("sessions", "--sessions", folder) == 0

    assert "no sessions" in told.readouterr().out
    assert not folder.exists()


def test_a_folder_that_is_a_file_is_one_message(tmp_path: Path, told: Told) -> None:
    (tmp_path / "file").write_bytes(b"")

    assert code("sessions", "--sessions", tmp_path / "file") == 2
    assert "cannot be read: not a directory" in told.readouterr().err


def test_nothing_hostile_of_a_session_reaches_the_terminal(
    tmp_path: Path, told: Told
) -> None:
    made(tmp_path, about=dict.fromkeys(ABOUT, HOSTILE), end=HOSTILE)

    assert code("sessions", "--sessions", tmp_path) == 0

    out = told.readouterr().out
    assert out.count("\n") == 2
    assert out.replace("\n", "").isprintable()


def test_an_about_of_other_types_is_passed_over(tmp_path: Path) -> None:
    path = made(tmp_path, about={name: [1, {"x": None}] for name in ABOUT})

    entry = entry_of("a", str(path))

    assert (entry.problem, entry.task, entry.machine) == ("", "", "")


# -- out and in ------------------------------------------------------------------------


def test_one_goes_out_and_comes_in_as_it_was(tmp_path: Path, told: Told) -> None:
    path, file, other = made(tmp_path), tmp_path / "out.jsonl", tmp_path / "other"

    assert code("sessions", "--sessions", tmp_path, "--export", "2026", "-o", file) == 0
    assert " ".join(told.readouterr().out.split()).startswith(f"written: {file} (")
    words = "sessions", "--sessions", other, "--import", file, "--json"
    assert code(*words) == 0

    taken = json.loads(told.readouterr().out)
    assert taken["id"].startswith("20261201-120000-")
    assert read_session(taken["path"]) == read_session(path)
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


def test_without_a_file_it_goes_to_standard_output(tmp_path: Path, told: Told) -> None:
    path = made(tmp_path)

    assert code("sessions", "--sessions", tmp_path, "--export", "last") == 0

    lines = told.readouterr().out.splitlines()
    assert json.loads(lines[0])["events"] == len(lines) - 1 == len(read_session(path))


def test_a_secret_of_the_environment_does_not_go_out(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, about={**ABOUT, "task": "use hunter2-hunter2 for it"})
    monkeypatch.setenv("MY_API_TOKEN", "hunter2-hunter2")

    assert code("sessions", "--sessions", tmp_path, "--export", "last") == 0

    out = told.readouterr().out
    assert "hunter2" not in out
    assert "use [redacted: " in out


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, told: Told) -> None:
    made(tmp_path)
    file = tmp_path / "out.jsonl"
    file.write_text("mine")

    assert code("sessions", "--sessions", tmp_path, "--export", "2026", "-o", file) == 2
    assert "cannot be written: file exists" in told.readouterr().err
    assert file.read_text() == "mine"


def test_what_is_no_export_is_not_taken_in(tmp_path: Path, told: Told) -> None:
    (tmp_path / "a.jsonl").write_text('{"format":"other"}\n')
    folder = tmp_path / "sessions"

    words = "sessions", "--sessions", folder, "--import", tmp_path / "a.jsonl"
    assert code(*words) == 2
    assert "a.jsonl:1: " in told.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--export", "a", "--import", "b"), "--import cannot be"),
        (("-o", "x"), "--output cannot be"),
        (("--export", "nothing"), "no session 'nothing'"),
    ],
)
def test_bad_usage_is_one_message(
    tmp_path: Path, told: Told, words: tuple[str, ...], said: str
) -> None:
    assert code("sessions", "--sessions", tmp_path, *words) == 2

    err = told.readouterr().err
    assert said in err
    assert err.count("\n") == 1


# -- where they are, and what they are called ------------------------------------------


@pytest.mark.parametrize(
    ("given_", "environment", "found"),
    [
        ("/d", {"UNSPIRAL_SESSIONS": "/e", "XDG_STATE_HOME": "/x"}, "/d"),
        (None, {"UNSPIRAL_SESSIONS": "/e", "XDG_STATE_HOME": "/x"}, "/e"),
        (None, {"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/unspiral/sessions"),
        (
            None,
            {"XDG_STATE_HOME": "", "HOME": "/h"},
            "/h/.local/state/unspiral/sessions",
        ),
        (
            None,
            {"XDG_STATE_HOME": "r", "HOME": "/h"},
            "/h/.local/state/unspiral/sessions",
        ),
    ],
)
def test_the_folder_is_the_one_that_is_named_first(
    given_: str | None, environment: dict[str, str], found: str
) -> None:
    folder = folder_of(None if given_ is None else Path(given_), environment)

    assert folder.path == Path(found)


def test_the_variable_says_where_a_command_looks(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path)
    monkeypatch.setenv("UNSPIRAL_SESSIONS", str(tmp_path))

    assert code("sessions") == 0
    assert "Mend the parser" in told.readouterr().out


def test_a_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path / "a" / "b")
    folder.make()
    folder.make()

    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(FileProblem):
        SessionFolder(tmp_path / "file" / "b").make()


def test_an_id_says_when_and_then_anything() -> None:
    assert new_id(NOON, lambda _: 0) == "20261201-120000-aaaa"
    assert new_id(NOON + 0.9, lambda below: below - 1) == "20261201-120000-9999"


@pytest.mark.parametrize("time", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_time_of_no_calendar_makes_no_id(time: float) -> None:
    with pytest.raises(BadValue, match="time of a session"):
        new_id(time, lambda _: 0)


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_ids_sort_by_time(one: float, two: float) -> None:
    first, second = sorted((one, two))

    assert new_id(first, lambda _: 0) <= new_id(second, lambda _: 0)
    assert SessionFolder(Path("/x")).path_of(new_id(one, lambda _: 5)).name


@pytest.fixture
def folder(tmp_path: Path) -> SessionFolder:
    for name in (
        "20261201-120000-aaaa",
        "20261201-120001-bbbb",
        "20261203-120000-cccc",
    ):
        (tmp_path / f"{name}.session").write_bytes(b"")
    return SessionFolder(tmp_path)


@pytest.mark.parametrize(
    ("given_", "found"),
    [
        ("20261201-120000-aaaa", "20261201-120000-aaaa"),
        ("20261203", "20261203-120000-cccc"),
        ("last", "20261203-120000-cccc"),
    ],
)
def test_a_session_is_found_by_what_names_only_it(
    folder: SessionFolder, given_: str, found: str
) -> None:
    assert folder.find(given_).stem == found


def test_of_sessions_of_one_second_the_last_is_the_one_written_last(
    folder: SessionFolder,
) -> None:
    for number, name in enumerate(("zzzz", "dddd"), 1):
        file = folder.path / f"20261203-120000-{name}.session"
        file.write_bytes(b"")
        when = 2_000_000_000 + number
        os.utime(file, (when, when))

    assert folder.find("last").stem == "20261203-120000-dddd"


def test_an_id_that_begins_another_one_is_found(folder: SessionFolder) -> None:
    (folder.path / "20261201.session").write_bytes(b"")

    assert folder.find("20261201").stem == "20261201"


def test_the_beginning_of_several_is_refused_and_they_are_named(
    folder: SessionFolder,
) -> None:
    with pytest.raises(BadValue, match=r"of 2 .20261201-120000-aaaa, 20261201-120001"):
        folder.find("20261201")


@pytest.mark.parametrize(
    "name", ["", "20261209", "../x", "..", "/etc/passwd", "*", "\0", "x" * 10_000]
)
def test_what_is_not_there_is_refused_and_nothing_outside_is_looked_at(
    folder: SessionFolder, name: str
) -> None:
    (folder.path.parent / "x.session").write_bytes(b"")

    with pytest.raises(UnknownName):
        folder.find(name)


def test_the_nearest_name_is_told(folder: SessionFolder) -> None:
    with pytest.raises(UnknownName, match="did you mean '20261203-120000-cccc'"):
        folder.find("20261203-120000-cxcc")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a\n", "x" * 101])
def test_no_path_is_made_of_what_is_no_id(name: str) -> None:
    with pytest.raises(BadValue):
        SessionFolder(Path("/x")).path_of(name)


@pytest.mark.parametrize("name", ["./a", "/a/b", "a.session", "a.jsonl"])
def test_a_path_is_taken_as_one(folder: SessionFolder, name: str) -> None:
    assert located(folder, name) == Path(name)
