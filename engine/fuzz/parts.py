"""Draws what a random machine has before it has rows: memory, phases, ends.

Knows how big a machine may get and which memory is a budget, and no rows. Not public:
use `machines`.
"""

import abc
from collections.abc import Sequence
from typing import Literal as OneOf
from typing import TypeAlias

import attrs
from hypothesis import strategies as st

from unspiral.engine.core.declare import (
    REASONS,
    Choice,
    Counter,
    Event,
    Flag,
    Limit,
    Machine,
    Memory,
    Phase,
)
from unspiral.engine.fuzz.texts import conditions

__all__ = ["Kind", "Options", "Parts"]

Kind: TypeAlias = OneOf["open", "bounded", "spiral"]
_PREFIXES = ("", "inner_", "innermost_")


@attrs.frozen
class Options:
    """What is drawn and how big; see `machines`. `depth` counts levels of nesting."""

    max_phases: int
    max_memory: int
    depth: int
    costs: bool
    progress: bool
    unlimited: bool


class Parts(abc.ABC):
    """One machine being written; `shared` is the memory that the outer one lends."""

    def __init__(  # noqa: PLR0913, PLR0917 - one level of the recursion
        self,
        draw: st.DrawFn,
        options: Options,
        kind: Kind,
        limits: Sequence[Limit],
        shared: Sequence[Memory] = (),
        level: int = 0,
    ) -> None:
        self.draw = draw
        self.options = options
        self.kind = kind
        self.limits = tuple(limits)
        self.level = level
        self.prefix = _PREFIXES[level]
        self.budgets = self.some_budgets()
        self.turn = self.a_turn()
        self.free = self.some_memory()
        self.shared = tuple(attrs.evolve(each, shared=True) for each in shared)
        self.memory: tuple[Memory, ...] = (
            *self.shared,
            *self.budgets,
            *self.turn,
            *self.free,
        )
        self.phases = self.some_phases()
        self.ends = self.some_ends()
        self.flaw = self.where_it_shows()

    def number(self, low: int, high: int) -> int:
        """Draw a whole number; shrinks to the least."""
        return self.draw(st.integers(low, high))

    def one_in(self, many: int) -> bool:
        """Decide; shrinks to no."""
        return self.number(0, many - 1) == many - 1

    def pick(self, names: Sequence[str]) -> str:
        """Draw one of some names; shrinks to the first."""
        return self.draw(st.sampled_from(names))

    def room(self) -> int:
        """Return how much memory of its own the machine may have."""
        return self.options.max_memory if self.level == 0 else 1

    def some_budgets(self) -> tuple[Memory, ...]:
        """Draw the memory that recoveries spend, the earlier one first."""
        if self.kind == "open":
            return ()
        count = self.number(1, 2) if self.room() > 1 else self.room()
        return tuple(
            Flag(f"{self.prefix}spent_{i}")
            if self.one_in(3)
            else Counter(f"{self.prefix}budget_{i}", self.pick(("1", "2", "cap")))
            for i in range(count)
        )

    def a_turn(self) -> tuple[Memory, ...]:
        """Draw whether turns are counted: only progress raises this memory."""
        left = self.room() - len(self.budgets)
        wanted = self.options.progress and self.level == 0 and left > 0
        if wanted and (self.options.unlimited or self.one_in(3)):
            return (Counter("turn", "max_turns", unit="turns"),)
        return ()

    def some_memory(self) -> tuple[Memory, ...]:
        """Draw memory without a role, in the room that is left."""
        left = self.room() - len(self.budgets) - len(self.turn)
        return tuple(self.one_memory(i) for i in range(self.number(0, max(0, left))))

    def one_memory(self, index: int) -> Memory:
        """Draw one memory of any of the four kinds."""
        kind = self.number(0, 3)
        if kind == 0:
            return Flag(f"{self.prefix}flag_{index}", initial=self.one_in(2))
        if kind == 1:
            high = self.pick(("1", "2", "cap"))
            return Counter(f"{self.prefix}count_{index}", high)
        if kind == 2 or index:  # noqa: PLR2004 - one memory of the last reason is enough
            values = ("red", "green", "blue")[: self.number(2, 3)]
            return Choice(f"{self.prefix}colour_{index}", values)
        return Choice(f"{self.prefix}last", REASONS)

    def some_phases(self) -> tuple[Phase, ...]:
        """Draw the phases, those run by another machine with it."""
        most = self.options.max_phases if self.level == 0 else 2
        phases: list[Phase] = []
        for index in range(self.number(1, most)):
            phases.append(self.one_phase(index, phases))
        return tuple(phases)

    def one_phase(self, index: int, before: Sequence[Phase]) -> Phase:
        """Draw a phase that acts, decides or is run by another machine."""
        name = f"{self.prefix}phase_{index}"
        form = self.number(0, 6)
        inside = [phase.runs for phase in before if phase.runs is not None]
        deeper = self.level < self.options.depth and len(inside) < 2  # noqa: PLR2004 - as many
        if form >= 5 and deeper:  # noqa: PLR2004 - forms are only numbered
            again = bool(inside) and self.one_in(3)
            return Phase(name, runs=inside[0] if again else self.inner())
        if form >= 3 and index:  # noqa: PLR2004 - the first phase never decides
            return Phase(name)
        count = self.number(1, 3)
        # Neither the spine nor the last event, where the kind shows, is ever closed.
        events = [
            Event(
                f"{self.prefix}event_{i}",
                self.availability() if 0 < i < count - 1 else "",
            )
            for i in range(count)
        ]
        costly = self.options.costs and (index == 0 or self.one_in(2))
        return Phase(name, events, cost={"model_calls": 1} if costly else {})

    def availability(self) -> str:
        """Draw when an event can be answered; mostly always."""
        return self.condition() if self.one_in(4) else ""

    def inner(self) -> Machine:
        """Draw a machine that is no worse than this one and shares some memory."""
        kinds: tuple[Kind, ...] = ("open", "bounded", "spiral")
        at_most = kinds[: kinds.index(self.kind) + 1]
        lent = [
            each
            for each in (*self.shared, *self.budgets, *self.free)
            # Reasons differ from machine to machine, so this memory is never shared.
            if not (isinstance(each, Choice) and each.values == REASONS)
            and self.one_in(2)
        ]
        kind = self.draw(st.sampled_from(at_most))
        return self.write_inner(kind, lent)

    @abc.abstractmethod
    def write_inner(self, kind: Kind, shared: Sequence[Memory]) -> Machine:
        """Write a machine that runs a phase of this one."""

    def some_ends(self) -> tuple[str, ...]:
        """Draw the names of the terminals."""
        return tuple(f"{self.prefix}end_{i}" for i in range(self.number(1, 3)))

    def where_it_shows(self) -> int:
        """Draw the phase in which the kind of the machine shows, by its last event.

        Mostly one with an event beside the spine: there nothing can hide it.
        """
        phases = range(len(self.phases))
        open_ones = [i for i in phases if len(self.phases[i].events) > 1]
        if open_ones and not self.one_in(4):
            return self.draw(st.sampled_from(open_ones))
        return self.draw(st.sampled_from(phases))

    def condition(self) -> str:
        """Draw a guard, or "" where there is nothing to ask."""
        limits = [limit for limit in self.limits if self.one_in(3)]
        guards = conditions(self.memory, limits)
        return "" if guards.is_empty else self.draw(guards)

    def is_budget(self, memory: Memory) -> bool:
        """Tell whether recoveries spend a memory, here or in an outer machine."""
        return any(word in memory.name for word in ("budget_", "spent_"))
