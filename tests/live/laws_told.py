"""Laws of SPEC I on what is sent, kept and told, each of one run. See `laws`."""

import itertools
from collections import Counter
from collections.abc import Iterator

from tests.live.histories import pairs
from tests.live.running import malformed
from tests.live.watched import (
    Asked,
    Began,
    Came,
    Heard,
    Hearing,
    Record,
    Ruled,
    Told,
    Watched,
    event_of,
)
from unspiral.engine.core.step import available_events
from unspiral.engine.live import message as talk
from unspiral.engine.live.events import (
    Answered,
    Calling,
    Continued,
    Decided,
    Ended,
    Shown,
    Tombstone,
    ToolsRan,
)
from unspiral.engine.live.message import History, Message, calls_of, text_of
from unspiral.engine.live.restoring import restore
from unspiral.engine.live.untyped import fields_of

_USER_STOPPED = "The user stopped the run here."


def histories_of(run: Watched) -> list[History]:
    """Every history that was told."""
    went_on = [each.history for each in run.all(Continued)]
    return [*went_on, *(each.history for each in run.all(Ended))]


def last_came(records: list[Record]) -> Came | None:
    """What came last of a request for the conversation."""
    came = [e for e in records if isinstance(e, Came) and e.ask.source == "main"]
    return came[-1] if came else None


# -- protocol and pairing --------------------------------------------------------------


def law_01(run: Watched) -> Iterator[str]:
    """In each request every call has one result, next to it; no result has no call."""
    for number, each in enumerate(run.all(Asked)):
        for found in malformed(each.ask):
            if "begin" not in found:
                yield f"request {number}: {found}"


def law_02(run: Watched) -> Iterator[str]:
    """In every history that is told each call has one result, however it ended."""
    for number, history in enumerate(histories_of(run)):
        yield from (f"history {number}: {found}" for found in pairs(history))


def law_03(run: Watched) -> Iterator[str]:
    """What was withdrawn is in no later request and no later history."""
    for each in run.records:
        tomb = event_of(each, Tombstone)
        came = None if tomb is None else _attempt(run, tomb.attempt)
        message = None if came is None else came.outcome.message
        if message is None:
            continue
        for later in run.after(each):
            if any(one.id == message.id for one in _messages(later)):
                yield f"{message.id} was withdrawn, and comes again"


def law_04(run: Watched) -> Iterator[str]:
    """What an attempt said that was given up never comes in a later request."""
    kept = {e.id for e in run.before if e.role == "assistant"}
    for each in run.records:
        if isinstance(each, Told) and isinstance(each.event, Answered):
            kept.add(each.event.message.id)
        for message in _messages(each) if isinstance(each, Asked) else ():
            if message.role == "assistant" and message.id not in kept:
                yield f"{message.id} is sent, and was never told"


def law_05(run: Watched) -> Iterator[str]:
    """Results come in the order of the calls."""
    answer: Message | None = None
    for each in run.records:
        answered, ran = event_of(each, Answered), event_of(each, ToolsRan)
        answer = answer if answered is None else answered.message
        if ran is not None:
            found = [block.get("tool_use_id") for block in ran.message.content]
            calls = () if answer is None else calls_of(answer)
            ids = [call["id"] for call in calls]
            if found != ids:
                yield f"results {found} for {ids}"


def law_06(run: Watched) -> Iterator[str]:
    """Each request begins with the user, and roles alternate."""
    for number, each in enumerate(run.all(Asked)):
        roles = [message["role"] for message in talk.wire(each.ask.messages)]
        if roles[:1] != ["user"]:
            yield f"request {number} begins with {roles[:1]}"
        if any(a == b for a, b in itertools.pairwise(roles)):
            yield f"request {number}: {roles}"


def law_07(run: Watched) -> Iterator[str]:
    """No call runs twice; tools run as often as answers that are kept ask for them."""
    ids = Counter(each.id for each in run.all(Calling))
    yield from (f"{id_} began {n} times" for id_, n in ids.items() if n > 1)
    # It is kept before its calls run, but a consumer may leave before it is told.
    kept = {m.id: m for m in restore(run.events()).history} | {
        each.message.id: each.message for each in run.all(Answered)
    }
    asked = Counter(
        (str(call["name"]), _number(call["input"]))
        for message in kept.values()
        for call in calls_of(message)
    )
    early = run.settings.rounds.early  # then safe ones may run for nothing
    began = [each for each in run.all(Began) if not (early and each.safe)]
    ran = Counter((each.name, _number(each.given)) for each in began)
    if not ran <= asked:
        yield f"{ran - asked} ran, of {asked}"


def law_08(run: Watched) -> Iterator[str]:
    """What was told stays as it was; an answer is kept and sent as it came."""
    kept: dict[str, Message] = {}
    came = {
        e.outcome.message.id: e.outcome.message
        for e in run.all(Came)
        if e.outcome.message is not None
    }
    for each in run.records:
        if isinstance(each, Told):
            if repr(each.event) != each.text:
                yield f"{each.text[:80]} has changed since"
            if isinstance(each.event, Answered):
                message = each.event.message
                kept[message.id] = message
                other = came.get(message.id, message)
                if _texts(other) != _texts(message):
                    yield f"{message.id} is not kept as it came"
        if isinstance(each, Asked) and each.ask.source == "main":
            for message in each.ask.messages:
                before = kept.get(message.id, message)
                ways = (before.content, talk.without_thinking(before).content)
                if message.role == "assistant" and message.content not in ways:
                    yield f"{message.id} is not sent as it was told"


def law_09(run: Watched) -> Iterator[str]:
    """An error is never sent as what the model said."""
    errors = {e.text for e in run.all(Shown)} | {
        e.outcome.text for e in run.all(Came) if e.outcome.message is None
    }
    for number, each in enumerate(run.all(Asked)):
        for message in each.ask.messages:
            said = {str(block.get("text")) for block in message.content}
            if message.role == "assistant" and said & (errors - {""}):
                yield f"request {number} has {said & errors}"


# -- termination -----------------------------------------------------------------------


def law_13(run: Watched) -> Iterator[str]:
    """Without a limit of turns no run ends by one."""
    unlimited = not isinstance(run.table.limits["max_turns"], int)
    if unlimited and run.end is not None and run.end.terminal == "max_turns":
        yield "it ended by max_turns"


def law_14(run: Watched) -> Iterator[str]:
    """After an abort nothing is asked, and what can hear of it does.

    A request that was about to leave in that very moment may, but is given up.
    """
    if run.stopped is None:
        return
    after = run.after(run.stopped)
    asked = [each for each in after if isinstance(each, Asked)]
    came = {id(each.ask) for each in after if isinstance(each, Came)}
    for number, each in enumerate(asked):
        if number or each.at > run.stopped.at or id(each.ask) in came:
            yield "a request was sent after the abort"
    told = [e.event for e in after if isinstance(e, Told)]
    decided = [each for each in told if isinstance(each, Decided)]
    for one in decided[1:]:  # the first may have been over already
        step = one.step
        if step.event != "aborted" and "aborted" in available_events(
            run.table, step.before
        ):
            yield f"{step.before.phase} came to {step.event} after the abort"


def law_15(run: Watched) -> Iterator[str]:
    """An interrupt is not noted in the history; any other abort is, once."""
    if run.end is None:
        return
    new = run.end.history[-1:]
    noted = sum(_USER_STOPPED in str(m.content) for m in new)
    by_user = run.stopped is not None and run.stopped.how == "user"
    if noted != int(by_user and run.kind == "abort"):
        yield f"noted {noted} times, after {run.stopped}, in {run.end.terminal}"


def law_16(run: Watched) -> Iterator[str]:
    """At the blocking limit nothing is asked in that iteration, and it is reached."""
    if run.end is None or run.end.terminal != "blocking_limit":
        return
    last = run.iterations[-1]
    if any(isinstance(e, Asked) and e.ask.source == "main" for e in last):
        yield "a request was sent"
    tokens = int(run.decided[-1].facts["tokens"])
    if tokens < run.settings.window.blocking:
        yield f"{tokens} tokens are fewer than {run.settings.window.blocking}"


# -- withholding and hooks -------------------------------------------------------------


def law_33(run: Watched) -> Iterator[str]:
    """An error is not shown before the run is decided: only its end follows."""
    told = [e.event for e in run.records if isinstance(e, Told)]
    for one, two in itertools.pairwise(told):
        if isinstance(one, Shown) and not isinstance(two, Ended):
            yield f"{one.text!r} is shown before {type(two).__name__}"


def law_34(run: Watched) -> Iterator[str]:
    """An error that no recovery mended is shown once; one that was mended, never."""
    shown = [each.text for each in run.all(Shown)]
    if len(shown) > 1:
        yield f"{len(shown)} errors are shown"
    if run.end is None:
        return
    came = last_came(run.iterations[-1])
    failed = came is not None and came.outcome.message is None
    if failed and came is not None and came.outcome.text not in {"", *shown}:
        yield f"{came.outcome.text!r} is not shown"
    if run.end.terminal == "completed" and came is not None:
        whole = came.outcome.stop in {"end_turn", "tool_use", "stop_sequence"}
        if shown and whole:
            yield f"{shown} is shown, although it was mended"


def law_35(run: Watched) -> Iterator[str]:
    """Stop hooks hear of no error; StopFailure does, once."""
    for records in run.iterations:
        came = last_came(records)
        for each in records:
            stops = isinstance(each, Hearing) and each.call.point == "Stop"
            if stops and (came is None or came.outcome.message is None):
                yield "Stop hooks hear of an error"
    if run.end is None:
        return
    failures = [e for e in run.all(Heard) if e.call.point == "StopFailure"]
    if len(failures) != len(run.all(Shown)):
        yield f"StopFailure is heard {len(failures)} times"


def law_36(run: Watched) -> Iterator[str]:
    """After an abort no Stop hook is asked, if the table has an ear for it there."""
    after = () if run.stopped is None else run.after(run.stopped)
    heard = "aborted" in run.table.events["stop_hooks"]
    for each in after:
        event = each.event if isinstance(each, Told) else None
        heard = heard or (isinstance(event, Decided) and event.step.event == "aborted")
        if isinstance(each, Hearing) and each.call.point == "Stop" and heard:
            yield "a Stop hook is asked after the abort"


def law_38(run: Watched) -> Iterator[str]:
    """A hook that crashes, hangs or talks nonsense keeps no run from ending."""
    for word, step in _stops(run):
        quiet = not (word.word.prevent or word.word.blocks or word.word.context)
        if quiet and step.step.event not in {"accept", "crash"}:
            yield f"{word.word} came to {step.step.event}"


def law_39(run: Watched) -> Iterator[str]:
    """Prevent wins over any number of blocks."""
    for word, step in _stops(run):
        if word.word.prevent and step.step.event != "prevent":
            yield f"{word.word} came to {step.step.event}"


def law_40(run: Watched) -> Iterator[str]:
    """A block is heeded, and every reason of it is in the next history, once."""
    for heard, step in _stops(run):
        blocks = heard.word.blocks and not heard.word.prevent
        if blocks and step.step.event not in {"block", "aborted"}:
            yield f"{heard.word.blocks} came to {step.step.event}"
    word: Heard | None = None
    for each in run.records:
        if isinstance(each, Heard) and each.call.point == "Stop":
            word = each
        if not isinstance(each, Told) or not isinstance(each.event, Continued):
            continue
        if each.event.reason == "stop_hook_blocking" and word is not None:
            said = (*word.word.blocks, *word.word.context)
            notes = list(map(text_of, each.event.history[-len(said) :] if said else ()))
            if notes != list(said):
                yield f"{said} are told as {notes}"


def law_41(run: Watched) -> Iterator[str]:
    """Stops that are blocked in a row, without tools, are no more than the cap."""
    cap = run.table.limits["stop_block_cap"]
    blocked = 0
    for each in run.all(Continued):
        blocked = blocked + 1 if each.reason == "stop_hook_blocking" else blocked
        blocked = 0 if each.reason == "next_turn" else blocked
        if isinstance(cap, int) and blocked > cap:
            yield f"{blocked} stops are blocked, of {cap}"


def law_43(run: Watched) -> Iterator[str]:
    """What a hook or a rule forbids never runs, whatever others allow."""
    for each in run.all(Began):
        if each.name in run.denied:
            yield f"{each.name} ran, which the rules deny"
    forbidden: Counter[tuple[str, object]] = Counter()
    heard: Counter[tuple[str, object]] = Counter()
    for word in run.all(Heard):
        if word.call.point == "PreToolUse":
            facts = word.call.facts
            key = str(facts["tool_name"]), _number(facts["tool_input"])
            heard[key] += 1
            forbidden[key] += word.word.ruling == "deny" or bool(word.word.blocks)
    ran = Counter((each.name, _number(each.given)) for each in run.all(Began))
    for key, times in ran.items():
        if times > heard[key] - forbidden[key]:
            yield f"{key} ran {times} times; {heard[key]} asked, {forbidden[key]} no"
    allowed = Counter((e.name, _number(e.given)) for e in run.all(Ruled) if e.allowed)
    if not ran <= allowed:
        yield f"{ran - allowed} ran without leave"


# -- parts of them ---------------------------------------------------------------------


def _number(given: object) -> str:
    return repr(fields_of(given).get("n"))


def _texts(message: Message) -> list[object]:
    """The blocks but for ids, which are replaced where they come again."""
    return [{**block, "id": ""} for block in message.content]


def _attempt(run: Watched, number: int) -> Came | None:
    """What came of the n-th attempt at the conversation."""
    asks = [each.ask for each in run.main]
    ask = asks[number - 1] if number <= len(asks) else None
    found = [each for each in run.all(Came) if each.ask is ask]
    return found[0] if found else None


def _messages(record: Record) -> History:
    if isinstance(record, Asked):
        return record.ask.messages
    if isinstance(record, Told) and isinstance(record.event, Continued | Ended):
        return record.event.history
    return ()


def _stops(run: Watched) -> Iterator[tuple[Heard, Decided]]:
    """What the Stop hooks said, and the step that came of it."""
    word: Heard | None = None
    for each in run.records:
        if isinstance(each, Heard) and each.call.point == "Stop":
            word = each
        decided = each.event if isinstance(each, Told) else None
        if word is None or not isinstance(decided, Decided):
            continue
        if decided.step.before.phase == "stop_hooks":
            yield word, decided
            word = None
