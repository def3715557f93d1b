"""Results over their budget: large ones go first, and what was seen stays as seen."""

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import IMAGE, answer, call, histories, pairs, talk, turn
from unspiral.engine.errors import BadValue, FileProblem
from unspiral.engine.live.estimate import rough
from unspiral.engine.live.message import (
    History,
    Message,
    results_message,
    tool_result,
    user_text,
)
from unspiral.engine.live.result_budget import (
    Decisions,
    ResultLimits,
    budget_results,
    preview,
)


@attrs.define
class Shelf:
    """Keeps texts as a folder would: creates only."""

    kept: dict[str, str] = attrs.field(factory=dict[str, str])
    asked: int = 0

    def keep(self, call_: str, text: str, /) -> str:
        self.asked += 1
        self.kept.setdefault(call_, text)
        return f"results/{call_}.txt"


class Full:
    """Keeps nothing."""

    def keep(self, call_: str, text: str, /) -> str:
        del call_, text
        raise FileProblem("results", "written", "No space left on device")


def contents(history: History) -> dict[str, object]:
    return {
        str(block.get("tool_use_id")): block.get("content")
        for message in history
        for block in message.content
        if block.get("type") == "tool_result"
    }


def batch(*texts: str) -> History:
    """One answer with several calls, all answered at once."""
    ids = [f"b{n}" for n in range(len(texts))]
    return (
        user_text("go"),
        answer(*(call(id_, "bash") for id_ in ids), id_="m"),
        results_message(tool_result(i, t) for i, t in zip(ids, texts, strict=True)),
    )


def test_results_within_their_budget_stay_as_they_are() -> None:
    view = talk(3, "x" * 50_000)

    shaped, decisions = budget_results(view, Decisions(), Shelf())

    assert (shaped.event, shaped.view, shaped.freed) == ("within", view, 0)
    assert decisions.frozen == {"c0", "c1", "c2"}


def test_a_result_over_its_budget_is_kept_aside_whole_and_becomes_a_stub() -> None:
    text = "line\n" * 10_001
    shelf, view = Shelf(), talk(1, text)

    shaped, decisions = budget_results(view, Decisions(), shelf)

    stub = contents(shaped.view)["c0"]
    assert shaped.event == "replaced"
    assert shelf.kept == {"c0": text}
    assert isinstance(stub, str)
    assert "results/c0.txt" in stub
    assert "50005 characters" in stub
    assert len(stub) < 2_300
    assert shaped.freed == rough(view) - rough(shaped.view) > 0
    assert decisions.stubs == {"c0": stub}


def test_of_results_that_are_too_large_together_the_largest_go_first() -> None:
    view = batch("a" * 47_000, "b" * 45_000, "c" * 49_000, "d" * 46_000, "e" * 48_000)

    shaped, _ = budget_results(view, Decisions(), Shelf())

    short = [i for i, text in contents(shaped.view).items() if len(str(text)) < 5_000]
    assert short == ["b2"]


def test_the_budget_of_a_message_is_one_of_each_message() -> None:
    view = talk(9, "x" * 45_000)

    assert budget_results(view, Decisions(), Shelf())[0].event == "within"


def test_results_that_come_in_two_messages_share_one_budget() -> None:
    user, said, results = batch(*["x" * 45_000] * 5)
    view = (
        user,
        said,
        results_message(results.content[:2]),
        results_message(results.content[2:]),
    )

    assert budget_results(view, Decisions(), Shelf())[0].event == "replaced"


def test_what_was_seen_whole_is_never_replaced_later() -> None:
    limits = ResultLimits(result=10_000)
    view = talk(1, "x" * 5_000)
    _, decisions = budget_results(view, Decisions(), Shelf(), limits=limits)

    shaped, _ = budget_results(
        view, decisions, Shelf(), limits=ResultLimits(result=1_000)
    )

    assert shaped.event == "within"


def test_a_stub_is_the_same_bytes_after_a_resume_whatever_else_has_changed() -> None:
    shelf, view = Shelf(), talk(1, "y\n" * 40_000)
    first, decisions = budget_results(view, Decisions(), shelf)
    kept = json.loads(json.dumps(dict(decisions.stubs)))
    restored = Decisions.restored(kept, first.view)

    again, same = budget_results(
        (*view, *turn(7)), restored, Full(), limits=ResultLimits(10)
    )

    assert contents(again.view)["c0"] == contents(first.view)["c0"]
    assert same.stubs.items() >= decisions.stubs.items()


def test_after_a_resume_what_the_model_has_seen_whole_stays_whole() -> None:
    view = talk(2, "y" * 3_000)

    shaped, _ = budget_results(
        view, Decisions.restored({}, view), Shelf(), limits=ResultLimits(2_500)
    )

    assert contents(shaped.view)["c0"] == "y" * 3_000
    assert contents(shaped.view)["c1"] != "y" * 3_000  # no answer follows it


def test_a_crash_between_the_file_and_the_decision_changes_no_byte() -> None:
    shelf, view = Shelf(), talk(2, "z\n" * 40_000)
    first, _ = budget_results(view, Decisions(), shelf)

    again, _ = budget_results(view, Decisions(), shelf)

    assert again.view == first.view


def test_a_tool_without_a_limit_is_exempt_even_from_the_budget_of_all() -> None:
    limits = ResultLimits(by_tool={"read": None, "bash": 10})
    large = talk(1, "x" * 300_000)
    small = talk(1, "x" * 3_000, "bash")

    assert budget_results(large, Decisions(), Shelf(), limits=limits)[0].freed == 0
    assert budget_results(small, Decisions(), Shelf(), limits=limits)[0].freed > 0


def test_no_tool_may_have_more_than_the_limit_of_all() -> None:
    limits = ResultLimits(by_tool={"read": 10**9})

    assert limits.of("read") == 50_000


def test_images_are_never_put_aside() -> None:
    result = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [IMAGE, {"type": "text", "text": "x" * 99_999}],
    }
    view = (user_text("go"), answer(call("c")), results_message([result]))

    assert budget_results(view, Decisions(), Shelf())[0].event == "within"


def test_a_result_of_several_texts_is_put_aside_as_one() -> None:
    parts = [{"type": "text", "text": "x" * 30_000}] * 2
    result = {"type": "tool_result", "tool_use_id": "c", "content": parts}
    view = (user_text("go"), answer(call("c")), results_message([result]))
    shelf = Shelf()

    budget_results(view, Decisions(), shelf)

    assert shelf.kept == {"c": "x" * 30_000 + "\n" + "x" * 30_000}


def test_what_cannot_be_kept_is_cut_all_the_same_and_the_model_is_told() -> None:
    shaped, _ = budget_results(talk(1, "x" * 90_000), Decisions(), Full())

    assert "could not be kept" in str(contents(shaped.view)["c0"])
    assert shaped.freed > 20_000


def test_a_failure_stays_marked_as_one() -> None:
    result = tool_result("c", "x" * 60_000, error=True)
    view = (user_text("go"), answer(call("c")), results_message([result]))

    shaped, _ = budget_results(view, Decisions(), Shelf())

    assert shaped.view[-1].content[0]["is_error"] is True


def test_old_results_are_not_looked_at_again() -> None:
    shelf = Shelf()
    view = talk(2, "x" * 60_000)
    _, decisions = budget_results(view, Decisions(), shelf)

    budget_results((*view, *turn(9)), decisions, shelf)

    assert shelf.asked == 2


# -- previews --------------------------------------------------------------------------


def test_a_preview_is_cut_after_a_line_if_one_ends_in_its_second_half() -> None:
    assert preview("a" * 1_500 + "\n" + "b" * 9_000) == "a" * 1_500
    assert preview("a" * 900 + "\n" + "b" * 9_000) == "a" * 900 + "\n" + "b" * 1_099


@given(st.text(max_size=80), st.integers(4, 40))
def test_a_preview_is_a_beginning_and_never_longer_than_its_bytes(
    text: str, most: int
) -> None:
    shown = preview(text, most)

    assert text.startswith(shown)
    assert len(shown.encode()) <= most
    assert shown == text or len(shown.encode()) >= most // 2 - 4


def test_a_preview_of_half_a_character_is_no_crash() -> None:
    assert len(preview("\ud800" * 5_000)) == 2_000


# -- any history -----------------------------------------------------------------------

SMALL = st.builds(
    ResultLimits,
    result=st.integers(1, 5_000),
    message=st.integers(1, 9_000),
    by_tool=st.dictionaries(
        st.sampled_from(["read", "bash"]), st.none() | st.integers(1, 99), max_size=2
    ),
)


@given(histories(), SMALL)
def test_no_pair_is_split_and_twice_is_as_good_as_once(
    view: History, limits: ResultLimits
) -> None:
    shaped, decisions = budget_results(view, Decisions(), Shelf(), limits=limits)
    raw, same = budget_results(view, decisions, Full(), limits=limits)
    again, _ = budget_results(shaped.view, decisions, Full(), limits=limits)

    assert pairs(shaped.view) == []
    assert raw.view == shaped.view
    assert same == decisions
    assert (again.event, again.view) == ("within", shaped.view)
    assert shaped.freed == rough(view) - rough(shaped.view)
    assert (shaped.event == "within") == (shaped.view == view)


@given(histories(), SMALL, SMALL)
def test_what_was_sent_stays_byte_for_byte_as_the_history_grows(
    view: History, limits: ResultLimits, later: ResultLimits
) -> None:
    cut = len(view) // 2
    first, decisions = budget_results(view[:cut], Decisions(), Shelf(), limits=limits)
    whole, more = budget_results(view, decisions, Shelf(), limits=later)

    assert whole.view[:cut] == first.view
    stubs = json.loads(json.dumps(dict(more.stubs)))
    assert Decisions.restored(stubs, view).stubs == more.stubs


@pytest.mark.parametrize("value", [None, 1, "x", [], {"c": 1}, {"c": None}])
def test_decisions_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(BadValue):
        Decisions.restored(value, ())


def test_a_history_without_answers_has_nothing_to_decide() -> None:
    view: History = (user_text("hello"), Message("assistant", (), "error"))

    assert budget_results(view, Decisions(), Shelf()) == (
        budget_results(view, Decisions(), Full())
    )
