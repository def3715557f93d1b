"""Folds: old rounds in short, made locally, committed when room is short."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import answer, call, histories, pairs, talk, turn
from unspiral.engine.errors import BadValue
from unspiral.engine.live.estimate import Gauge, Window, rough
from unspiral.engine.live.folds import (
    Fold,
    Folding,
    Folds,
    Projecting,
    collapse,
    drain,
    project,
    stage,
)
from unspiral.engine.live.message import (
    History,
    groups,
    open_calls,
    results_message,
    text_of,
    tool_result,
    user_text,
)

SMALL = Folding(keep=2, rounds=3)


def test_below_ninety_percent_nothing_is_folded() -> None:
    window = Window(floor=161_000)
    view = talk(5, "x" * 400)
    gauge = Gauge(window.floor)

    shaped, folds = collapse(
        view, Folds(), window, folding=SMALL, size=lambda v: gauge.size(v).tokens
    )

    assert gauge.size(view).tokens < window.commit_at
    assert (shaped.event, shaped.view, folds) == ("kept", view, Folds())


def test_from_ninety_percent_on_folds_are_committed_the_oldest_first() -> None:
    window = Window(floor=161_900)
    view = talk(12, "x" * 40_000)
    gauge = Gauge(window.floor)

    shaped, folds = collapse(
        view, Folds(), window, folding=SMALL, size=lambda v: gauge.size(v).tokens
    )

    assert shaped.event == "projected"
    assert folds.committed[0].rounds == ("a0", "a1", "a2")
    assert shaped.freed == rough(view) - rough(shaped.view) > 0


def test_no_more_is_committed_than_is_needed() -> None:
    view = talk(40, "x" * 15_000)  # 5,000 tokens a round, 200,000 in all

    shaped, folds = collapse(view, Folds(), Window(), folding=Folding(keep=2, rounds=2))

    assert Window().target - 10_500 < rough(shaped.view) < Window().target
    assert folds.staged


def test_the_history_itself_does_not_change() -> None:
    view = talk(40, "x" * 15_000)
    copy = tuple(view)

    shaped, _ = collapse(view, Folds(), Window())

    assert shaped.view != view
    assert view == copy


def test_a_fold_says_what_was_asked_called_and_what_came_of_it() -> None:
    view = (
        user_text("Mend the\nparser."),
        answer("I look.", call("c1", "read", path="src/a.py"), id_="a1"),
        results_message([tool_result("c1", "x" * 1_200)]),
        answer(call("c2", "bash", command="pytest -q"), id_="a2"),
        results_message([tool_result("c2", "1 failed\nlong story" * 50, error=True)]),
        *turn(3),
        *turn(4),
    )

    (fold,) = stage(view, Folds(), SMALL).staged

    assert fold.rounds == ("a1", "a2")
    assert fold.text.splitlines()[:4] == [
        "[2 rounds, folded.",
        "The user had asked: Mend the parser.",
        "- answer: I look.",
        "- read src/a.py: ok, 1200 characters",
    ]
    assert "- bash pytest -q: failed: 1 failed long story" in fold.text


def test_what_the_user_said_and_the_newest_rounds_are_never_folded() -> None:
    more = user_text("And the tests.", "prompt", "p2")
    view = (*talk(6, "x" * 900), more, *turn(7, "x" * 900), *turn(8, "x" * 900))

    _, folds, _ = drain(view, Folds(), SMALL)
    shown = project(view, folds)

    assert view[0] in shown
    assert shown[-5:] == view[-5:]
    assert len(shown) == 8


def test_a_fold_that_would_not_be_smaller_is_not_made() -> None:
    view = (user_text("go"), *(answer("ok", id_=f"a{n}") for n in range(9)))

    assert stage(view, Folds(), SMALL) == Folds()


def test_draining_commits_all_at_once_and_says_how_many() -> None:
    view = talk(11, "x" * 900)

    event, folds, count = drain(view, Folds(), SMALL)

    assert (event, count) == ("committed", 3)
    assert (len(folds.committed), folds.staged) == (3, ())


def test_draining_again_without_new_work_finds_nothing() -> None:
    view = talk(11, "x" * 900)
    _, folds, _ = drain(view, Folds(), SMALL)

    assert drain(view, folds, SMALL) == ("nothing", folds, 0)


def test_after_new_work_there_is_something_to_drain_again() -> None:
    view = talk(11, "x" * 900)
    _, folds, _ = drain(view, Folds(), SMALL)
    later = (*view, *turn(20, "x" * 900), *turn(21, "x" * 900))

    event, more, count = drain(later, folds, SMALL)

    assert (event, count) == ("committed", 1)
    assert more.committed[:-1] == folds.committed


def test_a_fold_stays_where_its_rounds_are_when_others_are_removed() -> None:
    view = talk(11, "x" * 900)
    _, folds, _ = drain(view, Folds(), SMALL)

    shown = project((view[0], *view[9:]), folds)

    assert [text_of(m) for m in shown[1:3]] == [f.text for f in folds.committed[1:]]


def test_an_answer_without_an_id_is_known_by_what_it_says() -> None:
    view = (
        user_text("go"),
        answer("x" * 4_000),
        user_text("more", "note"),
        answer("y" * 4_000),
        *turn(1),
        *turn(2),
    )

    _, folds, count = drain(view, Folds(), SMALL)

    assert count == 1
    assert len(project(view, folds)) == 7


@pytest.mark.parametrize("wrong", [{"keep": 0}, {"rounds": 0}])
def test_nonsense_rules_for_folding_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        Folding(**wrong)


NO_FOLDS: list[object] = [
    None,
    [],
    {"committed": []},
    {"committed": [], "staged": [["a"]]},
    {"committed": [[[], "text"]], "staged": []},
    {"committed": [[["a", 1], "text"]], "staged": []},
    {"committed": "abc", "staged": []},
    {"committed": [[["a"], 5]], "staged": []},
]


@pytest.mark.parametrize("value", NO_FOLDS)
def test_folds_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(BadValue):
        Folds.from_plain(value)


@given(histories(), st.integers(1, 3), st.integers(1, 4))
def test_folding_splits_no_pair_and_only_makes_smaller(
    view: History, keep: int, together: int
) -> None:
    folding = Folding(keep, together)

    event, folds, count = drain(view, Folds(), folding)
    shown = project(view, folds)

    assert pairs(shown) == []
    assert open_calls(shown) == ()
    assert (event == "committed") == (count > 0) == (rough(shown) < rough(view))
    assert project(shown, folds) == shown
    assert drain(view, folds, folding)[0] == "nothing"


@given(histories())
def test_the_same_rounds_fold_to_the_same_text_and_outlive_the_process(
    view: History,
) -> None:
    folds = stage(view, Folds(), SMALL)

    assert folds == stage(view, Folds(), SMALL)
    assert Folds.from_plain(json.loads(json.dumps(folds.plain()))) == folds


@given(histories(), st.integers(100, 3_000))
def test_collapsing_twice_is_as_good_as_once(view: History, size: int) -> None:
    window = Window.scaled(size)

    shaped, folds = collapse(view, Folds(), window, folding=SMALL)
    again, same = collapse(view, folds, window, folding=SMALL)

    assert (again.view, same) == (shaped.view, folds)
    assert shaped.freed == rough(view) - rough(shaped.view) >= 0
    assert (shaped.event == "projected") == (shaped.freed > 0)


@given(st.lists(histories(), min_size=1, max_size=3), st.data())
def test_projecting_views_as_they_grow_is_projecting_each_anew(
    all_: list[History], data: st.DataObject
) -> None:
    projecting, whole = Projecting(), max(all_, key=len)
    some = st.sampled_from(
        [Folds(), *(drain(each, Folds(), SMALL)[1] for each in all_)]
    )

    for _ in range(8):
        view = data.draw(st.sampled_from(all_))[: data.draw(st.integers(0, len(whole)))]
        folds = data.draw(some)

        assert projecting(view, folds) == project(view, folds)


def test_a_view_that_grows_is_projected_on() -> None:
    view = talk(9)
    _, folds, _ = drain(view, Folds(), SMALL)
    projecting = Projecting()

    for number in range(9, 14):
        grown = (*view, *turn(number, "more"))
        assert projecting(view, folds) == project(view, folds) != view
        view = grown


def test_a_fold_whose_rounds_are_gone_shows_nothing() -> None:
    view = talk(3)

    assert project(view, Folds((Fold(("gone",), "[...]"),))) is view
    assert len(groups(view)) == 4


def test_the_rest_of_an_answer_that_was_paused_is_of_the_same_round() -> None:
    first, rest = answer(id_="a1"), answer(id_="a2")
    view = (user_text("Look."), first, rest, answer(id_="a3"), user_text("Go on."))

    assert [len(each) for each in groups(view)] == [1, 3, 1]


def test_folds_of_rounds_that_are_gone_are_gone_too() -> None:
    view = talk(11, "x" * 900)
    _, folds, _ = drain(view, Folds(), SMALL)
    later = (view[0], *view[9:])

    left = folds.of(later)

    assert folds.of(view) is folds
    assert len(left.committed) < len(folds.committed)
    assert project(later, left) == project(later, folds)
    assert left.folded < folds.folded
