"""An exported session: all of it, nothing else, and refused if it was touched."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import histories
from tests.live.sessions import TABLE, written
from unspiral.engine.errors import BadValue, FileProblem, SessionError
from unspiral.engine.live.message import History, tool_result, user_text
from unspiral.engine.live.restoring import restore
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.session import MemoryStore, Session, read_session
from unspiral.engine.live.session_events import Event, Keeper
from unspiral.engine.live.session_file import (
    events_from_text,
    export_session,
    read_export,
    session_lines,
)

SECRET = "not-for-anybody-42"  # noqa: S105 - made up


def events_of(turns: int) -> list[Event]:
    store = MemoryStore({"workspace": "/w"}, now=lambda: 1_800_000_000.5)
    for _ in written(store, turns):
        pass
    return store.events()


EVENTS = events_of(5)
LINES = list(session_lines(EVENTS))


def test_a_session_comes_back_as_it_was(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    file, again = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    with Session.create(one) as session:
        for _ in written(session, 6):
            pass
        kept = session.restored()
    export_session(read_session(one), file)

    with Session.imported(two, read_export(file)) as session:
        assert session.restored() == kept
        session.append("note", {})

    assert read_session(two)[:-1] == read_session(one)
    export_session(read_session(one), again)
    assert again.read_bytes() == file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0


TIMES = st.floats(0, 1e12)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(TIMES, st.dictionaries(st.text(), PLAIN, max_size=3))))
def test_any_plain_values_come_back(
    values: list[tuple[float, dict[str, object]]],
) -> None:
    events = [Event(1, 0.5, "begin", {})]
    events += [Event(n, t, "plan", value) for n, (t, value) in enumerate(values, 2)]

    text = "".join(session_lines(events))

    assert list(events_from_text(text)) == events
    assert text.isascii()
    assert text.count("\n") == len(events) + 1


@given(histories())
def test_any_history_comes_back(history: History) -> None:
    store = MemoryStore()
    Keeper(store, TABLE).became(history)

    events = events_from_text("".join(session_lines(store.events())))

    assert restore(events).history == history


def test_what_is_known_to_be_secret_only_now_is_taken_out_on_the_way(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    Keeper(store, TABLE).appended([user_text(f"it is {SECRET}")])
    path = tmp_path / "out.jsonl"

    export_session(store.events(), path, Redaction.of({"A_KEY": SECRET}))

    assert SECRET not in path.read_text("utf-8")
    assert restore(read_export(path)).history == (
        user_text("it is [redacted: environment]"),
    )


def test_what_is_imported_goes_through_the_same_door(tmp_path: Path) -> None:
    result = tool_result("a", SECRET)
    events = [Event(1, 0.0, "begin", {}), Event(2, 0.0, "plan", {"block": result})]

    redaction = Redaction.of({"A_KEY": SECRET})
    Session.imported(tmp_path / "a.db", events, redaction=redaction).close()

    assert SECRET.encode() not in (tmp_path / "a.db").read_bytes()


def test_a_file_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("mine")

    with pytest.raises(FileProblem):
        export_session(EVENTS, path)

    assert path.read_text() == "mine"


def test_a_session_that_cannot_be_written_whole_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    with pytest.raises(FileProblem):
        export_session([*EVENTS, Event(99, 0.0, "plan", {"a": b"x"})], path)

    assert not path.exists()
    with pytest.raises(BadValue):
        list(session_lines([Event(1, float("nan"), "begin", {})]))


@given(st.data())
def test_a_file_that_is_cut_anywhere_is_refused(data: st.DataObject) -> None:
    text = "".join(LINES)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]

    with pytest.raises(SessionError) as caught:
        events_from_text(cut)

    assert caught.value.line >= 1


def changed(line: int, **fields: object) -> tuple[int, str]:
    found = {**json.loads(LINES[line - 1]), **fields}
    kept = {k: v for k, v in found.items() if v is not ...}
    return line, json.dumps(kept) + "\n"


@pytest.mark.parametrize(
    ("line", "text", "problem"),
    [
        (*changed(1, format="other"), "format"),
        (*changed(1, version=2), "version 1"),
        (*changed(1, version=True), "version 1"),
        (*changed(1, events=3), "cut or joined"),
        (*changed(1, events=10**30), "cut or joined"),
        (*changed(1, more=1), "more"),
        (*changed(1, events=...), "events"),
        (*changed(4, n=5), "n is not 3"),
        (*changed(4, n=3.0), "n is not 3"),
        (*changed(4, t=1), "seconds"),
        (*changed(4, t="1"), "seconds"),
        (*changed(4, kind="State"), "kind"),
        (*changed(4, kind=None), "kind"),
        (*changed(4, kind="begin"), "begin"),
        (*changed(4, value=[]), "object"),
        (*changed(4, value={"keep": 3, "messages": []}), "history"),
        (*changed(4, more=1), "more"),
        (*changed(4, value=...), "value"),
        (4, "\n", "JSON"),
        (4, "[]\n", "object"),
        (4, "{" * 100_000 + "\n", "JSON"),
        (4, '{"n":3,"t":1e999,"kind":"a","value":{}}\n', "seconds"),
        (4, '{"n":3,"t":NaN,"kind":"a","value":{}}\n', "NaN"),
        (4, '{"n":3,"n":3,"t":1.0,"kind":"a","value":{}}\n', "twice"),
        (4, "9" * 10_000 + "\n", "JSON"),
    ],
)
def test_what_we_did_not_write_is_refused_with_its_line(
    line: int, text: str, problem: str
) -> None:
    lines = [*LINES]
    lines[line - 1] = text

    with pytest.raises(SessionError) as caught:
        events_from_text("".join(lines), "some/file")

    assert caught.value.line == line
    assert problem in caught.value.problem
    assert str(caught.value).startswith(f"some/file:{line}: ")


def test_lines_that_change_places_are_refused() -> None:
    lines = [*LINES]
    lines[3], lines[4] = lines[4], lines[3]

    with pytest.raises(SessionError):
        events_from_text("".join(lines))


def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    latin = tmp_path / "latin"
    latin.write_bytes(b"a\nb\n\xff\n")
    for path in (tmp_path / "nowhere", tmp_path, latin):
        with pytest.raises(SessionError) as caught:
            read_export(path)
    assert caught.value.line == 3


def test_events_with_wrong_numbers_begin_no_session(tmp_path: Path) -> None:
    with pytest.raises(SessionError):
        Session.imported(tmp_path / "a.db", EVENTS[1:])
    with pytest.raises(SessionError):
        Session.imported(tmp_path / "a.db", [])

    assert not (tmp_path / "a.db").exists()
