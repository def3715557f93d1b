"""Collapsing: a phase through which every run just passes is joined to its neighbours.

Edges that differ in nothing but their event become one; then each edge into a phase is
joined with each edge out of it, as long as that does not make more edges than it
removes. What is joined keeps its rows, so a path can be written out again. Runs, costs
and lengths in rows stay what they were. Pure; systems to systems.
"""

import itertools
from collections.abc import Iterable

import attrs

from unspiral.engine.check.feasible import Word, satisfiable
from unspiral.engine.check.reduce import NOTHING
from unspiral.engine.check.system import Edge, System
from unspiral.engine.core.language import (
    FALSE,
    Assign,
    Bool,
    Compare,
    Const,
    Name,
    Node,
    Not,
    conjunction,
    substitute,
)

__all__ = ["collapse", "merge_twins"]

_SPARE = 8  # edges that may be added when a phase goes
_LONGEST = 4_000  # rows in one joined edge


def merge_twins(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Join edges with the same effect: one of them is enabled if any was."""
    groups: dict[object, Edge] = {}
    for edge in edges:
        key = (
            edge.source,
            edge.target,
            edge.updates,
            edge.progress,
            edge.reason,
            edge.marked,
            edge.costs,
            len(edge.rows),
            tuple(sorted(edge.worst.items())),
        )
        known = groups.get(key)
        if known is None:
            groups[key] = edge
        elif known.enabled == edge.enabled:
            continue
        else:
            # Which rows are written out depends on the state: keep both.
            groups[(*key, edge.enabled)] = edge
    return tuple(groups.values())


def collapse(system: System, keep: frozenset[str] = NOTHING) -> System:
    """Join away every phase that a run merely passes.

    Args:
        system: the system.
        keep: variables of which every value must stay visible.
    """
    joins = _Joins(system.words, keep)
    phases = list(system.phases)
    edges = merge_twins(system.edges)
    settled = False
    while not settled:
        settled = True
        for phase in phases:
            if phase == system.initial:
                continue
            joined = joins.without(phase, edges)
            if joined is not None:
                edges = merge_twins(joined)
                phases.remove(phase)
                settled = False
                break
    return attrs.evolve(system, phases=tuple(phases), edges=edges)


class _Joins:
    """Edges being joined in pairs; what was worked out for a pair is kept.

    Whenever a phase goes, all others are asked again, and few of their edges are new.
    """

    def __init__(self, words: tuple[Word, ...], keep: frozenset[str]) -> None:
        self.words = words
        self.keep = keep
        self.conditions: dict[tuple[Edge, Edge], Node] = {}
        self.before: dict[Edge, dict[str, int]] = {}
        self.after: dict[Edge, dict[str, int]] = {}
        self.staying: dict[str, tuple[list[Edge], list[Edge]]] = {}

    def without(self, phase: str, edges: tuple[Edge, ...]) -> list[Edge] | None:
        """Return the edges with a phase joined away, or None if it had better stay."""
        into = [edge for edge in edges if edge.target == phase]
        out = [edge for edge in edges if edge.source == phase]
        if self.staying.get(phase) == (into, out):
            return None
        joined = self.joined(phase, into, out)
        if joined is None:
            self.staying[phase] = into, out
            return None
        others = [e for e in edges if phase not in {e.source, e.target}]
        return [*others, *joined]

    def joined(
        self, phase: str, into: list[Edge], out: list[Edge]
    ) -> list[Edge] | None:
        """Return each way in with each way out, or None if there is a reason not to."""
        if not into or any(edge.target == phase for edge in out):
            return None
        if not _joinable(into, out, self.keep):
            return None
        room = len(into) + len(out) + _SPARE
        possible: list[tuple[Edge, Edge]] = []
        for pair in itertools.product(into, out):
            if self.fit(*pair) and self.condition(pair) != FALSE:
                possible.append(pair)
            if len(possible) > room:
                return None
        return [_join(*pair, self.condition(pair)) for pair in possible]

    def fit(self, first: Edge, second: Edge) -> bool:
        """Tell whether the values that one edge leaves are those that another asks for.

        This is no more than a cheap answer for most of the pairs that cannot be.
        """
        for edge in (first, second):
            if edge not in self.before:
                self.before[edge] = _pinned(edge.enabled)
        if first not in self.after:
            values = {update.name: update.value for update in first.updates}
            left = {n: v for n, v in self.before[first].items() if n not in values}
            self.after[first] = left | {
                name: int(node.value)
                for name, node in values.items()
                if isinstance(node, Const) and isinstance(node.value, int)
            }
        asked, left = self.before[second], self.after[first]
        return all(left[name] == asked[name] for name in asked.keys() & left.keys())

    def condition(self, pair: tuple[Edge, Edge]) -> Node:
        """Return when both edges can be taken, the second after the first."""
        if pair not in self.conditions:
            first, second = pair
            values = {u.name: u.value for u in first.updates}
            both = conjunction(first.enabled, substitute(second.enabled, values))
            self.conditions[pair] = both if satisfiable(both, self.words) else FALSE
        return self.conditions[pair]


def _pinned(condition: Node) -> dict[str, int]:
    """Return the variables of which a condition says what value they have."""
    found: dict[str, int] = {}
    for item in _conjuncts(condition):
        match item:
            case Compare("==", Name(name), Const(int() as value)):
                found[name] = int(value)
            case Name(name):
                found[name] = 1
            case Not(Name(name)):
                found[name] = 0
            case _:
                pass
    return found


def _conjuncts(condition: Node) -> tuple[Node, ...]:
    if isinstance(condition, Bool) and condition.op == "and":
        return condition.items
    return (condition,)


def _joinable(into: list[Edge], out: list[Edge], keep: frozenset[str]) -> bool:
    """Tell whether any two edges can be one: no two marks of a kind fall together."""
    if any(edge.reason for edge in into) and any(edge.reason for edge in out):
        return False
    # The value between two writes would be lost.
    if _write(into, keep) and _write(out, keep):
        return False
    # What is spent after a progress event must not count before it.
    if any(edge.progress for edge in into) and any(edge.worst for edge in out):
        return False
    rows = (max((len(edge.rows) for edge in each), default=0) for each in (into, out))
    return sum(rows) <= _LONGEST


def _write(edges: list[Edge], keep: frozenset[str]) -> bool:
    return any(update.name in keep for edge in edges for update in edge.updates)


def _join(first: Edge, second: Edge, enabled: Node) -> Edge:
    values: dict[str, Node] = {u.name: u.value for u in first.updates}
    later = {u.name: substitute(u.value, values) for u in second.updates}
    updates = {**values, **later}
    names = {*first.worst, *second.worst}
    return Edge(
        source=first.source,
        target=second.target,
        enabled=enabled,
        updates=tuple(
            Assign(name, value)
            for name, value in sorted(updates.items())
            if value != Name(name)
        ),
        rows=first.rows + second.rows,
        worst={n: first.worst.get(n, 0) + second.worst.get(n, 0) for n in names},
        dearest=first.dearest + second.dearest,
        progress=first.progress or second.progress,
        reason=first.reason or second.reason,
        marked=first.marked or second.marked,
    )
