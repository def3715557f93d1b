"""Laws on tables: what their conditions mean for a row, and runs that break them."""

import attrs
import pytest

from unspiral.engine.core.declare import (
    Counter,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Scope,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED, render
from unspiral.engine.core.laws import (
    MAX_BOUND,
    BrokenLaw,
    Watcher,
    broken_laws,
    compile_law,
)
from unspiral.engine.core.step import Step, initial_snapshot, step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import BadDeclaration, BadValue, ExpressionError

CALL = Machine(
    "call",
    phases=(Phase("ask", ("fine", "busy")),),
    terminals=(Terminal("answered"), Terminal("gave_up", "error")),
    memory=(Counter("tries", "max_tries"),),
    limits=(Limit("max_tries", 2),),
    transitions=(
        Transition("ask", "answered", "fine"),
        Transition("ask", "ask", "busy", "tries < max_tries", "tries += 1", "again"),
        Transition("ask", "gave_up", "busy", "otherwise"),
    ),
)

LOOP = Machine(
    "loop",
    phases=(Phase("model", runs=CALL), Phase("work", ("done", "blocked"))),
    terminals=(Terminal("completed"), Terminal("failed", "error")),
    memory=(Counter("turn", "max_turns", low=1), Flag("warned")),
    limits=(Limit("max_turns", 9), Limit("few", 1)),
    transitions=(
        Transition("model", "work", "answered"),
        Transition("model", "failed", "gave_up"),
        Transition(
            "work",
            "model",
            "done",
            "turn < max_turns",
            "turn += 1",
            "next_turn",
            progress=True,
        ),
        Transition("work", "completed", "done", "otherwise"),
        Transition("work", "model", "blocked", action="warned = True", reason="warn"),
    ),
)


def letters(text: str, table: Table | None = None) -> dict[str, str]:
    """Return what a condition says of each row, the rows where it is false left out."""
    table = table or compile_table(LOOP)
    observer = compile_law(Law("law", "absence", text), table)
    found = {
        row.name: render(node)
        for row, (node,) in zip(table.rows, observer.letters, strict=True)
    }
    return {name: text for name, text in found.items() if text != "False"}


def run(table: Table, *events: str) -> tuple[Step, ...]:
    """Answer a run from its start."""
    steps: list[Step] = []
    snapshot = initial_snapshot(table)
    for event in events:
        steps.append(step(table, snapshot, event))
        snapshot = steps[-1].after
    return tuple(steps)


def broken(law: Law, *events: str) -> tuple[BrokenLaw, ...]:
    table = compile_table(attrs.evolve(LOOP, laws=(law,)))
    return broken_laws(run(table, *events), table)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("reason == 'warn'", {"work:blocked": "True"}),
        ("event == 'done' and not progress", {"work:done#2": "True"}),
        ("progress", {"work:done#1": "True"}),
        ("target == 'failed'", {"model.ask:busy#2": "True"}),
        ("'failed' == target", {"model.ask:busy#2": "True"}),
        (
            "target in ('failed', 'completed') and phase == 'work'",
            {"work:done#2": "True"},
        ),
        ("after.turn > turn", {"work:done#1": "turn + 1 > turn"}),
        ("after.turn > max_turns", dict.fromkeys(["work:done#1"], "turn + 1 > 9")),
        ("after.warned and not warned", {"work:blocked": "not warned"}),
    ],
)
def test_a_condition_keeps_of_a_row_only_what_the_memory_decides(
    text: str, rows: dict[str, str]
) -> None:
    found = letters(text)
    # Rows that leave `turn` alone say `turn > max_turns`, which the next test covers.
    assert {name: found[name] for name in rows} == rows
    assert set(found.values()) - set(rows.values()) <= {"turn > 9"}


def test_memory_that_a_row_leaves_alone_is_the_same_after_it() -> None:
    assert letters("after.turn > 3")["work:blocked"] == "turn > 3"


def test_a_phase_run_by_a_machine_stands_for_all_phases_inside_it() -> None:
    inside = {"model.ask:fine", "model.ask:busy#1", "model.ask:busy#2"}
    assert set(letters("phase == 'model'")) == inside
    assert set(letters("phase != 'work'")) == inside
    assert set(letters("phase in ('model', 'model.ask')")) == inside
    assert set(letters("target == 'model'")) == {
        "model.ask:busy#1",
        "work:done#1",
        "work:blocked",
    }


def test_a_machine_used_without_nesting_has_laws_of_its_own() -> None:
    found = letters("phase == 'ask' and tries > 0", compile_table(CALL))
    assert found == dict.fromkeys(("ask:fine", "ask:busy#1", "ask:busy#2"), "tries > 0")


def test_an_observer_names_the_memory_that_its_letters_read() -> None:
    table = compile_table(LOOP)
    law = Law("law", "absence", "after.turn > 3 and not warned")
    assert compile_law(law, table).names == {"turn", "warned"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("turns > 3", "turn"),
        ("after.turns > 3", "after.turn"),
        ("reason == 'next_turm'", "next_turn"),
        ("event == 'don'", "done"),
        ("phase == 'modell'", "model"),
        ("target == 'complete'", "completed"),
        ("turn", "true or false"),
        ("phase < 'model'", "orders numbers"),
        ("exec('1')", "not part of the language"),
    ],
)
def test_an_unknown_name_or_value_is_refused_with_the_nearest_one(
    text: str, hint: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        letters(text)

    assert hint in str(caught.value)
    assert caught.value.place == "loop, law law, what"


@pytest.mark.parametrize(
    "law",
    [
        Law("law", "response", "progress"),
        Law("law", "precedence", "progress"),
        Law("law", "absence", "progress", other="progress"),
        Law("law", "absence", "progress", at_most="3"),
        Law("law", "absence", "progress", scope=Scope("after")),
        Law("law", "absence", "progress", scope=Scope("before")),
        Law("law", "absence", "progress", scope=Scope("between", "progress")),
        Law("law", "absence", "progress", scope=Scope("after", "progress", "progress")),
    ],
)
def test_a_condition_that_is_missing_or_never_read_is_refused(law: Law) -> None:
    with pytest.raises(BadDeclaration):
        compile_law(law, compile_table(LOOP))


def test_a_bound_is_counted_over_limits() -> None:
    table = compile_table(LOOP)
    law = Law("law", "bounded", "progress", at_most="few + 2")
    assert compile_law(law, table).states == 5


def test_an_unlimited_bound_holds_trivially() -> None:
    table = compile_table(LOOP, limits={"few": UNLIMITED})
    observer = compile_law(Law("law", "bounded", "progress", at_most="few"), table)
    assert observer.trivial
    assert Watcher(observer, table).see(run(table, "fine")[0])


@pytest.mark.parametrize("text", ["turn", "warned", "progress", "'x'", "few < 2"])
def test_a_bound_that_is_no_number_over_limits_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_law(
            Law("law", "bounded", "progress", at_most=text), compile_table(LOOP)
        )


@pytest.mark.parametrize("text", ["0 - few", f"{MAX_BOUND} + few"])
def test_a_bound_that_cannot_be_counted_to_is_refused(text: str) -> None:
    with pytest.raises(BadValue):
        compile_law(
            Law("law", "bounded", "progress", at_most=text), compile_table(LOOP)
        )


def test_any_finite_number_is_a_bound_that_only_a_loop_breaks() -> None:
    law = Law("law", "bounded", "reason == 'warn'")
    observer = compile_law(law, compile_table(LOOP))
    assert observer.recurrent == 0
    assert not observer.bad
    assert not observer.trivial


def test_one_too_many_between_two_progress_events_is_flagged_at_once() -> None:
    warned = Law(
        "warned_once",
        "bounded",
        "reason == 'warn'",
        at_most="few",
        scope=Scope("between", end="progress"),
    )
    once = ("fine", "blocked", "fine", "done")

    assert broken(warned, *once, *once) == ()
    assert broken(warned, *once, *once[:2], "fine", "blocked", "fine") == (
        BrokenLaw("warned_once", 7),
    )


def test_an_obligation_is_due_when_the_run_ends() -> None:
    answered = Law("answered", "response", "reason == 'again'", other="event == 'fine'")

    assert broken(answered, "busy") == ()
    assert broken(answered, "busy", "fine") == ()
    assert broken(answered, "busy", "busy", "busy") == (BrokenLaw("answered", 3),)


def test_the_laws_that_a_run_breaks_come_in_the_order_of_declaration() -> None:
    laws = (
        Law("completes", "existence", "target == 'completed'"),
        Law("never_retries", "absence", "after.model.tries > model.tries"),
        Law("may_fail", "absence", "target == 'completed'"),
    )
    table = compile_table(attrs.evolve(LOOP, laws=laws))
    found = broken_laws(run(table, "busy", "busy", "busy"), table)
    assert found == (BrokenLaw("completes", 3), BrokenLaw("never_retries", 0))


def test_a_limit_that_is_unlimited_is_compared_and_never_computed_with() -> None:
    table = compile_table(LOOP, limits={"few": UNLIMITED})
    assert letters("turn > few", table) == {}
    with pytest.raises(ExpressionError):
        letters("turn - few > 0", table)


def test_a_broken_law_stays_broken() -> None:
    table = compile_table(LOOP)
    watcher = Watcher(compile_law(Law("law", "absence", "progress"), table), table)
    steps = run(table, "fine", "done", "fine")
    assert [watcher.see(each) for each in steps] == [True, False, False]
    assert not watcher.end()
