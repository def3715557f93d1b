"""A declaration is judged by its shape at once, and says what is wrong with it."""

from collections.abc import Callable, Mapping
from typing import cast

import attrs
import pytest

from unspiral.engine.core.declare import (
    NONE,
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
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.settings import limit_from_text, resolve
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import (
    BadDeclaration,
    BadValue,
    ExpressionError,
    UnknownName,
)


def machine(**changes: object) -> Machine:
    made = Machine(
        "small",
        phases=(Phase("work", ("go", "stop")),),
        terminals=(Terminal("done"),),
        memory=(Counter("n", "cap"), Choice("last", REASONS)),
        limits=(
            Limit("cap", 3),
            Limit("careful", default=False),
            Limit("mode", "plain", values=("plain", "fast")),
        ),
        transitions=(
            Transition("work", "work", "go", "n < cap", "n += 1", reason="again"),
            Transition("work", "done", "go", "otherwise"),
            Transition("work", "done", "stop"),
        ),
        editions=(Edition("first", {"cap": 5}), Edition("second", {"mode": "fast"})),
    )
    return attrs.evolve(made, **changes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - fields of a test


MAKERS: list[Callable[[str], object]] = [
    lambda name: Limit(name, 1),
    lambda name: Counter(name, 1),
    Flag,
    lambda name: Choice(name, ("a", "b")),
    Event,
    Phase,
    Terminal,
    Edition,
    lambda name: Transition(name, "done"),
    lambda name: Assumption(name, "work", "go"),
    lambda name: Law(name, "absence", "progress"),
    lambda name: Machine(name, (Phase("work"),), (), ()),
]


@pytest.mark.parametrize(
    "name", ["", "A", "1a", "a-b", "a b", "a.", ".a", "é", "x" * 101, "class", "a.if"]
)
@pytest.mark.parametrize("make", MAKERS)
def test_what_is_no_name_is_refused(make: Callable[[str], object], name: str) -> None:
    with pytest.raises(BadDeclaration):
        make(name)


@pytest.mark.parametrize("name", ["a", "_a", "a_1", "call.ask", "assumed.x.y"])
def test_names_are_lower_case_words_joined_by_dots(name: str) -> None:
    assert Flag(name).name == name


@pytest.mark.parametrize("name", ["otherwise", "after", "reason", "progress"])
def test_words_of_the_language_name_no_memory(name: str) -> None:
    with pytest.raises(BadDeclaration, match="a word of the language"):
        Flag(name)


def test_a_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(BadDeclaration, match="must be a string, not 7"):
        Flag(cast("str", 7))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"terminals": (Terminal("work"),)}, "phase or terminal 'work' is declared"),
        ({"memory": (Flag("cap"),)}, "memory or limit 'cap' is declared twice"),
        ({"editions": (Edition("a"), Edition("a"))}, "edition 'a' is declared twice"),
        ({"phases": ()}, "it has no phase"),
        (
            {"laws": (Law("a", "absence", "progress"),) * 2},
            "law 'a' is declared twice",
        ),
        (
            {"transitions": (Transition("work", "done", "go", name="r"),) * 2},
            "row 'r' is declared twice",
        ),
    ],
)
def test_a_name_is_declared_once(changes: Mapping[str, object], problem: str) -> None:
    with pytest.raises(BadDeclaration, match=problem):
        machine(**changes)


def test_rows_are_named_by_source_and_event_and_numbered() -> None:
    assert [row.name for row in machine().rows] == [
        "work:go#1",
        "work:go#2",
        "work:stop",
    ]
    assert machine().row("work:stop").target == "done"
    with pytest.raises(UnknownName, match="did you mean 'work:stop'"):
        machine().row("work:stp")


def test_what_is_left_out_has_its_default() -> None:
    made = machine()

    assert made.start_phase == "work"
    assert made.variables[1] == Choice("last", (NONE, "again"))
    assert Counter("n", 5, low=2).initial == 2
    assert Limit("careful", default=False).alternatives == (False, True)
    assert [Phase("a").kind, Phase("a", ("go",)).kind] == ["deciding", "acting"]
    assert Phase("a", runs=made).kind == "nested"


def test_a_row_can_be_changed_for_an_ablation() -> None:
    amended = machine().amend("work:go#1", guard="True")

    assert amended.row("work:go#1").guard == "True"
    assert machine().row("work:go#1").guard == "n < cap"
    with pytest.raises(UnknownName):
        machine().amend("work:gone", guard="True")


def test_an_edition_sets_limits_and_a_caller_overrides_them() -> None:
    assert resolve(machine()) == {"cap": 5, "careful": False, "mode": "plain"}
    assert resolve(machine(), "second") == {
        "cap": 3,
        "careful": False,
        "mode": "fast",
    }
    assert resolve(machine(), "second", {"cap": UNLIMITED})["cap"] is UNLIMITED


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("cap", -1),
        ("cap", 10**9 + 1),
        ("cap", True),
        ("cap", "3"),
        ("cap", 2.0),
        ("cap", None),
        ("careful", 1),
        ("careful", UNLIMITED),
        ("mode", "slow"),
        ("mode", UNLIMITED),
    ],
)
def test_a_limit_has_one_of_its_values(limit: str, value: object) -> None:
    with pytest.raises(BadValue, match=f"limit '{limit}' cannot be"):
        resolve(machine(), None, {limit: value})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType] - callers may be untyped


@pytest.mark.parametrize(
    ("limit", "text", "value"),
    [
        ("cap", "64_000", 64_000),
        ("cap", "1,000", 1_000),
        ("cap", " unlimited ", UNLIMITED),
        ("careful", "Yes", True),
        ("careful", "off", False),
        ("mode", "fast", "fast"),
    ],
)
def test_a_limit_is_read_as_people_write_it(
    limit: str, text: str, value: object
) -> None:
    declared = {each.name: each for each in machine().limits}

    assert limit_from_text(declared[limit], text) == value


@pytest.mark.parametrize(
    ("limit", "text"),
    [("cap", "-1"), ("cap", "³"), ("cap", "9" * 5000), ("cap", ""), ("careful", "2")],
)
def test_what_is_no_value_of_a_limit_is_refused(limit: str, text: str) -> None:
    declared = {each.name: each for each in machine().limits}

    with pytest.raises(BadValue) as caught:
        limit_from_text(declared[limit], text)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"memory": (Counter("n", "cap", initial=9),)}, BadDeclaration, "starts at 9"),
        ({"memory": (Counter("n", "cap", low=6),)}, BadDeclaration, "starts at 6"),
        ({"memory": (Counter("n", "n"),)}, ExpressionError, "unknown name 'n'"),
        ({"memory": (Counter("n", "careful"),)}, ExpressionError, "a number is needed"),
        ({"memory": (Choice("n", ("a",), "b"),)}, BadDeclaration, "starts at 'b'"),
        ({"transitions": (Transition("wrok", "done"),)}, UnknownName, "mean 'work'"),
        (
            {"transitions": (Transition("work", "doen", "go"),)},
            UnknownName,
            "mean 'done'",
        ),
        (
            {"transitions": (Transition("work", "done", "og"),)},
            UnknownName,
            "no event 'og'",
        ),
        ({"transitions": (Transition("work", "done"),)}, BadDeclaration, "an event"),
    ],
)
def test_what_cannot_be_compiled_is_refused_in_words(
    changes: Mapping[str, object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        compile_table(machine(**changes))


def test_the_digest_tells_machines_and_limits_apart() -> None:
    digests = [
        compile_table(made, limits=limits).digest
        for made, limits in (
            (machine(), {}),
            (machine(), {"cap": 4}),
            (machine(), {"careful": True}),
            (machine().amend("work:go#1", guard="n <= cap - 1"), {}),
            (machine().amend("work:go#1", progress=True), {}),
            (machine().amend("work:go#1", reason="anew"), {}),
            (machine(name="other"), {}),
        )
    ]

    assert len(set(digests)) == len(digests)
    assert compile_table(machine()).digest == digests[0]
    assert compile_table(machine(doc="said otherwise")).digest == digests[0]


def test_declarations_are_frozen() -> None:
    made = machine()

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] - frozen
    with pytest.raises(TypeError):
        made.editions[0].limits["cap"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue] - frozen
