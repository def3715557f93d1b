"""Compaction: performs `autocompact`, `compact_reactively` and `break_cycle`.

They ask for a summary, make a new history of it, and say what that has freed, by size.
How often one tries, and what a failure leads to, is the table's business: no performer
sends more than one request. All three have the same phases, and share what performs
them. A table may also have `compact_reactively` as one phase, which is tried once.

A history that is no smaller is not replaced. Whoever watches is told "compacting", and
None when that is over, however it ends.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeAlias

import attrs

from unspiral.engine.core.language import Unlimited, Value
from unspiral.engine.live.context import Context
from unspiral.engine.live.continues import with_answer
from unspiral.engine.live.estimate import Gauge, Size, rough
from unspiral.engine.live.events import Status, Warned
from unspiral.engine.live.message import History, groups, user_text
from unspiral.engine.live.ports import Ask, HookCall, Hooks, Outcome
from unspiral.engine.live.spending import OVER_BUDGET
from unspiral.engine.live.state import Here, Performer
from unspiral.engine.live.summarising import (
    SYSTEM,
    Rounds,
    compacted,
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

__all__ = ["Asker", "Compactor"]

Asker: TypeAlias = Callable[[Ask], Awaitable[Outcome]]

_TAIL = 10_000  # tokens that are kept as they are, at most
_NOTES_TAIL = 40_000  # the same beside notes, which are older than a fresh summary
_COMPACTIONS = ("autocompact", "compact_reactively", "break_cycle")
_ORDERED = _COMPACTIONS[1:]
_IRREDUCIBLE = "irreducible"  # the fact that no summary could be small enough

#: what has come of a compaction, by what it has freed
_ENDS: Mapping[str, str] = MappingProxyType(
    {
        "gained": "compacted",
        "too_little": "compacted_no_gain",
        "nothing": "compacted_no_gain",
        "inflated": "compacted_no_gain",
        "stale_size": "compacted_no_gain",
        "no_media": "failed",
    }
)


@attrs.frozen
class _Attempt:
    """A compaction that is under way.

    Attributes:
        view: what is compacted.
        tail: what of it is kept.
        rounds: what of it is summarised.
        before: its size.
        dropped: whether rounds were dropped from the request.
        gap: tokens that the request had too many; None: nobody said.
        summary: if there is one.
        more: what hooks want to be heeded.
    """

    view: History
    tail: History
    rounds: Rounds
    before: Size
    dropped: bool = False
    gap: int | None = None
    summary: str = ""
    more: tuple[str, ...] = ()


@attrs.define
class Compactor:
    """Performs `autocompact`, `compact_reactively` and `break_cycle`.

    Attributes:
        context: what is compacted.
        ask: sends one request once; budgets are its business.
        hooks: may veto, and are told.
        names: the model that writes summaries, and the one that takes over.
        notes: the running notes of the session, if any are kept; or "".
    """

    context: Context
    ask: Asker
    hooks: Hooks
    names: tuple[str, str]
    notes: Callable[[], str] = str
    _attempt: _Attempt | None = attrs.field(default=None, init=False)

    def performers(self) -> Mapping[str, Performer]:
        """Return the performers by the names of their phases."""
        shared: Mapping[str, Performer] = {
            "summarise": self.summarise,
            "truncate": self.truncate,
            "weigh": self.weigh,
        }
        return {
            **{f"{p}.{name}": shared[name] for p in _COMPACTIONS for name in shared},
            "autocompact.measure": self.measure,
            "autocompact.session_memory": self.session_memory,
            "autocompact.pre_compact": self.pre_compact,
            "compact_reactively": self.compact_reactively,
            "compact_reactively.strip": self.strip,
            "compact_reactively.pre_compact": self.begin,
            "break_cycle.pre_compact": self.begin_with_round,
        }

    # -- before the window is full -----------------------------------------------------

    def measure(self, here: Here) -> str:
        """Measure what would be sent."""
        self._attempt = self._begun(here)
        over = self._attempt.before.tokens >= self.context.window.threshold
        return "over_threshold" if over else "below_threshold"

    async def session_memory(self, here: Here) -> str:
        """Try the notes of the session as the summary. They cost nothing."""
        attempt = self._current(here)
        notes = self.notes().strip()
        tail = tail_of(attempt.view, self._tail(_NOTES_TAIL))
        if not notes or len(tail) == len(attempt.view):
            return "too_large"
        attempt = attrs.evolve(attempt, summary=notes, tail=tail)
        history = self._history(attempt)
        if self._weighed(attempt, history) != "gained":
            return "too_large"
        await self._commit(here, history)
        return "small_enough"

    async def pre_compact(self, here: Here) -> str:
        """Ask the hooks."""
        with _status(here):
            return await self._asked_hooks(here)

    # -- when it is ordered ------------------------------------------------------------

    async def begin(self, here: Here) -> str:
        """Begin, with less than what was refused; ask the hooks."""
        with _status(here):
            return await self._ordered(here)

    async def begin_with_round(self, here: Here) -> str:
        """Make the round that repeats others a part of the history, and begin."""
        work = here.work
        assert work.round is not None  # noqa: S101 - it is a round that repeats others
        work.base = (*with_answer(work), work.round.message, *work.round.notes)
        work.view, work.answer, work.round = work.base, None, None
        return await self.begin(here)

    def strip(self, here: Here) -> str:
        """Put a word in the place of each image and document."""
        with _status(here):
            return self._stripped(here)

    async def compact_reactively(self, here: Here) -> str:
        """Mend a history that was refused in one phase, with one request at most."""
        with _status(here):
            if here.memory.get("reply") == "media_too_large":
                return _ENDS[self._stripped(here)]
            if await self._ordered(here) == "vetoed":
                return "failed"
            event = await self._summarised(here)
            if event == "summary":
                return _ENDS[await self._replaced(here)]
            return event if event in here.offered else "failed"

    # -- the phases of all three -------------------------------------------------------

    async def summarise(self, here: Here) -> str:
        """Ask for the summary, once."""
        with _status(here):
            return await self._summarised(here)

    def truncate(self, here: Here) -> str:
        """Drop the oldest rounds from the request."""
        attempt = self._current(here)
        name = f"{here.phase.rpartition('.')[0]}.dropped"
        dropped = int(str(here.memory.get(name, 0)))
        most = None if dropped + 2 < _number(here.limits["history_groups"]) else 1
        rounds = drop(attempt.rounds, attempt.gap, most)
        gone = len(attempt.rounds) - len(rounds)
        self._attempt = attrs.evolve(attempt, rounds=rounds, dropped=True, gap=None)
        return "dropped_one" if gone == 1 else "dropped_more"

    async def weigh(self, here: Here) -> str:
        """Make the new history of the summary, and say what it frees."""
        with _status(here):
            return await self._replaced(here)

    # -- the parts of them -------------------------------------------------------------

    def _begun(self, here: Here) -> _Attempt:
        context, view = self.context, here.work.view
        context.follow(here.work.base)
        tail = tail_of(view, self._tail(_TAIL))
        rounds = tuple(tuple(each) for each in groups(view))
        return _Attempt(view, tail, rounds, context.size(view))

    async def _ordered(self, here: Here) -> str:
        self._attempt = self._cut(here)
        return await self._asked_hooks(here)

    def _stripped(self, here: Here) -> str:
        before = self.context.size(here.work.base)
        history = without_media(here.work.base)
        if history is here.work.base:
            here.tell(Warned("Media were refused, but there are none to remove."))
            return "no_media"
        self.context.lighten(here.work, history)
        freed = before.tokens - self.context.size(history).tokens
        return "gained" if freed > 0 else "nothing"

    def _cut(self, here: Here) -> _Attempt:
        """Return an attempt at what was refused; a summary of all would be as well."""
        attempt = self._begun(here)
        gap = gap_of(here.work.outcome, 0)
        if gap is None or not droppable(attempt.rounds):
            return attempt
        rounds = drop(attempt.rounds, gap + self.context.window.reserve)
        return attrs.evolve(attempt, rounds=rounds, dropped=True)

    def _current(self, here: Here) -> _Attempt:
        if self._attempt is None:
            self._attempt = self._begun(here)
        return self._attempt

    def _tail(self, most: int) -> int:
        return min(most, self.context.window.target // 8)

    async def _asked_hooks(self, here: Here) -> str:
        attempt = self._current(here)
        facts = {"trigger": _trigger(here), "tokens": attempt.before.tokens}
        word = await self.hooks.call(HookCall("PreCompact", facts))
        for reason in (word.prevent, *word.blocks):
            if reason:
                here.tell(Warned(f"A hook forbids to compact: {reason}"))
        if word.prevent or word.blocks:
            return "vetoed"
        self._attempt = attrs.evolve(attempt, more=word.context)
        return "crashed" if word.crashes else "allowed"

    async def _summarised(self, here: Here) -> str:
        attempt, window = self._current(here), self.context.window
        kept = rough(attempt.tail)
        all_stays = len(attempt.tail) == len(attempt.view)
        if all_stays or window.irreducible(kept) or not speaks(attempt.rounds):
            here.tell(Warned("What cannot be compacted does not fit into the window."))
            # No request is made: it could not help.
            return _IRREDUCIBLE if _IRREDUCIBLE in here.offered else "refused"
        messages = request(attempt.rounds, dropped=attempt.dropped, more=attempt.more)
        outcome = await self.ask(
            Ask(
                self.names[here.memory.get("on_fallback") is True],
                messages,
                system=SYSTEM,
                max_tokens=window.reserve,
                source="compact",
            )
        )
        if outcome.fact == OVER_BUDGET and OVER_BUDGET in here.offered:
            return OVER_BUDGET
        event, summary = summary_in(outcome)
        gap = gap_of(outcome, window.reserve) if event == "too_long" else None
        self._attempt = attrs.evolve(attempt, summary=summary, gap=gap)
        if event == "too_long" and not droppable(attempt.rounds):
            return "refused"  # one round is left, and is too long by itself
        return event

    async def _replaced(self, here: Here) -> str:
        attempt = self._current(here)
        self.context.follow(here.work.base)
        history = self._history(attempt)
        event = self._weighed(attempt, history)
        if event in {"gained", "too_little"}:
            await self._commit(here, history)
        else:
            self.context.sending(here.work.view)
        if event != "gained":
            before, after = attempt.before.tokens, self._after(history).tokens
            told = f"from {before} to {after} tokens"
            here.tell(Warned(f"A compaction has not helped: {told} ({event})."))
        return event

    def _history(self, attempt: _Attempt) -> History:
        number = self.context.gauge.epoch + 1
        return compacted(attempt.summary, attempt.view, attempt.tail, number)

    def _after(self, history: History) -> Size:
        return self.context.size(history)

    def _weighed(self, attempt: _Attempt, history: History) -> str:
        window = self.context.window
        believed = Gauge(window.floor).size(history).tokens
        return weigh(attempt.before, self._after(history), believed, window)

    async def _commit(self, here: Here, history: History) -> None:
        """Replace the history and its size together, then tell the hooks."""
        context = self.context
        context.replace(here.work, history)
        facts = {"trigger": _trigger(here), "tokens": context.size(history).tokens}
        word = await self.hooks.call(HookCall("PostCompact", facts))
        notes = tuple(user_text(text, "note") for text in word.context if text)
        if notes:
            context.lighten(here.work, (*history, *notes))
            context.sending(here.work.view)


def _trigger(here: Here) -> str:
    """Return the word for hooks: whether the window fills, or it was ordered."""
    return "reactive" if here.phase.startswith(_ORDERED) else "auto"


@contextmanager
def _status(here: Here) -> Generator[None]:
    here.tell(Status("compacting"))
    try:
        yield
    finally:
        here.tell(Status(None))


def _number(value: Value) -> float:
    return float("inf") if isinstance(value, Unlimited) else int(str(value))
