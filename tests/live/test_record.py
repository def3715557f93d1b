"""Records of decisions: what the table said is told, and told again from a file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.sessions import TABLE
from unspiral.engine.core.run import Run, start
from unspiral.engine.core.step import Step
from unspiral.engine.errors import BadValue, SessionError
from unspiral.engine.live.record import (
    Facts,
    Guard,
    Record,
    plain_record_of,
    record_from_plain,
    record_line,
    record_of,
    record_to_plain,
    records_in,
)
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.session_events import Keeper
from unspiral.engine.live.why import why, whys
from unspiral.machines.query_loop import QUERY_LOOP


def run_of(choices: list[int], most: int = 100) -> tuple[Run, list[Step]]:
    """Run the table, choosing among what is offered."""
    run, steps = start(QUERY_LOOP, edition="hardened"), list[Step]()
    steps += run.decision.steps
    for number in range(most):
        if run.finished:
            break
        choice = choices[number % len(choices)]
        steps += run.send(run.allowed[choice % len(run.allowed)]).steps
    return run, steps


def records_of(steps: list[Step], facts: Facts | None = None) -> list[Record]:
    return [
        record_of(TABLE, each, n, float(n), facts) for n, each in enumerate(steps, 1)
    ]


CHOICES = st.lists(st.integers(0, 20), min_size=1, max_size=30)
FACTS = st.builds(
    Facts,
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.sampled_from(["", "claude-sonnet-5-5"]),
    st.integers(0, 10**9),
    st.floats(0, 1e6).map(lambda seconds: round(seconds, 6)),
)


@given(CHOICES, FACTS)
def test_a_record_comes_back_from_its_line(choices: list[int], facts: Facts) -> None:
    _, steps = run_of(choices)

    for each in records_of(steps, facts):
        line = record_line(each)

        assert record_from_plain(json.loads(line)) == each
        assert line.isascii()
        assert line.count("\n") == 1


@given(CHOICES, FACTS)
def test_a_record_made_from_its_row_is_the_same_record(
    choices: list[int], facts: Facts
) -> None:
    _, steps = run_of(choices)

    for n, each in enumerate(steps, 1):
        made = plain_record_of(TABLE, each, n, float(n), facts)

        assert made == record_to_plain(record_of(TABLE, each, n, float(n), facts))
        assert list(made) == list(dict(made))
        assert len(made) == len(dict(made))


@given(CHOICES)
def test_a_record_says_what_the_machine_said(choices: list[int]) -> None:
    run, steps = run_of(choices)
    records = records_of(steps)

    for step, record in zip(steps, records, strict=True):
        assert record.taken == Guard(
            step.row.name, step.row.target, step.row.guard_text, verdict=True
        )
        assert [each.row for each in record.refused] == [
            r.name for r in step.row.earlier
        ]
        assert (record.phase, record.event) == (step.before.phase, step.event or "")
        assert record.counts["turn"] == step.after.memory[0]
    assert [each.ends for each in records].count(True) is int(run.finished)


@given(CHOICES)
def test_every_continue_and_stop_is_explained_with_all_that_was_refused(
    choices: list[int],
) -> None:
    run, steps = run_of(choices)
    records = records_of(steps)

    found = whys(records)

    reasons = [each.row.reason for each in steps if each.row.reason]
    assert [w.record.reason for w in found if not w.record.ends] == reasons
    assert [w.record.target for w in found if w.record.ends] == (
        [run.phase] if run.finished else []
    )
    told = "\n".join(why(records))
    last = found[-1].record.n if found else 0
    for each in records[:last]:
        for refused in each.refused:
            assert f"not {refused.row} -> {refused.target}: {refused.guard}" in told


def test_a_stop_is_told_in_words() -> None:
    events = ["answered", "answer", "accept"]
    run = start(QUERY_LOOP, edition="hardened")
    steps = list(run.decision.steps)
    while not run.finished:
        event = next((e for e in events if e in run.allowed), run.allowed[0])
        steps += run.send(event).steps

    told = why(records_of(steps))

    stop = f"step {len(steps)} stops: completed"
    assert next(line for line in told if " stops: " in line).startswith(stop)
    assert any(
        "diagnose: valid_answer -> stop_hooks, since none" in line for line in told
    )
    assert any(line.startswith("    not follow_up -> run_tools: ") for line in told)


def test_one_step_is_told_whatever_it_is() -> None:
    _, steps = run_of([0])
    records = records_of(steps)

    assert why(records, 1)[0] == f"step 1 leads to {records[0].target}"
    with pytest.raises(BadValue) as caught:
        why(records, 10_000)
    assert "in 1.." in str(caught.value)
    with pytest.raises(BadValue):
        why([], 1)


def test_records_are_read_from_a_session() -> None:
    _, steps = run_of([0, 1, 2])
    records, store = records_of(steps), MemoryStore()
    keeper = Keeper(store, TABLE)
    for each in records:
        keeper.decided(record_to_plain(each))

    assert records_in(store.events()) == records


RECORD = record_to_plain(records_of(run_of([0])[1])[0])


@pytest.mark.parametrize(
    "change",
    [
        {"n": "1"},
        {"n": True},
        {"t": None},
        {"t": float("inf")},
        {"phase": 1},
        {"phase": "\x1b[2J"},
        {"event": []},
        {"asked": []},
        {"asked": [["a", "b", "c", False]]},
        {"asked": [["a", "b", "c", True], ["a", "b", "c", True]]},
        {"asked": [["a", "b", "c"]]},
        {"asked": [["a", "b", "\x1b]0;x\x07", True]]},
        {"counts": {"turn": "1"}},
        {"model": "\x1b[31m"},
        {"more": 1},
    ],
)
def test_a_record_that_we_did_not_write_is_refused(change: dict[str, object]) -> None:
    store = MemoryStore()
    store.append("decision", {**RECORD, **change})

    with pytest.raises(SessionError) as caught:
        records_in(store.events(), "a.db")

    assert caught.value.event == 2
    assert "\x1b" not in str(caught.value)
