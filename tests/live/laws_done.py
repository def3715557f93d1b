"""Laws of SPEC I on compaction, tools, retries, budgets and the session. See `laws`."""

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
    Over,
    Record,
    Told,
    Watched,
)
from unspiral.engine.errors import UnspiralError
from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Continued,
    Decided,
    Ended,
    Said,
    Tombstone,
    ToolsRan,
    Waiting,
)
from unspiral.engine.live.fuse import REPEATS
from unspiral.engine.live.message import calls_of
from unspiral.engine.live.restoring import restore
from unspiral.engine.live.shaping import CLEARED

_STAGES = (
    "shape.result_budget",
    "shape.snip",
    "shape.microcompact",
    "shape.collapse",
    "autocompact.decide",
)
_CANCELLED = "Cancelled: a parallel call failed"
_AGAIN = (".summarise", ".truncate")  # between two requests for one summary
_GAP = 30.0  # seconds between two signs of life


def _decided(record: Record) -> Decided | None:
    if isinstance(record, Told) and isinstance(record.event, Decided):
        return record.event
    return None


# -- compaction ------------------------------------------------------------------------


def law_49(run: Watched) -> Iterator[str]:
    """A summary is the first message of what is sent, and nothing is before it."""
    for number, each in enumerate(run.main):
        kinds = [message.kind for message in each.ask.messages]
        if "summary" in kinds[1:]:
            yield f"request {number}: {kinds}"


def law_50(run: Watched) -> Iterator[str]:
    """Compaction splits no pair, in what is summarised and in what is kept."""
    for each in run.all(Asked):
        if each.ask.source == "compact":
            yield from (f"the request: {found}" for found in malformed(each.ask))
    for went_on in run.all(Continued):
        if any(m.kind == "summary" for m in went_on.history):
            yield from (f"what is kept: {found}" for found in pairs(went_on.history))


def law_51(run: Watched) -> Iterator[str]:
    """A request for a summary that was too long is made shorter, thrice at most."""
    for records in run.iterations:
        sent: list[Counter[str]] = []
        for each in records:
            decided = _decided(each)
            if decided and not decided.step.before.phase.endswith(_AGAIN):
                sent = []  # what comes now is another compaction
            if isinstance(each, Asked) and each.ask.source == "compact":
                sent.append(Counter(repr(m.content) for m in each.ask.messages))
        if len(sent) > 4:
            yield f"{len(sent)} requests"
        for one, two in itertools.pairwise(sent):
            if not one - two or (two - one).total() > 1:  # a note that says so
                yield "nothing is left out of a request that was too long"


def law_53(run: Watched) -> Iterator[str]:
    """The stages of shaping come in their order, once each in an iteration."""
    for records in run.iterations:
        decided = [each for each in map(_decided, records) if each]
        phases = [e.step.before.phase for e in decided]
        stages = [p for p in phases if p in _STAGES]
        if stages != list(_STAGES[: len(stages)]) and stages != list(
            _STAGES[len(_STAGES) - len(stages) :]
        ):
            yield f"{stages}"


def law_54(run: Watched) -> Iterator[str]:
    """Folding leaves the history as it is."""
    before = None
    for records in run.iterations:
        events = {
            each.step.before.phase: each.step.event
            for each in map(_decided, records)
            if each
        }
        changed = {"replaced", "snipped", "cleared"} & set(events.values()) or any(
            phase.endswith((".weigh", ".strip", "session_memory", "compact_reactively"))
            for phase in events
        )
        last = records[-1] if records else None
        if isinstance(last, Told) and isinstance(last.event, Continued | Ended):
            after = last.event.history
            if before is not None and not changed and after[: len(before)] != before:
                yield "the history is another one"
            before = after


def law_56(run: Watched) -> Iterator[str]:
    """A result that was sent once is the same in all later requests, or is cleared."""
    sent: dict[str, object] = {}
    for number, each in enumerate(run.main):
        for message in each.ask.messages:
            for block in message.content:
                if block.get("type") != "tool_result":
                    continue
                id_, content = str(block["tool_use_id"]), block["content"]
                if content not in (sent.get(id_, content), CLEARED):
                    yield f"request {number}: the result of {id_} is another one"
                sent[id_] = content


def law_57(run: Watched) -> Iterator[str]:
    """Where a hook forbids to compact no summary is asked for."""
    vetoed = False
    for each in run.records:
        if isinstance(each, Heard) and each.call.point == "PreCompact":
            vetoed = bool(each.word.prevent or each.word.blocks)
        if isinstance(each, Asked) and each.ask.source == "compact" and vetoed:
            yield "a summary is asked for"


# -- tools -----------------------------------------------------------------------------


def law_59(run: Watched) -> Iterator[str]:
    """Beside an unsafe call nothing runs, and no more run at once than the cap."""
    inside: dict[object, Began] = {}
    for each in run.records:
        if isinstance(each, Over):
            inside.pop(each.who, None)
        if isinstance(each, Began):
            inside[each.who] = each
            names = [one.name for one in inside.values()]
            if len(inside) > run.settings.rounds.cap:
                yield f"{names} run at once"
            if len(inside) > 1 and not all(one.safe for one in inside.values()):
                yield f"{names} run beside an unsafe one"


def law_60(run: Watched) -> Iterator[str]:
    """A call begins once at most, then has one result, and none after that."""
    begun: set[str] = set()
    over: set[str] = set()
    for each in run.records:
        event = each.event if isinstance(each, Told) else None
        if isinstance(event, Calling):
            if event.id in begun | over:
                yield f"{event.id} begins again"
            begun.add(event.id)
        if isinstance(event, Called):
            if event.id in over:
                yield f"{event.id} has two results"
            over.add(event.id)
        if isinstance(event, ToolsRan):
            ids = {str(block["tool_use_id"]) for block in event.message.content}
            if ids - over:
                yield f"{ids - over} have results that were not told"


def law_61(run: Watched) -> Iterator[str]:
    """Only the failure of a shell cancels siblings, and never the run."""
    failed: set[str] = set()
    for each in run.records:
        event = each.event if isinstance(each, Told) else None
        if isinstance(event, Answered):
            failed = set()
        if isinstance(event, Called):
            if event.text.startswith(_CANCELLED):
                if not failed & run.shells:
                    yield f"{event.id} is cancelled, though no shell has failed"
            elif event.error:
                failed.add(event.name)


def law_62(run: Watched) -> Iterator[str]:
    """A call that cannot be run has an error as its result, and is not run."""
    known = {spec.name for each in run.main for spec in each.ask.tools}
    for each in run.all(Called):
        if each.name not in known and not each.error:
            yield f"{each.id} of {each.name!r} has a result"
    results = {e.id: e.error for e in run.all(Called)}
    for came in run.all(Came):
        for id_ in came.outcome.bad_calls:
            if results.get(id_) is False:
                yield f"{id_} was no call, and has a result"


def law_63(run: Watched) -> Iterator[str]:
    """What is unknown or cannot be read never runs."""
    known = {spec.name for each in run.main for spec in each.ask.tools}
    bad = {id_ for came in run.all(Came) for id_ in came.outcome.bad_calls}
    answered = {c["id"] for e in run.all(Answered) for c in calls_of(e.message)}
    for each in run.all(Calling):
        if each.name not in known or each.id in bad & answered:
            yield f"{each.id} of {each.name!r} ran"


def law_64(run: Watched) -> Iterator[str]:
    """The results between two answers are no longer than allowed together."""
    most = run.settings.results.message
    for number, each in enumerate(run.main):
        total = 0
        for message in each.ask.messages:
            total = 0 if message.role == "assistant" else total
            for block in message.content:
                if block.get("type") == "tool_result":
                    total += len(str(block["content"]))
            if total > most:
                yield f"request {number}: {total} characters"


# -- retries ---------------------------------------------------------------------------


def law_69(run: Watched) -> Iterator[str]:
    """A model that takes over is sent nothing that another one has thought."""
    own: set[str] = set()
    for each in run.records:
        if isinstance(each, Came) and each.ask.model == run.settings.fallback:
            own |= {each.outcome.message.id} if each.outcome.message else set()
        if isinstance(each, Asked) and each.ask.model == run.settings.fallback:
            for message in each.ask.messages:
                thinks = any(b.get("type") == "thinking" for b in message.content)
                if thinks and message.id not in own:
                    yield f"the thoughts of {message.id} are sent"


def law_70(run: Watched) -> Iterator[str]:
    """A wait gives a sign of life at least each 30 s; an abort is heeded at once."""
    since: float | None = None
    slow = 1.0  # what a consumer may take
    for each in run.records:
        if not isinstance(each, Told):
            continue
        if since is not None and each.at - since > _GAP + slow:
            yield f"{each.at - since:g} seconds without a sign"
        since = each.at if isinstance(each.event, Waiting) else None


def law_71(run: Watched) -> Iterator[str]:
    """What was said before an error is withdrawn before it is asked for again."""
    said = 0
    for each in run.records:
        event = each.event if isinstance(each, Told) else None
        if isinstance(event, Said):
            said = event.attempt
        if isinstance(each, Asked) and each.ask.source == "main" and said:
            yield f"attempt {said} was seen, and the model is asked again"
        if isinstance(event, Tombstone | Answered):
            said = 0
        if isinstance(event, Continued) and said:
            yield f"attempt {said} was seen, and is neither kept nor withdrawn"
    if said and run.end is not None and run.kind != "abort":
        yield f"attempt {said} was seen, and is neither kept nor withdrawn"


# -- budgets ---------------------------------------------------------------------------


def law_76(run: Watched) -> Iterator[str]:
    """When nothing is left of a budget no model is asked any more."""
    if run.table.machine.name != "agent_loop":
        return
    budgets, start = run.settings.budgets, None
    calls = tools = tokens = 0
    for each in run.records:
        if isinstance(each, Asked):
            start = each.at if start is None else start
            spent = {
                "model_calls": calls,
                "tool_calls": tools,
                "tokens": tokens,
                "seconds": each.at - start,
            }
            for name, used in spent.items():
                most = getattr(budgets, name)
                if most is not None and used >= most:
                    yield f"a request at {used:g} of {most:g} {name}"
        if isinstance(each, Came):
            calls += 1
            tokens += each.outcome.input_tokens + each.outcome.output_tokens
        if isinstance(each, Told) and isinstance(each.event, ToolsRan):
            tools += len(each.event.message.content)


def law_80(run: Watched) -> Iterator[str]:
    """When no call of a tool is left the run ends before there are more."""
    most = run.settings.budgets.tool_calls
    if most is None or run.table.machine.name != "agent_loop":
        return
    used = 0
    for each in run.records:
        if isinstance(each, Told) and isinstance(each.event, ToolsRan):
            if used >= most:
                yield f"a round of tools at {used} calls of {most}"
            used += len(each.event.message.content)


# -- the session -----------------------------------------------------------------------


def law_77(run: Watched) -> Iterator[str]:
    """What is kept is what was told, at each moment; the prompt before any request."""
    events = run.events()
    for each in run.records:
        if isinstance(each, Told) and isinstance(each.event, Continued | Ended):
            try:
                kept = restore(events[: each.kept]).history
            except UnspiralError as error:
                yield f"it cannot be restored: {error}"
                return
            if kept != each.event.history:
                yield f"another history is kept at event {each.kept}"
    first = next(iter(run.all(Asked)), None)
    if first is not None and run.prompt is not None:
        kept = restore(events[: first.kept]).history
        if not any(run.prompt in str(message.content) for message in kept):
            yield "a request is sent before the prompt is kept"


def law_78(run: Watched) -> Iterator[str]:
    """The first request of a session that is taken up is well formed."""
    if run.before and run.all(Asked):
        yield from malformed(run.all(Asked)[0].ask)


def law_79(run: Watched) -> Iterator[str]:
    """After five rounds that are the same the context is compacted, or the run ends."""
    if run.table.machine.name != "agent_loop":
        return
    rounds: list[str] = []
    answer: tuple[object, ...] = ()
    for each in run.records:
        event = each.event if isinstance(each, Told) else None
        if isinstance(event, Answered):
            answer = tuple(
                (call["name"], repr(call["input"])) for call in calls_of(event.message)
            )
        if isinstance(event, ToolsRan):
            said = tuple(
                (block["content"], block.get("is_error"))
                for block in event.message.content
            )
            rounds.append(repr((answer, said)))
        decided = _decided(each)
        if decided is None or decided.step.before.phase != "run_tools":
            continue
        if str(decided.step.event) in {"cycled", "cycled_again"}:
            rounds = []
        alike = len(rounds) >= REPEATS and len(set(rounds[-REPEATS:])) == 1
        if alike and decided.step.event in {"executed", "unproductive"}:
            yield f"{REPEATS} rounds were the same"
