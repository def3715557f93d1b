"""The fault server as a program: what it prints, how it ends, what it refuses."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from click.testing import Result

from unspiral.engine.cli.tally import Tally, exchange_line
from unspiral.engine.errors import FileProblem
from unspiral.engine.faults.journal import Answered, Asked, Noise, Outaged, Record
from unspiral.engine.faults.journal_file import read_journal

Invoke = Callable[..., Result]
Serve = Callable[..., "subprocess.Popen[str]"]

# A shell has its programs in the background ignore ctrl-C; ours are to hear it.
LISTENING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from unspiral.engine.cli import main
main()
"""
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
from unspiral.engine.cli import main
main()
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture
def serve(tmp_path: Path, variables: dict[str, str]) -> Generator[Serve, None, None]:
    """Start the server as a program; it is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*args: str, program: str = LISTENING) -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", program, "serve", *args],
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def url_of(process: "subprocess.Popen[str]") -> str:
    """Wait for the line with the URL, as a script does."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("export "):
            return line.split("ANTHROPIC_BASE_URL=")[1].split()[0]
    raise AssertionError(process.communicate())


def ask(url: str) -> tuple[int, bytes]:
    """Ask for a message, and return the status and the body."""
    messages = [{"role": "user", "content": "hello"}]
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 50, "messages": messages, "tools": tools}
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{url}/v1/messages",
        json.dumps(body).encode(),
        {
            "content-type": "application/json",
            "x-api-key": "run-main",
            "anthropic-version": "2023-06-01",
        },
    )
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - as above
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_an_orderly_end(
    serve: Serve, tmp_path: Path, number: signal.Signals
) -> None:
    process = serve("--fault", "overloaded", "--journal", "j.jsonl")
    url = url_of(process)

    statuses = [ask(url)[0], ask(url)[0]]
    process.send_signal(number)
    said, complaint = process.communicate()

    assert statuses == [529, 200]
    assert process.returncode == 0
    assert complaint == ""
    assert said.endswith(
        "2 requests, 1 fault played; read the journal: unspiral journal j.jsonl\n"
    )
    reading = read_journal(tmp_path / "j.jsonl")
    assert reading.whole
    assert len(reading.exchanges) == 2


def test_the_schedule_of_a_file_is_played(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[step]]\nreply = "As it says."\n', "utf-8")

    assert b"As it says." in ask(url_of(serve("--schedule", "s.toml")))[1]


def test_without_a_schedule_it_says_that_it_is_done(serve: Serve) -> None:
    url = url_of(serve())

    assert [b'"Done."' in ask(url)[1] for _ in range(3)] == [True] * 3


def test_a_pipe_gets_no_line_for_a_request(serve: Serve) -> None:
    process = serve("--fault", "overloaded")
    ask(url_of(process))
    process.terminate()

    said, _ = process.communicate()

    assert said.splitlines() == ["", "1 request, 1 fault played"]


def test_no_pipe_gets_a_colour(serve: Serve) -> None:
    process = serve("--fault", "overloaded")
    url_of(process)
    process.terminate()

    assert "\x1b" not in "".join(process.communicate())


def test_a_program_reads_objects(serve: Serve) -> None:
    process = serve("--json")
    assert process.stdout is not None
    schedule, place = (json.loads(process.stdout.readline()) for _ in range(2))
    ask(place["url"])
    process.terminate()

    end = json.loads(process.communicate()[0])

    assert schedule["schedule"] == "schedule"
    assert place["environment"]["ANTHROPIC_BASE_URL"] == place["url"]
    assert end == {"requests": 1, "faults": 0, "journal": None}


def test_a_full_disk_ends_the_server_with_an_error(serve: Serve) -> None:
    pytest.importorskip("resource")
    process = serve("--journal", "j.jsonl", program=FULL)
    url = url_of(process)

    for _ in range(3):
        try:
            ask(url)
        except OSError:
            break
    _, complaint = process.communicate()

    assert process.returncode == 2
    assert complaint.startswith("Error: j.jsonl cannot be written: ")
    assert complaint.count("\n") == 1


# -- what it refuses -------------------------------------------------------------------


def refused(process: "subprocess.Popen[str]") -> str:
    """Return the one line of a server that could not begin."""
    _, complaint = process.communicate()

    assert process.returncode == 2
    assert complaint.startswith("Error: ")
    assert complaint.count("\n") == 1
    return complaint


def test_a_port_that_is_taken_is_refused(serve: Serve, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        assert port in refused(serve("--port", port, "--journal", "j.jsonl"))

    assert not (tmp_path / "j.jsonl").exists()


def test_other_machines_are_let_in_only_if_asked_for(serve: Serve) -> None:
    assert "0.0.0.0" in refused(serve("--host", "0.0.0.0"))  # noqa: S104 - it must not


def test_a_journal_that_cannot_be_written_is_refused(serve: Serve) -> None:
    assert "j.jsonl" in refused(serve("--journal", "nowhere/j.jsonl"))


def test_a_journal_is_not_replaced_unless_asked(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "j.jsonl").write_text("the truth\n", "utf-8")

    assert "unless with --replace" in refused(serve("--journal", "j.jsonl"))

    assert (tmp_path / "j.jsonl").read_text("utf-8") == "the truth\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--fault", "overloded"), "did you mean 'overloaded'?"),
        (("--fault", "overloaded:0"), "times is 0"),
        (("--fault", "overloaded:often"), "NAME:forever"),
        (("--fault", ""), "--fault cannot be ''"),
        (("--fault", "overloaded,"), "--fault cannot be ''"),
        (("--fault", f"overloaded:{'9' * 5_000}"), "NAME:forever"),
        (("--fault", "overloaded:forever,billing"), "never come"),
        (("--fault", "billing", "--schedule", "s.toml"), "left out"),
        (("--schedule", "missing.toml"), "missing.toml"),
        (("--port", "65536"), "65536"),
    ],
)
def test_bad_usage_is_refused(invoke: Invoke, args: tuple[str, ...], said: str) -> None:
    result = invoke("serve", *args)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_schedule_can_be_checked_alone(invoke: Invoke) -> None:
    result = invoke("serve", "--check", "--fault", "overloaded:3,billing")

    assert result.exit_code == 0
    assert "step 1    overloaded  3 times" in result.stdout
    assert "listening" not in result.stdout


# -- counting --------------------------------------------------------------------------


def test_a_tally_counts_requests_and_faults() -> None:
    tally = Tally()
    for record in (
        Asked(1, "main", 0.5, "messages"),
        Answered(1, 1, "overloaded", status=529),
        Asked(2, "main", 1.5, "messages"),
        Answered(2, 2, "reply", status=200),
        Outaged(3, 2),
        Noise(4, "garbage"),
    ):
        tally.write(record)

    assert (tally.requests, tally.faults) == (2, 2)


def test_a_request_is_told_when_it_is_answered() -> None:
    told: list[str] = []
    tally = Tally(tell=told.append)

    tally.write(Asked(1, "main", 0.5, "messages", messages=3, tokens=1_200))
    assert told == []
    tally.write(Answered(1, 1, "overloaded", "step 1", 529))

    assert told == [
        "1 1.00 s main: 3 messages, ~1,200 tokens -> 529 overloaded (step 1)"
    ]


def test_no_run_writes_to_the_terminal_what_it_obeys() -> None:
    line = exchange_line(
        Asked(1, "\x1b[2J\n" * 50, 0, "models"), Answered(1, 0, "models")
    )

    assert line.isprintable()
    assert len(line) < 300


class FullDisk:
    """A journal that takes nothing."""

    def write(self, record: Record) -> None:
        """Fail."""
        del record
        raise FileProblem("j.jsonl", "written", "no space left on device")


def test_what_the_journal_does_not_take_is_not_counted() -> None:
    tally = Tally(FullDisk())

    with pytest.raises(FileProblem):
        tally.write(Asked(1, "main", 0.5, "messages"))

    assert tally.requests == 0


@pytest.mark.skipif(sys.platform == "win32", reason="it has terminals of another kind")
def test_a_terminal_gets_a_line_for_each_request(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", LISTENING, "serve", "--fault", "overloaded"],
        cwd=tmp_path,
        env={**variables, "NO_COLOR": "1"},
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        said = b""
        while b"run-main" not in said:
            said += terminal.read(4_096)
        ask(said.split(b"BASE_URL=")[1].split()[0].decode())
        while b"529 overloaded" not in said:
            said += terminal.read(4_096)
        process.terminate()
        process.wait()

    assert b"main: 1 messages" in said
    assert b"\x1b" not in said
