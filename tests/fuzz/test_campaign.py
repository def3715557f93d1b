"""A campaign finds what is wrong, by short runs, and covers the rest."""

import itertools

import pytest

from tests.fuzz.loops import DUTY, ROUND, SILENT, SOUND, SPIRAL, STUCK, UNGUARDED
from unspiral.engine.check.coverage import Reach
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import BadValue
from unspiral.engine.fuzz import Campaign, failures_of, fuzz, reach_of
from unspiral.engine.fuzz.shorten import shortened
from unspiral.machines import load, names


def campaign(machine: Machine, **options: int) -> Campaign:
    table = compile_table(machine)
    return fuzz(table, reach_of(table), **{"examples": 200, **options})  # type: ignore[arg-type]  # numbers


@pytest.mark.parametrize(
    ("machine", "failure", "events"),
    [
        (UNGUARDED, ("range", "judge#1"), "fail fail fail"),
        (STUCK, ("stuck", "judge"), "fail fail fail"),
        (SILENT, ("deadlock", "act"), "use done use done use"),
        (ROUND, ("endless", "one"), "yes"),
        (SPIRAL, ("spiral", "retry"), "fail"),
        (DUTY, ("law", "promises"), "promise stop"),
    ],
)
def test_each_kind_of_failure_is_found_by_its_shortest_run(
    machine: Machine, failure: tuple[str, str], events: str
) -> None:
    (found,) = [
        each
        for each in campaign(machine).findings
        if (each.failure.kind, each.failure.subject) == failure
    ]

    assert len(found.events) == len(events.split())
    assert found.failure in failures_of(machine, found.events)


def test_a_sound_machine_is_covered_whole_and_nothing_is_found() -> None:
    result = campaign(SOUND)

    assert result.findings == ()
    assert (result.share, result.missed) == (1.0, ())
    assert result.covered == len(reach_of(result.table).runs)


def test_without_runs_of_the_explorer_the_figures_are_of_the_draws_alone() -> None:
    table = compile_table(load("query_loop"))
    known = reach_of(table)

    alone = fuzz(table, known, examples=200, paths=False)
    helped = fuzz(table, known, examples=400)

    assert alone.share < 0.95 < helped.share
    assert {point.row for point in alone.missed} <= {row.name for row in table.rows}
    assert alone.covered + len(alone.missed) == len(known.runs)


def test_equal_seeds_give_equal_campaigns() -> None:
    one, two = (campaign(SPIRAL, seed=3) for _ in range(2))
    other = campaign(SPIRAL, seed=4)

    assert (one.shown, one.steps, one.findings) == (two.shown, two.steps, two.findings)
    assert one.steps != other.steps


def test_time_ends_a_campaign_between_two_runs() -> None:
    table = compile_table(load("query_loop"))
    ticks = itertools.count()

    result = fuzz(
        table, reach_of(table), examples=10_000, seconds=50, clock=lambda: next(ticks)
    )

    assert result.stopped == "time"
    assert 0 < result.runs < 60


def test_the_runs_made_are_told_as_they_are_made() -> None:
    told: list[tuple[int, int]] = []
    table = compile_table(SOUND)

    fuzz(
        table,
        reach_of(table),
        examples=250,
        told=lambda done, left: told.append((done, left)),
    )

    assert told[-1] == (250, 0)
    assert len(told) > 1


def test_a_person_can_end_it_and_gets_what_was_found() -> None:
    table = compile_table(SPIRAL)

    def interrupt(done: int, left: int) -> None:
        del left
        if done >= 100:
            raise KeyboardInterrupt

    result = fuzz(table, reach_of(table), examples=10_000, told=interrupt)

    assert (result.stopped, result.runs) == ("interrupted", 100)
    assert result.findings


def test_a_point_that_the_explorer_denies_is_a_failure() -> None:
    table = compile_table(SOUND)
    known = dict(reach_of(table).runs)
    denied = next(point for point in known if point.row == "act:nothing")
    del known[denied]

    result = fuzz(table, Reach(known), examples=100)

    assert [each.failure.kind for each in result.findings] == ["explorer"]
    assert result.findings[0].failure.subject == str(denied)


@pytest.mark.parametrize(
    "options", [{"examples": 0}, {"seed": -1}, {"seconds": 0}, {"seconds": -1}]
)
def test_numbers_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(BadValue, match=r"or more|more than 0"):
        campaign(SOUND, **options)


def test_a_failing_list_is_shortened_until_no_stretch_of_it_can_go() -> None:
    def fails(events: tuple[str, ...]) -> int | None:
        """Two a's with as many b's between them as in all."""
        text = "".join(events)
        return text.index("aba") + 3 if "aba" in text else None

    assert shortened("bbabbbaabaabab", fails) == ("a", "b", "a")


@pytest.mark.parametrize("name", [name for name in names() if "loop" not in name])
def test_a_small_shipped_machine_is_covered_and_nothing_is_found(name: str) -> None:
    result = campaign(load(name))

    assert result.findings == ()
    assert result.share > 0.95
