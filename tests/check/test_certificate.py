"""Certificates: found where they should be, and nowhere else."""

from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given, settings

from unspiral.engine.check.certificate import Certificate, Term
from unspiral.engine.check.ranking import find_certificate
from unspiral.engine.check.recheck import recheck
from unspiral.engine.core.declare import (
    Counter,
    Flag,
    LimitValue,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import RunError
from unspiral.engine.fuzz import machines
from unspiral.machines import load

CALL = {"model_calls": 1}


def certificate_of(
    machine: Machine, edition: str | None = None, assumptions: tuple[str, ...] = ()
) -> Certificate | None:
    """Find a certificate and let the judge see it, in its text form."""
    found = find_certificate(compile_table(machine, edition, assumptions=assumptions))
    if found is not None:
        recheck(Certificate.from_json(found.to_json()), machine)
    return found


def steps_from(table: Table, snapshot: Snapshot) -> Iterator[Step]:
    if snapshot.phase in table.terminals:
        return
    deciding = not table.events[snapshot.phase]
    for event in (None,) if deciding else available_events(table, snapshot):
        try:
            yield step(table, snapshot, event)
        except RunError:
            continue


def spirals(table: Table) -> bool:
    """Search all snapshots for a cycle with a cost and without progress."""
    known = {initial_snapshot(table)}
    waiting = list(known)
    following: dict[Snapshot, set[Snapshot]] = {}
    costly: list[tuple[Snapshot, Snapshot]] = []
    for snapshot in waiting:  # it grows while we read it
        for each in steps_from(table, snapshot):
            if each.after not in known:
                known.add(each.after)
                waiting.append(each.after)
            if not each.row.progress:
                following.setdefault(snapshot, set()).add(each.after)
                if any(each.row.cost.values()):
                    costly.append((snapshot, each.after))
    return any(begin in reached(following, end) for begin, end in costly)


def reached(following: dict[Snapshot, set[Snapshot]], begin: Snapshot) -> set[Snapshot]:
    found = {begin}
    waiting = [begin]
    while waiting:
        fresh = following.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def test_a_bounded_retry_has_a_certificate(retrying_loop: Machine) -> None:
    attempt = retrying_loop.phase("model").runs
    assert attempt is not None
    memory = (Counter("tries", "max_tries"), Flag("fallback"))
    found = certificate_of(attrs.evolve(attempt, memory=memory))

    assert found is not None
    assert [str(term) for term in found.terms[1:]] == [
        "not fallback",
        "2 - tries",
        "order wait > ask",
    ]


def test_a_retry_nested_in_a_loop_with_a_budget_has_a_certificate(
    retrying_loop: Machine,
) -> None:
    found = certificate_of(retrying_loop)
    assert found is not None
    texts = [term.text for term in found.terms if term.text]
    assert texts == ["3 - budget", "not fallback", "2 - model.tries"]
    assert found.terms[found.rows["judge:bad#1"]].text == "3 - budget"
    assert found.rows["judge:bad#2"] == -1
    assert "judge:more#1" not in found.rows


@pytest.mark.parametrize(
    ("row", "changes"),
    [
        ("judge:bad#1", {"action": "last = 'repair'"}),
        ("judge:bad#1", {"action": "budget = 0"}),
        (
            "judge:bad#1",
            {"guard": "", "action": "budget = min(budget + 1, max_budget)"},
        ),
        ("judge:more#1", {"progress": False, "action": "budget = 0"}),
    ],
)
def test_a_spiral_has_none(
    retrying_loop: Machine, row: str, changes: dict[str, object]
) -> None:
    machine = retrying_loop.amend(row, **changes)
    assert spirals(compile_table(machine))
    assert certificate_of(machine) is None


def test_a_switch_that_opens_a_spiral_takes_the_certificate_away(
    retrying_loop: Machine,
) -> None:
    assert certificate_of(retrying_loop, "patient") is None
    assert certificate_of(retrying_loop, "patient", ("no_bad",)) is not None


def test_a_counter_without_end_is_no_term_but_does_no_harm(
    retrying_loop: Machine,
) -> None:
    def at(**limits: LimitValue) -> Certificate | None:
        return find_certificate(compile_table(retrying_loop, limits=limits))

    assert at(max_turns=UNLIMITED) is not None
    assert at(max_budget=UNLIMITED) is None


def test_a_row_that_costs_nothing_may_keep_all_terms() -> None:
    turnstile = load("turnstile")
    found = certificate_of(turnstile)
    assert found is not None
    assert found.rows["open:coin"] == len(found.terms)

    costly = turnstile.amend("open:coin", cost=CALL)
    assert certificate_of(costly) is None


def test_two_counters_that_one_row_counts_together_make_one_term() -> None:
    machine = Machine(
        "two",
        phases=(Phase("ask", ("small",), cost=CALL),),
        terminals=(Terminal("end"),),
        memory=(Counter("rounds", "3"), Counter("small", "2")),
        transitions=(
            Transition("ask", "end", "small", "rounds >= 3 and small + 1 >= 2"),
            Transition(
                "ask",
                "ask",
                "small",
                "otherwise",
                "rounds = min(rounds + 1, 3); small = min(small + 1, 2)",
                "again",
            ),
        ),
    )
    found = certificate_of(machine)
    assert found is not None
    assert found.terms[1] == Term("3 * (3 - rounds) + (2 - small)")


def test_a_term_may_count_in_one_phase_alone() -> None:
    machine = Machine(
        "gate",
        phases=(Phase("gate"), Phase("compact", ("failed",), cost=CALL)),
        terminals=(Terminal("end"),),
        memory=(Flag("tried"),),
        transitions=(
            Transition("gate", "compact", guard="not tried"),
            Transition("gate", "end", guard="otherwise"),
            Transition("compact", "gate", "failed", action="tried = True"),
        ),
    )
    found = certificate_of(machine)
    assert found is not None
    assert Term("not tried", ("gate",)) in found.terms


@pytest.mark.parametrize("edition", ["published", "documented", "hardened"])
def test_the_query_loop_has_one_under_its_assumptions(edition: str) -> None:
    loop = load("query_loop")
    names = tuple(each.name for each in loop.assumptions)
    assert certificate_of(loop, edition, names) is not None


def test_the_hardened_query_loop_has_one_under_no_assumption() -> None:
    assert certificate_of(load("query_loop"), "hardened") is not None


def test_only_the_normal_mode_of_the_attempt_loop_has_one() -> None:
    assert certificate_of(load("api_attempt"), "normal") is not None
    assert certificate_of(load("api_attempt"), "persistent") is None


@settings(max_examples=150)
@given(machines())
def test_where_there_is_a_certificate_a_naive_search_finds_no_spiral(
    machine: Machine,
) -> None:
    if certificate_of(machine) is not None:
        assert not spirals(compile_table(machine))


@settings(max_examples=60)
@given(machines(kind="spiral"))
def test_no_machine_that_spirals_has_a_certificate(machine: Machine) -> None:
    if spirals(compile_table(machine)):
        assert certificate_of(machine) is None


def test_a_phase_behind_progress_that_is_never_made_is_never_entered() -> None:
    machine = Machine(
        "behind",
        phases=(Phase("ask", ("fine",)), Phase("behind", ("loop",), cost=CALL)),
        terminals=(Terminal("end"),),
        memory=(Flag("tried"),),
        transitions=(
            Transition("ask", "end", "fine", "tried"),
            Transition("ask", "end", "fine", "not tried"),
            Transition("ask", "behind", "fine", "otherwise", progress=True),
            Transition("behind", "behind", "loop", reason="again"),
        ),
    )
    found = certificate_of(machine)
    assert found is not None
    assert found.rows["behind:loop"] == -1
