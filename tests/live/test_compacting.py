"""Compaction: what is asked for, what is made of it, and whether that helped."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import (
    IMAGE,
    THINKING,
    answer,
    call,
    here,
    histories,
    pairs,
    talk,
    turn,
)
from unspiral.engine.core.language import UNLIMITED, Value
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import BadValue
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.live.budgets import Budgets, Ledger
from unspiral.engine.live.calling import Caller, read_reply
from unspiral.engine.live.compacting import Compactor
from unspiral.engine.live.context import Context
from unspiral.engine.live.estimate import Size, Window, rough
from unspiral.engine.live.events import (
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Status,
    Warned,
)
from unspiral.engine.live.loop import Loop
from unspiral.engine.live.message import (
    History,
    groups,
    results_message,
    text_of,
    user_text,
    wire,
)
from unspiral.engine.live.ports import (
    Abort,
    Ask,
    Delta,
    HookCall,
    HookWord,
    LoopClock,
    Outcome,
)
from unspiral.engine.live.shaping import Snipping
from unspiral.engine.live.spending import Purse
from unspiral.engine.live.state import Here, Performer, Round
from unspiral.engine.live.summarising import (
    INSTRUCTIONS,
    drop,
    droppable,
    gap_of,
    request,
    speaks,
    summary_in,
    tail_of,
    weigh,
    without_media,
)
from unspiral.machines.query_loop import QUERY_LOOP

WINDOW = Window()
SAID = Outcome("answered", answer("<summary>All is well.</summary>"), "end_turn")
TOO_LONG = Outcome("prompt_too_long", text="prompt is too long: 9 tokens > 8 maximum")
BIG = talk(60, "x" * 8_000)  # 160,000 tokens with the margin


class Shelf:
    def keep(self, call_: str, text: str, /) -> str:
        del text
        return f"kept/{call_}"


@attrs.define
class Points:
    """Hooks that say the same at each call of a point."""

    words: dict[str, HookWord] = attrs.field(factory=dict[str, HookWord])
    calls: list[HookCall] = attrs.field(factory=list[HookCall])

    async def call(self, call_: HookCall, /) -> HookWord:
        self.calls.append(call_)
        return self.words.get(call_.point, HookWord())


@attrs.define
class Script:
    """Answers requests one after the other; the last answer goes on for ever."""

    outcomes: Sequence[Outcome]
    asks: list[Ask] = attrs.field(factory=list[Ask])

    async def __call__(self, ask: Ask) -> Outcome:
        self.asks.append(ask)
        return self.outcomes[min(len(self.asks), len(self.outcomes)) - 1]


@attrs.define
class Bench:
    """A compactor with fakes around it, and a place in a run."""

    here: Here
    script: Script
    hooks: Points
    compactor: Compactor
    told: list[LiveEvent]

    def do(self, *phases: str) -> list[str]:
        return run_virtual(self._do(phases))

    async def _do(self, phases: Sequence[str]) -> list[str]:
        performers = self.compactor.performers()
        return [
            await performed(performers[name], attrs.evolve(self.here, phase=name))
            for name in map(_full, phases)
        ]


async def performed(perform: Performer, place: Here) -> str:
    came = perform(place)
    return came if isinstance(came, str) else await came


ORDERED = ("compact_reactively", "break_cycle")


def _full(phase: str) -> str:
    return (
        phase if phase.startswith(("autocompact", *ORDERED)) else f"autocompact.{phase}"
    )


def bench(
    history: History,
    *outcomes: Outcome,
    window: Window | None = None,
    memory: Mapping[str, Value] | None = None,
    limits: Mapping[str, Value] | None = None,
    notes: str = "",
    **words: HookWord,
) -> Bench:
    told: list[LiveEvent] = []
    script, hooks = Script(outcomes or (SAID,)), Points(words)
    context = Context(window or WINDOW, Shelf())
    compactor = Compactor(context, script, hooks, ("scribe", "other"), lambda: notes)
    place = here(history, memory, limits, told.append)
    return Bench(place, script, hooks, compactor, told)


ALL = ("measure", "session_memory", "pre_compact", "summarise", "weigh")


# -- is it wanted? ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "fact"),
    [
        (1, "below_threshold"),
        (166_999, "below_threshold"),
        (167_000, "over_threshold"),
    ],
)
def test_the_threshold_is_where_it_is_published_to_be(tokens: int, fact: str) -> None:
    history = (*talk(1), answer("done", id_="a", tokens=tokens))
    table = bench(history)
    context = table.compactor.context
    context.gauge = context.gauge.seen(history)

    assert table.do("measure") == [fact]


@pytest.mark.parametrize(
    ("tokens", "fact"), [(176_999, "fits"), (177_000, "over_limit")]
)
def test_the_blocking_limit_is_where_it_is_published_to_be(
    tokens: int, fact: str
) -> None:
    history = (*talk(1), answer("done", id_="a", tokens=tokens))
    context = Context(WINDOW, Shelf())

    place = here(history)
    shape_all(context, place)

    assert context.preflight(place) == fact


# -- a whole compaction ----------------------------------------------------------------


def test_a_history_becomes_a_summary_and_its_end() -> None:
    table = bench((*BIG, *turn(70), *turn(71)))

    facts = table.do(*ALL)

    base = table.here.work.base
    assert facts[2:] == ["allowed", "summary", "gained"]
    assert base[0].kind == "summary"
    assert text_of(base[0]).count("All is well.") == 1
    assert "Mend the parser." in text_of(base[0])
    assert base[-4:] == (*turn(70), *turn(71))
    assert table.here.work.view == base
    assert pairs(base) == []
    assert rough(base) < WINDOW.target


def test_the_request_is_text_without_tools_and_asks_for_nine_sections() -> None:
    image = results_message(
        [{"type": "tool_result", "tool_use_id": "i", "content": [IMAGE]}]
    )
    said = answer(THINKING, call("i", "read", path="a.png"), id_="i")
    table = bench((*BIG, said, image))

    table.do(*ALL)

    (ask,) = table.script.asks
    blocks = [block for message in ask.messages for block in message.content]
    assert {block["type"] for block in blocks} == {"text"}
    assert "s1gn3d" not in str(blocks)
    assert "thinking" not in str(blocks)
    assert "[image]" in str(blocks)
    assert (ask.tools, ask.source, ask.max_tokens) == ((), "compact", 20_000)
    assert (ask.model, bool(ask.system)) == ("scribe", True)
    assert wire(ask.messages)[0]["role"] == "user"
    assert text_of(ask.messages[-1]) == INSTRUCTIONS
    for number in range(1, 10):
        assert f"\n{number}. " in INSTRUCTIONS
    for kept in ("goal", "architecture", "key changes", "acceptance criteria"):
        assert kept in INSTRUCTIONS.rpartition("Never leave out")[2].replace("\n", " ")


def test_a_prompt_that_nobody_answered_is_kept_whatever_its_size() -> None:
    prompt = user_text("Now this. " * 9_000, "prompt", "p2")
    table = bench((*BIG, prompt))

    table.do(*ALL)

    assert table.here.work.base[1:] == (prompt,)
    assert "last request" not in text_of(table.here.work.base[0])


def test_the_last_request_outlives_several_summaries_word_for_word() -> None:
    table = bench(BIG)
    table.do(*ALL)
    more = tuple(m for n in range(100, 160) for m in turn(n, "x" * 8_000))
    again = bench((*table.here.work.base, *more))

    again.do(*ALL)

    assert text_of(again.here.work.base[0]).count("Mend the parser.") == 1


def test_old_sizes_are_void_in_the_new_history() -> None:
    old = (*BIG, *turn(70, tokens=169_000))
    table = bench(old)

    table.do(*ALL)
    context = table.compactor.context

    assert all(message.tokens == 0 for message in table.here.work.base)
    assert context.size(table.here.work.base).epoch == 1
    assert context.size(table.here.work.base).tokens == rough(table.here.work.base)


def test_what_the_session_noted_costs_no_request() -> None:
    table = bench(BIG, notes="We mend the parser.")

    facts = table.do("measure", "session_memory")

    assert facts[1] == "small_enough"
    assert table.script.asks == []
    assert "We mend the parser." in text_of(table.here.work.base[0])


@pytest.mark.parametrize("notes", ["", "  \n", "long " * 200_000])
def test_notes_that_are_none_or_too_long_change_nothing(notes: str) -> None:
    table = bench(BIG, notes=notes)

    assert table.do("measure", "session_memory")[1] == "too_large"
    assert table.here.work.base is BIG


def test_a_draft_is_stripped() -> None:
    text = "<draft>hm\n<b></draft>\n<summary>\nThis.\n</summary> Bye."

    assert summary_in(Outcome("answered", answer(text))) == ("summary", "This.")


@pytest.mark.parametrize(
    ("outcome", "fact"),
    [
        (Outcome("answered", answer("plain words"), "end_turn"), "summary"),
        (Outcome("answered", answer("<draft>open"), "end_turn"), "empty"),
        (Outcome("answered", answer("<summary> </summary>"), "end_turn"), "empty"),
        (Outcome("answered", answer("  "), "end_turn"), "empty"),
        (Outcome("answered", answer("words", call("c")), "tool_use"), "empty"),
        (Outcome("answered", None), "empty"),
        (Outcome("answered", answer("half a"), "max_tokens"), "cut_off"),
        (Outcome("answered", answer("I won't"), "refusal"), "refused"),
        (TOO_LONG, "too_long"),
        (Outcome("output_overflow", room=5_000), "too_long"),
        (Outcome("stream_died"), "stalled"),
        (Outcome("overloaded"), "refused"),
        (Outcome("permanent"), "refused"),
        (Outcome("exception"), "refused"),
    ],
)
def test_what_came_of_a_request_is_told_as_it_is(outcome: Outcome, fact: str) -> None:
    table = bench(BIG, outcome)

    assert summary_in(outcome)[0] == fact
    assert table.do("measure", "pre_compact", "summarise")[2] == fact
    assert table.here.work.base is BIG


# -- hooks and the status --------------------------------------------------------------


def test_a_hook_can_veto_and_nothing_is_asked() -> None:
    table = bench(BIG, PreCompact=HookWord(blocks=("not now",)))

    assert table.do("measure", "pre_compact")[1] == "vetoed"
    assert table.script.asks == []
    assert Warned("A hook forbids to compact: not now") in table.told


def test_a_hook_that_crashes_vetoes_nothing() -> None:
    table = bench(BIG, PreCompact=HookWord(crashes=("boom",)))

    assert table.do("measure", "pre_compact")[1] == "crashed"


def test_what_hooks_add_is_asked_for_and_told() -> None:
    table = bench(
        BIG,
        PreCompact=HookWord(context=("Keep the ticket number.",)),
        PostCompact=HookWord(context=("The branch is main.",)),
    )

    table.do(*ALL)

    assert "Keep the ticket number." in text_of(table.script.asks[0].messages[-1])
    assert text_of(table.here.work.base[-1]) == "The branch is main."
    assert [each.point for each in table.hooks.calls] == ["PreCompact", "PostCompact"]


def statuses(told: Sequence[LiveEvent]) -> list[str | None]:
    return [event.word for event in told if isinstance(event, Status)]


class Broken(Exception):
    """What a fake raises that no port may raise."""


class BrokenHooks:
    async def call(self, call_: HookCall, /) -> HookWord:
        del call_
        raise Broken


@pytest.mark.parametrize("phase", ["pre_compact", "summarise", "weigh"])
def test_the_status_is_cleared_however_it_ends(phase: str) -> None:
    async def stop(_: Ask) -> Outcome:
        raise Broken

    table = bench(BIG)
    table.do("measure", "pre_compact", "summarise")
    table.told.clear()
    table.compactor.ask = stop
    table.compactor.hooks = BrokenHooks()

    with pytest.raises(Broken):
        table.do(phase)
    assert statuses(table.told) == ["compacting", None]


def test_a_compaction_that_is_cancelled_leaves_everything_as_it_was() -> None:
    async def never(_: Ask) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    table = bench(BIG)
    table.compactor.ask = never

    async def cancelled() -> None:
        task = asyncio.ensure_future(table.compactor.compact_reactively(table.here))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])

    run_virtual(cancelled())
    assert statuses(table.told) == ["compacting", None]
    assert table.here.work.base is BIG
    assert table.compactor.context.gauge.epoch == 0


# -- the request is itself too long ----------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "gap"),
    [
        (
            Outcome("prompt_too_long", text="210000 tokens > 200000 maximum"),
            10_000,
        ),
        (Outcome("prompt_too_long", text="5 tokens > 9 maximum"), 1),
        (Outcome("prompt_too_long", text="too long"), None),
        (Outcome("output_overflow", room=12_000), 8_000),
        (None, None),
    ],
)
def test_the_gap_is_read_from_what_the_api_says(
    outcome: Outcome | None, gap: int | None
) -> None:
    assert gap_of(outcome, 20_000) == gap


def rounds_of(history: History) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(each) for each in groups(history))


def test_without_a_gap_a_fifth_of_the_rounds_goes_the_oldest_but_the_goal() -> None:
    rounds = rounds_of(talk(10))

    left = drop(rounds, None)

    assert left == (rounds[0], *rounds[3:])


def test_with_a_gap_rounds_go_until_it_is_covered() -> None:
    rounds = rounds_of(talk(10, "x" * 4_000))

    assert drop(rounds, 1_500) == (rounds[0], *rounds[3:])
    assert drop(rounds, 1_500, most=1) == (rounds[0], *rounds[2:])


def test_the_goal_goes_last_and_the_newest_round_never() -> None:
    rounds = rounds_of(talk(3, "x" * 400))

    assert drop(rounds, 10**9) == rounds[-1:]
    assert droppable(rounds[-1:]) == ()


@given(histories(), st.none() | st.integers(1, 9_000), st.none() | st.integers(1, 3))
def test_dropping_makes_progress_and_splits_no_pair(
    history: History, gap: int | None, most: int | None
) -> None:
    rounds = rounds_of(history)
    while len(rounds) > 1:
        left = drop(rounds, gap, most)
        assert 1 <= len(left) < len(rounds)
        assert left[-1] == rounds[-1]
        assert pairs([m for each in left for m in each]) == []
        sent = request(left, dropped=True)
        assert wire(sent)[0]["role"] == "user"
        assert speaks(left) == (len(sent) > 2)
        rounds = left


def test_a_shorter_request_says_that_something_is_left_out() -> None:
    table = bench(BIG, TOO_LONG, SAID)
    table.do("measure", "pre_compact", "summarise", "truncate", "summarise")

    first, second = table.script.asks
    assert len(second.messages) < len(first.messages)
    assert "left out" in text_of(second.messages[1])
    assert text_of(second.messages[0]) == "Mend the parser."


@pytest.mark.parametrize(
    ("dropped", "groups_", "fact"),
    [(0, 6, "dropped_more"), (4, 6, "dropped_one"), (90, UNLIMITED, "dropped_more")],
)
def test_what_was_dropped_is_said_as_far_as_the_table_allows(
    dropped: int, groups_: Value, fact: str
) -> None:
    table = bench(
        BIG,
        Outcome("prompt_too_long"),
        memory={"autocompact.dropped": dropped},
        limits={"history_groups": groups_},
    )

    facts = table.do("measure", "pre_compact", "summarise", "truncate")

    assert facts[2:] == ["too_long", fact]


def test_one_dropped_round_is_said_to_be_one() -> None:
    table = bench(talk(4, "x" * 180_000), TOO_LONG)

    facts = table.do("measure", "pre_compact", "summarise", "truncate")

    assert facts[3] == "dropped_one"


def test_a_single_round_that_is_too_long_is_no_reason_to_drop_it() -> None:
    history = turn(1, "x" * 800_000)
    table = bench(history, TOO_LONG)

    assert table.do("measure", "pre_compact", "summarise")[2] == "refused"


# -- was it worth it? ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "believed", "event"),
    [
        (60_000, 60_000, "gained"),
        (146_999, 146_999, "gained"),
        (147_000, 147_000, "too_little"),
        (60_000, 147_000, "too_little"),
        (169_999, 1, "too_little"),
        (170_000, 1, "nothing"),
        (170_001, 1, "inflated"),
    ],
)
def test_a_gain_is_measured(after: int, believed: int, event: str) -> None:
    assert weigh(Size(170_000, 3), Size(after, 3), believed, WINDOW) == event


def test_a_tenth_at_least_must_be_freed() -> None:
    assert weigh(Size(100_000, 0), Size(90_001, 0), 1, WINDOW) == "too_little"
    assert weigh(Size(100_000, 0), Size(90_000, 0), 1, WINDOW) == "gained"


def test_sizes_of_different_epochs_are_not_compared() -> None:
    assert weigh(Size(170_000, 3), Size(1, 4), 1, WINDOW) == "stale_size"


def test_a_history_that_was_rewritten_meanwhile_is_not_replaced() -> None:
    table = bench(BIG)
    table.do("measure", "pre_compact", "summarise")
    other = (*talk(2), user_text("what somebody else made of it"))
    table.here.work.base = other

    assert table.do("weigh") == ["stale_size"]
    assert table.here.work.base is other


@pytest.mark.parametrize(
    ("words", "event"), [(200_000, "inflated"), (120_000, "too_little")]
)
def test_a_summary_that_frees_nothing_is_said_to_have_freed_nothing(
    words: int, event: str
) -> None:
    window = Window.scaled(60_000)
    history = talk(45, "x" * 4_000)
    said = Outcome("answered", answer("w" * words), "end_turn")
    table = bench(history, said, window=window)

    facts = table.do(*ALL)

    assert facts[-1] == event
    assert any(isinstance(told, Warned) for told in table.told)
    if event == "inflated":
        assert table.here.work.base is history
        assert table.compactor.context.gauge.epoch == 0


@given(histories(), st.text(max_size=4_000), st.integers(3_000, 40_000))
def test_any_compaction_keeps_pairs_and_tells_what_it_freed(
    history: History, summary: str, size: int
) -> None:
    said = Outcome("answered", answer(f"<summary>{summary}.</summary>"), "end_turn")
    table = bench(history, said, window=Window.scaled(size))
    context = table.compactor.context
    before = context.size(history).tokens

    facts = table.do(*ALL) if history else []

    base = table.here.work.base
    assert pairs(base) == []
    if facts and facts[-1] == "gained":
        assert base[0].kind == "summary"
        assert context.size(base).tokens < min(before, context.window.target)
    if facts and facts[-1] in {"nothing", "inflated"}:
        assert base is history


@given(histories(), st.integers(0, 4_000))
def test_the_kept_end_is_whole_rounds_and_leaves_something_to_summarise(
    history: History, most: int
) -> None:
    tail = tail_of(history, most)

    assert history[len(history) - len(tail) :] == tail
    assert pairs(tail) == []
    if len(groups(history)) > 1:
        assert len(tail) < len(history)


# -- what was refused ------------------------------------------------------------------


def test_a_refused_history_is_summarised() -> None:
    table = bench(BIG, memory={"reply": "prompt_too_long"})

    assert table.do("compact_reactively") == ["compacted"]
    assert table.here.work.base[0].kind == "summary"
    assert statuses(table.told) == ["compacting", None]


@pytest.mark.parametrize(
    "phases",
    [
        ("compact_reactively",),
        ("compact_reactively.pre_compact", "compact_reactively.summarise"),
    ],
)
def test_a_refused_history_is_not_sent_whole_a_second_time(
    phases: Sequence[str],
) -> None:
    table = bench(BIG, memory={"reply": "prompt_too_long"})
    said = "prompt is too long: 230000 tokens > 200000 maximum"
    table.here.work.outcome = Outcome("prompt_too_long", text=said)

    table.do(*phases)

    (ask,) = table.script.asks
    assert rough(BIG) - rough(ask.messages) > 50_000


def test_where_it_is_one_phase_a_summary_is_asked_for_once() -> None:
    table = bench(BIG, TOO_LONG, SAID, memory={"reply": "prompt_too_long"})

    assert table.do("compact_reactively") == ["failed"]
    assert len(table.script.asks) == 1
    assert table.here.work.base is BIG


@pytest.mark.parametrize("phase", ORDERED)
def test_where_it_is_several_each_repeat_is_one_with_less(phase: str) -> None:
    table = bench(BIG, TOO_LONG, TOO_LONG, SAID)
    table.here.work.round = Round(results_message([]))
    again = (f"{phase}.summarise", f"{phase}.truncate")

    facts = table.do(f"{phase}.pre_compact", *again, *again, again[0], f"{phase}.weigh")

    assert facts[1::2] == ["too_long", "too_long", "summary"]
    assert facts[::2] == ["allowed", "dropped_one", "dropped_one", "gained"]
    sizes = [rough(ask.messages) for ask in table.script.asks]
    assert sizes == sorted(set(sizes), reverse=True)
    assert statuses(table.told) == ["compacting", None] * 5
    triggers = [call_.facts["trigger"] for call_ in table.hooks.calls]
    assert triggers == ["reactive", "reactive"]


@pytest.mark.parametrize("phase", ORDERED)
def test_rounds_are_dropped_one_by_one_by_the_count_of_its_own_phase(
    phase: str,
) -> None:
    memory: dict[str, Value] = {f"{phase}.dropped": 4, "autocompact.dropped": 0}
    table = bench(BIG, Outcome("prompt_too_long"), memory=memory)

    facts = table.do("measure", f"{phase}.summarise", f"{phase}.truncate")

    assert facts[1:] == ["too_long", "dropped_one"]


def test_the_round_that_repeats_others_is_in_the_history_before_it_is_compacted() -> (
    None
):
    table = bench(talk(9, "x" * 8_000), SAID)
    work = table.here.work
    work.answer = answer(call("again"), id_="a")
    result = {"type": "tool_result", "tool_use_id": "again", "content": "the same"}
    work.round = Round(results_message([result]), (user_text("A note.", "note"),))
    whole = (*work.base, work.answer, work.round.message, *work.round.notes)

    table.do("break_cycle.pre_compact")

    assert (work.base, work.view) == (whole, whole)
    assert [work.answer, work.round] == [None, None]
    table.do("break_cycle.summarise", "break_cycle.weigh")
    assert work.base[0].kind == "summary"
    assert pairs(work.base) == []


@pytest.mark.parametrize("phase", ["autocompact", *ORDERED])
def test_that_nothing_was_sent_is_told_where_the_table_has_an_ear_for_it(
    phase: str,
) -> None:
    deaf = bench((user_text("x" * 900_000),))
    hears = bench((user_text("x" * 900_000),))
    hears.here = attrs.evolve(hears.here, offered=("irreducible", "refused"))

    assert deaf.do(f"{phase}.summarise") == ["refused"]
    assert hears.do(f"{phase}.summarise") == ["irreducible"]
    assert (deaf.script.asks, hears.script.asks) == ([], [])


@pytest.mark.parametrize(
    ("phase", "fact"),
    [("compact_reactively", "compacted"), ("compact_reactively.strip", "gained")],
)
def test_refused_media_are_stripped_without_a_request(phase: str, fact: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "i", "content": [IMAGE]}
    prompt = user_text("Look.")
    prompt = attrs.evolve(prompt, content=(*prompt.content, IMAGE))
    history = (prompt, answer(call("i")), results_message([result]))
    table = bench(history, memory={"reply": "media_too_large"})

    assert table.do(phase) == [fact]
    assert "'image'" not in str(table.here.work.base)
    assert pairs(table.here.work.base) == []
    assert table.script.asks == []


@pytest.mark.parametrize(
    ("phase", "fact"),
    [("compact_reactively", "failed"), ("compact_reactively.strip", "no_media")],
)
def test_refused_media_that_are_not_there_cannot_be_mended(
    phase: str, fact: str
) -> None:
    table = bench(talk(3), memory={"reply": "media_too_large"})

    assert table.do(phase) == [fact]
    assert statuses(table.told) == ["compacting", None]
    assert table.script.asks == []


@given(histories())
def test_stripping_media_keeps_pairs_and_leaves_none(history: History) -> None:
    stripped = without_media(history)

    assert pairs(stripped) == []
    assert "'type': 'image'" not in str(stripped)
    assert without_media(stripped) is stripped


def test_what_cannot_be_compacted_is_not_tried() -> None:
    window = Window(floor=179_000)
    prompt = user_text("x" * 9_000)
    table = bench((*BIG, prompt), window=window, memory={"reply": "prompt_too_long"})

    assert table.do("compact_reactively") == ["failed"]
    assert table.do("measure", "pre_compact", "summarise")[2] == "refused"
    assert table.script.asks == []


def test_a_single_prompt_that_is_too_long_is_not_tried() -> None:
    table = bench((user_text("x" * 900_000),), memory={"reply": "prompt_too_long"})

    assert table.do("compact_reactively") == ["failed"]
    assert table.script.asks == []


def test_a_veto_holds_for_refused_histories_too() -> None:
    table = bench(
        BIG,
        memory={"reply": "prompt_too_long"},
        PreCompact=HookWord(prevent="never"),
    )

    assert table.do("compact_reactively") == ["failed"]
    assert table.script.asks == []


# -- what outlives the process ---------------------------------------------------------


SHAPE = ("result_budget", "snip", "microcompact", "collapse")


def shape_all(context: Context, place: Here) -> None:
    for stage in SHAPE:
        context.performers()[f"shape.{stage}"](place)
    context.preflight(place)


def test_the_next_answer_tells_the_size_of_the_view_that_was_sent() -> None:
    context = Context(WINDOW, Shelf())
    place = here(talk(80, "x" * 8_000, "ask_somebody"))
    shape_all(context, place)
    assert rough(place.work.view) < rough(place.work.base)

    said = answer("done", id_="z", tokens=50_000)
    later = here((*place.work.base, said))
    shape_all(context, later)

    assert context.facts()["tokens"] == 50_000


def test_what_was_decided_on_results_that_are_gone_is_forgotten() -> None:
    context = Context(WINDOW, Shelf(), snipping=Snipping(4, 2))
    place = here(talk(6, "x" * 60_000))

    shape_all(context, place)

    assert set(context.decisions.stubs) == {"c2", "c3", "c4", "c5"}


def test_a_context_outlives_its_process() -> None:
    context = Context(WINDOW, Shelf())
    place = here((*talk(80, "x" * 51_000), *turn(99)))

    shape_all(context, place)
    context.drain(place)
    other = Context(WINDOW, Shelf())
    other.restore(json.loads(json.dumps(context.plain())), place.work.base)

    assert other.plain() == context.plain()
    assert context.decisions.stubs
    assert context.folds.committed


@pytest.mark.parametrize("value", [None, {}, {"epoch": -1}, {"epoch": 0}])
def test_a_context_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(BadValue):
        Context(WINDOW, Shelf()).restore(value, ())


# -- driven by the table ---------------------------------------------------------------


@attrs.define
class Answers:
    """A model with a script; summaries are asked of another."""

    outcomes: list[Outcome]
    asks: list[Ask] = attrs.field(factory=list[Ask])

    async def attempt(self, ask: Ask, tell: Callable[[Delta], None], /) -> Outcome:
        del tell
        self.asks.append(ask)
        return self.outcomes.pop(0)

    async def refresh(self) -> bool:
        return False


@attrs.define
class Ran:
    events: list[LiveEvent]
    model: Answers
    script: Script

    @property
    def end(self) -> str:
        last = self.events[-1]
        assert isinstance(last, Ended)
        return last.terminal

    @property
    def reasons(self) -> list[str]:
        return [e.reason for e in self.events if isinstance(e, Continued)]

    def answers(self, phase: str) -> list[str | None]:
        steps = [e.step for e in self.events if isinstance(e, Decided)]
        return [s.row.event for s in steps if s.row.source == phase]


def run(
    history: History,
    replies: Sequence[Outcome],
    summaries: Sequence[Outcome] = (SAID,),
    edition: str = "hardened",
    limits: Mapping[str, Value] | None = None,
) -> Ran:
    model, script = Answers(list(replies)), Script(summaries)
    context = Context(WINDOW, Shelf())
    compactor = Compactor(context, script, Points(), ("scribe", "other"))
    clock = LoopClock()
    purse = Purse(Budgets(), clock, Ledger(0.0))
    caller = Caller(model, clock, lambda _, __: 1.0, tuple, ("m", "n"), "", purse)
    performers: dict[str, Performer] = {
        **context.performers(),
        **compactor.performers(),
        "call_model.request": caller.request,
        "call_model.backoff": caller.backoff,
        "call_model.refresh": caller.refresh,
        "read_reply": read_reply,
        "stop_hooks": lambda _: "accept",
        "token_budget.count": lambda _: "rest",
        "run_tools": lambda _: "unproductive",
    }
    table = compile_table(QUERY_LOOP, edition, limits)
    loop = Loop(table, performers, LoopClock(), Abort(), facts=context.facts)

    async def all_of() -> list[LiveEvent]:
        return [event async for event in loop.run(history)]

    main: Coroutine[Any, Any, list[LiveEvent]] = all_of()
    return Ran(run_virtual(main), model, script)


DONE = Outcome("answered", answer("It is mended.", id_="z"), "end_turn")
PLAIN: dict[str, Value] = {"context_collapse": False, "microcompact_on": False}
FULL = (*BIG, *turn(70, tokens=170_000))


def test_in_a_run_a_full_history_is_compacted_before_it_is_sent() -> None:
    ran = run(FULL, [DONE], limits=PLAIN)

    assert ran.end == "completed"
    assert ran.answers("autocompact.weigh") == ["gained"]
    assert ran.model.asks[0].messages[0].kind == "summary"
    assert len(ran.script.asks) == 1


def test_in_a_run_a_refused_history_is_folded_then_compacted_then_given_up() -> None:
    refused = [Outcome("prompt_too_long", text="prompt is too long")] * 3
    ran = run(talk(40, "x" * 8_000), refused, edition="published")

    assert ran.reasons == ["collapse_drain_retry", "reactive_compact_retry"]
    assert ran.end == "prompt_too_long"
    sizes = [rough(ask.messages) for ask in ran.model.asks]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_in_a_run_a_refused_history_that_was_mended_is_answered() -> None:
    refused = Outcome("prompt_too_long", text="prompt is too long")
    ran = run(talk(40, "x" * 8_000), [refused, DONE], edition="published")

    assert (ran.reasons, ran.end) == (["collapse_drain_retry"], "completed")
    assert ran.script.asks == []


@pytest.mark.parametrize("outcome", [TOO_LONG, Outcome("prompt_too_long")])
def test_in_a_run_a_summary_that_stays_too_long_ends_as_a_failure(
    outcome: Outcome,
) -> None:
    ran = run(FULL, [DONE], [outcome], limits=PLAIN)

    assert ran.answers("autocompact.summarise") == ["too_long"] * 4
    assert ran.end == "completed"
    sizes = [len(ask.messages) for ask in ran.script.asks]
    assert sizes == sorted(sizes, reverse=True)


def test_in_a_run_every_status_is_cleared() -> None:
    ran = run(FULL, [DONE], [TOO_LONG, SAID], limits=PLAIN)

    words = statuses(ran.events)
    assert words[::2] == ["compacting"] * (len(words) // 2)
    assert words[1::2] == [None] * (len(words) // 2)


def test_a_limit_of_the_table_switches_a_stage_off() -> None:
    refused = [Outcome("prompt_too_long", text="prompt is too long")] * 2
    ran = run(talk(40, "x" * 8_000), refused, limits={"context_collapse": False})

    assert ran.reasons == ["reactive_compact_retry"]
    assert ran.answers("shape.collapse") == ["kept", "kept"]
