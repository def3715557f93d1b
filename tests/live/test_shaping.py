"""The light stages: what they remove, what they never touch, what they say of it."""

import itertools
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import (
    THINKING,
    answer,
    call,
    histories,
    pairs,
    talk,
    turn,
)
from unspiral.engine.errors import BadValue
from unspiral.engine.live.estimate import Gauge, Window, rough
from unspiral.engine.live.folds import Folding, Folds, collapse
from unspiral.engine.live.message import (
    History,
    groups,
    open_calls,
    results_message,
    text_of,
    tool_result,
    user_text,
)
from unspiral.engine.live.result_budget import Decisions, ResultLimits, budget_results
from unspiral.engine.live.shaping import (
    CLEARED,
    Clearing,
    Snipping,
    after_boundary,
    cleared_from_plain,
    microcompact,
    snip,
)

FEW = Snipping(most=4, keep=2)
ALWAYS = Clearing(keep=2, gap=0.0, least=0)


class Shelf:
    def keep(self, call_: str, text: str, /) -> str:
        del text
        return f"kept/{call_}"


def cleared_in(history: History) -> list[object]:
    return [
        block.get("tool_use_id")
        for message in history
        for block in message.content
        if block.get("content") == CLEARED
    ]


# -- the boundary ----------------------------------------------------------------------


def test_what_is_before_the_last_summary_is_not_sent() -> None:
    old, last = (user_text(text, "summary") for text in ("old", "new"))
    history = (*talk(2), old, *turn(3), last, *turn(4))

    assert after_boundary(history) == (last, *turn(4))


def test_without_a_summary_everything_is_sent() -> None:
    history = talk(3)

    assert after_boundary(history) is history


# -- snip ------------------------------------------------------------------------------


def test_few_rounds_are_kept() -> None:
    view = talk(4, "x" * 900)

    shaped = snip(view, FEW)

    assert (shaped.event, shaped.freed) == ("kept", 0)
    assert shaped.view is view


def test_too_many_rounds_are_snipped_whole_and_a_note_says_how_many() -> None:
    view = talk(5, "x" * 900)

    shaped = snip(view, FEW)

    assert shaped.event == "snipped"
    assert shaped.view[0] == view[0]
    assert "2 earlier rounds" in text_of(shaped.view[1])
    assert shaped.view[2:] == view[5:]
    assert shaped.freed == rough(view) - rough(shaped.view) > 0


def test_what_the_user_said_is_never_snipped() -> None:
    more = user_text("And mind the tests.", "prompt", "p2")
    view = (*talk(2, "x" * 900), more, *(m for n in range(9) for m in turn(n + 5)))

    shaped = snip(view, FEW)

    assert [m for m in shaped.view if m.kind == "prompt"] == [view[0], more]


def test_from_turn_to_turn_the_same_rounds_are_gone() -> None:
    views = [snip(talk(n, "x" * 900), FEW).view for n in range(5, 60)]

    changes = sum(b[: len(a)] != a for a, b in itertools.pairwise(views))
    assert changes <= len(views) / 2


def test_notes_of_several_snips_become_one() -> None:
    view = snip(talk(9, "x" * 900), FEW).view
    later = (*view, *(m for n in range(20, 29) for m in turn(n, "x" * 900)))

    shaped = snip(later, FEW)

    notes = [text_of(m) for m in shaped.view if m.kind == "note"]
    left = sum(m.role == "assistant" for m in shaped.view)
    said = f"[{18 - left} earlier rounds of this conversation were removed here.]"
    assert notes == [said]


def test_snipping_that_would_free_nothing_is_said_to_have_done_nothing() -> None:
    view = (user_text("go"), *(answer(".", id_=f"a{n}") for n in range(5)))

    assert snip(view, FEW).event == "kept"


@pytest.mark.parametrize(("most", "keep"), [(4, 4), (4, 0), (0, 0), (1, 5)])
def test_nonsense_limits_of_rounds_are_refused(most: int, keep: int) -> None:
    with pytest.raises(BadValue):
        Snipping(most, keep)


# -- microcompact ----------------------------------------------------------------------


def test_after_a_long_gap_all_but_the_newest_results_are_cleared() -> None:
    view = talk(8, "x" * 900)

    shaped, cleared = microcompact(view, idle=3_600.0)

    assert shaped.event == "cleared"
    assert cleared_in(shaped.view) == ["c0", "c1", "c2"]
    assert cleared == {"c0", "c1", "c2"}
    assert shaped.freed == rough(view) - rough(shaped.view) > 0


@pytest.mark.parametrize("idle", [None, 0.0, 3_599.0])
def test_after_a_short_gap_nothing_is_cleared(idle: float | None) -> None:
    view = talk(8, "x" * 900)

    assert microcompact(view, idle=idle)[0].event == "kept"


def test_with_room_running_short_results_are_cleared_if_that_is_worth_it() -> None:
    small, large = talk(8, "x" * 900), talk(8, "x" * 20_000)

    assert microcompact(small, tight=True)[0].event == "kept"
    assert microcompact(large, tight=True)[0].event == "cleared"


def test_what_was_cleared_stays_cleared_though_nothing_calls_for_it() -> None:
    view = talk(8, "x" * 900)
    first, cleared = microcompact(view, idle=9_999.0)

    again, same = microcompact((*view, *turn(99)), cleared)

    assert again.view[:-2] == first.view
    assert same == cleared


def test_what_was_cleared_stays_cleared_when_more_is() -> None:
    shaped, cleared = microcompact(
        talk(8, "x" * 900), frozenset({"c7", "gone"}), idle=9_999.0
    )

    assert cleared_in(shaped.view) == ["c0", "c1", "c2", "c7"]
    assert cleared == {"c0", "c1", "c2", "c7", "gone"}


def test_results_of_other_tools_are_not_cleared() -> None:
    view = talk(8, "x" * 900, "ask_somebody")

    assert microcompact(view, idle=9_999.0)[0].event == "kept"


def test_short_results_are_not_made_longer() -> None:
    assert microcompact(talk(8, "ok"), idle=9_999.0)[0].event == "kept"


def test_thinking_and_calls_are_never_touched() -> None:
    said = answer(THINKING, "I read it.", call("c1"), id_="a")
    view = (said, results_message([tool_result("c1", "x" * 900)]), *talk(3, "y" * 99))

    shaped, _ = microcompact(view, idle=1.0, clearing=ALWAYS)

    assert shaped.event == "cleared"
    assert shaped.view[0] is said


def test_a_cleared_failure_stays_a_failure() -> None:
    result = tool_result("c", "x" * 900, error=True)
    view = (answer(call("c")), results_message([result]), *talk(3))

    shaped, _ = microcompact(view, idle=1.0, clearing=ALWAYS)

    assert shaped.view[1].content[0] == {**result, "content": CLEARED}


@pytest.mark.parametrize(
    "wrong", [{"keep": 0}, {"gap": -1.0}, {"gap": float("nan")}, {"least": -1}]
)
def test_nonsense_rules_for_clearing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        Clearing(**wrong)


@pytest.mark.parametrize("value", [None, "abc", [1], {"a": "b"}])
def test_cleared_results_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(BadValue):
        cleared_from_plain(value)


# -- any history -----------------------------------------------------------------------


@given(histories(), st.integers(2, 6), st.integers(1, 5))
def test_snipping_splits_no_pair_and_twice_is_as_good_as_once(
    view: History, most: int, keep: int
) -> None:
    snipping = Snipping(most, min(keep, most - 1))

    shaped = snip(view, snipping)
    again = snip(shaped.view, snipping)

    assert pairs(shaped.view) == []
    assert open_calls(shaped.view) == ()
    assert (again.event, again.view) == ("kept", shaped.view)
    assert (shaped.freed > 0) == (shaped.event == "snipped")
    assert {m.id for m in view[-keep:]} <= {m.id for m in shaped.view}
    assert shaped.freed == rough(view) - rough(shaped.view)


@given(histories(), st.integers(1, 4))
def test_clearing_splits_no_pair_and_twice_is_as_good_as_once(
    view: History, keep: int
) -> None:
    clearing = Clearing(keep=keep, gap=0.0, least=0)

    shaped, cleared = microcompact(view, idle=1.0, clearing=clearing)
    again, same = microcompact(shaped.view, cleared, idle=1.0, clearing=clearing)
    raw, _ = microcompact(view, cleared, clearing=clearing)

    assert pairs(shaped.view) == []
    assert (again.event, again.view, same) == ("kept", shaped.view, cleared)
    assert raw.view == shaped.view
    assert [m for m in shaped.view if m.role == "assistant"] == [
        m for m in view if m.role == "assistant"
    ]
    assert shaped.freed == rough(view) - rough(shaped.view) >= 0


@given(histories(), st.integers(0, 20))
def test_the_view_after_a_boundary_splits_no_pair(view: History, at: int) -> None:
    rounds = groups(view)
    before = [m for each in rounds[:at] for m in each]
    after = [m for each in rounds[at:] for m in each]

    shown = after_boundary((*before, user_text("so far", "summary"), *after))

    assert pairs(shown) == []


@given(histories(measured=True), st.integers(0, 9_000), st.integers(50, 4_000))
def test_what_all_stages_freed_is_the_difference_of_the_sizes(
    view: History, floor: int, size: int
) -> None:
    gauge = Gauge(floor).seen(view)
    window = attrs.evolve(Window.scaled(size * 10), collapse_commit=0.1)

    def measure(each: History) -> int:
        return gauge.size(each).tokens

    limits = ResultLimits(500, 900)
    first, _ = budget_results(view, Decisions(), Shelf(), limits=limits, size=measure)
    second = snip(first.view, FEW, measure)
    third, _ = microcompact(second.view, idle=1.0, clearing=ALWAYS, size=measure)
    last, _ = collapse(
        third.view, Folds(), window, folding=Folding(keep=1), size=measure
    )

    freed = [each.freed for each in (first, second, third, last)]
    assert sum(freed) == measure(view) - measure(last.view)
    assert min(freed) >= 0
    assert pairs(last.view) == []
    assert open_calls(last.view) == ()
