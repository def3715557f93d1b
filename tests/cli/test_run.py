"""`unspiral run` as a program: how it ends, what it says and keeps."""

import itertools
import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.live.forked import Command, Ran, command
from unspiral.engine.faults.reply import Block, Reply, Text, ToolUse
from unspiral.engine.faults.schedule import Context, Play, Schedule, Step, fail, say
from unspiral.engine.faults.schedule_file import schedule_to_toml
from unspiral.engine.faults.serving import ServerThread
from unspiral.engine.live.session import read_session
from unspiral.engine.live.session_events import DECISION
from unspiral.engine.scenarios.project import check, write
from unspiral.engine.scenarios.shipped import load

Start = Callable[..., Command]
Run = Callable[..., Ran]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Start]:
    """Start `unspiral` in a folder; it is ended with the test."""
    begun, numbers = list[Command](), itertools.count()

    def run(
        *words: str, server: ServerThread | str | None = None, **more: Any
    ) -> Command:
        known = {"UNSPIRAL_SESSIONS": str(tmp_path / "sessions")}
        if server is not None:
            url = server if isinstance(server, str) else server.url
            known |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "run-main"}
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        complaints = tmp_path / f"complaints-{next(numbers)}"
        started = command(words, folder, complaints, environment=known, **more)
        begun.append(started)
        return started

    yield run
    for each in begun:
        if each.process.is_alive():
            each.process.kill()
            each.end()


@pytest.fixture
def run(begin: Start) -> Run:
    """Run `unspiral` to its end."""

    def ran(*words: str, **more: Any) -> Ran:
        return begin(*words, **more).end()

    return ran


def serving(*steps: Step) -> ServerThread:
    """Return a server that answers with some steps."""
    return ServerThread(Schedule(tuple(steps)))


def calls(*blocks: Block) -> Step:
    return Step(Play(reply=Reply((Text("I will."), *blocks))))


def bash(text: str, id_: str = "c1") -> ToolUse:
    return ToolUse("bash", {"command": text}, id_)


def objects(ran: Ran) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def session(folder: Path) -> Path:
    (found,) = (folder / "sessions").glob("*.session")
    return found


def message(ran: Ran) -> str:
    """Return the one line that a command ends with when it could not run."""
    assert ran.code == 2
    assert ran.complaint.startswith("Error: ")
    assert ran.complaint.count("\n") == 1
    assert ran.complaint.strip("\n").isprintable()
    return ran.complaint


ALLOWED = ("bash(python3 test_basket.py)",)  # as the scenario says
WRITES = ToolUse("write", {"path": "a.txt", "content": "a\n"}, "c2")


# -- how it ends -----------------------------------------------------------------------


def test_what_is_completed_ends_with_0(run: Run) -> None:
    with serving(say("All is well.")) as server:
        ran = run("run", "Look.", server=server)

    assert (ran.code, ran.complaint) == (0, "")
    assert b"All is well." in ran.out
    assert b"ended: completed" in ran.out


def test_what_ends_otherwise_ends_with_1(run: Run) -> None:
    with serving(fail("billing", None)) as server:
        ran = run("run", "Look.", server=server)

    assert (ran.code, ran.complaint) == (1, "")
    assert b"error: HTTP 400" in ran.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_in_good_order(
    begin: Start, tmp_path: Path, number: signal.Signals
) -> None:
    words = ("run", "Wait.", "--permission", "bypass", "--json")
    with serving(calls(bash("sleep 60"), WRITES)) as server:
        running = begin(*words, server=server)
        running.until('"calling"')
        running.send(number)
        ran = running.end()

    assert (ran.code, ran.complaint) == (130, "")
    events = objects(ran)
    assert events[-1]["event"] == "ended"
    assert events[-1]["terminal"].startswith("aborted")
    assert settled(tmp_path) == {"c1", "c2"}


def settled(folder: Path) -> set[str]:
    """Return the calls of a session, each of which has its result."""
    blocks: list[Any] = [
        block
        for event in read_session(session(folder))
        for message_ in as_list(event.value.get("messages"))
        for block in message_["content"]
    ]
    asked = {each["id"] for each in blocks if each["type"] == "tool_use"}
    answered = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    assert sorted(answered) == sorted(asked)
    return asked


def as_list(value: Any) -> list[Any]:
    return value or []


@pytest.mark.parametrize("words", [("Wait.",), ("--scenario", "repair")])
def test_a_second_ctrl_c_ends_it_at_once(
    begin: Start, tmp_path: Path, words: tuple[str, ...]
) -> None:
    heard = tmp_path / "heard"
    os.mkfifo(heard)
    hook = f"sh -c 'echo now > {heard}; sleep 60'"
    more = "--machine", "query_loop", "--edition", "hardened", "--hook", "Stop", hook
    with serving() as server:  # there the first one waits for stop hooks
        running = begin("run", *words, *more, server=server)
        assert heard.read_text("utf-8") == "now\n"
        running.send(signal.SIGINT)  # two of a kind might come as one
        running.send(signal.SIGTERM)
        ran = running.end()

    assert (ran.code, ran.complaint) == (130, "\ninterrupted\n")
    assert b"ended:" not in ran.out


@pytest.mark.parametrize("point", ["SessionStart", "UserPromptSubmit"])
def test_ctrl_c_does_not_wait_for_a_hook_that_hears_of_the_prompt(
    begin: Start, tmp_path: Path, point: str
) -> None:
    heard = tmp_path / "heard"
    os.mkfifo(heard)
    hook = f"sh -c 'echo now > {heard}; sleep 60'"
    with serving() as server:
        running = begin("run", "Wait.", "--hook", point, hook, server=server)
        assert heard.read_text("utf-8") == "now\n"
        running.send(signal.SIGINT)
        ran = running.end()

    assert (ran.code, ran.complaint) == (130, "")
    assert ran.out.startswith(b"stopped: ")


@pytest.mark.parametrize(
    ("option", "terminal"),
    [
        (("--max-model-calls", "1"), "max_model_calls"),
        (("--max-tool-calls", "1"), "max_tool_calls"),
        (("--max-tokens", "10"), "max_tokens_spent"),
        (("--max-cost", "0.000001"), "max_cost"),
        (("--max-seconds", "0.01"), "max_time"),
        (("--set", "max_turns=1"), "max_turns"),
    ],
)
def test_each_budget_has_an_end_of_its_own(
    run: Run, option: tuple[str, str], terminal: str
) -> None:
    steps = [calls(ToolUse("glob", {"pattern": f"{n}*"}, f"c{n}")) for n in range(9)]
    with serving(*steps) as server:
        ran = run("run", "Look.", "--json", *option, server=server)

    assert ran.code == 1
    assert objects(ran)[-1]["terminal"] == terminal
    assert len(server.journal.exchanges) <= 1


def test_without_a_credential_nothing_is_begun(run: Run, tmp_path: Path) -> None:
    assert "ANTHROPIC_API_KEY" in message(run("run", "Look."))

    assert not (tmp_path / "sessions").exists()


# -- what it says ----------------------------------------------------------------------


def test_as_json_each_line_is_an_event_and_the_last_is_the_end(run: Run) -> None:
    steps = calls(bash("echo \x1b[2J\x00")), fail("overloaded"), say("\x1b[2JDone.")
    with serving(*steps) as server:
        ran = run("run", "Look.", "--permission", "bypass", "--json", server=server)

    names = [each["event"] for each in objects(ran)]
    assert names[-1] == "ended"
    assert {"decided", "answered", "calling", "called", "waiting"} <= set(names)
    assert "said" not in names
    assert ran.out.replace(b"\n", b"").decode("ascii").isprintable()


def test_nothing_hostile_reaches_the_output(run: Run) -> None:
    steps = calls(bash("printf '\\033[2J'", "\x1b[2J")), say("\x1b]0;owned\x07Done.")
    with serving(*steps) as server:
        ran = run("run", "\x1b[2JLook.", "--permission", "bypass", server=server)

    assert ran.code == 0
    assert ran.out.decode().replace("\n", "").isprintable()


def test_a_trace_has_the_records_of_the_session(run: Run, tmp_path: Path) -> None:
    with serving(calls(WRITES)) as server:
        run("run", "Do it.", "--trace", "t.jsonl", server=server)

    lines = (tmp_path / "work" / "t.jsonl").read_text("utf-8").splitlines()
    events = read_session(session(tmp_path))
    kept = [dict(each.value) for each in events if each.kind == DECISION]
    assert [json.loads(line) for line in lines] == kept
    assert kept


def test_why_tells_of_the_last_run(run: Run) -> None:
    with serving(calls(WRITES)) as server:
        run("run", "Do it.", server=server)

    ran = run("why", "last")

    assert (ran.code, ran.complaint) == (0, "")
    assert b"goes on: next_turn" in ran.out
    assert b"stops: completed" in ran.out


def test_a_window_that_is_too_small_begins_no_session(run: Run, tmp_path: Path) -> None:
    with serving() as server:
        assert "window" in message(run("run", "x", "--window", "5", server=server))

    assert not list((tmp_path / "sessions").rglob("*"))


def test_sessions_are_kept_where_one_says(run: Run, tmp_path: Path) -> None:
    with serving() as server:
        run("run", "Do it.", "--sessions", "mine", server=server)

    assert len(list((tmp_path / "work" / "mine").glob("*.session"))) == 1
    assert not (tmp_path / "sessions").exists()
    ran = run("sessions", "--sessions", "mine", "--json")
    assert [each["task"] for each in json.loads(ran.out)] == ["Do it."]


# -- the gate --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ((), False),  # nobody can be asked
        (("--permission", "accept_edits"), True),
        (("--permission", "plan"), False),
        (("--permission", "bypass"), True),
        (("--permission", "bypass", "--deny", "write(a.*)"), False),
        (("--permission", "bypass", "--deny", "write(b.*)"), True),
        (("--allow", "write(a.*)"), True),
        (("--allow", "write(a.*)", "--ask", "write"), False),
    ],
)
def test_what_is_not_permitted_is_not_done(
    run: Run, tmp_path: Path, options: tuple[str, ...], *, written: bool
) -> None:
    with serving(calls(WRITES)) as server:
        ran = run("run", "Do it.", "--json", *options, server=server)

    assert ran.code == 0
    assert (tmp_path / "work" / "a.txt").exists() is written
    (called,) = (each for each in objects(ran) if each["event"] == "called")
    assert called["error"] is not written


# -- going on --------------------------------------------------------------------------


def test_the_next_prompt_goes_on_with_the_conversation(run: Run) -> None:
    with serving(say("One."), say("Two.")) as server:
        run("run", "First.", server=server)
        ran = run("run", "Second.", "--resume", "last", server=server)

    assert (ran.code, ran.complaint) == (0, "")
    shapes = [each.asked.shape for each in server.journal.exchanges]
    assert shapes == ["u:t", "u:t a:t u:t"]


def test_what_has_ended_needs_a_new_prompt(run: Run) -> None:
    with serving() as server:
        run("run", "First.", server=server)
        for task in ((), ("",), ("  ",)):
            ran = run("run", *task, "--resume", "last", server=server)
            assert "the last run has ended" in message(ran)

    assert len(server.journal.exchanges) == 1


def test_a_session_has_one_process_at_a_time(begin: Start, run: Run) -> None:
    with serving(fail("stall_with_pings"), say("Done.")) as server:
        first = begin("run", "Wait.", "--json", server=server)
        first.until('"preflight"')
        while not server.journal.exchanges:
            pass
        complaint = message(run("run", "Me.", "--resume", "last", server=server))
        first.send(signal.SIGINT)
        ended = first.end()
        ran = run("run", "Now.", "--resume", "last", server=server)

    assert f"in use by process {first.process.pid}" in complaint
    assert (ended.code, ran.code, ran.complaint) == (130, 0, "")
    assert len(server.journal.exchanges) == 2


# -- real sockets ----------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--loopback",)])
def test_the_scenario_of_the_readme_comes_as_expected(
    run: Run, options: tuple[str, ...]
) -> None:
    ran = run("run", "--scenario", "repair", *options)

    assert (ran.code, ran.complaint) == (0, "")
    assert b"not as expected" not in ran.out
    assert b"goes on: reactive_compact_retry" in ran.out
    assert b"ended: completed" in ran.out


def test_it_comes_as_expected_from_a_server_of_its_own(
    begin: Start, run: Run, tmp_path: Path
) -> None:
    scenario, folder = load("repair"), tmp_path / "work"
    folder.mkdir()
    write(scenario, folder)
    schedule = tmp_path / "repair.toml"
    # What the loop believes of the window of a real model cannot be told to it.
    played = attrs.evolve(scenario.schedule, context=Context())
    schedule.write_text(schedule_to_toml(played), "utf-8")
    server = begin("serve", "--schedule", str(schedule), "--json")
    server.until('"url"')
    url = json.loads(server.out.splitlines()[1])["url"]
    hooks = [w for point, c in scenario.hooks for w in ("--hook", point, shlex.join(c))]
    rules = [word for each in ALLOWED for word in ("--allow", each)]
    models = ("--fallback-model", "claude-haiku-5-5", "--permission", "accept_edits")

    ran = run("run", scenario.task, *hooks, *rules, *models, server=url)
    server.send(signal.SIGTERM)

    assert (ran.code, ran.complaint) == (0, "")
    assert check(scenario, "completed", folder) == ()
    for reason in ("max_output_tokens_escalate", "stop_hook_blocking"):
        assert f"goes on: {reason}".encode() in ran.out
    assert server.end().code == 0


# -- what it refuses -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "TASK"),
        (("  ",), "TASK"),
        (("Do it.", "--loopback"), "--loopback"),
        (("--scenario", "repiar"), "did you mean 'repair'"),
        (("--scenario", "../\x1b[2J.toml"), "cannot be read"),
        (("--scenario", "repair", "--resume", "last"), "--resume"),
        (("--scenario", "repair", "--model", "m"), "--model"),
        (("Do it.", "--workspace", "nowhere"), "nowhere"),
        (("Do it.", "--workspace", "/dev/null"), "/dev/null"),
        (("--resume", "last"), "no session"),
        (("--resume", "../../etc/passwd"), "passwd"),
        (("--resume", "\x1b[2J"), "no session"),
        (("--resume", "\udcff"), "no session"),
        (("Do it.", "--machine", "turnstyle"), "did you mean 'turnstile'"),
        (("Do it.", "--machine", "turnstile"), ""),
        (("Do it.", "--edition", "\x1b"), ""),
        (("Do it.", "--set", "max_turns=\x1b"), ""),
        (("Do it.", "--hook", "Stopp", "x"), "--hook"),
        (("Do it.", "--hook", "Stop", "'"), "--hook"),
        (("Do it.", "--hook", "Stop", ""), "--hook"),
        (("Do it.", "--deny", "bash("), ""),
        (("Do it.", "--trace", "nowhere/t.jsonl"), "nowhere/t.jsonl"),
        (("Do it.", "--trace", "."), "."),
        (("Do it.", "--sessions", "/dev/null"), "/dev/null"),
        (("Do it.\udcff",), ""),
    ],
)
def test_bad_usage_is_one_message(run: Run, words: tuple[str, ...], said: str) -> None:
    with serving() as server:
        assert said in message(run("run", *words, server=server))

    assert server.journal.exchanges == []


# -- a disk that is full, and a reader that has gone -----------------------------------


LONG = [calls(bash(f"echo {n}", f"c{n}")) for n in range(40)]


@pytest.mark.parametrize(
    ("words", "more", "said"),
    [
        (("--trace", "/dev/full"), {}, "/dev/full"),
        ((), {"output": "/dev/full"}, "standard output"),
        (("--json",), {"output": "/dev/full"}, "standard output"),
        ((), {"limit": 100_000}, ".session"),
        ((), {"limit": 1_000}, ".session"),
    ],
)
def test_a_full_disk_is_one_message(
    run: Run, words: tuple[str, ...], more: dict[str, Any], said: str
) -> None:
    with serving(*LONG) as server:
        ran = run("run", "Do.", "--permission", "bypass", *words, server=server, **more)

    assert said in message(ran)


def test_a_reader_that_has_gone_stops_nothing(begin: Start, tmp_path: Path) -> None:
    with serving(*LONG[:10]) as server:
        words = ("run", "Do.", "--permission", "bypass", "--json")
        running = begin(*words, server=server)
        running.until('"calling"')
        running.close()
        ran = running.end()

    assert (ran.code, ran.complaint) == (0, "")
    assert settled(tmp_path) == {f"c{n}" for n in range(10)}
