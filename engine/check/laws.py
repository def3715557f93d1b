"""The check of a law: the machine times its observer, searched for a broken law.

A law that forbids is broken in a state; one that obliges also in a cycle in which the
obligation stays open; "finitely often" in a cycle that has the step it watches for.
"""

from collections.abc import Iterator

import numpy as np

from unspiral.engine.check.cycles import Path, lassos, shortest_path
from unspiral.engine.check.graph import Bools, Graph
from unspiral.engine.check.product import BROKEN, OBSERVER, product
from unspiral.engine.check.search import Result, Search
from unspiral.engine.check.system import System
from unspiral.engine.check.verdict import LawVerdict, Outcome
from unspiral.engine.core.declare import Law
from unspiral.engine.core.laws import compile_law
from unspiral.engine.core.observer import Observer

__all__ = ["law_verdict"]


def law_verdict(search: Search, law: Law) -> LawVerdict:
    """Check one law.

    Raises:
        DeclarationError: a condition that cannot be read.
    """
    observer = compile_law(law, search.table)
    system = product(search.system, observer, search.table)
    if not _can_break(system, observer):
        return LawVerdict(law.name, Outcome.PROVED)
    keep = frozenset({OBSERVER} if observer.states > 1 and _watches(observer) else ())
    for drop in (True, False):
        result = search.reduced(system, drop=drop, keep=keep, named=observer.names)
        if result.cut is not None:
            return LawVerdict(law.name, Outcome.UNDETERMINED)
        paths = list(_broken(result, observer))
        if not paths:
            return LawVerdict(law.name, Outcome.PROVED)
        for path in paths:
            lasso = result.lift(path)
            if lasso is not None:
                return LawVerdict(law.name, Outcome.REFUTED, lasso)
    return LawVerdict(law.name, Outcome.UNDETERMINED)


def _watches(observer: Observer) -> bool:
    """Tell whether a cycle can break the law."""
    return bool(observer.pending) or observer.recurrent is not None


def _can_break(system: System, observer: Observer) -> bool:
    """Tell whether, by its edges alone, anything could break the law."""
    if observer.trivial:
        return False
    if observer.recurrent is not None:
        return any(edge.marked for edge in system.edges)
    return bool(observer.pending) or any(e.target == BROKEN for e in system.edges)


def _broken(result: Result, observer: Observer) -> Iterator[Path]:
    """Return shortest paths that break the law, if they lift."""
    graph = result.graph
    state = graph.end(BROKEN)
    path = None if state is None else shortest_path(graph, state)
    if path is not None:
        yield path
    if not _watches(observer):
        return
    allowed = ~result.counted  # an edge that raises a bounded counter cannot recur
    if observer.recurrent is None:
        within = allowed & _stays(graph, observer.pending, observer)
        yield from lassos(graph, within, within)
    else:
        within = allowed & _stays(graph, observer.counting, observer)
        marked = graph.of_label([e.marked for e in graph.system.edges], np.bool_)
        yield from lassos(graph, within, within & marked)


def _stays(graph: Graph, chosen: frozenset[int], observer: Observer) -> Bools:
    """Return the edges along which the observer stays in some of its states."""
    if observer.states == 1:
        return np.ones(graph.targets.size, np.bool_)
    inside = np.isin(graph.values(OBSERVER), list(chosen))
    return inside[graph.sources] & inside[graph.targets]
