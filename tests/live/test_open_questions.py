"""Three questions that the sources leave open, put to the loop as it runs.

Do several stop hooks that block at once make one continue or several, and does the flag
that they are told reach all of them? With folding and reactive compaction both on, in
which order do refusals meet them? Does somebody who watches from afar see the same
conversation? (The fourth, on the results of cancelled calls, is in `test_executor`.)
"""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import pytest

from tests.live.histories import answer, talk
from tests.live.running import SUMMARY, Bench, Ran, Script, calls, refused, said, wrong
from unspiral.engine.live.events import (
    Answered,
    Continued,
    Decided,
    LiveEvent,
    Said,
    Shown,
    Tombstone,
    ToolsRan,
)
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.message import Message, text_of
from unspiral.engine.live.ports import Delta, HookCall, HookWord, Outcome
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.session_events import message_to_plain
from unspiral.engine.report.live_objects import event_to_plain

# -- several stop hooks ----------------------------------------------------------------

CAP = 8


def block(_: HookCall) -> HookWord:
    return HookWord(blocks=("Always no.",))


def heed(call: HookCall) -> HookWord:
    return HookWord(blocks=() if call.facts["stop_hook_active"] else ("Once no.",))


def late(call: HookCall) -> HookWord:
    return HookWord(blocks=("Later no.",) if call.facts["stop_hook_active"] else ())


def prevent(_: HookCall) -> HookWord:
    return HookWord(prevent="Enough.")


def crash(_: HookCall) -> HookWord:
    raise ValueError


def allow(_: HookCall) -> HookWord:
    return HookWord()


POLICIES = (block, heed, late, prevent, crash, allow)
Policy = Callable[[HookCall], HookWord]


def judged(policies: Sequence[Policy]) -> tuple[Ran, list[list[object]]]:
    """Run with hooks; return what each evaluation told the hooks of the flag."""
    flags: list[list[object]] = []

    def hook(number: int, policy: Policy) -> Hook:
        async def run(call: HookCall) -> HookWord:
            if number == 0:
                flags.append([])
            flags[-1].append(call.facts["stop_hook_active"])
            return policy(call)

        return Hook(run, ["Stop"])

    hooks = HookList(tuple(hook(n, each) for n, each in enumerate(policies)))
    return Bench(Script([said()]), hooks=hooks).run(), flags


@pytest.mark.parametrize(
    "policies",
    list(itertools.product(POLICIES, repeat=3)),
    ids=lambda each: "-".join(one.__name__ for one in each),
)
def test_one_evaluation_is_one_continue_whatever_three_hooks_say(
    policies: tuple[Policy, ...],
) -> None:
    ran, flags = judged(policies)

    assert wrong(ran) == []
    blocks = ran.reasons.count("stop_hook_blocking")
    assert len(ran.reasons) == blocks
    assert blocks == len(flags) - 1  # each evaluation but the last is one continue
    assert flags[0] == [False] * 3
    assert all(each == [True] * 3 for each in flags[1:])
    if prevent in policies:
        assert (ran.end, blocks) == ("stop_hook_prevented", 0)
    elif block in policies or {heed, late} <= set(policies):
        assert (ran.end, blocks) == ("stop_hook_cap", CAP)
    else:
        assert (ran.end, blocks) == ("completed", int(heed in policies))


def test_every_reason_is_sent_once_in_the_order_of_the_hooks() -> None:
    ran, _ = judged((heed, crash, late))

    sent = [text_of(m) for m in ran.model.asks[1].messages if m.kind == "note"]
    assert sent == ["Once no."]
    sent = [text_of(m) for m in ran.model.asks[2].messages if m.kind == "note"]
    assert sent == ["Once no.", "Later no."]


# -- refusals, folding and compaction --------------------------------------------------

TOO_LONG = refused("prompt_too_long", "prompt is too long: 210000 tokens > 200000")
LETTERS = {"collapse_drain_retry": "D", "reactive_compact_retry": "R"}
WORDS = {"", "D", "R", "DR", "RD", "DRD"}


@pytest.mark.parametrize("refusals", range(6))
@pytest.mark.parametrize("rounds", [0, 2, 16, 60])
@pytest.mark.parametrize("size", [4, 6_000])
def test_refusals_are_met_in_one_of_six_ways(
    refusals: int, rounds: int, size: int
) -> None:
    old = talk(rounds, "y" * size)
    script = Script([*[TOO_LONG] * refusals, said()], summaries=(SUMMARY,))
    bench = attrs.evolve(Bench(script), restored=Restored({}, old, old))
    ran = bench.run("And now?")

    assert wrong(ran) == []
    word = "".join(LETTERS[each] for each in ran.reasons)
    assert word in WORDS
    assert len(word) <= refusals
    assert word.count("R") <= 1
    assert ran.facts("drain").count("committed") == word.count("D")
    if len(word) == refusals:
        assert (ran.end, ran.shown) == ("completed", [])
    else:
        assert ran.end == "prompt_too_long"
        assert ran.shown == [TOO_LONG.text]
    if refusals and rounds == 16 and size > 4:
        assert word[0] == "D"


# -- who watches from afar -------------------------------------------------------------


@attrs.define
class View:
    """What somebody sees of a run: the conversation, and what is being said."""

    shown: list[Any] = attrs.field(factory=list[Any])
    saying: dict[int, str] = attrs.field(factory=dict[int, str])

    def near(self, event: LiveEvent) -> None:
        match event:
            case Said():
                before = self.saying.get(event.attempt, "")
                self.saying[event.attempt] = before + event.text
            case Tombstone():
                self.saying.pop(event.attempt, None)
            case Answered() | ToolsRan():
                self.kept(message_to_plain(event.message))
            case Shown():
                self.shown.append(event.text)
            case _:
                pass

    def far(self, event: Mapping[str, Any]) -> None:
        match event["event"]:
            case "said":
                before = self.saying.get(event["attempt"], "")
                self.saying[event["attempt"]] = before + event["text"]
            case "tombstone":
                self.saying.pop(event["attempt"], None)
            case "answered" | "tools_ran":
                self.kept(event["message"])
            case "shown":
                self.shown.append(event["text"])
            case _:
                pass

    def kept(self, message: Mapping[str, Any]) -> None:
        if message["kind"] == "answer":
            self.saying.clear()
        self.shown.append(json.loads(json.dumps(message)))


CUT = Outcome("answered", answer("It is a long st", id_="z"), "max_tokens")
STORIES: Mapping[str, Sequence[Outcome]] = {
    "plain": [calls("look", "change", id_="a"), said("Done.", "b")],
    "withheld and mended": [TOO_LONG, said("Done.", "b")],
    "withheld and not mended": [refused("permanent", "billing")],
    "withdrawn": [refused("stream_died"), said("Done.", "b")],
    "overloaded": [*[refused("overloaded")] * 3, said("Done.", "b")],
    "cut": [CUT, CUT, said("ory.", "b")],
}


@pytest.mark.parametrize("story", STORIES)
def test_who_watches_from_afar_sees_the_same_after_each_event(story: str) -> None:
    old = talk(16, "y" * 6_000)
    near, far = View(), View()

    def watch(event: LiveEvent) -> None:
        near.near(event)
        far.far(json.loads(json.dumps(event_to_plain(event))))
        assert near == far

    script = Script(STORIES[story], deltas=[Delta("text", "He")])
    bench = attrs.evolve(Bench(script), restored=Restored({}, old, old))
    ran = bench.run(watch=watch)

    assert wrong(ran) == []
    assert far.saying == {}
    assert (TOO_LONG.text in far.shown) is False
    assert far.shown.count("billing") == (story == "withheld and not mended")
    kept = [message_to_plain(m) for m in ran.history[len(old) + 1 :]]
    told = [each for each in far.shown if not isinstance(each, str)]
    notes = [each for each in kept if each["kind"] == "note"]
    assert told == [each for each in kept if each not in notes]


def test_a_status_is_over_when_the_history_has_changed() -> None:
    old = talk(3, "y" * 90_000)
    script = Script([TOO_LONG, TOO_LONG, said("Done.", "b")])
    bench = attrs.evolve(Bench(script), restored=Restored({}, old, old))
    ran = bench.run()

    plain = [event_to_plain(each) for each in ran.events]
    words = [each["word"] for each in plain if each["event"] == "status"]
    assert words[::2] == ["compacting"] * (len(words) // 2)
    assert words[1::2] == [None] * (len(words) // 2)
    assert words
    assert [type(e) for e in ran.events if isinstance(e, Decided | Continued)]


def test_a_message_that_is_told_is_what_the_session_keeps() -> None:
    ran = Bench(Script([calls("look", id_="a"), said("Done.", "b")])).run()

    told = [e.message for e in ran.events if isinstance(e, Answered | ToolsRan)]
    kept: list[Message] = list(ran.history[1:])
    assert told == kept
