"""Writes the rows of one random machine, and the machines inside it.

The discipline of ways back that makes a machine `open`, `bounded` or `spiral` is told
in `machines`; here it is kept. Not public: use `machines`.
"""

from collections.abc import Sequence
from typing import Literal as OneOf
from typing import TypeAlias

import attrs
from hypothesis import strategies as st

from unspiral.engine.core.declare import (
    REASONS,
    Choice,
    Limit,
    Machine,
    Memory,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import OTHERWISE
from unspiral.engine.fuzz.parts import Kind, Options, Parts
from unspiral.engine.fuzz.prune import prune
from unspiral.engine.fuzz.texts import effects, guarded_effects, raising, resetting

__all__ = ["write"]

End: TypeAlias = OneOf["done", "limit", "error", "abort", "hook"]
_ENDS: tuple[End, ...] = ("done", "limit", "error", "abort", "hook")


def write(
    draw: st.DrawFn, options: Options, kind: Kind, limits: Sequence[Limit]
) -> Machine:
    """Draw a machine of a kind."""
    return _Author(draw, options, kind, limits).machine()


@attrs.frozen
class _Place:
    """Where rows are being written: one phase and one of its events."""

    index: int
    phase: str
    event: str
    spine: bool
    last: bool


class _Author(Parts):
    """One machine being written."""

    def write_inner(self, kind: Kind, shared: Sequence[Memory]) -> Machine:
        author = _Author(
            self.draw, self.options, kind, self.limits, shared, self.level + 1
        )
        return author.machine()

    def effects(self, *, progress: bool, skip: str = "") -> list[str]:
        """Draw what a row writes beside what its kind of row must write."""
        found: list[str] = []
        for memory in self.memory:
            if memory in self.turn or memory.name == skip or not self.one_in(3):
                continue
            only_up = self.is_budget(memory) and not progress
            if progress and self.is_budget(memory):
                found.append(resetting(memory))
            else:
                only_up = only_up and self.kind != "spiral"
                found.append(self.pick(effects(memory, only_up=only_up)))
        return found

    # -- rows ----------------------------------------------------------------------

    def row(
        self,
        place: _Place,
        target: str,
        guard: str = "",
        action: Sequence[str] = (),
        *,
        progress: bool = False,
    ) -> Transition:
        texts = list(action)
        reason = ""
        if target == self.phases[0].name:
            reason = f"{self.prefix}again_{self.number(0, 2)}"
            for memory in self.memory:
                if isinstance(memory, Choice) and memory.values == REASONS:
                    texts = [t for t in texts if not t.startswith(memory.name + " =")]
                    texts.append(f"{memory.name} = {reason!r}")
        costly = self.options.costs and self.one_in(6)
        return Transition(
            source=place.phase,
            target=target,
            event=place.event,
            guard=guard,
            action="; ".join(texts),
            reason=reason,
            progress=progress,
            cost={"compactions": 1} if costly else {},
        )

    def next_of(self, place: _Place) -> str:
        after = place.index + 1
        return self.phases[after].name if after < len(self.phases) else self.ends[0]

    def forward(self, place: _Place, guard: str = "") -> Transition:
        later = [phase.name for phase in self.phases[place.index + 1 :]]
        target = self.next_of(place)
        if not place.spine or guard:
            target = self.pick([*later, *self.ends])
        progress = self.options.progress and self.one_in(8)
        action = self.effects(progress=progress)
        return self.row(place, target, guard, action, progress=progress)

    def way_back(self, place: _Place) -> str:
        """Draw an acting phase that is not later; the first is always one."""
        earlier = self.phases[: place.index + 1]
        return self.pick([p.name for p in earlier if p.kind != "deciding"])

    def next_turn(self, place: _Place) -> Transition:
        guard, action = "", self.effects(progress=True)
        if self.turn:
            guard, spend = raising(self.turn[0])
            action.append(spend)
        return self.row(place, self.way_back(place), guard, action, progress=True)

    def recovery(
        self, place: _Place, number: int, renews: Sequence[Memory] = ()
    ) -> Transition:
        """Write a way back that spends a budget; in order, it may renew later ones."""
        budget = self.budgets[number]
        guard, spend = raising(budget)
        renewed = list(renews)
        renewed += [each for each in self.budgets[number + 1 :] if self.one_in(3)]
        resets = [resetting(each) for each in dict.fromkeys(renewed)]
        own = {each.name for each in (budget, *renewed)}
        action = [
            text
            for text in self.effects(progress=False, skip=budget.name)
            if text.split()[0] not in own
        ]
        target = self.phases[0].name if renews else self.way_back(place)
        return self.row(place, target, guard, [spend, *resets, *action])

    def guarded(self, place: _Place) -> Transition | None:
        """Draw an alternative that may be refused, or None if nothing can be asked."""
        form = self.number(0, 3)
        if form == 1 and self.budgets:
            return self.recovery(place, self.number(0, len(self.budgets) - 1))
        if form == 2 and self.turn:  # noqa: PLR2004 - forms are only numbered
            return self.next_turn(place)
        if form == 3 and self.free:  # noqa: PLR2004 - same
            pairs = guarded_effects(self.free[0])
            if pairs:
                guard, effect = self.draw(st.sampled_from(pairs))
                row = self.forward(place, guard)
                return attrs.evolve(row, action=effect)
        guard = self.condition()
        return self.forward(place, guard) if guard else None

    def last(self, place: _Place) -> Transition:
        """Write the alternative that takes what is left."""
        back = self.options.progress and not self.turn and not place.spine
        if back and self.number(0, 1):
            return self.next_turn(place)
        return self.forward(place)

    # -- groups of alternatives ----------------------------------------------------

    def flawed(self, place: _Place) -> list[Transition]:
        """Break the discipline; the first phase costs, so the loop costs."""
        head = self.phases[0].name
        form = self.number(0, 2) if len(self.budgets) > 1 else 0
        if form == 0 or place.spine:
            guard = self.condition() if place.spine else ""
            return [self.row(place, head, guard, self.effects(progress=False))]
        first, second = list(self.budgets[:2])
        if form == 1:
            return [
                self.recovery(place, 0, renews=[second]),
                self.recovery(place, 1, renews=[first]),
            ]
        renewing = self.row(place, head, raising(second)[0], [resetting(first)])
        return [self.recovery(place, 0), renewing]

    def alternatives(self, place: _Place) -> list[Transition]:
        rows: list[Transition] = []
        here = place.index == self.flaw and place.last
        if here and self.kind == "spiral":
            rows = self.flawed(place)
            if len(rows) == 1 and not rows[0].guard:
                return rows
        elif here and self.kind == "bounded" and self.budgets:
            rows = [self.recovery(place, self.number(0, len(self.budgets) - 1))]
        # The spine to the flaw stays plain, so that the flaw is nearly always reached.
        plain = self.kind == "spiral" and place.spine and place.index <= self.flaw
        if not plain:
            drawn = [self.guarded(place) for _ in range(self.number(0, 2))]
            rows += [row for row in drawn if row is not None]
        return self.closed(rows, self.last(place))

    def closed(self, rows: list[Transition], last: Transition) -> list[Transition]:
        """Close a group: a row for the rest, or the exact opposite of a single one."""
        if not rows:
            return [last]
        disjoint = len(rows) == 1 and self.one_in(4)
        guard = f"not ({rows[0].guard})" if disjoint else OTHERWISE
        return [*rows, attrs.evolve(last, guard=guard)]

    def places(self) -> list[_Place]:
        found: list[_Place] = []
        for index, phase in enumerate(self.phases):
            events = [event.name for event in phase.events] or [""]
            if phase.runs is not None:
                events = [end.name for end in phase.runs.terminals]
            found += [
                _Place(index, phase.name, event, i == 0, i == len(events) - 1)
                for i, event in enumerate(events)
            ]
        return found

    def machine(self) -> Machine:
        """Write the rows, and leave out whatever no row needs."""
        rows = [row for place in self.places() for row in self.alternatives(place)]
        reached = {row.target for row in rows}
        kinds = self.draw(
            st.lists(
                st.sampled_from(_ENDS),
                min_size=3,
                max_size=3,
            )
        )
        whole = Machine(
            name=f"{self.prefix}machine",
            phases=self.phases,
            terminals=[
                Terminal(end, kind)
                for end, kind in zip(self.ends, kinds, strict=False)
                if end in reached
            ],
            transitions=rows,
            memory=self.memory,
            limits=self.limits,
        )
        return prune(whole)
