"""A scenario file says what the values say; a broken one ends in one clear error."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.errors import ScenarioError, UnspiralError
from unspiral.engine.faults.schedule import Context, Schedule, fail, say
from unspiral.engine.live.rules import Rules
from unspiral.engine.scenarios.scenario import Expected, Scenario, Wanted
from unspiral.engine.scenarios.scenario_file import load_scenario, scenario_from_toml

SOUND = """\
name = "small"
about = "A small case"
task = "Mend it."
[loop]
edition = "hardened"
window = 24_000
fallback = false
[loop.limits]
max_turns = 9
[loop.budgets]
model_calls = 40
[context]
window = 7_000
[permission]
mode = "accept_edits"
allow = ["bash(make test)"]
[[hook]]
point = "Stop"
command = ["python3", "check.py"]
[files]
"a.py" = "print(1)"
"src/b.py" = "print(2)"
[[step]]
fault = "overloaded"
times = 2
[[step]]
reply = "Mended."
[expect]
terminal = "completed"
[expect.files]
"a.py" = { contains = "print" }
"""
NAME, ABOUT, TASK, EDITION, WINDOW, FALLBACK, LIMIT, BUDGET = 1, 2, 3, 5, 6, 7, 9, 11
MODE, ALLOW, HOOK, POINT, COMMAND, FILES, FILE, OTHER = 15, 16, 17, 18, 19, 20, 21, 22
FAULT, TIMES, TERMINAL, WANTED = 24, 25, 29, 31


def but(old: str, new: str) -> str:
    """Return the sound file with one thing changed."""
    assert SOUND.count(old) == 1
    return SOUND.replace(old, new)


def at(path: str) -> str:
    """Return the sound file with another path of its second file."""
    return but('"src/b.py"', path)


OUTSIDE, SPELLED = "outside the workspace", "must be spelled"
# A file, the line at which it is broken, and a part of what must be said of it.
BROKEN: dict[str, tuple[str | bytes, int, str]] = {
    # no TOML, or too much of it
    "empty": ("", 0, "'name' is missing"),
    "JSON": ('{"name": "small"}', 1, "no valid TOML"),
    "UTF-16": (SOUND.encode("utf-16"), 1, "no UTF-8"),
    "a byte order mark": ("\ufeff" + SOUND, 1, "byte order mark"),
    "null bytes": (b"\x00" * 5_000, 1, "no valid TOML"),
    "ten megabytes of junk": (os.urandom(1_000) * 10_000, 0, "longer than 1,000,000"),
    "a text that never ends": (SOUND + '"z" = """', 32, "no valid TOML"),
    "lists in lists": (f"a = {'[' * 99_000}", 0, "nested too deeply"),
    "half of a surrogate pair": (but("print(1)", "\\uD800"), FILE, "no valid TOML"),
    # keys
    "an unknown key": (but("about =", "abuot ="), ABOUT, "did you mean 'about'?"),
    "an unknown key of the loop": (but("edition =", "editon ="), EDITION, "'edition'"),
    "a machine": (but("fallback = false", 'machine = "x"'), FALLBACK, "unknown key"),
    "no task": (but('task = "Mend it."\n', ""), 0, "'task' is missing"),
    "a step with an unknown key": (but("times = 2", "tmes = 2"), TIMES, "'times'"),
    # names and words
    "a name with a slash": (but('"small"', '"../small"'), NAME, "small letters"),
    "a name without letters": (but('"small"', '""'), NAME, "small letters"),
    "a name of 100,000 letters": (but('"small"', f'"{"a" * 10**5}"'), NAME, "letters"),
    "a task of blanks": (but("Mend it.", "  "), TASK, "it is empty"),
    "a task without end": (but("Mend it.", "x" * 20_001), TASK, "more than 20,000"),
    "a task with an escape": (but("Mend it.", "\\u001b[2J"), TASK, "U+001B"),
    "two lines of about": (but("A small case", "A\\nB"), ABOUT, "one line"),
    "an about that turns round": (but("A small", "\\u202e"), ABOUT, "U+202E"),
    "an unknown edition": (but('"hardened"', '"hardend"'), EDITION, "'hardened'"),
    "an unknown limit": (but("max_turns", "max_turn"), LIMIT, "'max_turns'"),
    "a limit of words": (but("max_turns = 9", 'max_turns = "many"'), LIMIT, "UNLIM"),
    "a limit below 0": (but("max_turns = 9", "max_turns = -1"), LIMIT, "0 to"),
    "a limit with a point": (but("max_turns = 9", "max_turns = 1.5"), LIMIT, "whole"),
    "a limit that is a list": (but("max_turns = 9", "max_turns = []"), LIMIT, "a list"),
    "an unknown limit in words": (
        but("max_turns = 9", 'max_turn = "unlimited"'),
        LIMIT,
        "'max_turns'",
    ),
    "an unknown budget": (but("model_calls", "model_call"), BUDGET, "'model_calls'"),
    "a budget of nothing": (but("= 40", "= 0"), BUDGET, "a number above 0"),
    "a budget of half a call": (but("= 40", "= 0.5"), BUDGET, "a whole number"),
    "a budget without end": (but("model_calls = 40", "seconds = inf"), BUDGET, "inf"),
    "a window of nothing": (but("24_000", "0"), WINDOW, "100 or more"),
    "a window in words": (but("24_000", '"big"'), WINDOW, "the string 'big'"),
    "a fallback in words": (but("false", '"no"'), FALLBACK, "true or false"),
    "an unknown mode": (but('"accept_edits"', '"accept_edit"'), MODE, "'accept_edits'"),
    "a rule that is none": (but("bash(make test)", "bash(make"), ALLOW, "`tool`"),
    "a rule that is a number": (but('["bash(make test)"]', "[7]"), ALLOW, "a string"),
    # hooks
    "an unknown point": (but('"Stop"', '"Stp"'), POINT, "did you mean 'Stop'?"),
    "a command for a shell": (
        but('["python3", "check.py"]', '"python3 check.py"'),
        COMMAND,
        "a list",
    ),
    "a command of no words": (
        but('["python3", "check.py"]', "[]"),
        COMMAND,
        "no program",
    ),
    "a command without a program": (but('"python3"', '""'), COMMAND, "no program"),
    "a command with a NUL": (but("check.py", "a\\u0000b"), COMMAND, "NUL"),
    "a command of 200 words": (
        but('["python3", "check.py"]', '["x"' + ', "x"' * 200 + "]"),
        COMMAND,
        "more than 100",
    ),
    "a hook without a command": (
        but('command = ["python3", "check.py"]\n', ""),
        HOOK,
        "'command' is missing",
    ),
    "21 hooks": (
        SOUND + '[[hook]]\npoint = "Stop"\ncommand = ["x"]\n' * 20,
        HOOK,
        "at most 20",
    ),
    # paths; a key that is written with escapes, or too long, has the line of its table
    "a path to the parent": (at('"../b.py"'), OTHER, "'..' is not followed"),
    "a path up and down": (at('"src/../b.py"'), OTHER, "'..' is not followed"),
    "an absolute path": (at('"/etc/passwd"'), OTHER, OUTSIDE),
    "a path from home": (at('"~/.bashrc"'), OTHER, "'~' is not expanded"),
    "a path of Windows": (at("'src\\b.py'"), OTHER, "not by '\\'"),
    "a drive": (at('"C:/b.py"'), OTHER, "some systems forbid"),
    "a path with a NUL": (at('"b\\u0000.py"'), FILES, "NUL"),
    "a path with an escape": (at('"b\\u001b.py"'), FILES, "cannot be seen"),
    "a path that turns round": (at('"b\\u202Eyp.x"'), FILES, "cannot be seen"),
    "a look-alike of the parent": (at('"\\u2025/b.py"'), FILES, "look like"),
    "an empty path": (at('""'), OTHER, "it is empty"),
    "a path to the project": (at('"."'), OTHER, SPELLED),
    "a path that ends in a slash": (at('"src/"'), OTHER, SPELLED),
    "a path with a dot": (at('"./b.py"'), OTHER, SPELLED),
    "a path with two slashes": (at('"src//b.py"'), OTHER, SPELLED),
    "a device": (at('"src/NUL.txt"'), OTHER, "a device"),
    "a port": (at('"com1"'), OTHER, "a device"),
    "a name that ends in a dot": (at('"b.py."'), OTHER, "ends in a dot"),
    "a long name": (at(f'"{"x" * 300}"'), FILES, "longer than 255"),
    "a deep path": (at(f'"{"x/" * 100}x"'), FILES, "more than 64 parts"),
    "a file and a folder": (at('"a.py/b.py"'), OTHER, "cannot both be files"),
    "the same in capitals": (at('"A.PY"'), OTHER, "cannot both be files"),
    "a folder given as a table": (at('"src"."b.py"'), FILES, "a string, not a table"),
    "a file that is a number": (but('"print(2)"', "2"), OTHER, "a string"),
    "201 files": (
        but(
            '"a.py" = "p', "".join(f'"f{n}" = ""\n' for n in range(199)) + '"a.py" = "p'
        ),
        FILES,
        "at most 200",
    ),
    # what is played, as in a schedule file
    "an unknown fault": (but('"overloaded"', '"overloded"'), FAULT, "'overloaded'"),
    "no times": (but("times = 2", "times = 0"), TIMES, "between 1"),
    # what is expected
    "an unknown terminal": (
        but('terminal = "completed"', 'terminal = "complete"'),
        TERMINAL,
        "did you mean 'completed'?",
    ),
    "an unknown way": (but("contains =", "contain ="), WANTED, "'contains'"),
    "a way that is missing": (but('{ contains = "print" }', "{}"), WANTED, "missing"),
    "nothing that is held": (
        but('contains = "print"', "contains = []"),
        WANTED,
        "need",
    ),
    "a wanted number": (but('{ contains = "print" }', "7"), WANTED, "or false"),
    "a wanted truth": (but('{ contains = "print" }', "true"), WANTED, "or false"),
    "two wanted files that clash": (
        SOUND + '"b" = false\n"b/c" = false\n',
        33,
        "cannot both be files",
    ),
    "a wanted file outside": (SOUND + '"../x" = false\n', 32, "'..' is not followed"),
}


def refused(path: Path | str) -> ScenarioError:
    """Return the error in which a file ends."""
    with pytest.raises(UnspiralError) as caught:
        load_scenario(path)
    error = caught.value
    assert isinstance(error, ScenarioError)
    assert "\n" not in str(error)
    assert len(str(error)) < 1_500
    return error


@pytest.mark.parametrize(("content", "line", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_scenario_ends_in_one_clear_error(
    tmp_path: Path, content: str | bytes, line: int, said: str
) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    error = refused(path)

    assert said in error.problem
    assert error.line == line
    assert [each.name for each in tmp_path.iterdir()] == ["scenario.toml"]


NO_FILES: dict[str, Callable[[Path], Path | str]] = {
    "a missing file": lambda folder: folder / "missing.toml",
    "a folder": lambda folder: folder,
    "an endless device": lambda _: Path("/dev/zero"),
    "a name with a null byte": lambda folder: f"{folder}/a\x00.toml",
    "a name of 100,000 characters": lambda folder: f"{folder}/{'x' * 10**5}.toml",
    "the empty name": lambda _: "",
}


@pytest.mark.skipif(os.name == "nt", reason="devices are of another kind")
@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_file_ends_in_one_clear_error(
    tmp_path: Path, make: Callable[[Path], Path | str]
) -> None:
    assert refused(make(tmp_path)).place == ""


def test_a_file_says_what_the_values_say() -> None:
    assert scenario_from_toml(SOUND) == Scenario(
        name="small",
        about="A small case",
        task="Mend it.",
        schedule=Schedule(
            (fail("overloaded", 2), say("Mended.")),
            context=Context(7_000),
            name="small",
        ),
        files={"a.py": "print(1)", "src/b.py": "print(2)"},
        edition="hardened",
        limits={"max_turns": 9},
        budgets={"model_calls": 40},
        window=24_000,
        fallback=False,
        mode="accept_edits",
        rules=Rules.parse(["bash(make test)"]),
        hooks=(("Stop", ("python3", "check.py")),),
        expected=Expected("completed", {"a.py": Wanted("contains", ("print",))}),
    )


@given(
    at=st.integers(0, len(SOUND)),
    length=st.integers(0, 60),
    put=st.sampled_from(["", "=", "[", "]", '"', "\n", "{", "7", "..", "true", "x.y"])
    | st.text(max_size=20),
)
def test_a_file_that_is_changed_anywhere_is_a_scenario_or_one_error(
    at: int, length: int, put: str
) -> None:
    text = SOUND[:at] + put + SOUND[at + length :]

    with contextlib.suppress(ScenarioError):  # whatever else is raised is a fault
        assert isinstance(scenario_from_toml(text), Scenario)


def test_a_name_and_a_task_are_enough() -> None:
    text = 'name = "least"\ntask = "Do it."'

    assert scenario_from_toml(text) == Scenario(
        "least", "Do it.", Schedule(name="least")
    )


def test_a_limit_may_be_unlimited() -> None:
    text = but("max_turns = 9", 'max_turns = "unlimited"')

    assert scenario_from_toml(text).limits == {"max_turns": UNLIMITED}


def test_a_file_is_wanted_exactly_in_part_or_not_at_all() -> None:
    text = SOUND + '"b" = "all"\n"c" = { contains = ["x", "y"] }\n"d" = false\n'

    assert scenario_from_toml(text).expected.files == {
        "a.py": Wanted("contains", ("print",)),
        "b": Wanted("exact", ("all",)),
        "c": Wanted("contains", ("x", "y")),
        "d": Wanted("absent"),
    }
