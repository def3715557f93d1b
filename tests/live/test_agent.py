"""A run as a whole: what is told, what is sent, and that the table alone decides."""

import asyncio
import contextlib
import itertools
import re
from collections.abc import Callable

import attrs
import pytest

from tests.live.histories import answer, call, talk
from tests.live.running import Bench, Script, calls, refused, said, wrong
from unspiral.engine.core.declare import Machine
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.live.agent import Agent, Settings
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Refused,
    Tombstone,
    ToolsRan,
)
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.message import calls_of, text_of
from unspiral.engine.live.ports import (
    Ask,
    Delta,
    HookCall,
    HookPoint,
    HookWord,
    LoopClock,
    Outcome,
    Piece,
)
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.tools.registry import tool
from unspiral.machines.agent_loop import AGENT_LOOP
from unspiral.machines.query_loop import QUERY_LOOP

CUT = Outcome("answered", answer("It is a long st"), "max_tokens")
TOO_LONG = refused("prompt_too_long", "prompt is too long: 210000 tokens > 200000")


def test_tools_run_until_the_model_answers_in_words() -> None:
    ran = Bench(Script([calls("look", "change", id_="a"), said("Mended.")])).run()

    assert wrong(ran) == []
    assert ran.end == "completed"
    assert ran.reasons == ["next_turn"]
    assert [m.kind for m in ran.history] == ["prompt", "answer", "results", "answer"]
    told = [e for e in ran.events if isinstance(e, (Answered, Calling, Called))]
    assert [type(each).__name__ for each in told] == [
        "Answered",
        "Calling",
        "Called",
        "Calling",
        "Called",
        "Answered",
    ]


def test_an_error_that_is_mended_is_not_shown() -> None:
    ran = Bench(Script([refused("overloaded"), said()])).run()

    assert ran.end == "completed"
    assert ran.shown == []
    assert ran.facts("call_model.backoff") == ["waited"]


def test_an_error_that_is_not_mended_is_shown_once() -> None:
    ran = Bench(Script([refused("permanent", "billing")])).run()

    assert wrong(ran) == []
    assert ran.end == "api_error"
    assert ran.shown == ["billing"]


def test_an_answer_that_is_thrown_away_is_withdrawn() -> None:
    script = Script([refused("stream_died"), said()], deltas=[Delta("text", "He")])
    ran = Bench(script).run()

    assert [e.attempt for e in ran.events if isinstance(e, Tombstone)] == [1]
    assert [ask.stream for ask in script.asks] == [True, False]
    assert len([e for e in ran.events if isinstance(e, Answered)]) == 1


def test_a_truncated_answer_is_asked_for_with_more_room_then_resumed() -> None:
    script = Script([CUT, CUT, said("ory.")])
    ran = Bench(script).run()

    assert wrong(ran) == []
    assert ran.reasons == ["max_output_tokens_escalate", "max_output_tokens_recovery"]
    assert [ask.max_tokens for ask in script.asks] == [8_000, 64_000, 8_000]
    assert script.asks[1].messages == script.asks[0].messages
    *_, cut, note = script.asks[2].messages
    assert text_of(cut) == "It is a long st"
    assert note.kind == "note"


def test_ids_that_are_always_the_same_are_made_different() -> None:
    same = calls("look", "change", id_="a")
    twice = Outcome("answered", answer(call("x"), call("x"), id_="a"), "tool_use")
    odd = Outcome("answered", answer(call("a b"), id_=""), "tool_use")
    script = Script([same, same, twice, odd, odd, said(id_="a")])
    ran = Bench(script).run()

    assert wrong(ran) == []
    assert ran.end == "completed"
    ids = [str(c["id"]) for m in ran.history for c in calls_of(m)]
    assert len(ids) == len(set(ids)) == 8
    assert all(re.fullmatch("[A-Za-z0-9_-]+", each) for each in ids)
    answers = [m.id for m in ran.history if m.role == "assistant"]
    assert len(set(answers)) == len(answers) == 6


# -- another table, another behaviour --------------------------------------------------


def swapped(name: str, **change: object) -> Machine:
    """The query loop with one row changed."""
    rows = tuple(
        attrs.evolve(row, **change) if row.name == name else row  # type: ignore[arg-type]
        for row in QUERY_LOOP.transitions
    )
    assert rows != QUERY_LOOP.transitions
    return attrs.evolve(QUERY_LOOP, transitions=rows)


def test_another_target_of_a_row_is_another_end() -> None:
    script = [refused("permanent")]
    assert Bench(Script(script)).run().end == "api_error"

    machine = swapped("told_as_error", target="model_error")
    assert Bench(Script(script), machine).run().end == "model_error"


def test_another_limit_is_another_number_of_turns() -> None:
    script = [calls("look", id_=f"a{n}", path=str(n)) for n in range(9)]
    for turns in (1, 3):
        limits = {"token_budget_on": False, "max_turns": turns}
        ran = Bench(Script([*script, said()]), limits=limits).run()

        assert wrong(ran) == []
        assert ran.end == "max_turns"
        assert len(ran.model.asks) == turns


def test_rows_in_another_order_are_another_order_of_recoveries() -> None:
    rows = list(QUERY_LOOP.transitions)
    names = [row.name for row in rows]
    one, other = names.index("escalate"), names.index("resume")
    rows[one], rows[other] = rows[other], rows[one]
    machine = attrs.evolve(QUERY_LOOP, transitions=tuple(rows))

    ran = Bench(Script([CUT, CUT, CUT, CUT, said()]), machine).run()

    assert ran.reasons == [
        *["max_output_tokens_recovery"] * 3,
        "max_output_tokens_escalate",
    ]


def test_a_row_that_gives_up_at_once_is_heard() -> None:
    rows = tuple(r for r in QUERY_LOOP.transitions if r.name != "escalate")
    machine = attrs.evolve(QUERY_LOOP, transitions=rows)

    ran = Bench(Script([CUT, said()]), machine).run()

    assert ran.reasons == ["max_output_tokens_recovery"]


def test_a_nested_machine_that_waits_less_often_is_heard() -> None:
    limits = {"token_budget_on": False, "max_retries": 1, "fallback_model": False}
    ran = Bench(Script([refused("server_error")]), limits=limits).run()

    assert len(ran.model.asks) == 2
    assert ran.end == "api_error"


# -- stops -----------------------------------------------------------------------------


def hooked(word: HookWord, point: HookPoint = "Stop") -> HookList:
    async def run(call_: HookCall) -> HookWord:
        heard.append(call_)
        return word

    heard: list[HookCall] = []
    return HookList((Hook(run, [point]),))


def test_all_reasons_of_stop_hooks_reach_the_next_request() -> None:
    async def one(call_: HookCall) -> HookWord:
        active.append(call_.facts["stop_hook_active"])
        return HookWord(blocks=("Run the tests.",) if len(active) < 3 else ())

    async def two(call_: HookCall) -> HookWord:
        first = not call_.facts["stop_hook_active"]
        return HookWord(blocks=("Write a note.",) if first else ())

    active: list[object] = []
    hooks = HookList((Hook(one, ["Stop"]), Hook(two, ["Stop"])))
    script = Script([said("a"), said("b"), said("c")])
    ran = Bench(script, hooks=hooks).run()

    assert wrong(ran) == []
    assert ran.reasons == ["stop_hook_blocking"] * 2
    assert active == [False, True, True]
    sent = [text_of(message) for message in script.asks[1].messages]
    assert sent[-2:] == ["Run the tests.", "Write a note."]


def test_a_hook_that_prevents_wins_over_blocks() -> None:
    word = HookWord(prevent="Enough.", blocks=("No.",))
    assert Bench(Script([said()]), hooks=hooked(word)).run().end == (
        "stop_hook_prevented"
    )


def test_stop_hooks_do_not_judge_an_error() -> None:
    heard: list[str] = []

    async def run(call_: HookCall) -> None:
        heard.append(call_.point)

    hooks = HookList((Hook(run, ("Stop", "StopFailure")),))
    ran = Bench(Script([refused("permanent")]), hooks=hooks).run()

    assert ran.end == "api_error"
    assert heard == ["StopFailure"]


def test_a_prompt_that_hooks_refuse_is_neither_kept_nor_sent() -> None:
    store, script = MemoryStore(), Script([said()])
    word = HookWord(blocks=("Not on Sundays.",))
    events: list[LiveEvent] = []
    bench = Bench(script, store=store, hooks=hooked(word, "UserPromptSubmit"))
    bench.run(watch=events.append)

    assert events == [Refused("Not on Sundays.")]
    assert script.asks == []
    assert store.restored().history == ()


@pytest.mark.parametrize(
    ("point", "ends", "asked"),
    [
        ("SessionStart", ["stopped"], 0),
        ("UserPromptSubmit", ["stopped"], 0),
        ("Stop", ["aborted_streaming"], 1),
    ],
)
def test_nobody_waits_for_a_hook_who_wants_to_stop(
    point: HookPoint, ends: list[str], asked: int
) -> None:
    async def hang(call_: HookCall) -> None:
        del call_
        asyncio.get_running_loop().call_later(5, bench.abort.set)
        await asyncio.sleep(50)

    script, store, took = Script([said()], seconds=0.0), MemoryStore(), list[float]()
    bench = Bench(script, machine=AGENT_LOOP, store=store)
    bench = attrs.evolve(bench, hooks=HookList((Hook(hang, [point]),)))

    async def main() -> list[str]:
        start = LoopClock().now()
        events = [each async for each in bench.agent().run("Mend it.")]
        took.append(LoopClock().now() - start)
        told = [each for each in events if isinstance(each, Ended | Refused)]
        return [
            each.terminal if isinstance(each, Ended) else "stopped" * each.stopped
            for each in told
        ]

    assert run_virtual(main()) == ends
    assert took == [5.0]
    assert len(script.asks) == asked
    assert bool(store.restored().history) == (point == "Stop")


@pytest.mark.parametrize("reason", ["user", "interrupt"])
def test_an_abort_while_the_model_answers(reason: str) -> None:
    bench = Bench(Script([said()], deltas=[Delta("text", "He")]))

    def watch(event: LiveEvent) -> None:
        if type(event).__name__ == "Said":
            bench.abort.set(reason)  # type: ignore[arg-type]

    ran = bench.run(watch=watch)

    assert ran.end == "aborted_streaming"
    notes = [m for m in ran.history if m.kind == "note"]
    assert len(notes) == (reason == "user")


def test_an_abort_while_tools_run_settles_every_call() -> None:
    bench = Bench(Script([calls("change", "look", "change", id_="a"), said()]))

    def watch(event: LiveEvent) -> None:
        if isinstance(event, Calling):
            bench.abort.set()

    ran = bench.run(watch=watch)

    assert wrong(ran) == []
    assert ran.end == "aborted_tools"
    (results,) = [e.message for e in ran.events if isinstance(e, ToolsRan)]
    assert len(results.content) == 3


# -- what may be spent, and circles ----------------------------------------------------


def within(script: Script, **budgets: float) -> Bench:
    settings = Settings("claude-sonnet-5-5", budgets=Budgets(**budgets))  # type: ignore[arg-type]
    return Bench(script, AGENT_LOOP, settings=settings)


ROUNDS = [calls("look", id_=f"a{n}", path=str(n)) for n in range(9)]


@pytest.mark.parametrize(
    ("budgets", "end", "asked"),
    [
        ({"model_calls": 3}, "max_model_calls", 3),
        ({"tool_calls": 2}, "max_tool_calls", 2),
        ({"tokens": 40}, "max_tokens_spent", 3),
        ({"micro_dollars": 100}, "max_cost", 2),
        ({"seconds": 3}, "max_time", 3),
    ],
)
def test_nothing_is_sent_when_a_budget_is_spent(
    budgets: dict[str, float], end: str, asked: int
) -> None:
    ran = within(Script([*ROUNDS, said()]), **budgets).run()

    assert wrong(ran) == []
    assert ran.end == end
    assert len(ran.model.asks) == asked


def test_a_side_task_is_sent_within_the_budget_only() -> None:
    ran = within(Script([calls("look", id_="a"), TOO_LONG]), model_calls=2).run()

    assert wrong(ran) == []
    assert ran.end == "max_model_calls"
    assert [ask.source for ask in ran.model.asks] == ["main", "main"]


def test_a_budget_outlives_the_process() -> None:
    store = MemoryStore()
    bench = within(Script([*ROUNDS, said()]), model_calls=3)
    bench.store = store
    bench.run()

    script = Script([said()])
    again = attrs.evolve(within(script, model_calls=3), restored=store.restored())
    ran = again.run("And now?")

    assert ran.end == "max_model_calls"
    assert script.asks == []


def test_a_circle_of_tools_is_broken_once_and_then_ends_the_run() -> None:
    script = Script([calls("look", id_=f"a{n}") for n in range(20)])
    ran = Bench(script, AGENT_LOOP).run()

    assert wrong(ran) == []
    assert ran.end == "stuck_loop"
    sources = [ask.source for ask in script.asks]
    assert sources == [*["main"] * 5, "compact", *["main"] * 5]
    assert ran.facts("break_cycle.summarise") == ["summary"]


def test_a_circle_that_is_left_is_forgotten() -> None:
    same = [calls("look", id_=f"a{n}") for n in range(5)]
    other = [calls("look", id_=f"b{n}", path=str(n)) for n in range(3)]
    more = [calls("look", id_=f"c{n}") for n in range(4)]
    ran = Bench(Script([*same, *other, *more, said()]), AGENT_LOOP).run()

    assert ran.end == "completed"


def test_a_machine_without_an_ear_for_circles_goes_on() -> None:
    script = Script([*[calls("look", id_=f"a{n}") for n in range(30)], said()])

    ran = Bench(script).run()

    assert ran.end == "no_progress"  # each repetition is charged


# -- what is kept ----------------------------------------------------------------------


def test_the_session_holds_the_history_that_was_told() -> None:
    store = MemoryStore()
    ran = Bench(
        Script([calls("look", id_="a"), TOO_LONG, said("b")]), store=store
    ).run()

    kept = store.restored()
    assert ran.end == "completed"
    assert kept.history == ran.history
    assert kept.terminal == "completed"
    assert kept.in_flight == ()


def test_the_prompt_is_kept_before_the_first_request() -> None:
    store = MemoryStore()

    class Watching(Script):
        async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
            assert text_of(store.restored().history[-1]) == "Mend the parser."
            return await super().attempt(ask, tell)

    assert Bench(Watching([said()]), store=store).run().end == "completed"


def test_a_second_prompt_goes_on_with_the_first_history() -> None:
    bench = Bench(Script([said("One."), said("Two.")]))
    first = bench.run("First?")

    agent = first.agent

    async def again() -> list[LiveEvent]:
        return [each async for each in agent.run("Second?")]

    events = run_virtual(again())

    assert [text_of(m) for m in bench.model.asks[1].messages] == [
        "First?",
        "One.",
        "Second?",
    ]
    assert any(isinstance(each, Continued) for each in events) is False


def test_what_another_model_has_thought_is_not_sent_to_the_fallback() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    first = Outcome("answered", answer(thought, call("c", "look"), id_="a"), "tool_use")
    script = Script([first, *[refused("overloaded")] * 3, said()])
    bench = Bench(script, settings=Settings("one", "two"))
    ran = bench.run()

    assert ran.end == "completed"
    assert [ask.model for ask in script.asks] == ["one"] * 4 + ["two"]
    kinds = [b["type"] for m in script.asks[-1].messages for b in m.content]
    assert "thinking" not in kinds
    assert "thinking" in [b["type"] for m in ran.history for b in m.content]


# -- what is known of the time, and of the session -------------------------------------


def test_notes_of_the_session_stand_for_a_summary_and_cost_nothing() -> None:
    old = talk(24, "y" * 40_000, "look")
    script = Script([said()])
    bench = Bench(script, restored=Restored({}, old, old), notes=lambda: "All is read.")
    limits = {**bench.limits, "context_collapse": False}
    ran = attrs.evolve(bench, limits=limits).run()

    assert wrong(ran) == []
    assert {ask.source for ask in script.asks} == {"main"}
    assert "All is read." in text_of(script.asks[0].messages[0])


@pytest.mark.parametrize(("gap", "cleared"), [(3_599.0, False), (3_601.0, True)])
def test_after_an_hour_without_a_word_old_results_are_cleared(
    gap: float, *, cleared: bool
) -> None:
    @tool({"properties": {}}, safe=True)
    async def read() -> str:
        """Read something."""
        return "y" * 600 + str(next(count))

    count = itertools.count()
    store, wall = MemoryStore(), [1_800_000_000.0]
    script = Script([*(calls("read", id_=f"a{n}") for n in range(12)), said()])
    bench = Bench(script, store=store, tools=(read,), wall=lambda: wall[0])
    bench.run()

    wall[0] += gap
    later = Script([said(id_="z")])
    attrs.evolve(bench, model=later, restored=store.restored()).run()

    assert repr(script.asks[-1].messages).count("y" * 600) == 12
    assert repr(later.asks[0].messages).count("y" * 600) == (5 if cleared else 12)


def test_a_result_that_was_put_aside_stays_so_if_the_run_is_taken_away() -> None:
    @tool({"properties": {}}, safe=True)
    async def read() -> str:
        """Read much."""
        return "y" * 60_000

    async def until_sent(agent: Agent) -> None:
        async with contextlib.aclosing(agent.run("Read it.")) as events:
            async for each in events:
                if isinstance(each, Decided) and len(script.asks) == 2:
                    return

    store, script = MemoryStore(), Script([calls("read", id_="a"), said()])
    bench = Bench(script, store=store, tools=(read,))

    async def main() -> None:
        await until_sent(bench.agent())

    run_virtual(main())
    later = Script([said(id_="z")])
    attrs.evolve(bench, model=later, restored=store.restored()).run()

    sent = script.asks[1].messages[-1].content[0]
    assert "y" * 60_000 not in str(sent)
    assert sent in [block for m in later.asks[0].messages for block in m.content]
