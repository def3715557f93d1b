"""The performers of one model request: ask, wait, renew; and what was answered.

Each says what came of it. How often is asked, and which model, the table says: the
raised output limit, the other model and the count of attempts are its memory.
"""

from collections.abc import Callable, Sequence

import attrs

from unspiral.engine.live.events import Said, Tombstone, Waiting
from unspiral.engine.live.message import calls_of, text_of
from unspiral.engine.live.ports import Ask, Clock, Delta, Model, Outcome, ToolSpec
from unspiral.engine.live.state import Here

__all__ = ["Caller", "read_reply"]

#: stop reasons of an answer that is not at its end, by the words of the API
_UNFINISHED = frozenset(
    {"max_tokens", "model_context_window_exceeded", "pause_turn", "compaction"}
)


@attrs.frozen
class Charge:
    """What an attempt cost.

    Attributes:
        model: that was asked.
        source: who asked.
        outcome: what came of it.
    """

    model: str
    source: str
    outcome: Outcome


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
        charge: is told what each attempt cost.
        output_limit: the most output tokens that the user allows, or None.
    """

    model: Model
    clock: Clock
    pause: Callable[[int, float | None], float]
    tools: Callable[[], Sequence[ToolSpec]]
    names: tuple[str, str]
    system: str
    charge: Callable[[Charge], None]
    output_limit: int | None = None
    asked: int = 0

    async def request(self, here: Here) -> str:
        """Send one attempt, and read its answer to the end."""
        self.asked += 1
        number, said = self.asked, False

        def tell(delta: Delta) -> None:
            nonlocal said
            said = True
            here.tell(Said(delta.kind, delta.text, number))

        ask = self._ask(here)
        outcome = await self.model.attempt(ask, tell)
        self.charge(Charge(ask.model, ask.source, outcome))
        work = here.work
        work.outcome = outcome
        work.answer = outcome.message
        work.withheld = "" if outcome.message else outcome.text
        work.streams = work.streams and outcome.fact != "stream_died"
        work.max_tokens = outcome.room or work.max_tokens
        if said and outcome.message is None:
            here.tell(Tombstone(number))
        return outcome.fact

    async def backoff(self, here: Here) -> str:
        """Wait before the next attempt."""
        outcome = here.work.outcome
        hint = None if outcome is None else outcome.wait
        seconds = self.pause(int(str(here.memory["call_model.attempts"])) or 1, hint)
        here.tell(Waiting(seconds, "" if outcome is None else outcome.text))
        await self.clock.sleep(seconds)
        return "waited"

    async def refresh(self, here: Here) -> str:
        """Renew the credentials."""
        del here
        return "refreshed" if await self.model.refresh() else "refused"

    def _ask(self, here: Here) -> Ask:
        work, limits = here.work, here.limits
        name = "escalated_output" if here.memory["override"] else "output_cap"
        most = work.max_tokens or self.output_limit or int(str(limits[name]))
        return Ask(
            model=self.names[bool(here.memory["on_fallback"])],
            messages=work.view,
            system=self.system,
            tools=tuple(self.tools()),
            max_tokens=most,
            stream=work.streams,
            source=str(limits["query_source"]),
        )


async def read_reply(here: Here) -> str:
    """Look at the blocks of the answer, and at its stop reason only for what is cut."""
    outcome, answer = here.work.outcome, here.work.answer
    if outcome is None or answer is None:
        return "empty"
    cut = outcome.stop in _UNFINISHED
    if calls_of(answer):
        return "truncated_tool_use" if cut and outcome.bad_calls else "tool_use"
    if cut:
        return "truncated"
    return "answer" if text_of(answer).strip() else "empty"
