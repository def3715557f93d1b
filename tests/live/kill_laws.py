"""What must be true of a story that was killed and gone on with, however often."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.live.kill_story import NAMES, Effects, effects, name_of
from tests.live.killing import Leg, Told
from unspiral.engine.live.message import wire
from unspiral.engine.live.restoring import CUT_SHORT, NOT_BEGUN, restore
from unspiral.engine.live.session_events import CALL, MACHINE, RESULT, STATE, Event

__all__ = ["cut_short", "wrong"]

_LITTER = ".unspiral-new"  # of a file that was about to take its place


def wrong(told: Told) -> list[str]:
    """Return what is wrong with a story; nothing."""
    return [
        *_end(told),
        *_kept(told),
        *_said(told),
        *_sent(told),
        *_counted(told),
        *_stands(told.legs[-1].events),
        *_done(told),
    ]


def cut_short(told: Told) -> frozenset[str]:
    """Return the ids of the calls of which nobody knows what they did."""
    return frozenset(id_ for id_, text in _texts(told.legs[-1]) if text == CUT_SHORT)


def _texts(leg: Leg) -> list[tuple[str, str]]:
    """Return each result of the history of a session, by the id of its call."""
    restored = leg.restored
    return [
        (str(block.get("tool_use_id")), str(block.get("content")))
        for message in (() if restored is None else restored.history)
        for block in message.content
        if block.get("type") == "tool_result"
    ]


def _end(told: Told) -> Iterator[str]:
    last = told.legs[-1]
    if last.restored is None or last.restored.terminal != "completed":
        yield f"it does not end as it would without a kill: {last.restored}"
    ends = [event["event"] for event in last.said[-1:]]
    if not last.killed and (last.code, ends) != (0, ["ended"]):
        yield f"the command ends with {last.code} and {last.said[-1:]}"
    for number, leg in enumerate(told.legs):
        if leg.complaint:
            yield f"process {number} complains: {leg.complaint[-500:]}"


# -- what is kept ----------------------------------------------------------------------


def _kept(told: Told) -> Iterator[str]:
    """Whatever was kept is there for ever, and what a call gave is what is sent."""
    before: tuple[Event, ...] = ()
    for number, leg in enumerate(told.legs):
        if leg.events[: len(before)] != before:
            yield f"process {number} has lost or changed an event"
        before = leg.events
        numbers = [event.n for event in leg.events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"after process {number} the events are {numbers}"
        sent = dict(_texts(leg))
        for id_, text in _results(leg.events):
            if sent.get(id_) != text:
                yield f"process {number}: {id_} gave {text!r}, not {sent.get(id_)!r}"
        ids = [id_ for id_, _ in _texts(leg)]
        if len(ids) != len(set(ids)):
            yield f"after process {number} a call has two results: {ids}"


def _results(events: tuple[Event, ...]) -> list[tuple[str, str]]:
    blocks: list[Any] = [e.value["block"] for e in events if e.kind == RESULT]
    return [(each["tool_use_id"], each["content"]) for each in blocks]


def _said(told: Told) -> Iterator[str]:
    """Nothing is told that is not kept, and each uncertain call is told."""
    warned = ""
    for number, leg in enumerate(told.legs):
        calls = {event.value["id"] for event in leg.events if event.kind == CALL}
        results = {id_ for id_, _ in _results(leg.events)}
        for event in leg.said:
            if event["event"] == "calling" and event["id"] not in calls:
                yield f"process {number} told of {event['id']}, and did not keep it"
            if event["event"] == "called" and event["id"] not in results:
                yield f"process {number} told what {event['id']} gave, not kept"
            if event["event"] == "warned":
                warned += event["text"] + "\n"
        if leg.said and not leg.events:
            yield f"process {number} told something, and kept nothing"
    for id_ in NAMES:
        for each in (id_, f"{id_}_x", f"{id_}_x_x"):
            if (f"The call {each} of" in warned) != (each in cut_short(told)):
                yield f"{each} is uncertain, or else told to be so: {warned!r}"


# -- what is sent ----------------------------------------------------------------------


def _sent(told: Told) -> Iterator[str]:
    """Every request is well formed; the first of a process has all that was kept."""
    before: Leg | None = None
    for number, leg in enumerate(told.legs):
        for each in leg.exchanges:
            if each.asked.broken:
                yield f"process {number}, request {each.asked.n}: {each.asked.broken}"
            if each.answered is not None and each.answered.answer == "refused":
                yield f"process {number}: refused: {each.answered.detail}"
        restored = None if before is None else before.restored
        if leg.exchanges and restored is not None:
            first, length = leg.exchanges[0].asked, len(wire(restored.history))
            if first.messages != (length or 1):
                yield f"process {number} sends {first.messages} messages, not {length}"
        if leg.exchanges and not leg.events:
            yield f"process {number} asked before anything was kept"
        before = leg


# -- what is counted -------------------------------------------------------------------


def _counted(told: Told) -> Iterator[str]:
    """What was spent is never less than before, nor less than what was done."""
    spent: Mapping[str, float] = {}
    for event in told.legs[-1].events:
        ledgers: Any = event.value.get("ledgers", {}) if event.kind == STATE else {}
        now = ledgers.get("spent", spent)
        for name, value in spent.items():
            if now[name] < value:
                yield f"event {event.n}: of {name} {value} were spent, now {now[name]}"
        spent = now
    requests = kills = 0
    for number, leg in enumerate(told.legs):
        requests += len(leg.exchanges)
        kills += leg.killed
        restored = leg.restored
        if restored is None:
            continue
        ledger: Any = restored.ledgers.get("spent", {})
        asked = ledger.get("model_calls", 0)
        if not requests - kills <= asked <= requests:
            yield f"process {number}: {asked} calls counted of {requests}"
        begun = sum(event.kind == CALL for event in leg.events)
        if ledger.get("tool_calls", 0) < begun:
            yield f"process {number}: {ledger} counted, {begun} calls were begun"


def _stands(events: tuple[Event, ...]) -> Iterator[str]:
    """Whoever goes on does so from where the machine stood, with its counters."""
    for number, event in enumerate(events):
        if event.kind == MACHINE:
            stood = restore(events[:number]).machine
            here = {name: event.value[name] for name in ("phase", "memory")}
            if stood is not None and {name: stood[name] for name in here} != here:
                yield f"event {event.n} goes on from {here}, not {stood}"


# -- what is done ----------------------------------------------------------------------


def _done(told: Told) -> Iterator[str]:
    """Each call has its effect once; one that was cut short, once or not at all."""
    found, texts, uncertain = effects(told.folder), _texts(told.legs[-1]), 0
    certain: dict[str, int] = {}
    doubtful: dict[str, int] = {}
    for id_, text in texts:
        name = name_of(id_)
        if text == CUT_SHORT:
            doubtful[name] = doubtful.get(name, 0) + 1
            uncertain += NAMES[name].name != "read"
        elif text != NOT_BEGUN:
            certain[name] = certain.get(name, 0) + 1
    for name, call in NAMES.items():
        least = certain.get(name, 0)
        most = least + doubtful.get(name, 0)
        if call.name == "read":
            continue
        if not least <= found.done.get(name, 0) <= most:
            yield f"{name} was done {found.done.get(name, 0)} times, of {least}..{most}"
        if most != 1:
            yield f"{name} was called {most} times"
    if uncertain > told.kills:
        yield f"{uncertain} calls are uncertain, of {told.kills} kills"
    yield from _strange(found, doubtful)


def _strange(found: Effects, doubtful: Mapping[str, int]) -> Iterator[str]:
    """A file that was about to take its place may be left of a call cut short."""
    litter = [each for each in found.strange if _LITTER in each]
    yield from (each for each in found.strange if each not in litter)
    files = sum(n for name, n in doubtful.items() if NAMES[name].name != "bash")
    if len(litter) > files:
        yield f"{litter} is left, but {files} calls were cut short"
