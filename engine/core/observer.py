"""Observers: a law as a small automaton that reads a run step by step.

The patterns and scopes are those of Dwyer, Avrunin and Corbett, "Patterns in property
specifications for finite-state verification" (1999), over steps instead of states.

*Scopes.* A scope cuts segments out of a run:

* `globally`: one segment, the whole run;
* `after`: one segment, from the step after the first `start` step to the end;
* `before`: one segment, from the first step to the one before the first `end` step;
* `between`: a segment opens after each `start` step and closes before the next `end`
  step; a `start` inside an open segment means nothing, and a step that is both closes
  the segment and opens the next. With an empty `start` the first segment opens with
  the run and each `end` opens the next: the segments are what lies between two ends.

So neither the `start` nor the `end` step is inside a segment.

*Patterns.* In every segment, on its own:

* `absence`: no step is `what`;
* `bounded`: at most `at_most` steps are `what`, or finitely many;
* `precedence`: no step is `what` unless it or an earlier one of the segment is `other`;
* `existence`: some step is `what`;
* `response`: each step that is `what` is answered: it or a later one of the segment is
  `other`.

*When a law is broken.* The first three forbid: they are broken by the step that does
what is forbidden, even if the `end` of its scope never comes (the *until* variants).
The last two oblige: under `globally` and `after` they are broken by a run that ends, or
that goes on for ever, while the obligation is open; under `before` and `between` they
are broken by the `end` step that finds it open, and lapse if no `end` comes.

This module knows conditions as bits of a letter, and no table.
"""

from collections.abc import Callable
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

import attrs

from unspiral.engine.core.declare import Law
from unspiral.engine.core.language import Node, names

__all__ = ["Automaton", "Observer", "automaton", "predicates"]

# The next state inside a segment by (state, what, other); None: broken.
Pattern: TypeAlias = Callable[[int, bool, bool], int | None]


class _State(NamedTuple):
    """Whether the scope is open, and the state of the pattern inside it."""

    status: OneOf["closed", "open", "over", "broken"]
    inner: int


_BROKEN = _State("broken", 0)


class Automaton(NamedTuple):
    """The automaton of one law; see `Observer` for the fields."""

    states: int
    delta: tuple[tuple[int, ...], ...]
    bad: frozenset[int]
    pending: frozenset[int]
    counting: frozenset[int]


@attrs.frozen(eq=False)
class Observer:
    """A law compiled for one table. The state of a run's start is 0.

    Attributes:
        law: the law.
        states: how many states there are.
        letters: per row of the table, by its index, the predicates of the law as
            conditions over the memory before the step.
        delta: the next state by state and letter number; bit `i` of a letter number
            says whether predicate `i` holds.
        bad: the states in which the law is broken; they are never left.
        pending: the states with an open obligation: a run that ends in one of them, or
            stays in them for ever, breaks the law.
        recurrent: for "finitely often", the predicate that may not hold infinitely
            often in a run that stays in `counting` for ever; else None.
        counting: with `recurrent`, the states of a segment that has begun: a run that
            stays in them for ever stays in one segment.
    """

    law: Law
    states: int
    letters: tuple[tuple[Node, ...], ...]
    delta: tuple[tuple[int, ...], ...]
    bad: frozenset[int]
    pending: frozenset[int] = frozenset()
    recurrent: int | None = None
    counting: frozenset[int] = frozenset()

    @property
    def trivial(self) -> bool:
        """Tell whether no run can break the law (its bound is UNLIMITED)."""
        return not (self.bad or self.pending) and self.recurrent is None

    @property
    def names(self) -> frozenset[str]:
        """Return the memory that the letters read."""
        read = (names(node) for row in self.letters for node in row)
        return frozenset[str]().union(*read)


def predicates(law: Law) -> tuple[tuple[str, str], ...]:
    """Return what the bits of a letter stand for: (part of the law, its text)."""
    parts = [("what", law.what)]
    if law.pattern in {"precedence", "response"}:
        parts.append(("other", law.other))
    if law.scope.kind in {"after", "between"}:
        parts.append(("start", law.scope.start))
    if law.scope.kind in {"before", "between"}:
        parts.append(("end", law.scope.end))
    return tuple(parts)


def automaton(law: Law, at_most: int = 0) -> Automaton:
    """Return the product of a law's scope and pattern, its reachable part.

    Args:
        law: the law.
        at_most: the bound of a `bounded` law; ignored if its text is empty.
    """
    return _Product(law, at_most).explore()


class _Product:
    """One scope and one pattern being multiplied; see the module's docstring."""

    def __init__(self, law: Law, at_most: int) -> None:
        self.law = law
        self.kind = law.scope.kind
        self.bits = {part: i for i, (part, _) in enumerate(predicates(law))}
        self.pattern = _pattern(law, at_most)
        self.obliges = law.pattern in {"existence", "response"}
        self.owing = 0 if law.pattern == "existence" else 1

    def explore(self) -> Automaton:
        late = self.kind == "after" or (self.kind == "between" and self.law.scope.start)
        order = [_State("closed" if late else "open", 0)]
        numbers = {order[0]: 0}
        delta: list[tuple[int, ...]] = []
        for state in order:  # it grows while we read it
            row = [self.next(state, letter) for letter in range(2 ** len(self.bits))]
            for each in row:
                if each not in numbers:
                    numbers[each] = len(order)
                    order.append(each)
            delta.append(tuple(numbers[each] for each in row))
        due = self.obliges and self.kind in {"globally", "after"}
        return Automaton(
            states=len(order),
            delta=tuple(delta),
            bad=frozenset(n for s, n in numbers.items() if s == _BROKEN),
            pending=frozenset(n for s, n in numbers.items() if due and self.owes(s)),
            counting=frozenset(n for s, n in numbers.items() if s == ("open", 1)),
        )

    def next(self, state: _State, letter: int) -> _State:
        opens = _State("open" if self.bit(letter, "start") else "closed", 0)
        if state.status == "closed":
            return opens
        if state.status != "open":
            return state
        if self.bit(letter, "end"):
            if self.obliges and self.owes(state):
                return _BROKEN
            return _State("over", 0) if self.kind == "before" else opens
        what, other = self.bit(letter, "what"), self.bit(letter, "other")
        moved = self.pattern(state.inner, what, other)
        return _BROKEN if moved is None else _State("open", moved)

    def bit(self, letter: int, part: str) -> bool:
        return part in self.bits and bool(letter >> self.bits[part] & 1)

    def owes(self, state: _State) -> bool:
        return state == ("open", self.owing)


def _pattern(law: Law, at_most: int) -> Pattern:
    """Return the automaton of a pattern inside one segment; it starts in 0."""
    match law.pattern:
        case "absence":
            return lambda state, what, _: None if what else state
        case "existence":
            return lambda state, what, _: 1 if what else state
        case "bounded" if not law.at_most.strip():
            return lambda _state, _what, _: 1  # 0 is left by the first step inside
        case "bounded":
            return lambda state, what, _: (
                state + what if state + what <= at_most else None
            )
        case "precedence":
            return lambda state, what, other: (
                1 if state or other else None if what else 0
            )
        case "response":
            return lambda state, what, other: 0 if other else 1 if what else state
