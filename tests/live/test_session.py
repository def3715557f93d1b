"""A session loses nothing that was kept, whatever ends the process that wrote it."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import answer, call, histories, pairs
from tests.live.sessions import START, TABLE, begun, standing, turn, written
from unspiral.engine.core.run import Run
from unspiral.engine.errors import (
    FileProblem,
    SessionBusy,
    SessionError,
    UnspiralError,
)
from unspiral.engine.live.message import (
    History,
    open_calls,
    results_message,
    tool_result,
    user_text,
    wire,
)
from unspiral.engine.live.ports import Store
from unspiral.engine.live.restoring import CUT_SHORT, NOT_BEGUN, restore
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.session import MemoryStore, Session, read_session
from unspiral.engine.live.session_events import Event, Keeper
from unspiral.machines.query_loop import QUERY_LOOP

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a session?.db"


def texts(history: History, call_: str) -> list[object]:
    return [
        block.get("content")
        for message in history
        for block in message.content
        if block.get("tool_use_id") == call_
    ]


# -- what is kept ----------------------------------------------------------------------


def test_what_was_kept_is_there_for_the_next_process(path: Path) -> None:
    with Session.create(path, {"workspace": "/w"}) as session:
        *_, keeper = written(session, 9)

    with Session.resume(path) as session:
        kept = session.restored()

    assert kept.history == tuple(keeper.history)
    assert kept.about == {"workspace": "/w"}
    assert kept.ledgers == {"tokens": {"spent": 9}}
    assert kept.in_flight == ()
    assert kept.terminal == ""
    assert kept.last == session.last


def test_counters_come_from_the_snapshot_of_the_machine(path: Path) -> None:
    with Session.create(path) as session:
        keeper = begun(session)
        keeper.became(keeper.history, standing(7))

    with Session.resume(path) as session:
        machine = session.restored().machine

    assert machine is not None
    run = Run.resume(QUERY_LOOP, machine)
    assert run.memory["turn"] == 7
    assert run.phase == START.phase
    assert run.table.digest == TABLE.digest


def test_the_prompt_is_on_the_disk_before_anything_is_asked(path: Path) -> None:
    with Session.create(path) as session:
        begun(session)

        others = read_session(path)

    assert restore(others).history == (user_text("Mend the parser."),)


def test_memory_and_disk_keep_the_same(path: Path) -> None:
    memory = MemoryStore({"a": 1}, now=lambda: 5.0)
    with Session.create(path, {"a": 1}, now=lambda: 5.0) as session:
        for store in (memory, session):
            for _ in written(store, 5):
                pass

        assert session.events() == memory.events()
        assert session.restored() == memory.restored()


def test_a_session_is_a_store(path: Path) -> None:
    with Session.create(path) as session:
        stores: list[Store] = [session, MemoryStore()]

    assert len(stores) == 2


def test_a_session_is_for_its_owner_only(path: Path) -> None:
    with Session.create(path) as session:
        session.append("note", {})

        assert {each.stat().st_mode & 0o077 for each in path.parent.iterdir()} == {0}


def test_what_is_noted_is_kept_with_what_follows(path: Path) -> None:
    with Session.create(path) as session:
        session.note("decision", {"n": 1})
        before = [each.kind for each in read_session(path)]
        session.append("state", {})
        session.note("decision", {"n": 2})

    assert before == ["begin"]
    assert [each.kind for each in read_session(path)] == [
        "begin",
        "decision",
        "state",
        "decision",
    ]


def test_every_text_is_kept_as_it_is(path: Path) -> None:
    value = {"lone": "\ud800", "nul": "\0", "sep": "\u2028", "n": 10**30, "f": 0.1}

    with Session.create(path) as session:
        session.append("note", value)

        assert session.events()[-1].value == value


def test_secrets_are_taken_out_before_anything_is_written(path: Path) -> None:
    secret = "not-for-anybody-42"  # noqa: S105 - made up
    redaction = Redaction.of({"A_TOKEN": secret})
    told = tool_result("a", f"TOKEN={secret} and ghp_{'a1' * 20}")
    with Session.create(path, {"env": secret}, redaction=redaction) as session:
        keeper = begun(session)
        keeper.appended([user_text(secret), answer(call("a", x=secret))])
        keeper.calling(call("a", x=secret))
        keeper.called(told)
        keeper.appended([results_message([told])], ledgers={secret: secret})
        keeper.decided({"why": secret})
        written_ = [each.read_bytes() for each in path.parent.iterdir()]
        kept = session.restored()

    written_ += [each.read_bytes() for each in path.parent.iterdir()]
    assert all(secret.encode() not in each for each in written_)
    assert all(b"a1a1a1" not in each for each in written_)
    assert texts(kept.history, "a") == [
        "TOKEN=[redacted: environment] and [redacted: github token]"
    ]


def test_a_resumed_history_is_kept_byte_for_byte_from_then_on(path: Path) -> None:
    redaction = Redaction.of({"A_TOKEN": "not-for-anybody-42"})
    with Session.create(path, redaction=redaction) as session:
        begun(session).appended([user_text("not-for-anybody-42", "note")])
    with Session.resume(path, redaction=redaction) as session:
        first = session.restored().history
        Keeper(session, TABLE, first).became((user_text("new"), *first[1:]))

        second = session.restored().history

    assert json.dumps(wire(second[1:])) == json.dumps(wire(first[1:]))


# -- interrupted runs ------------------------------------------------------------------


def interrupted(write: Callable[[Keeper], None]) -> MemoryStore:
    store = MemoryStore()
    write(begun(store))
    return store


def test_a_call_in_flight_is_reported_and_its_result_says_so() -> None:
    def write(keeper: Keeper) -> None:
        calls = [call(each, "bash", command="make") for each in "abc"]
        keeper.appended([answer(*calls)])
        keeper.calling(calls[0])
        keeper.calling(calls[1])
        keeper.called(tool_result("a", "done"))

    kept = interrupted(write).restored()

    assert [(c.id, c.name, c.given) for c in kept.in_flight] == [
        ("b", "bash", {"command": "make"})
    ]
    assert [texts(kept.history, each) for each in "abc"] == [
        ["done"],
        [CUT_SHORT],
        [NOT_BEGUN],
    ]
    assert open_calls(kept.history) == ()


def test_a_call_whose_result_is_in_the_history_is_not_in_flight() -> None:
    def write(keeper: Keeper) -> None:
        keeper.appended([answer(call("a"))])
        keeper.calling(call("a"))
        keeper.appended([results_message([tool_result("a", "done")])])

    kept = interrupted(write).restored()

    assert kept.in_flight == ()
    assert texts(kept.history, "a") == ["done"]


def test_a_session_that_is_gone_on_with_reports_a_call_in_flight_once() -> None:
    def write(keeper: Keeper) -> None:
        keeper.appended([answer(call("a"))])
        keeper.calling(call("a"))

    store = interrupted(write)
    first = store.restored()
    keeper = Keeper(store, TABLE, first.kept)
    keeper.became(first.history)
    between = store.restored()
    keeper.began(standing(2))
    second = store.restored()

    assert [each.id for each in first.in_flight] == ["a"]
    assert between.in_flight == second.in_flight == ()
    assert between.history == second.history == second.kept == first.history


def test_a_run_that_ended_is_not_taken_up_but_its_counters_are() -> None:
    def write(keeper: Keeper) -> None:
        keeper.appended([answer("Done.")], standing(3), {"spent": 3})
        keeper.ended("completed")

    store = interrupted(write)
    ended = store.restored()
    Keeper(store, TABLE, ended.kept).appended([user_text("And now?")])
    again = store.restored()

    assert (ended.terminal, ended.machine) == ("completed", None)
    assert ended.ledgers == {"spent": 3}
    assert (again.terminal, again.machine) == ("", None)
    assert again.ledgers == {"spent": 3}


@given(st.lists(histories(), min_size=1, max_size=6))
def test_a_history_is_kept_through_any_changes(changes: list[History]) -> None:
    store = MemoryStore()
    keeper = Keeper(store, TABLE)
    for history in changes:
        keeper.became(history)

        assert store.restored().history == history


def test_a_history_that_only_grows_is_written_once(path: Path) -> None:
    with Session.create(path) as session:
        keeper = begun(session)
        for number in range(1, 4):
            turn(keeper, number)
        changes = [e.value for e in session.events() if "messages" in e.value]

    lengths = [len(value["messages"]) for value in changes]  # type: ignore[arg-type]
    assert lengths == [1] * 7
    assert [value["keep"] for value in changes] == list(range(7))


def test_a_session_that_is_cut_after_any_event_can_be_gone_on_with() -> None:
    store = MemoryStore()
    for _ in written(store, 6):
        pass
    events = store.events()

    for count in range(1, len(events) + 1):
        kept = restore(events[:count])

        begun_ = {str(e.value["id"]) for e in events[:count] if e.kind == "call"}
        done = [e.value["block"] for e in events[:count] if e.kind == "result"]
        ended = {str(each["tool_use_id"]) for each in done}  # type: ignore[index]
        assert pairs(kept.history) == []
        assert [each.id for each in kept.in_flight] == sorted(begun_ - ended)
        assert not kept.history or wire(kept.history)[0]["role"] == "user"


# -- kill -9 ---------------------------------------------------------------------------


def killed_after(path: Path, lines: int) -> list[str]:
    """Let a process write, kill it when it has said some lines; return all it said."""
    command = [sys.executable, "-m", "tests.live.sessions", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:  # noqa: S603
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return [line.decode("ascii") for line in said if line.endswith(b"\n")]


def in_flight(events: list[Event]) -> list[object]:
    """Return the call that had begun last, if nothing was told of it since."""
    found: list[object] = []
    for each in events:
        if each.kind == "call":
            found = [each.value["id"]]
        elif each.kind in ("result", "machine") or "tool_result" in str(each.value):
            found = []
    return found


def test_nothing_that_was_kept_is_lost_when_the_process_is_killed(path: Path) -> None:
    draw = random.Random(4)  # noqa: S311 - moments, no secret
    Session.create(path).close()
    before = read_session(path)
    for _ in range(50):
        said = killed_after(path, draw.randrange(1, 30))

        with Session.resume(path) as session:
            events, kept = session.events(), session.restored()

        assert events[: len(before)] == before
        for line in said:
            n, kind = line.split()
            assert events[int(n) - 1].kind == kind
        assert [each.id for each in kept.in_flight] == in_flight(events)
        assert pairs(kept.history) == []
        assert open_calls(kept.history) == ()
        assert kept.machine is not None
        before = events
    assert len(before) > 500


# -- one process -----------------------------------------------------------------------


def test_a_second_process_is_refused_and_told_who_has_it(path: Path) -> None:
    Session.create(path).close()
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "tests.live.sessions", str(path)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(SessionBusy) as caught:
            Session.resume(path)
        process.kill()

    assert caught.value.pid == process.pid
    assert str(process.pid) in str(caught.value)
    Session.resume(path).close()


def test_one_process_cannot_open_a_session_twice(path: Path) -> None:
    with Session.create(path):
        with pytest.raises(SessionBusy) as caught:
            Session.resume(path)

        assert caught.value.pid == os.getpid()
        assert len(read_session(path)) == 1


@pytest.mark.parametrize("said", [b"", b"1", b"12 or so", b"9" * 100, b"\xff"])
def test_a_lock_file_that_is_left_over_means_nothing(path: Path, said: bytes) -> None:
    Session.create(path).close()
    Path(f"{path}.lock").write_bytes(said)

    Session.resume(path).close()


def test_only_one_of_many_threads_gets_a_session(path: Path) -> None:
    Session.create(path).close()
    ready, said = threading.Barrier(8), list[object]()

    def resume() -> None:
        ready.wait()
        try:
            said.append(Session.resume(path))
        except SessionBusy as busy:
            said.append(busy)

    threads = [threading.Thread(target=resume) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len([each for each in said if isinstance(each, Session)]) == 1


def test_a_session_is_not_written_over(path: Path) -> None:
    Session.create(path).close()

    with pytest.raises(FileProblem) as caught:
        Session.create(path)

    assert "exists" in caught.value.problem
    assert len(read_session(path)) == 1


# -- what cannot be kept ---------------------------------------------------------------


def deep() -> Mapping[str, object]:
    value: dict[str, object] = {}
    for _ in range(10_000):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "value", [{"a": b"x"}, {"a": float("nan")}, {"a": {1: 2}}, {"a": 10**5_000}, deep()]
)
def test_after_an_event_that_cannot_be_kept_no_other_is(
    path: Path, value: Mapping[str, object]
) -> None:
    with Session.create(path) as session:
        session.note("decision", {"n": 1})
        with pytest.raises(FileProblem):
            session.append("state", value)
        with pytest.raises(FileProblem):
            session.append("state", {})

    assert [each.kind for each in read_session(path)] == ["begin"]


def test_a_session_that_is_closed_takes_nothing_more(path: Path) -> None:
    session = Session.create(path)
    session.close()
    session.close()

    with pytest.raises(FileProblem) as caught:
        session.append("state", {})

    assert caught.value.problem == "it is closed"


def test_after_a_write_that_failed_what_was_kept_stays_and_no_more_is(
    path: Path,
) -> None:
    with Session.create(path) as session:
        session.append("note", {"a": 1})
        other = sqlite3.connect(path)
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events WHEN new.n > 2 "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
        with pytest.raises(FileProblem) as caught:
            session.append("note", {"a": 2})
        other.execute("DROP TRIGGER full")
        other.close()
        with pytest.raises(FileProblem):
            session.append("note", {"a": 3})

    assert caught.value.problem == "the disk is full"
    assert [dict(e.value) for e in read_session(path)] == [{}, {"a": 1}]


# -- damaged and hostile files ---------------------------------------------------------


def refused(path: Path) -> SessionError:
    with pytest.raises(SessionError) as caught:
        Session.resume(path).restored()
    with pytest.raises(SessionError):
        restore(read_session(path))
    return caught.value


@pytest.mark.parametrize(
    "content", [b"", b"no database", b"SQLite format 3\0", b"SQLite format 3\0" * 500]
)
def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    assert str(path) in str(refused(path))


def test_what_is_no_file_is_refused(path: Path) -> None:
    def link(path: Path) -> None:
        path.symlink_to(ROOT / "README.md")

    makes: list[Callable[[Path], None]] = [Path.mkdir, os.mkfifo, link]
    for make in makes:
        make(path)
        with pytest.raises(FileProblem):
            Session.resume(path)
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(FileProblem):
        Session.resume(path)
    assert list(path.parent.iterdir()) == []


def tampered(path: Path, *statements: str, bare: bool = True) -> None:
    """Change a session behind its back; `bare`: without its triggers."""
    Session.create(path).close()
    with sqlite3.connect(path) as database:
        sqls = [s for (s,) in database.execute("SELECT sql FROM sqlite_master")]
        if bare:
            database.execute("DROP TRIGGER events_are_not_changed")
            database.execute("DROP TRIGGER events_are_not_removed")
        for each in statements:
            database.execute(each)
        for each in sqls[1:] if bare else ():
            database.execute(each)
    database.close()


INSERT = "INSERT INTO events VALUES (2, 1.0, {}, {})"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("PRAGMA application_id=1", "no session"),
        ("PRAGMA user_version=2", "version 2"),
        ("DELETE FROM events", "missing"),
        ("UPDATE events SET n=2", "missing"),
        ("UPDATE events SET kind='state'", "kind"),
        ("UPDATE events SET value='{'", "JSON"),
        ("UPDATE events SET value='[]'", "object"),
        ("UPDATE events SET value=CAST(x'7bff' AS TEXT)", "UTF-8"),
        ('UPDATE events SET value=\'{"a":1,"a":2}\'', "twice"),
        ("UPDATE events SET value='{\"a\":NaN}'", "NaN"),
        ("UPDATE events SET value=replace(hex(zeroblob(50000)), '0', '[')", "JSON"),
        (INSERT.format("'begin'", "'{}'"), "begin"),
        (INSERT.format("'state'", '\'{"keep":1,"messages":[]}\''), "history"),
        (INSERT.format("'state'", '\'{"keep":true,"messages":[]}\''), "history"),
        (INSERT.format("'state'", "'{\"keep\":0}'"), "history"),
        (INSERT.format("'state'", "'{\"ledgers\":[]}'"), "ledgers"),
        (INSERT.format("'state'", "'{\"machine\":{}}'"), "machine"),
        (INSERT.format("'machine'", "'{}'"), "machine"),
        (INSERT.format("'call'", '\'{"id":1,"name":"x","input":{}}\''), "id"),
        (INSERT.format("'call'", '\'{"id":"1","name":"x"}\''), "input"),
        (INSERT.format("'result'", "'{}'"), "block"),
        (
            INSERT.format("'result'", '\'{"block":{"type":"text","text":""}}\''),
            "result",
        ),
        (INSERT.format("'end'", "'{}'"), "terminal"),
    ],
)
def test_a_damaged_or_foreign_session_is_refused(
    path: Path, statement: str, problem: str
) -> None:
    tampered(path, statement)

    assert problem in refused(path).problem


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE more (a)",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON events BEGIN SELECT 1; END",
        "DROP TRIGGER events_are_not_changed",
    ],
)
def test_a_session_with_anything_more_or_less_is_refused(
    path: Path, statement: str
) -> None:
    tampered(path, statement, bare=False)

    assert "tables" in refused(path).problem


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET value='{}'",
        "DELETE FROM events",
    ],
)
def test_the_database_itself_refuses_to_change_what_is_kept(
    path: Path, statement: str
) -> None:
    Session.create(path).close()
    database = sqlite3.connect(path)

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute(statement)
    database.close()


def test_bytes_that_are_turned_are_refused_or_change_no_shape(path: Path) -> None:
    with Session.create(path) as session:
        for _ in written(session, 8):
            pass
    whole, draw = path.read_bytes(), random.Random(9)  # noqa: S311 - damage
    for _ in range(200):
        broken = bytearray(whole)
        for _ in range(draw.randrange(1, 40)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        path.write_bytes(broken)
        try:
            with Session.resume(path) as session:
                assert pairs(session.restored().history) == []
        except UnspiralError:
            pass


MESSAGE: dict[str, object] = {"role": "user", "kind": "prompt", "content": []}


CHANGES: list[dict[str, object]] = [
    {"role": "system"},
    {"role": None},
    {"kind": "other"},
    {"content": "text"},
    {"content": [1]},
    {"content": [{}]},
    {"content": [{"type": 1}]},
    {"content": [{"type": "text"}]},
    {"content": [{"type": "tool_use", "id": "", "name": "x", "input": {}}]},
    {"content": [{"type": "tool_use", "id": "a", "name": "x", "input": []}]},
    {"content": [{"type": "tool_result", "tool_use_id": None}]},
    {"id": 1},
    {"tokens": -1},
    {"tokens": True},
    {"more": 1},
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_message_that_we_did_not_write_is_refused(change: dict[str, object]) -> None:
    store = MemoryStore()
    store.append("state", {"keep": 0, "messages": [MESSAGE, {**MESSAGE, **change}]})

    with pytest.raises(SessionError) as caught:
        store.restored()

    assert caught.value.event == 2


def test_kinds_of_a_later_version_are_passed_over() -> None:
    store = MemoryStore()
    begun(store)
    before = store.restored()
    store.append("plan", {"tasks": [1, 2]})

    assert store.restored() == attrs.evolve(before, last=before.last + 1)
