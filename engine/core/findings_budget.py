"""Recoveries without a budget: what `validate` can say of spirals without a proof.

A row is spent up if it changes a memory in a direction in which no other row of its
cycle leads back: it can be taken only finitely often. Such rows are struck out, again
and again, as in a lexicographic proof. A cycle without progress that costs something
and is left at the end has no budget: whatever one recovery spends, another gives back.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import attrs

from unspiral.engine.core.findings_flow import Landscape
from unspiral.engine.core.findings_model import Arc, Group
from unspiral.engine.core.findings_trial import Moves
from unspiral.engine.core.language import Arith, Const, Name, Node, names

__all__ = ["Unbudgeted", "components", "unbudgeted"]

T = TypeVar("T", bound=Hashable)


@attrs.frozen(eq=False)
class Unbudgeted:
    """A continue on a costed cycle without progress and without budget.

    Attributes:
        arc: the row.
        cycle: the rows of its cycle.
        landscape: what is where at the setting that shows it.
    """

    arc: Arc
    cycle: list[Arc]
    landscape: Landscape

    @property
    def cause(self) -> str:
        """Say what its cycle gives back, or that nothing is spent."""
        return _cause(self.arc, self.cycle, self.landscape)


def unbudgeted(landscape: Landscape, at: Callable[[Node], Node]) -> list[Unbudgeted]:
    """Return the continues without a budget at one setting of the limits.

    Args:
        landscape: what is where at this setting.
        at: puts the limits of this setting into a tree.
    """
    rows = [arc for arc in landscape.taken if not arc.row.progress and arc.target]
    found: list[Unbudgeted] = []
    while cycles := [
        cycle
        for cycle in _unspent(_cycles(rows), landscape, at)
        if any(arc.costed for arc in cycle) and all(map(_read, cycle))
    ]:
        blamed = {arc: cycle for cycle in cycles for arc in _continues(cycle)}
        found += [Unbudgeted(arc, cycle, landscape) for arc, cycle in blamed.items()]
        # What a nested machine does by itself is judged once its rows are alone.
        rows = [arc for cycle in cycles for arc in cycle if arc not in blamed]
    return found


def _unspent(
    cycles: list[list[Arc]], landscape: Landscape, at: Callable[[Node], Node]
) -> list[list[Arc]]:
    """Return what is left of the cycles when all rows that are spent are struck out."""
    while spent := {arc for cycle in cycles for arc in _spent(cycle, landscape, at)}:
        cycles = [
            smaller
            for cycle in cycles
            for smaller in _cycles([arc for arc in cycle if arc not in spent])
        ]
    return cycles


def _read(arc: Arc) -> bool:
    """Tell whether all texts of a row could be read; else it is not judged."""
    return arc.guard is not None and arc.action is not None


def _continues(cycle: list[Arc]) -> list[Arc]:
    """Return the continues of the outermost machine on a cycle, or what costs."""
    back = [arc for arc in cycle if arc.head or arc.row.reason]
    outermost = min((arc.site.prefix.count(".") for arc in back), default=0)
    outer = [arc for arc in back if arc.site.prefix.count(".") == outermost]
    return outer or [arc for arc in cycle if arc.costed]


def _cycles(arcs: list[Arc]) -> list[list[Arc]]:
    """Return the rows of each strongly connected part."""
    edges = [(arc.source, arc.target or "") for arc in arcs]
    part = components(edges)
    found: dict[int, list[Arc]] = {}
    for arc in arcs:
        if part[arc.source] == part[arc.target or ""]:
            found.setdefault(part[arc.source], []).append(arc)
    return list(found.values())


def _spent(
    cycle: list[Arc], landscape: Landscape, at: Callable[[Node], Node]
) -> set[Arc]:
    """Return the rows of a cycle that can be taken only finitely often in it."""
    written = {name for arc in cycle for name in landscape.moves[arc]}
    found: set[Arc] = set()
    for name in sorted(written):
        moves = {
            arc: landscape.moves[arc][name]
            for arc in cycle
            if name in landscape.moves[arc]
        }
        if all(pairs is not None for pairs in moves.values()):
            found |= _one_way(
                [(arc, pairs or frozenset()) for arc, pairs in moves.items()]
            )
        else:
            found |= _one_direction(name, list(moves), landscape, at)
    return found


def _one_way(moves: Sequence[tuple[Arc, Moves]]) -> set[Arc]:
    """Return the rows whose every change of a value cannot be undone."""
    part = components([pair for _, pairs in moves for pair in pairs])
    return {
        arc for arc, pairs in moves if all(part[old] != part[new] for old, new in pairs)
    }


def _one_direction(
    name: str, arcs: list[Arc], landscape: Landscape, at: Callable[[Node], Node]
) -> set[Arc]:
    """Do the same for a counter with many values, by the look of its actions."""
    domain = landscape.domains[name]
    signs = {arc: _sign(arc, name, at) for arc in arcs}
    for sign, bounded in (("+", domain.high is not None), ("-", True)):
        if bounded and set(signs.values()) <= {sign, "="}:
            return {arc for arc, found in signs.items() if found == sign}
    return set()


def _sign(arc: Arc, name: str, at: Callable[[Node], Node]) -> str:
    values = [at(each.value) for each in arc.action or () if each.name == name]
    if name in arc.fresh or not values:
        return "?"
    match values[0]:
        case Name(same) if same == name:
            return "="
        case Arith("+" | "-" as op, Name(same), Const(int() as step)) if same == name:
            return op if step > 0 else "?"
        case Arith("+", Const(int() as step), Name(same)) if same == name and step > 0:
            return "+"
        case _:
            return "?"


def _cause(arc: Arc, cycle: list[Arc], landscape: Landscape) -> str:
    """Say of the memory nearest to a row who gives it back."""
    read = {each: _guards(group) for group in landscape.trials for each in group.arcs}
    asked = {name for each in cycle for name in read[each]}
    own = read[arc] | {name for name in landscape.moves[arc] if name in asked}
    # What a nested machine forgets when it is left was no budget of this row.
    level = set(arc.site.names.values())
    for near in (own, level & asked):
        told = [
            _giver(arc, name, cycle, landscape)
            for name in sorted(near & landscape.domains.keys())
        ]
        if any(told):
            return "; ".join([each for each in told if each][:3])
    return "no counter is spent on its cycle"


def _guards(group: Group) -> frozenset[str]:
    """Return what the guards of a group, and its event, are asked of."""
    nodes = [group.available, *(arc.guard for arc in group.arcs)]
    return frozenset[str]().union(*(names(node) for node in nodes if node is not None))


def _giver(arc: Arc, name: str, cycle: list[Arc], landscape: Landscape) -> str:
    writers = [each for each in cycle if name in landscape.moves[each]]
    domain = landscape.domains[name]
    givers = [each for each in writers if not _reads(each, name)]
    others = [each for each in givers if each is not arc] or givers
    if others:
        return f"{name} is given back by row {others[0].name}"
    endless = writers and domain.values is None and domain.high is None
    return f"{name} counts without end" if endless else ""


def _reads(arc: Arc, name: str) -> bool:
    guard = names(arc.guard) if arc.guard is not None else frozenset[str]()
    action = frozenset[str]().union(
        *(names(each.value) for each in arc.action or () if each.name == name)
    )
    return name in guard | action


def components(edges: Iterable[tuple[T, T]]) -> dict[T, int]:
    """Return for each node the number of its strongly connected component."""
    after: dict[T, list[T]] = {}
    before: dict[T, list[T]] = {}
    for one, two in edges:
        after.setdefault(one, []).append(two)
        before.setdefault(two, []).append(one)
    part: dict[T, int] = {}
    for root in reversed(_finished(after)):  # Kosaraju
        if root in part:
            continue
        number = part[root] = len(part)
        waiting = [root]
        while waiting:
            for node in before.get(waiting.pop(), ()):
                if node not in part:
                    part[node] = number
                    waiting.append(node)
    return part


def _finished(after: Mapping[T, list[T]]) -> list[T]:
    """Return the nodes in the order in which a depth-first search leaves them."""
    seen: set[T] = set()
    left: list[T] = []
    for root in after:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, iter(after[root]))]
        while path:
            node, rest = path[-1]
            following = next((each for each in rest if each not in seen), None)
            if following is None:
                left.append(node)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(after.get(following, ()))))
    return left
