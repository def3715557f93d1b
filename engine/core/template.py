"""What `unspiral new NAME` writes: a machine to begin with, and its test.

The machine is a small agent loop with one recovery and its budget. It has no findings
and is proved as it stands, so whatever is found later was changed by its author. Texts
only; the command line writes the files.
"""

from unspiral.engine.core.declare import Machine, Phase
from unspiral.engine.errors import BadValue

__all__ = ["machine_text", "test_text"]

_MAX_NAME = 60

_MACHINE = """\
# {name}: an agent loop. Change it until it says what your loop does.
#
#   unspiral check {name}.toml
#   unspiral draw {name}.toml -o {name}.svg
#   pytest test_{name}.py

name = "{name}"
doc = "Call the model, run its tools, compact when the prompt is too long"

# Named constants. "UNLIMITED" is a value too; 0 never means "off".
[limits]
max_turns = {{ default = 20, unit = "turns", doc = "tool rounds of one run" }}
max_compactions = {{ default = 2, unit = "compactions", doc = "between two turns" }}

# What a run remembers. A counter names its domain; leaving it is an error.
[memory]
turns = "0..max_turns"
compactions = "0..max_compactions"

# Phases with events are performed by your code; a phase with none decides by guards.
[phases]
call = {{ events = ["answer", "tool_use", "too_long"], cost = {{ model_calls = 1 }} }}
tools = ["executed"]
compact = ["compacted", "failed"]

[terminals]
completed = "done"
prompt_too_long = "error"
max_turns_reached = "limit"

# Rows of one phase and event are asked in order; `otherwise` stands last.
[[transitions]]
source = "call"
event = "answer"
target = "completed"

[[transitions]]
source = "call"
event = "tool_use"
target = "tools"

[[transitions]]
source = "call"
event = "too_long"
guard = "compactions < max_compactions"
target = "compact"

[[transitions]]
source = "call"
event = "too_long"
guard = "otherwise"
target = "prompt_too_long"

# Work was done: this alone renews the budget of compactions.
[[transitions]]
source = "tools"
event = "executed"
guard = "turns < max_turns"
action = "turns += 1; compactions = 0"
target = "call"
reason = "next_turn"
progress = true

[[transitions]]
source = "tools"
event = "executed"
guard = "otherwise"
target = "max_turns_reached"

# Charged whether it freed anything or not: a compaction may free nothing.
[[transitions]]
source = "compact"
event = "compacted"
action = "compactions += 1"
target = "call"
reason = "compact_retry"
layer = "context"

[[transitions]]
source = "compact"
event = "failed"
target = "prompt_too_long"

[laws.compact_only_when_too_long]
pattern = "precedence"
what = "reason == 'compact_retry'"
other = "event == 'too_long'"
doc = "Nothing is compacted before the prompt was too long"
"""

_TEST = '''\
"""The loop of {name}.toml cannot spiral, and its laws hold."""

from pathlib import Path

import pytest

from unspiral import Machine, check, load_machine, validate


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load_machine(Path(__file__).with_name("{name}.toml"))


def test_nothing_is_wrong_with_the_declaration(machine: Machine) -> None:
    assert list(validate(machine)) == []


def test_the_loop_cannot_spiral(machine: Machine) -> None:
    verdict = check(machine)

    assert verdict.verdict.value == "PROVED", verdict.spirals


def test_every_law_holds(machine: Machine) -> None:
    answers = {{law.name: law.verdict.value for law in check(machine).laws}}

    assert answers == dict.fromkeys(answers, "PROVED")


def test_a_run_ends_when_compaction_frees_nothing(machine: Machine) -> None:
    run = machine.start({{"max_compactions": 1}})
    for event in ("too_long", "compacted", "too_long"):
        decision = run.send(event)

    assert decision.terminal == "prompt_too_long"
'''


def machine_text(name: str) -> str:
    """Return a machine file to begin with.

    Raises:
        BadDeclaration: the name is no name of a machine.
        BadValue: it is too long for a file, or has a dot.
    """
    return _MACHINE.format(name=_checked(name))


def test_text(name: str) -> str:
    """Return the pytest file of that machine, to be put beside it.

    Raises:
        BadDeclaration: the name is no name of a machine.
        BadValue: it is too long for a file, or has a dot.
    """
    return _TEST.format(name=_checked(name))


def _checked(name: str) -> str:
    Machine(name, (Phase("only"),), (), ())  # it judges the name
    if "." in name or len(name) > _MAX_NAME:
        allowed = f"without dots and at most {_MAX_NAME} characters long"
        raise BadValue("the name of a machine file", name, allowed)
    return name
