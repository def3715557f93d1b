"""What a run carries from one iteration to the next, and what each begins afresh.

The state is replaced whole at each continue; the workspace lives for one iteration. The
counters and flags that decide are in neither: they are the memory of the table.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TypeAlias

import attrs

from unspiral.engine.core.language import Value
from unspiral.engine.live.events import LiveEvent
from unspiral.engine.live.message import History, Message
from unspiral.engine.live.ports import HookWord, Outcome

__all__ = ["Here", "Memory", "Performer", "Round", "State", "Workspace"]


@attrs.frozen
class Round:
    """What the tools of an answer brought.

    Attributes:
        message: one result a call.
        notes: what hooks add for the model.
    """

    message: Message
    notes: tuple[Message, ...] = ()


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
        told: whether the answer was told, as a part of the conversation.
        said: the attempt of which pieces were told while it was streamed, or 0.
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
    told: bool = False
    said: int = 0
    withheld: str = ""
    max_tokens: int | None = None
    streams: bool = True
    word: HookWord = attrs.field(factory=HookWord)
    round: Round | None = None


@attrs.frozen
class Memory(Mapping[str, Value]):
    """The memory of a table by name, as it stands in a snapshot.

    Attributes:
        places: of each name.
        numbers: what a snapshot has at each place.
    """

    places: Mapping[str, int]
    numbers: tuple[Value, ...]

    def __getitem__(self, name: str) -> Value:
        """Return a value."""
        return self.numbers[self.places[name]]

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self.places)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.places)


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
        offered: the events that the phase offers now. A fact that the table has no ear
            for is not stated.
    """

    phase: str
    state: State
    work: Workspace
    memory: Mapping[str, Value]
    limits: Mapping[str, Value]
    tell: Callable[[LiveEvent], None]
    offered: tuple[str, ...] = ()


#: answers a phase with one of its events, at once or when it has waited for something
Performer: TypeAlias = Callable[[Here], str | Awaitable[str]]
