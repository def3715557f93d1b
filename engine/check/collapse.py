"""Collapsing: a phase through which every run just passes is joined to its neighbours.

Edges that differ in nothing but their event become one; then each edge into a phase is
joined with each edge out of it, as long as that does not make more edges than it
removes. What is joined keeps its rows, so a path can be written out again. Runs, costs
and lengths in rows stay what they were. Pure; systems to systems.
"""

from collections.abc import Iterable

import attrs

from unspiral.engine.check.system import Edge, System, satisfiable
from unspiral.engine.core.language import (
    FALSE,
    Assign,
    Name,
    Node,
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


def collapse(system: System) -> System:
    """Join away every phase that a run merely passes."""
    phases = list(system.phases)
    edges = merge_twins(system.edges)
    settled = False
    while not settled:
        settled = True
        for phase in phases:
            if phase == system.initial:
                continue
            joined = _without(phase, edges, system)
            if joined is not None:
                edges = merge_twins(joined)
                phases.remove(phase)
                settled = False
                break
    return attrs.evolve(system, phases=tuple(phases), edges=edges)


def _without(phase: str, edges: tuple[Edge, ...], system: System) -> list[Edge] | None:
    """Return the edges with a phase joined away, or None if it had better stay."""
    into = [edge for edge in edges if edge.target == phase]
    out = [edge for edge in edges if edge.source == phase]
    if not into or any(edge.target == phase for edge in out):
        return None
    room = len(into) + len(out) + _SPARE
    joined: list[Edge] = []
    for first in into:
        for second in out:
            if not _joinable(first, second):
                return None
            edge = _join(first, second)
            if edge.enabled != FALSE and satisfiable(edge.enabled, system.words):
                joined.append(edge)
            if len(joined) > room:
                return None
    others = [e for e in edges if phase not in {e.source, e.target}]
    return [*others, *joined]


def _joinable(first: Edge, second: Edge) -> bool:
    """Tell whether two edges can be one: no two marks of a kind fall together."""
    if first.reason and second.reason:
        return False
    # What is spent after a progress event must not count before it.
    late = first.progress and bool(second.worst)
    return not (late or len(first.rows) + len(second.rows) > _LONGEST)


def _join(first: Edge, second: Edge) -> Edge:
    values: dict[str, Node] = {u.name: u.value for u in first.updates}
    later = {u.name: substitute(u.value, values) for u in second.updates}
    updates = {**values, **later}
    names = {*first.worst, *second.worst}
    return Edge(
        source=first.source,
        target=second.target,
        enabled=conjunction(first.enabled, substitute(second.enabled, values)),
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
