"""The fuse: it trips on circles, only on circles, and remembers over a restart."""

import itertools
import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.errors import BadValue
from unspiral.engine.live.fuse import LONGEST_CYCLE, REPEATS, Fuse, round_digest
from unspiral.engine.live.message import Block, tool_result

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)


def verdicts(rounds: Iterable[str], fuse: Fuse | None = None) -> list[str]:
    said: list[str] = []
    fuse = fuse or Fuse()
    for each in rounds:
        fuse, verdict = fuse.after(each)
        said.append(verdict)
    return said


def call(name: str, given_: object, id_: str = "a") -> Block:
    return {"type": "tool_use", "id": id_, "name": name, "input": given_}


def test_it_trips_on_the_fifth_identical_round_and_not_before() -> None:
    assert verdicts("aaaaa") == ["", "", "", "", "tripped"]


@pytest.mark.parametrize("cycle", ["a", "ab", "abc", "aab"])
def test_it_trips_once_and_is_stuck_when_the_same_cycle_goes_on(cycle: str) -> None:
    said = verdicts(cycle * REPEATS * 2)

    half = len(said) // 2
    assert said[:half] == [""] * (half - 1) + ["tripped"]
    assert said[half:] == [""] * (half - 1) + ["stuck"]


def test_it_stays_stuck_as_long_as_nothing_else_comes() -> None:
    assert [each for each in verdicts("a" * 25) if each] == [
        "tripped",
        "stuck",
        "stuck",
        "stuck",
        "stuck",
    ]


def test_another_round_after_it_tripped_arms_it_anew() -> None:
    assert [each for each in verdicts("aaaaabaaaaa") if each] == ["tripped", "tripped"]


def test_another_cycle_after_it_tripped_is_not_stuck() -> None:
    assert [each for each in verdicts("aaaaabbbbb") if each] == ["tripped", "tripped"]


def test_a_part_of_the_cycle_alone_is_another_cycle() -> None:
    said = [each for each in verdicts("ababababab" + "aaaaa") if each]

    assert said == ["tripped", "tripped"]


def test_a_cycle_that_turns_further_after_it_tripped_is_the_same_cycle() -> None:
    assert verdicts("ababababab" + "babababaab" + "x")[-1] == ""
    assert verdicts("ababababab" + "bababababa")[-1] == "stuck"


def test_a_cycle_of_four_is_none() -> None:
    assert not any(verdicts("abcd" * 20))


def test_a_cycle_is_found_after_other_rounds() -> None:
    assert verdicts("xyzw" + "ab" * REPEATS)[-1] == "tripped"


@given(st.lists(st.integers(), unique=True, max_size=60))
def test_rounds_that_always_change_never_trip_it(numbers: list[int]) -> None:
    assert not any(verdicts(map(str, numbers)))


@given(st.text(st.sampled_from("abcd"), max_size=60))
def test_it_speaks_only_of_what_is_a_cycle(rounds: str) -> None:
    for n, verdict in enumerate(verdicts(rounds), 1):
        if verdict:
            seen = rounds[:n]
            assert any(
                seen.endswith(seen[n - period :] * REPEATS)
                for period in range(1, LONGEST_CYCLE + 1)
            )


@given(st.text(st.sampled_from("ab"), max_size=60))
def test_stuck_comes_only_after_tripped(rounds: str) -> None:
    words = [each for each in verdicts(rounds) if each]

    assert words[:1] in ([], ["tripped"])


@given(st.text(st.sampled_from("ab"), max_size=40), st.integers(0, 40))
def test_a_restart_at_any_round_changes_nothing(rounds: str, at: int) -> None:
    fuse = Fuse()
    for each in rounds[:at]:
        fuse, _ = fuse.after(each)

    again = Fuse.from_plain(json.loads(json.dumps(fuse.plain())))

    assert again == fuse
    assert verdicts(rounds[at:], again) == verdicts(rounds)[at:]


@given(st.lists(st.text(), max_size=100))
def test_it_remembers_no_more_than_it_needs(rounds: list[str]) -> None:
    fuse = Fuse()
    for each in rounds:
        fuse, _ = fuse.after(each)

    assert len(fuse.recent) <= REPEATS * LONGEST_CYCLE


@given(PLAIN)
def test_what_is_no_fuse_is_refused(value: object) -> None:
    with pytest.raises(BadValue):
        Fuse.from_plain(value)


@pytest.mark.parametrize(
    "value", [{"recent": "aaaa", "tripped_on": []}, {"recent": [1], "tripped_on": []}]
)
def test_digests_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(BadValue):
        Fuse.from_plain(value)


def test_ids_and_the_order_of_keys_and_of_results_do_not_count() -> None:
    one = round_digest(
        [call("read", {"a": 1, "b": 2}, "x"), call("grep", {}, "y")],
        [tool_result("x", "1"), tool_result("y", "2")],
    )
    other = round_digest(
        [call("read", {"b": 2, "a": 1}, "p"), call("grep", {}, "q")],
        [tool_result("q", "2"), tool_result("p", "1")],
    )

    assert one == other


def test_tool_arguments_outcome_and_failure_count() -> None:
    digests = {
        round_digest([call(name, {"a": given_})], [tool_result("a", text, error=error)])
        for name, given_, text, error in itertools.product(
            ("read", "grep"), (1, 2), ("x", "y"), (False, True)
        )
    }

    assert len(digests) == 16


@given(PLAIN, st.text())
def test_every_input_and_outcome_has_a_digest(given_: object, text: str) -> None:
    result = {"tool_use_id": "a", "content": text + "\ud800"}

    assert len(round_digest([call("x", given_)], [result])) == 64
