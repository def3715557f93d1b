"""The performers of one model request: ask, wait, renew; and what was answered.

Each says what came of it. How often is asked, and which model, the table says: the
raised output limit, the other model and the count of attempts are its memory.
"""

from collections.abc import Callable, Sequence

import attrs

from unspiral.engine.live.events import Said, Tombstone, Waiting, Warned
from unspiral.engine.live.identity import Ids
from unspiral.engine.live.message import (
    History,
    calls_of,
    text_of,
    without_thinking,
)
from unspiral.engine.live.ports import (
    Ask,
    Clock,
    Delta,
    Model,
    Outcome,
    Piece,
    ToolSpec,
)
from unspiral.engine.live.spending import OVER_BUDGET, Purse
from unspiral.engine.live.state import Here
from unspiral.engine.live.tools.ahead import Ahead
from unspiral.engine.live.waiting import pieces

__all__ = ["Caller", "read_reply"]

_WINDOW = "model_context_window_exceeded"
#: stop reasons of an answer that is not at its end, by the words of the API: it was
#: cut off, or the server has put it down until the rest of it is asked for
_PAUSED = frozenset({"pause_turn", "compaction"})
_UNFINISHED = frozenset({"max_tokens", _WINDOW}) | _PAUSED
#: those of an answer that is
_FINISHED = frozenset({"", "end_turn", "tool_use", "stop_sequence"})
_WINDOW_FULL = "The answer was cut off at the end of the context window."
_CUT_OFF = "The answer was cut off before its end ({})."
_PAUSED_FOR_GOOD = "The server has paused its answer too often ({})."
_LONGEST = 60  # characters of a stop reason that are told


@attrs.define
class Caller:
    """Performs `request`, `backoff` and `refresh`.

    Attributes:
        model: whoever answers.
        clock: time.
        pause: from the retry that is ahead, from 1, and the server's hint in seconds,
            to the seconds to wait.
        tools: what is offered now.
        names: the model, and the one that takes over.
        system: the system prompt.
        purse: what may be spent.
        output_limit: the most output tokens that the user allows, or None.
        ahead: takes calls that are complete before their answer is; None: nobody does.
        asked: requests so far.
    """

    model: Model
    clock: Clock
    pause: Callable[[int, float | None], float]
    tools: Callable[[], Sequence[ToolSpec]]
    names: tuple[str, str]
    system: str
    purse: Purse
    output_limit: int | None = None
    ahead: Ahead | None = None
    asked: int = 0
    _ids: Ids | None = attrs.field(default=None, init=False)
    _of_fallback: set[str] = attrs.field(factory=set[str], init=False)

    async def request(self, here: Here) -> str:
        """Send one attempt, and read its answer to the end."""
        if OVER_BUDGET in here.offered and self.purse.exceeded():
            return OVER_BUDGET
        self.asked += 1
        number, work = self.asked, here.work

        def tell(piece: Piece) -> None:
            if isinstance(piece, Delta):
                work.said = number
                here.tell(Said(piece.kind, piece.text, number))
            elif self.ahead is not None:
                self.ahead.add(piece.call)

        await self._forget()  # an answer before this one was not run
        ask = self._ask(here)
        outcome = await self.model.attempt(ask, tell)
        self.purse.charge(ask, outcome)
        if self._ids is None:
            self._ids = Ids.of(work.base)
        outcome = _window_full(self._ids.own(outcome))
        work.outcome = outcome
        work.answer = outcome.message
        work.withheld = "" if outcome.fact == "answered" else outcome.text
        work.streams = work.streams and outcome.fact != "stream_died"
        work.max_tokens = outcome.room or work.max_tokens
        if outcome.message is None:
            await self._forget()
            if work.said:
                here.tell(Tombstone(number))
                work.said = 0
        elif _on_fallback(here):
            self._of_fallback.add(outcome.message.id)
        return outcome.fact

    async def _forget(self) -> None:
        if self.ahead is not None:
            await self.ahead.forget()

    async def backoff(self, here: Here) -> str:
        """Wait before the next attempt."""
        outcome = here.work.outcome
        hint = None if outcome is None else outcome.wait
        retry = int(str(here.memory.get("call_model.attempts", 1))) or 1
        left, why = self.pause(retry, hint), "" if outcome is None else outcome.text
        for piece in pieces(left):
            here.tell(Waiting(left, why))
            await self.clock.sleep(piece)
            left -= piece
        return "waited"

    async def refresh(self, here: Here) -> str:
        """Renew the credentials."""
        del here
        return "refreshed" if await self.model.refresh() else "refused"

    def _ask(self, here: Here) -> Ask:
        work, limits = here.work, here.limits
        name = "escalated_output" if here.memory.get("override") else "output_cap"
        most = self.output_limit or int(str(limits[name]))
        fallback = _on_fallback(here)
        return Ask(
            model=self.names[fallback],
            messages=self._unsigned(work.view) if fallback else work.view,
            system=self.system,
            tools=tuple(self.tools()),
            max_tokens=min(most, work.max_tokens or most),
            stream=work.streams,
            source=str(limits["query_source"]),
        )

    def _unsigned(self, view: History) -> History:
        """Leave out what another model has thought: its signature is of no use here."""
        return tuple(
            message if message.id in self._of_fallback else without_thinking(message)
            for message in view
        )


def _on_fallback(here: Here) -> bool:
    return here.memory.get("on_fallback") is True


def _window_full(outcome: Outcome) -> Outcome:
    """Return the fact of an answer that has filled the window: the prompt is too long.

    More room for the answer is of no use then. But calls that are whole can be run.
    """
    message = outcome.message
    if message is None or outcome.stop != _WINDOW:
        return outcome
    if calls_of(message) and not outcome.bad_calls:
        return outcome
    return attrs.evolve(outcome, fact="prompt_too_long", text=_WINDOW_FULL)


def read_reply(here: Here) -> str:
    """Look at the blocks of the answer, and at its stop reason only for what is cut."""
    outcome, answer = here.work.outcome, here.work.answer
    if outcome is None or answer is None:
        return "empty"
    stop = outcome.stop or ""
    cut = stop in _UNFINISHED
    if not cut and stop not in _FINISHED:
        here.tell(Warned(_remark(stop, outcome.text)))
    if calls_of(answer) and not (cut and outcome.bad_calls):
        return "tool_use"
    if stop in _PAUSED and "paused" in here.offered:
        here.work.withheld = _PAUSED_FOR_GOOD.format(stop)
        return "paused"
    if cut:
        here.work.withheld = _CUT_OFF.format(stop)
        return "truncated_tool_use" if calls_of(answer) else "truncated"
    return "answer" if text_of(answer).strip() else "empty"


def _remark(stop: str, text: str) -> str:
    """Return in words how an answer ended that did not end as answers do."""
    if stop == "refusal":
        why = text.removeprefix("refusal: ")
        return f"The model refuses to answer{why and f' ({why})'}."
    told = stop[:_LONGEST]
    return f"The answer ended with a stop reason that is not known: {told!r}."
