"""The transition system that the proof reads: edges with conditions, nothing else.

A table asks alternatives in order; here every row has become an edge with its whole
condition (event available, earlier alternatives false, own guard true), flags and
choices have become small integers, and whatever may go wrong has become an edge to a
*fault*: no alternative applies, or a counter leaves its domain. All reductions are
functions from systems to systems. This module knows tables and no search.
"""

from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.check.feasible import Word, satisfiable
from unspiral.engine.check.interval import ENDLESS, interval
from unspiral.engine.core.language import (
    FALSE,
    Assign,
    Compare,
    Const,
    Node,
    conjunction,
    disjunction,
    encode,
    negation,
)
from unspiral.engine.core.table import Row, Table

__all__ = [
    "FAULT",
    "MODEL_CALLS",
    "OBSERVER",
    "REASON",
    "Edge",
    "System",
    "Word",
    "system_of",
]

FAULT = "!"  #: first character of the pseudo-terminals that stand for faults
MODEL_CALLS = "model_calls"
REASON = "reason:"  #: what the uses of a continue reason are counted under
OBSERVER = "law.state"  #: the variable that holds the state of a law's observer


@attrs.frozen(eq=False)
class Edge:
    """One way from phase to phase.

    Attributes:
        source: a phase.
        target: a phase, a terminal, or a fault.
        enabled: the whole condition, encoded.
        updates: the simultaneous assignments, encoded.
        rows: a shortest sequence of rows that it stands for (one, unless summarised).
        worst: for each cost and each `reason:NAME`, the most that it can stand for.
        dearest: a sequence of rows with the most model calls.
        progress: whether it does the user's work.
        reason: the continue reason of its last row, or "".
        marked: whether a law watches for it on cycles.
    """

    source: str
    target: str
    enabled: Node
    updates: tuple[Assign, ...]
    rows: tuple[Row, ...]
    worst: Mapping[str, int]
    dearest: tuple[Row, ...]
    progress: bool
    reason: str
    marked: bool = False

    @property
    def costs(self) -> bool:
        """Tell whether its shortest sequence costs anything."""
        return any(any(row.cost.values()) for row in self.rows)

    @property
    def calls(self) -> int:
        """Return the most model calls that it can stand for."""
        return self.worst.get(MODEL_CALLS, 0)


@attrs.frozen(eq=False)
class System:
    """A transition system.

    Attributes:
        words: the variables.
        phases: the phases.
        initial: the initial phase.
        terminals: the ends that are no faults.
        edges: the ways.
    """

    words: tuple[Word, ...]
    phases: tuple[str, ...]
    initial: str
    terminals: frozenset[str]
    edges: tuple[Edge, ...]

    @property
    def flags(self) -> frozenset[str]:
        """Return the names of the flags."""
        return frozenset(word.name for word in self.words if word.flag)

    def without(self, dropped: Iterable[str]) -> "System":
        """Return the system without some variables; conditions must not read them."""
        gone = frozenset(dropped)
        edges = tuple(
            attrs.evolve(
                edge, updates=tuple(u for u in edge.updates if u.name not in gone)
            )
            for edge in self.edges
        )
        words = tuple(word for word in self.words if word.name not in gone)
        return attrs.evolve(self, words=words, edges=edges)


def system_of(table: Table) -> System:
    """Return the transition system of a table, nothing reduced."""
    words = tuple(
        Word(v.name, v.low, v.high, v.index(v.initial), v.kind == "flag")
        for v in table.variables
    )
    edges: list[Edge] = []
    for phase in table.phases:
        here: list[Edge] = []
        for event in table.events[phase] or (None,):
            here += _group(table, words, phase, event)
        edges += [*here, *_silence(phase, here, words)]
    return System(
        words=words,
        phases=table.phases,
        initial=table.initial,
        terminals=table.terminals,
        edges=tuple(edges),
    )


def _group(
    table: Table, words: tuple[Word, ...], phase: str, event: str | None
) -> list[Edge]:
    scope = table.scope
    left: Node = Const(value=True)
    if event is not None:
        left = encode(table.available[phase, event], scope)
    edges: list[Edge] = []
    domains = {word.name: word for word in words}
    for row in table.alternatives.get((phase, event), ()):
        guard = encode(row.guard, scope)
        enabled = conjunction(left, guard)
        left = conjunction(left, negation(guard))
        if not satisfiable(enabled, words):
            continue
        updates = tuple(_encoded(update, table) for update in row.action)
        faulty = conjunction(enabled, _leaves(updates, domains))
        if satisfiable(faulty, words):
            edges.append(_fault(f"{FAULT}range {row.name}", row, faulty))
            enabled = conjunction(enabled, negation(_leaves(updates, domains)))
        # Memory ends with the run: what a row into a terminal assigns is never read.
        ends = row.target in table.terminals
        edges.append(_edge(row, enabled, () if ends else updates))
    if satisfiable(left, words):
        edges.append(_stuck(phase, event, left))
    return edges


def _encoded(update: Assign, table: Table) -> Assign:
    """Encode the right side; a bare string or flag takes its type from the left."""
    variable = table.variables[table.positions[update.name]]
    match update.value:
        case Const(int() | str() as value):
            return Assign(update.name, Const(variable.index(value)))
        case value:
            return Assign(update.name, encode(value, table.scope))


def _leaves(updates: tuple[Assign, ...], words: Mapping[str, Word]) -> Node:
    """Return the condition under which an action leaves some counter's domain."""
    box = {
        w.name: (w.low, ENDLESS if w.high is None else w.high) for w in words.values()
    }
    parts: list[Node] = []
    for update in updates:
        word = words[update.name]
        low, high = interval(update.value, box)
        if low < word.low:
            parts.append(Compare("<", update.value, Const(word.low)))
        if word.high is not None and high > word.high:
            parts.append(Compare(">", update.value, Const(word.high)))
    return disjunction(*parts) if parts else FALSE


def _edge(row: Row, enabled: Node, updates: tuple[Assign, ...]) -> Edge:
    worst = dict(row.cost)
    if row.reason:
        worst[f"{REASON}{row.reason}"] = 1
    return Edge(
        source=row.source,
        target=row.target,
        enabled=enabled,
        updates=updates,
        rows=(row,),
        worst=worst,
        dearest=(row,),
        progress=row.progress,
        reason=row.reason,
    )


def _fault(target: str, row: Row, enabled: Node) -> Edge:
    return attrs.evolve(_edge(row, enabled, ()), target=target)


def _silence(phase: str, edges: list[Edge], words: tuple[Word, ...]) -> list[Edge]:
    """Return the fault of a phase in which nothing can happen, if that can be."""
    quiet = negation(disjunction(*(edge.enabled for edge in edges)))
    if not satisfiable(quiet, words):
        return []
    return [attrs.evolve(_stuck(phase, None, quiet), target=f"{FAULT}silent {phase}")]


def _stuck(phase: str, event: str | None, enabled: Node) -> Edge:
    return Edge(
        source=phase,
        target=f"{FAULT}stuck {phase} {event or ''}".rstrip(),
        enabled=enabled,
        updates=(),
        rows=(),
        worst={},
        dearest=(),
        progress=False,
        reason="",
    )
