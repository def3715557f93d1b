"""No model is asked but by a row that has counted it, and what was counted was asked.

A proof bounds what rows cost. It bounds a run only if each step of it makes as many
calls of a model as its row says: this is looked at here, step by step.
"""

from collections.abc import Mapping, Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import IMAGE, answer, talk
from tests.live.running import SUMMARY, Bench, Ran, Script, calls, refused, said, wrong
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.live.agent import Settings
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.events import Decided, LiveEvent
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.message import History, Message, user_text
from unspiral.engine.live.ports import HookCall, HookPoint, HookWord, Outcome
from unspiral.engine.live.restoring import Restored
from unspiral.machines.agent_loop import AGENT_LOOP
from unspiral.machines.query_loop import QUERY_LOOP

TOO_LONG = refused("prompt_too_long", "prompt is too long: 210000 tokens > 200000")
CUT = Outcome("answered", answer("It is a long st"), "max_tokens")
EMPTY = Outcome("answered", None, "end_turn")
MEDIA = refused("media_rejected", "image exceeds 5 MB")
MODEL = "claude-sonnet-5-5"
POINTS: tuple[HookPoint, ...] = ("PreCompact",)
#: nothing else mends what is too long
PLAIN: Mapping[str, LimitValue] = {
    "token_budget_on": False,
    "context_collapse": False,
    "microcompact_on": False,
}
LONG = talk(40, "x" * 8_000)


@attrs.frozen
class Counted:
    """A run, and of each of its steps: what its row costs, and what was asked in it."""

    ran: Ran
    steps: Sequence[tuple[str, int, int]]

    @property
    def wrong(self) -> list[tuple[str, int, int]]:
        return [each for each in self.steps if each[1] != each[2]]

    @property
    def asked(self) -> int:
        return len(self.ran.model.asks)

    def of(self, phase: str) -> int:
        """Return what was asked in one phase."""
        return sum(n for name, _, n in self.steps if name.rpartition(":")[0] == phase)


def counted(bench: Bench, prompt: str | None = "Mend the parser.") -> Counted:
    steps: list[tuple[str, int, int]] = []
    asks, seen = bench.model.asks, 0

    def watch(event: LiveEvent) -> None:
        nonlocal seen
        if isinstance(event, Decided):
            row = event.step.row
            name = f"{event.step.before.phase}:{event.step.event}"
            steps.append((name, row.cost.get("model_calls", 0), len(asks) - seen))
            seen = len(asks)

    ran = bench.run(prompt, watch)
    assert seen == len(asks)
    return Counted(ran, steps)


def agent(
    script: Script,
    *,
    history: History = (),
    window: Window | None = None,
    budgets: Budgets | None = None,
    limits: Mapping[str, LimitValue] = PLAIN,
) -> Bench:
    """The agent loop over a history that is there already."""
    settings = Settings(MODEL, window=window or Window(), budgets=budgets or Budgets())
    return Bench(
        script,
        AGENT_LOOP,
        limits=limits,
        settings=settings,
        restored=Restored({}, history, history) if history else None,
    )


def picture() -> Message:
    prompt = user_text("Look at this.")
    return attrs.evolve(prompt, content=(*prompt.content, IMAGE))


# -- each kind of call, alone ----------------------------------------------------------


def test_retries_and_rounds_are_counted_one_by_one() -> None:
    overloaded = [refused("overloaded")] * 2
    script = Script([calls("look", id_="a"), *overloaded, CUT, CUT, said()])
    run = counted(agent(script))

    assert run.wrong == []
    assert run.ran.end == "completed"
    assert run.of("call_model.request") == run.asked == 6


FULL = talk(60, "x" * 8_000)
SMALL = Window.scaled(60_000)


@pytest.mark.parametrize("said_", [SUMMARY, EMPTY, refused("overloaded"), CUT])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 9])
def test_a_compaction_is_counted_with_each_repeat(before: int, said_: Outcome) -> None:
    script = Script([said()], [*[TOO_LONG] * before, said_])
    run = counted(agent(script, history=FULL, window=SMALL))

    assert run.wrong == []
    assert run.of("autocompact.summarise") == min(before, 3) + 1


@pytest.mark.parametrize("said_", [SUMMARY, EMPTY, refused("overloaded"), CUT])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 9])
def test_a_reactive_compaction_is_counted_with_each_repeat(
    before: int, said_: Outcome
) -> None:
    script = Script([TOO_LONG, said()], [*[TOO_LONG] * before, said_])
    run = counted(agent(script, history=LONG))

    assert run.wrong == []
    assert wrong(run.ran) == []
    assert run.of("compact_reactively.summarise") == min(before, 3) + 1
    mended = before <= 3 and said_ is SUMMARY
    assert run.ran.end == ("completed" if mended else "prompt_too_long")


@pytest.mark.parametrize("said_", [SUMMARY, EMPTY, refused("overloaded"), CUT])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 9])
def test_the_compaction_that_breaks_a_circle_is_counted_with_each_repeat(
    before: int, said_: Outcome
) -> None:
    same = [calls("look", id_=f"a{n}") for n in range(5)]
    script = Script([*same, said()], [*[TOO_LONG] * before, said_])
    run = counted(agent(script, history=LONG))

    assert run.wrong == []
    assert wrong(run.ran) == []
    assert run.ran.end == "completed"
    assert run.of("break_cycle.summarise") == min(before, 3) + 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_how_often_it_is_repeated_is_a_limit_of_the_table(retries: int) -> None:
    limits = {**PLAIN, "max_compact_retries": retries}
    script = Script([TOO_LONG], [TOO_LONG])
    run = counted(agent(script, history=LONG, limits=limits))

    assert run.wrong == []
    assert run.of("compact_reactively.summarise") == retries + 1


def test_rows_that_do_not_repeat_are_heard() -> None:
    phase = AGENT_LOOP.phase("compact_reactively")
    assert phase.runs is not None
    once = phase.runs.amend("summarise:too_long#1", target="failed", action="")
    phases = [
        attrs.evolve(phase, runs=once) if each is phase else each
        for each in AGENT_LOOP.phases
    ]
    machine = attrs.evolve(AGENT_LOOP, phases=phases)
    bench = agent(Script([TOO_LONG], [TOO_LONG]), history=LONG)
    run = counted(attrs.evolve(bench, machine=machine))

    assert run.wrong == []
    assert run.of("compact_reactively.summarise") == 1


# -- what is not sent ------------------------------------------------------------------


def test_media_that_are_stripped_cost_nothing() -> None:
    run = counted(agent(Script([MEDIA, said()]), history=(picture(), answer("Nice."))))

    assert run.wrong == []
    assert run.ran.end == "completed"
    assert run.ran.facts("compact_reactively.strip") == ["gained"]
    assert run.asked == 2


def test_media_that_are_not_there_cost_nothing() -> None:
    run = counted(agent(Script([MEDIA, said()]), history=LONG))

    assert run.wrong == []
    assert run.ran.end == "image_error"
    assert run.ran.facts("compact_reactively.strip") == ["no_media"]


def test_a_veto_costs_nothing() -> None:
    async def veto(call: HookCall) -> HookWord:
        return HookWord(prevent=f"Not now: {call.point}.")

    hooks = HookList((Hook(veto, POINTS),))
    bench = agent(Script([TOO_LONG]), history=LONG)
    run = counted(attrs.evolve(bench, hooks=hooks))

    assert run.wrong == []
    assert run.asked == 1
    assert run.ran.facts("compact_reactively.pre_compact") == ["vetoed"]


def test_what_no_summary_could_mend_costs_nothing() -> None:
    run = counted(agent(Script([TOO_LONG])))

    assert run.wrong == []
    assert run.asked == 1
    assert run.ran.facts("compact_reactively.summarise") == ["irreducible"]
    assert run.ran.end == "prompt_too_long"


def test_a_window_that_is_full_of_what_must_stay_costs_nothing() -> None:
    window = Window(floor=179_000)
    run = counted(agent(Script([said()]), history=FULL, window=window))

    assert run.wrong == []
    assert run.ran.facts("autocompact.summarise") == ["irreducible"]
    assert run.asked == 1


@pytest.mark.parametrize("most", range(1, 7))
def test_a_budget_that_ends_among_the_repeats_of_a_compaction(most: int) -> None:
    budgets = Budgets(model_calls=most)
    script = Script([TOO_LONG, said()], [TOO_LONG, TOO_LONG, TOO_LONG, SUMMARY])
    run = counted(agent(script, history=LONG, budgets=budgets))

    assert run.wrong == []
    assert run.asked == most
    assert run.ran.end == ("max_model_calls" if most < 6 else "completed")


# -- anything after anything -----------------------------------------------------------


REPLIES = st.sampled_from(
    [
        *(calls("look"), calls("look", "change"), calls("look", path="b")),
        *(TOO_LONG, MEDIA, CUT, said(), said("")),
        *map(refused, ("overloaded", "server_error", "stream_died", "unauthorized")),
    ]
)
SUMMARIES = st.sampled_from(
    [SUMMARY, TOO_LONG, EMPTY, CUT, refused("overloaded"), refused("stream_died")]
)


@given(
    st.lists(REPLIES, max_size=12),
    st.lists(SUMMARIES, min_size=1, max_size=8),
    st.none() | st.integers(1, 12),
    st.sampled_from(["published", "documented", "hardened"]),
    st.booleans(),
)
def test_nothing_is_sent_that_no_row_has_counted(
    replies: list[Outcome],
    summaries: list[Outcome],
    most: int | None,
    edition: str,
    full: bool,
) -> None:
    bench = agent(
        Script([*replies, said()], summaries),
        history=FULL if full else LONG,
        window=SMALL if full else None,
        budgets=Budgets(model_calls=most, seconds=None if most is None else 9_999),
        limits={**PLAIN, "max_turns": 20, "max_retries": 2},
    )
    run = counted(attrs.evolve(bench, edition=edition))

    assert run.wrong == []
    assert wrong(run.ran) == []
    assert sum(n for _, n, _ in run.steps) == run.asked
    if most is not None:
        assert run.asked <= most


# -- where a row says more than is sent ------------------------------------------------


def test_the_query_loop_compacts_reactively_with_one_request() -> None:
    bench = agent(Script([TOO_LONG], [TOO_LONG]), history=LONG)
    run = counted(attrs.evolve(bench, machine=QUERY_LOOP))

    assert run.wrong == []
    assert run.of("compact_reactively") == 1
    assert run.ran.facts("compact_reactively") == ["failed"]


@pytest.mark.parametrize("machine", [QUERY_LOOP, AGENT_LOOP])
@pytest.mark.parametrize("at", range(1, 12))
def test_a_run_that_is_stopped_has_sent_no_more_than_was_counted(
    at: int, machine: Machine
) -> None:
    bench = agent(Script([TOO_LONG, said()], [TOO_LONG, SUMMARY]), history=LONG)
    bench = attrs.evolve(bench, machine=machine)
    seen = 0

    def watch(_: LiveEvent) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            bench.abort.set()

    ran = bench.run(watch=watch)

    cost = sum(step.row.cost.get("model_calls", 0) for step in ran.steps)
    assert ran.end == "aborted_streaming"
    assert cost - 1 <= len(ran.model.asks) <= cost
