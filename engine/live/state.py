"""What a run carries from one iteration to the next, and what each begins afresh.

The state is replaced whole at each continue; the workspace lives for one iteration. The
counters and flags that decide are in neither: they are the memory of the table.
"""

from collections.abc import Callable, Mapping

import attrs

from unspiral.engine.core.language import Value
from unspiral.engine.live.events import LiveEvent
from unspiral.engine.live.message import History, Message
from unspiral.engine.live.ports import HookWord, Outcome

__all__ = ["Here", "Round", "State", "Workspace"]


@attrs.frozen
class Round:
    """What the tools of an answer brought.

    Attributes:
        fact: "executed", "unproductive", "hook_stopped" or "aborted".
        message: one result a call.
        notes: what hooks add for the model.
        stop: why the run is to end, or "".
    """

    fact: str
    message: Message
    notes: tuple[Message, ...] = ()
    stop: str = ""


@attrs.frozen
class State:
    """What a continue hands over.

    Attributes:
        history: the conversation; every call has its result.
        iteration: the n-th, from 1.
        looked: output tokens when the token budget was last looked at.
    """

    history: History
    iteration: int = 1
    looked: int = 0


@attrs.define
class Workspace:
    """What one iteration gathers; the next gets a fresh one.

    Attributes:
        base: the history that the iteration stands on: that of the state, or what a
            compaction made of it.
        view: what is sent of it.
        outcome: of the last attempt.
        answer: of the model, if there is one.
        withheld: an error that recovery may still mend.
        max_tokens: fewer than usual, since the server said what fits.
        streams: whether the next attempt streams.
        word: of the stop hooks.
        round: of the tools.
        looked: output tokens at the last look of the token budget.
    """

    base: History
    view: History
    looked: int
    outcome: Outcome | None = None
    answer: Message | None = None
    withheld: str = ""
    max_tokens: int | None = None
    streams: bool = True
    word: HookWord = attrs.field(factory=HookWord)
    round: Round | None = None


@attrs.frozen
class Here:
    """What a performer may look at.

    Attributes:
        phase: that is to be performed.
        state: of the run.
        work: of the iteration; performers write to it.
        memory: of the table, by name.
        limits: of the table, by name.
        tell: takes what whoever watches is to see.
    """

    phase: str
    state: State
    work: Workspace
    memory: Mapping[str, Value]
    limits: Mapping[str, Value]
    tell: Callable[[LiveEvent], None]
