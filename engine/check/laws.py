"""The check of a law: the machine times its observer, searched for a broken law.

A law that forbids is broken in a state; one that obliges also in a cycle in which the
obligation stays open; "finitely often" in a cycle that has the step it watches for.
"""

from collections.abc import Iterator

import numpy as np

from unspiral.engine.check.cycles import Path, lassos, shortest_path
from unspiral.engine.check.explore import INTERRUPTED
from unspiral.engine.check.graph import Bools, Graph
from unspiral.engine.check.product import BROKEN, product
from unspiral.engine.check.reduce import NOTHING
from unspiral.engine.check.search import Result, Search
from unspiral.engine.check.system import OBSERVER, System
from unspiral.engine.check.verdict import Lasso, LawVerdict, Outcome
from unspiral.engine.core.declare import Law
from unspiral.engine.core.laws import Watcher, compile_law
from unspiral.engine.core.observer import Observer
from unspiral.engine.core.table import Table

__all__ = ["law_verdict"]


def law_verdict(search: Search, law: Law) -> LawVerdict:
    """Check one law.

    Raises:
        DeclarationError: a condition that cannot be read.
        KeyboardInterrupt: a person cut the search.
    """
    observer = compile_law(law, search.table)
    system = product(search.system, observer, search.table)
    if not _can_break(system, observer):
        return LawVerdict(law.name, Outcome.PROVED)
    own = frozenset({OBSERVER} if observer.states > 1 else ())
    keep = own if _watches(observer) else NOTHING
    for drop in (True, False):
        named = observer.names | own
        result = search.reduced(system, drop=drop, keep=keep, named=named)
        if result.cut is not None:
            if result.cut.reason == INTERRUPTED:
                raise KeyboardInterrupt
            return LawVerdict(law.name, Outcome.UNDETERMINED)
        paths = list(_broken(result, observer))
        if not paths:
            return LawVerdict(law.name, Outcome.PROVED)
        for path in paths:
            lasso = result.lift(path)
            if lasso is not None and breaks(observer, search.table, lasso):
                return LawVerdict(law.name, Outcome.REFUTED, lasso)
    return LawVerdict(law.name, Outcome.UNDETERMINED)


def breaks(observer: Observer, table: Table, lasso: Lasso) -> bool:
    """Tell whether a run of the machine as declared breaks the law.

    This asks the watcher that follows live runs, not the search that found the run.
    """
    watcher = Watcher(observer, table)
    for step in lasso.stem:
        if not watcher.see(step):
            return True
    if not lasso.loop:
        ended = bool(lasso.stem) and lasso.stem[-1].after.phase in table.terminals
        return ended and not watcher.end()
    # After one round per observer state the states along a round have come to recur.
    for _ in range(observer.states):
        for step in lasso.loop:
            if not watcher.see(step):
                return True
    around = {watcher.state}
    for step in lasso.loop:
        watcher.see(step)
        around.add(watcher.state)
    if observer.recurrent is None:
        return around <= observer.pending
    return around <= observer.counting


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
    # An observer that never moves was folded away: it is in its first state.
    states = np.maximum(graph.values(OBSERVER), 0)
    inside = np.isin(states, list(chosen))
    return inside[graph.sources] & inside[graph.targets]
