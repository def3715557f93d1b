"""Broken and hostile schedule files: each ends in one clear error, with its line."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from unspiral.engine.cli import app
from unspiral.engine.errors import ScheduleError, UnspiralError
from unspiral.engine.faults.schedule_file import load_schedule

SOUND = """\
name = "storm"
seed = 7
side = "A title"
[context]
window = 50_000
[rates]
overloaded = 0.1
[[step]]
reply = ["I look.", { tool = "read", input = { path = "a" } }]
[[step]]
fault = "rate_limited"
seconds = 20
times = 3
[[step]]
fault = "reset_mid_stream"
reply = "It breaks off."
forever = true
[[rule]]
when = { has_tools = true, since_progress = 3 }
fault = "prompt_too_long"
times = 2
then = "fine again"
"""
NAME, SEED, SIDE, WINDOW, RATE = 1, 2, 3, 5, 7
REPLY, FAULT, SECONDS, TIMES = 9, 11, 12, 13
STEP, BROKEN_REPLY, FOREVER, WHEN, THEN = 14, 16, 17, 19, 22
BIG = "x" * 100_000


def but(old: str, new: str) -> str:
    """Return the sound file with one thing changed."""
    assert SOUND.count(old) == 1
    return SOUND.replace(old, new)


def given(value: str) -> str:
    """Return the sound file with another value in the input of the tool."""
    return but('path = "a"', f"path = {value}")


def when(pattern: str) -> str:
    """Return the sound file with another pattern."""
    return but("{ has_tools = true, since_progress = 3 }", f"{{ {pattern} }}")


# A file, the line at which it is broken, and a part of what must be said of it.
BROKEN: dict[str, tuple[str | bytes, int, str]] = {
    # no TOML, or too much of it
    "empty": ("", 0, "it is empty"),
    "only a comment": ("# nothing\n", 0, "it is empty"),
    "two equals signs": (but("seed = 7", "seed = = 7"), SEED, "no valid TOML"),
    "a key twice": (but("seed = 7", "seed = 7\nseed = 8"), SEED + 1, "no valid TOML"),
    "JSON": ('{"name": "storm"}', 1, "no valid TOML"),
    "UTF-16": (SOUND.encode("utf-16"), 1, "no UTF-8"),
    "a byte order mark": ("\ufeff" + SOUND, 1, "byte order mark"),
    "null bytes": (b"\x00" * 5_000, 1, "no valid TOML"),
    "ten megabytes of junk": (os.urandom(1_000) * 10_000, 0, "longer than 1,000,000"),
    "lists in lists": (f"a = {'[' * 99_000}", 0, "nested too deeply"),
    "three thousand steps": (
        '[[step]]\nreply = "x"\n' * 3_000,
        1,
        "3,000 entries; at most 2,000",
    ),
    "three thousand parts": (
        "[[step]]\nreply = [" + '"x", ' * 3_000 + "]",
        2,
        "at most 2,000",
    ),
    # keys
    "an unknown key": (but("side =", "sied ="), SIDE, "did you mean 'side'?"),
    "the plural of a key": (SOUND + "[[steps]]\n", 23, "did you mean 'step'?"),
    "an unknown key of a step": (but("times = 3", "tmes = 3"), TIMES, "'times'"),
    "a parameter without its fault": (
        but('fault = "rate_limited"', 'reply = "x"'),
        SECONDS,
        "unknown key 'seconds'",
    ),
    "an unknown parameter": (but("seconds =", "secs ="), SECONDS, "'seconds'"),
    "a key of a huge name": (but("seconds =", f"{BIG} ="), STEP - 4, "unknown key"),
    "an unknown key of a pattern": (when("has_tool = true"), WHEN, "'has_tools'"),
    "an unknown key of a reply": (
        but('"It breaks off."', '{ content = "x", stop = "y" }'),
        BROKEN_REPLY,
        "unknown key 'stop'",
    ),
    "an unknown key of a part": (but("tool =", "tol ="), REPLY, "did you mean 'tool'?"),
    "a part of two kinds": (
        but('tool = "read"', 'tool = "read", thinking = "x"'),
        REPLY,
        "one of the keys tool, thinking, compaction",
    ),
    # names
    "an unknown fault": (
        but('"rate_limited"', '"rate_limted"'),
        FAULT,
        "did you mean 'rate_limited'?",
    ),
    "no fault": (but('"rate_limited"', '""'), FAULT, "no fault ''"),
    "an unknown fault among the rates": (
        but("overloaded = 0.1", "overloded = 0.1"),
        RATE,
        "did you mean 'overloaded'?",
    ),
    "an unknown endpoint": (when('endpoint = "message"'), WHEN, "messages"),
    "an unknown overflow": (
        but("window = 50_000", 'overflow = "eror"'),
        WINDOW,
        "'stop' or 'error'",
    ),
    # numbers
    "too few seconds": (but("= 20", "= -1"), SECONDS, "0 and 1,000,000,000"),
    "too many seconds": (but("= 20", "= 1e10"), SECONDS, "0 and 1,000,000,000"),
    "no number of seconds": (but("= 20", "= nan"), SECONDS, "must be a number"),
    "endless seconds": (but("= 20", "= inf"), SECONDS, "must be a number"),
    "seconds of 200,000 digits": (
        but("= 20", f"= 0x{'f' * 200_000}"),
        SECONDS,
        "a greater number",
    ),
    "seconds in words": (but("= 20", '= "20"'), SECONDS, "the string '20'"),
    "true seconds": (but("= 20", "= true"), SECONDS, "true or false"),
    "a seed with a point": (but("seed = 7", "seed = 7.5"), SEED, "a whole number"),
    "never": (but("times = 3", "times = 0"), TIMES, "between 1 and 1,000,000,000"),
    "a rate over 1": (but("= 0.1", "= 1.1"), RATE, "has the rate 1.1"),
    "a rate below 0": (but("= 0.1", "= -0.1"), RATE, "has the rate -0.1"),
    "a rate that is no number": (but("= 0.1", "= nan"), RATE, "must be a number"),
    "rates over 1": (
        but("overloaded = 0.1", "overloaded = 0.6\nbilling = 0.5"),
        RATE - 1,
        "more than 1",
    ),
    "a window of nothing": (but("50_000", "0"), WINDOW, "window is 0"),
    "a window in words": (but("50_000", '"none"'), WINDOW, "the string 'none'"),
    "the request before the first": (when("nth = 0"), WHEN, "begins at 1"),
    "fewer than no tokens": (when("max_tokens = -1"), WHEN, "begins at 0"),
    "pieces without end": (
        but('"It breaks off."', '{ content = "x", pieces = 1_000_000 }'),
        BROKEN_REPLY,
        "between 1 and 10,000",
    ),
    "tokens owed": (
        but('"It breaks off."', '{ content = "x", output_tokens = -1 }'),
        BROKEN_REPLY,
        "at least 0",
    ),
    # answers
    "no answer": (SOUND + "[[rule]]\nwhen = {}\n", 23, "neither a reply nor a fault"),
    "an answer that is a number": (but('"A title"', "7"), SIDE, "a text, a list"),
    "a side that is true": (but('"A title"', "true"), SIDE, "a text, a list"),
    "a part that is a number": (but('["I look."', "[7"), REPLY, "a text or a table"),
    "a reply for a status": (
        but("seconds = 20", 'reply = "x"'),
        SECONDS,
        "it takes no reply",
    ),
    "a broken call without a call": (
        but('"reset_mid_stream"', '"malformed_tool_json"'),
        BROKEN_REPLY,
        "the reply has none",
    ),
    "a broken reply without content": (
        but('"It breaks off."', "[]"),
        BROKEN_REPLY,
        "no content",
    ),
    # the input of a tool
    "a date": (given("2024-02-29"), REPLY, "not a date or time"),
    "a date within": (given("[{ a = [07:32:00] }]"), REPLY, "not a date or time"),
    "an input without end": (given("inf"), REPLY, "neither inf nor nan"),
    "an input of 65 bits": (given("0x1ffffffffffffffff"), REPLY, "64 bits"),
    "an input of 200,000 digits": (given(f"0x{'f' * 200_000}"), REPLY, "64 bits"),
    "an input of 50 lists": (given("[" * 50 + "]" * 50), REPLY, "nested more than 32"),
    "an input of 3,000 values": (given(f"[{'1,' * 3_000}]"), REPLY, "at most 2,000"),
    "an input that is a text": (but('{ path = "a" }', '"a"'), REPLY, "a table"),
    # what does not fit together
    "a step after the end": (SOUND + '[[step]]\nreply = "x"\n', FOREVER, "never come"),
    "three times for ever": (
        but("times = 3", "times = 3\nforever = true"),
        TIMES + 1,
        "leave one out",
    ),
    "a rule without a pattern": (
        SOUND + '[[rule]]\nreply = "x"\n',
        23,
        "'when' is missing",
    ),
    "a rule that is never over": (but("times = 2\n", ""), THEN - 1, "never comes"),
    "a port closed for ever": (
        but('"reset_mid_stream"\nreply = "It breaks off."', '"connection_refused"'),
        FOREVER - 1,
        "answers nothing",
    ),
    "a port closed by a rule": (
        but('"prompt_too_long"', '"connection_refused"'),
        WHEN + 1,
        "make it a step",
    ),
    "a port closed in the end": (
        but('"A title"', '{ fault = "connection_refused" }'),
        SIDE,
        "can only be a step",
    ),
    "a port closed at random": (
        but("overloaded = 0.1", "connection_refused = 0.1"),
        RATE,
        "can only be a step",
    ),
    "a reply of the list of models": (
        but('fault = "prompt_too_long"', 'reply = "x"').replace(
            "has_tools = true", 'endpoint = "models"'
        ),
        WHEN,
        "name a fault",
    ),
    # types
    "a step that is a table": ('step = { reply = "x" }', 1, "it must be a list"),
    "a step that is a text": ('step = ["x"]', 1, "it must be a table"),
    "a name that is a list": (but('"storm"', "[]"), NAME, "it must be a string"),
    "a fault that is a number": (but('"rate_limited"', "429"), FAULT, "a string"),
    "a strictness of 1": (but("seed = 7", "strict = 1"), SEED, "true or false"),
}


def refused(path: Path | str) -> ScheduleError:
    """Load a file that must be refused with one short error."""
    with pytest.raises(UnspiralError) as caught:
        load_schedule(path)

    assert isinstance(caught.value, ScheduleError)
    assert 20 < len(str(caught.value)) < 1_000
    return caught.value


def test_the_file_that_is_broken_here_is_sound_itself(tmp_path: Path) -> None:
    path = tmp_path / "sound.toml"
    path.write_text(SOUND, "utf-8")

    assert load_schedule(path).name == "storm"


@pytest.mark.parametrize(("content", "line", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_schedule_ends_in_one_clear_error(
    tmp_path: Path, content: str | bytes, line: int, said: str
) -> None:
    path = tmp_path / "schedule.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    error = refused(path)

    assert said in error.problem
    assert error.line == line


@pytest.mark.parametrize(("content", "line", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_schedule_is_not_served(
    tmp_path: Path, content: str | bytes, line: int, said: str
) -> None:
    path = tmp_path / "schedule.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    result = CliRunner().invoke(app, ["serve", "--schedule", str(path)])

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert f"schedule.toml{f':{line}' if line else ''}: " in result.stderr
    assert result.stdout == ""


NO_FILES: dict[str, Callable[[Path], Path | str]] = {
    "a missing file": lambda folder: folder / "missing.toml",
    "a folder": lambda folder: folder,
    "an endless device": lambda _: Path("/dev/zero"),
    "a name with a null byte": lambda folder: f"{folder}/a\x00.toml",
    "a name of 100,000 characters": lambda folder: f"{folder}/{BIG}.toml",
    "the empty name": lambda _: "",
}


@pytest.mark.skipif(os.name == "nt", reason="devices are of another kind")
@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_file_ends_in_one_clear_error(
    tmp_path: Path, make: Callable[[Path], Path | str]
) -> None:
    assert refused(make(tmp_path)).place == ""
