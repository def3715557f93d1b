"""A machine file says everything that a machine says, shortly, and strictly."""

from typing import Any, cast

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspiral import machines as shipped
from unspiral.engine.core.declare import (
    REASONS,
    Assumption,
    Choice,
    Counter,
    Edition,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Scope,
    Terminal,
    Transition,
)
from unspiral.engine.core.files import machine_from_toml, machine_to_toml
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.errors import MachineFileError
from unspiral.engine.fuzz import machines

SMALL = """\
name = "retry"

[limits]
max_retries = 3
patience    = "UNLIMITED"
hooks       = true
mode        = { default = "plain", values = ["plain", "careful"] }

[memory]
retries = "0..max_retries"
warned  = false
colour  = ["red", "green"]
last    = "reasons"

[phases]
call   = { events = ["answer", "failure"], cost = { model_calls = 1 } }
decide = []

[terminals]
completed = "done"
gave_up   = "limit"

[[transitions]]
source = "call"
event = "answer"
target = "completed"
progress = true

[[transitions]]
source = "call"
event = "failure"
target = "decide"

[[transitions]]
source = "decide"
guard = "retries < max_retries"
target = "call"
action = "retries += 1; last = 'retry'"
reason = "retry"

[[transitions]]
source = "decide"
guard = "otherwise"
target = "gave_up"
"""

RETRY = Machine(
    name="retry",
    phases=[
        Phase("call", ["answer", "failure"], cost={"model_calls": 1}),
        Phase("decide"),
    ],
    terminals=[Terminal("completed"), Terminal("gave_up", "limit")],
    transitions=[
        Transition("call", "completed", "answer", progress=True),
        Transition("call", "decide", "failure"),
        Transition(
            "decide",
            "call",
            guard="retries < max_retries",
            action="retries += 1; last = 'retry'",
            reason="retry",
        ),
        Transition("decide", "gave_up", guard="otherwise"),
    ],
    memory=[
        Counter("retries", "max_retries"),
        Flag("warned"),
        Choice("colour", ["red", "green"]),
        Choice("last", REASONS),
    ],
    limits=[
        Limit("max_retries", 3),
        Limit("patience", UNLIMITED),
        Limit("hooks", default=True),
        Limit("mode", "plain", values=["plain", "careful"]),
    ],
)


def same(one: Machine, two: Machine) -> bool:
    """Tell whether two machines are equal to the letter: for `==`, True is 1."""
    return one == two and repr(one) == repr(two)


def test_short_forms_are_read_as_they_look() -> None:
    assert same(machine_from_toml(SMALL), RETRY)


def test_a_machine_is_written_as_one_would_write_it() -> None:
    assert machine_to_toml(RETRY) == SMALL


# -- nothing is lost -------------------------------------------------------------------

TEXTS = st.text(max_size=8) | st.sampled_from(
    ('"""', "'''", "a\nb", "\n", "\r\n", "\\", '"\\"', "\x00", "UNLIMITED", "\u2028é😀")
)
DRESSED = {
    "doc": TEXTS,
    "source": TEXTS,
    "unit": TEXTS,
    "group": TEXTS,
    "reading": TEXTS,
}


def dressed(value: Any, data: st.DataObject) -> Any:
    """Return the same declaration with texts of any kind wherever one may stand."""
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        return tuple(dressed(each, data) for each in parts)
    kind: Any = value.__class__
    if not attrs.has(kind):
        return value
    changes = {
        field.name: data.draw(DRESSED[field.name])
        if field.name in DRESSED and not isinstance(value, Transition)
        else dressed(getattr(value, field.name), data)
        for field in attrs.fields(kind)
    }
    if isinstance(value, Transition):  # its `source` is a phase
        changes |= {name: data.draw(TEXTS) for name in ("doc", "layer", "cite")}
    return attrs.evolve(value, **changes)


@settings(max_examples=100, deadline=None)
@given(machines(editions=True, assumptions=True, with_laws=True))
def test_a_generated_machine_is_read_back_as_it_was(machine: Machine) -> None:
    text = machine_to_toml(machine)

    assert same(machine_from_toml(text), machine)
    assert machine_to_toml(machine_from_toml(text)) == text


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_texts_of_any_kind_are_read_back_as_they_were(data: st.DataObject) -> None:
    plain = data.draw(machines(max_phases=2, editions=True, with_laws=True))
    machine = dressed(plain, data)

    assert same(machine_from_toml(machine_to_toml(machine)), machine)


@pytest.mark.parametrize("name", shipped.names())
def test_a_shipped_machine_is_read_back_as_it_was(name: str) -> None:
    machine = shipped.load(name)

    assert same(machine_from_toml(machine_to_toml(machine)), machine)


RARE: dict[str, Machine] = {
    "limits that are nearly alike": attrs.evolve(
        RETRY,
        limits=[
            *RETRY.limits,
            Limit("zero", 0),
            Limit("off", default=False),
            Limit("one", 1, values=(1, 2, UNLIMITED)),
            Limit("word", "UNLIMITED", values=("UNLIMITED", "other")),
            Limit("number", "1", values=("1", "true")),
            Limit("gap", 5, "calls", "a page", "what", (5, 6), "two readings"),
        ],
    ),
    "counters with any domain": attrs.evolve(
        RETRY,
        memory=[
            *RETRY.memory,
            Counter("below", "0", low=-5, initial=-2),
            Counter("sum", " max_retries + 1 "),
            Counter("dotted", "1..2"),
            Counter("empty", ""),
            Counter("lent", "3", shared=True, unit="calls", doc="d", source="s"),
        ],
    ),
    "flags and choices with everything": attrs.evolve(
        RETRY,
        memory=[
            *RETRY.memory,
            Flag("lit", initial=True, doc="d", source="s", shared=True),
            Choice("late", ("a", "b"), "b", shared=True),
            Choice("odd", ("reasons",)),
            Choice("none_yet", (), "x"),
            Choice("why", REASONS, "retry"),
            Choice("inner.name", ("a", "")),
        ],
    ),
    "rows with everything": attrs.evolve(
        RETRY,
        transitions=[
            *RETRY.transitions,
            Transition(
                "call",
                "decide",
                "failure",
                guard="retries < max_retries and not warned",
                action="warned = True",
                reason="why",
                progress=True,
                cost={"b": 2, "a": 1},
                raises=("hooks", "patience"),
                layer="context",
                name='a [name] = "of its own"',
                doc="one\ntwo\n",
                cite="a page",
            ),
        ],
    ),
    "laws, assumptions and editions": attrs.evolve(
        RETRY,
        initial="decide",
        assumptions=[
            Assumption("calm", "call", "failure"),
            Assumption("few", "call", "failure", "warned", "max_retries", "d", "s"),
        ],
        laws=[
            Law("never", "absence", "warned"),
            Law("some", "bounded", "warned", at_most="3", doc="d", source="s"),
            Law("then", "response", "a", "b", scope=Scope("between", "c", "d")),
            Law("late", "existence", "a", scope=Scope("after")),
        ],
        editions=[
            Edition("plain"),
            Edition("all", {"patience": 0, "hooks": False, "mode": "careful"}, "d"),
            Edition("much", {f"a_limit_with_a_long_name_{i}": i for i in range(9)}),
        ],
    ),
    "phases with everything": attrs.evolve(
        RETRY,
        phases=[
            *RETRY.phases,
            Phase("outer.inner", [Event("a", "warned", "d"), "b"], group="g"),
            Phase("both", ["a"], runs=RETRY, cost={"x": 1}, doc="d", source="s"),
            Phase("many", [f"an_event_with_a_long_name_{i}" for i in range(9)]),
        ],
    ),
    "no row and no end": Machine("bare", [Phase("only")], [], []),
}


@pytest.mark.parametrize("machine", RARE.values(), ids=RARE)
def test_what_is_rare_is_read_back_as_it_was(machine: Machine) -> None:
    assert same(machine_from_toml(machine_to_toml(machine)), machine)


# -- machines inside -------------------------------------------------------------------


def around(*inner: Machine) -> Machine:
    phases = [Phase(f"run_{i}", runs=each) for i, each in enumerate(inner)]
    return Machine("outer", phases, [Terminal("end")], [])


def test_an_inner_machine_used_twice_is_written_once() -> None:
    copy = attrs.evolve(RETRY)
    text = machine_to_toml(around(RETRY, copy, around(RETRY)))

    assert text.count("[machines.retry.limits]") == 1
    assert same(machine_from_toml(text), around(RETRY, copy, around(RETRY)))


def test_inner_machines_of_one_name_that_differ_are_kept_apart() -> None:
    other = attrs.evolve(RETRY, doc="Another.")
    text = machine_to_toml(around(RETRY, other))

    assert "[machines.retry_2]" in text
    assert same(machine_from_toml(text), around(RETRY, other))


def test_limits_that_only_look_equal_keep_machines_apart() -> None:
    one = attrs.evolve(RETRY, limits=[Limit("max_retries", 1)])
    true = attrs.evolve(RETRY, limits=[Limit("max_retries", default=True)])

    assert same(
        machine_from_toml(machine_to_toml(around(one, true))), around(one, true)
    )


def test_a_phase_may_be_run_by_a_machine_that_the_caller_knows() -> None:
    text = 'name = "outer"\n[phases]\nrun = { runs = "retry" }\n'

    made = machine_from_toml(text, nested={"retry": RETRY})

    assert made.phases[0].runs is RETRY


def test_the_depth_of_sharing_does_not_matter() -> None:
    machine = RETRY
    for _ in range(40):
        machine = around(machine, machine)

    # Written out in full it would have 2**40 machines.
    assert machine_to_toml(machine).count(".limits]") == 1


# -- errors ----------------------------------------------------------------------------

WRONG = [
    ("max_retries = 3", "max_retries = 3.5", "limits.max_retries", "UNLIMITED", 4),
    ("hooks       = true", "hooks = 2020-01-01", "limits.hooks", "a date", 6),
    ("default = ", "defualt = ", "limits.mode.defualt", "did you mean 'default'", 7),
    ("0..max_retries", "max_retries", "memory.retries.counter", "low..high", 10),
    ('["red", "green"]', "[]", "memory.colour.choice", "at least one", 12),
    ('["red", "green"]', '["red", 3]', "memory.colour.choice", "a string", 12),
    ('"answer", "failure"', '"answer", 3', "phases.call.events[2]", "an event", 16),
    ("model_calls = 1", "model_calls = true", "phases.call.cost.model_calls", "", 16),
    ('gave_up   = "limit"', 'gave_up = "limt"', "terminals.gave_up", "'limit'", 21),
    ("[terminals]", "[terminal]", "terminal", "did you mean 'terminals'", 19),
    ("progress = true", 'progress = "yes"', "transitions[1].progress", "true or", 27),
    ('"otherwise"', "7", "transitions[4].guard", "a string", 43),
    ("guard = ", "gaurd = ", "transitions[3].gaurd", "did you mean 'guard'", 36),
    ('target = "gave_up"', "", "transitions[4]", "'target' is missing", 41),
    ('name = "retry"', 'name = "Re try"', "", "is no name", 0),
    ('name = "retry"', "", "", "'name' is missing", 0),
    ("[memory]", "[memory]\nhooks = false", "", "declared twice", 0),
    ("decide = []", 'decide = { runs = "x" }', "phases.decide.runs", "no machine", 17),
    ("decide = []", "Decide = []", "phases.Decide", "is no name", 17),
]


@pytest.mark.parametrize(("old", "new", "place", "said", "line"), WRONG)
def test_an_error_says_what_is_wrong_and_where(
    old: str, new: str, place: str, said: str, line: int
) -> None:
    assert old in SMALL

    with pytest.raises(MachineFileError) as caught:
        machine_from_toml(SMALL.replace(old, new, 1), "retry.toml")

    assert caught.value.place == place
    assert said in caught.value.problem
    assert caught.value.line == line


def test_a_fault_of_syntax_is_told_with_its_line() -> None:
    with pytest.raises(MachineFileError, match=r"^a.toml:3: .*no valid TOML"):
        machine_from_toml('name = "a"\n\nphases = = 3\n', "a.toml")


def test_a_line_is_found_behind_texts_of_many_lines() -> None:
    text = 'name = "a"\ndoc = """\n[phases]\nx = 3\n"""\n[phases]\nx = 3\n'

    with pytest.raises(MachineFileError) as caught:
        machine_from_toml(text)

    assert caught.value.line == 7


def test_machines_that_run_each_other_are_told_as_a_circle() -> None:
    text = """
    name = "top"
    phases.start = { runs = "one" }
    machines.one.phases.a = { runs = "two" }
    machines.two.phases.b = { runs = "one" }
    """

    with pytest.raises(MachineFileError, match="circle: one -> two -> one"):
        machine_from_toml(text)
