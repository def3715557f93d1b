"""The examination of a machine: faults, cycles, worst cases. It knows no laws.

The quotient is tried first. Every fault and every spiral that it shows is lifted to
steps of the machine as declared; if one does not lift, the quotient was too coarse and
the search is repeated without it, which is exact.
"""

import functools
from collections.abc import Mapping

import attrs
import numpy as np

from unspiral.engine.check.bounds import Segments, WorstCase, WorstRun, segments_of
from unspiral.engine.check.cycles import Path, lassos, shortest_path
from unspiral.engine.check.explore import INTERRUPTED, Cut, Exploration, explore
from unspiral.engine.check.reduce import Quotient, fold_constants, undropped
from unspiral.engine.check.search import Result, Search
from unspiral.engine.check.system import FAULT, MODEL_CALLS, REASON
from unspiral.engine.check.verdict import Bounds, Lasso, Outcome, Verdict
from unspiral.engine.core.declare import Counter
from unspiral.engine.core.step import (
    Step,
    available_events,
    initial_snapshot,
    step,
)
from unspiral.engine.errors import IllegalEvent, OutOfRange, StuckError

__all__ = ["Examination"]


@attrs.frozen(eq=False)
class _Faults:
    """What is wrong with a machine, as lifted counterexamples."""

    spirals: tuple[Lasso, ...]
    deadlocks: tuple[Lasso, ...]
    out_of_range: tuple[Lasso, ...]
    rows: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Tell whether anything is wrong."""
        return bool(self.spirals or self.deadlocks or self.out_of_range)


class Examination:
    """One examination.

    Args:
        search: the searches over the machine's table.
        full: count every valuation, without any reduction.
    """

    def __init__(self, search: Search, *, full: bool) -> None:
        self.search = search
        self.full = full
        self.table = search.table
        self.notes: list[str] = []
        self.too_long = False

    def verdict(self) -> Verdict:
        """Return the answer, without certificate, laws and findings."""
        counted = self.count() if self.full else None
        if counted is not None and counted.cut is not None:
            return self.undetermined(counted.cut, counted.transitions)
        result, faults = self.settled()
        if result.cut is not None or faults is None:
            cut = result.cut or Cut("a cycle was found that does not lift", 0)
            return self.undetermined(cut, result.transitions)
        sizes = counted or result
        bounds = self.bounds(result)
        open_ended = self.open_ended(result)
        if result.quotient.dropped and (
            open_ended is None or not self.exact(bounds) or self.loose(result, bounds)
        ):
            finer = self.search.reduced(self.search.system, drop=False)
            if finer.cut is None:
                bounds = self.bounds(finer)
                open_ended = self.open_ended(finer)
        if open_ended is None:
            self.notes.append("a cycle with progress was found that may have an end")
        return Verdict(
            table=self.table,
            verdict=Outcome.REFUTED if faults.any else Outcome.PROVED,
            states=sizes.states,
            transitions=sizes.transitions,
            seconds=0.0,
            spirals=faults.spirals,
            open_ended=open_ended or (),
            deadlocks=faults.deadlocks,
            out_of_range=faults.out_of_range,
            bounds=bounds,
            notes=(*self.notes, *faults.rows, *self.remarks(bounds)),
        )

    def loose(self, result: Result, bounds: Bounds) -> bool:
        """Tell whether something has no bound only because of what was dropped.

        A cycle counts when the machine as declared takes it, here as everywhere.
        """
        graph = result.graph
        between = ~graph.progress
        asked = [
            (f"{REASON}{reason}", between)
            for reason, most in bounds.per_reason.items()
            if most is None
        ]
        if bounds.model_calls_between_progress is None:
            asked.append((MODEL_CALLS, between))
        elif bounds.model_calls_per_run is None:
            asked.append((MODEL_CALLS, ~result.counted))
        return any(
            all(
                result.lift(path) is None
                for path in lassos(graph, allowed, graph.worst(name) > 0)
            )
            for name, allowed in asked
        )

    def exact(self, bounds: Bounds) -> bool:
        """Tell whether a run with the worst case was replayed, if there is one."""
        endless = bounds.model_calls_between_progress is None
        return endless or self.too_long or bounds.witness is not None

    def remarks(self, bounds: Bounds) -> tuple[str, ...]:
        """Return what a reader of the worst cases must know."""
        if self.too_long:
            return (
                "the worst case was not replayed: a run that attains it is too long",
            )
        if self.exact(bounds):
            return ()
        return (
            "the worst case is an upper bound: no run that attains it was replayed",
        )

    def undetermined(self, cut: Cut, transitions: int) -> Verdict:
        """Return the answer when the search was cut, with how far it got."""
        note = f"search cut after {cut.states:,} states: {cut.reason}"
        return Verdict(
            table=self.table,
            verdict=Outcome.UNDETERMINED,
            states=cut.states,
            transitions=transitions,
            seconds=0.0,
            basis="none",
            notes=(*self.notes, note),
            interrupted=cut.reason == INTERRUPTED,
        )

    @functools.cached_property
    def unreduced(self) -> Quotient:
        """Return the system with every variable that some edge writes."""
        return undropped(fold_constants(self.search.system))

    def count(self) -> Exploration:
        """Count the states and transitions of the machine, nothing reduced."""
        return explore(
            self.unreduced.system,
            record=False,
            by_liveness=False,
            memory=self.search.memory,
            progress=self.search.progress,
        )

    def settled(self) -> tuple[Result, _Faults | None]:
        """Return the search on which the answer rests, and what is wrong.

        None instead of the faults: some fault is there that could not be lifted.
        """
        result = self.search.reduced(self.search.system, drop=True)
        faults = None if result.cut else self.faults(result)
        if faults is None and not (result.cut and result.cut.reason == INTERRUPTED):
            self.notes.append("the quotient was too coarse: searched without it")
            result = self.search.reduced(self.search.system, drop=False)
            faults = None if result.cut else self.faults(result)
        return result, faults

    def faults(self, result: Result) -> _Faults | None:
        """Return the lifted faults, or None if one of them does not lift."""
        graph = result.graph
        loops = lassos(graph, ~graph.progress, graph.costs)
        spirals = _lifted([result.lift(path) for path in loops])
        stuck: list[Lasso | None] = []
        outside: list[Lasso | None] = []
        rows: list[str] = []
        for end in graph.ends:
            if end.startswith(FAULT):
                lasso = self.into(result, end)
                (outside if end.startswith(f"{FAULT}range") else stuck).append(lasso)
                rows.append(f"fault: {end[1:]}")
        deadlocks, out_of_range = _lifted(stuck), _lifted(outside)
        if spirals is None or deadlocks is None or out_of_range is None:
            return None
        return _Faults(spirals, deadlocks, out_of_range, tuple(rows))

    def into(self, result: Result, end: str) -> Lasso | None:
        """Return the run up to, and without, the row that leads into a fault."""
        state = result.graph.end(end)
        path = None if state is None else shortest_path(result.graph, state)
        if path is None:
            return None
        rows = [row for number in path.stem for row in result.graph.edge(number).rows]
        if end.startswith(f"{FAULT}range"):
            rows.pop()
        steps = result.replay(rows)
        if steps is None or not self.ends_badly(steps, end):
            return None
        return Lasso(steps)

    def ends_badly(self, steps: tuple[Step, ...], end: str) -> bool:
        """Tell whether the machine as declared has the fault after these steps."""
        snapshot = steps[-1].after if steps else initial_snapshot(self.table)
        kind, _, place = end[1:].partition(" ")
        if kind == "silent":
            acting = bool(self.table.events[snapshot.phase])
            return acting and not available_events(self.table, snapshot)
        event = place.partition(" ")[2] or None
        if kind == "range":
            event = self.table.row_names[place].event
        try:
            step(self.table, snapshot, event)
        except StuckError:
            return kind == "stuck"
        except OutOfRange:
            return kind == "range"
        except IllegalEvent:
            return False
        return False

    def open_ended(self, result: Result) -> tuple[Lasso, ...] | None:
        """Return a lasso per reason by which progress can go on without any limit.

        None if one was found that does not lift.
        """
        graph = result.graph
        found: list[Lasso | None] = []
        endless = ~result.counted
        progress = [e for e in graph.system.edges if e.progress]
        for reason in dict.fromkeys(e.reason for e in progress):
            chosen = [e.progress and e.reason == reason for e in graph.system.edges]
            required = endless & graph.of_label(chosen, np.bool_)
            shortest = lassos(graph, endless, required)[:1]
            found += [result.lift(path) for path in shortest]
        return _lifted(found)

    def bounds(self, result: Result) -> Bounds:
        """Return the worst cases; what a cycle repeats without end has no number."""
        graph = result.graph
        apart = segments_of(graph, graph.progress)
        bounded = apart.bounds(MODEL_CALLS)
        between = WorstCase(apart, MODEL_CALLS) if bounded else None
        per_run = self.per_run(result, apart)
        return Bounds(
            model_calls_between_progress=None if between is None else between.value,
            model_calls_per_run=None if per_run is None else per_run.total,
            per_reason=self.per_reason(apart),
            witness=None if between is None else self.witness(result, between, per_run),
            formula=self.formula(result, per_run),
        )

    def per_run(self, result: Result, apart: Segments) -> WorstRun | None:
        """Return the worst case of a whole run, or None if nothing bounds it."""
        graph = result.graph
        same = bool((result.counted == graph.progress).all())
        segments = apart if same else segments_of(graph, result.counted)
        if not segments.bounds(MODEL_CALLS):
            return None
        return WorstRun(segments, MODEL_CALLS, result.quotient.rounds)

    def per_reason(self, segments: Segments) -> Mapping[str, int | None]:
        """Return the most uses of each continue reason in a segment."""
        found: dict[str, int | None] = {}
        for reason in dict.fromkeys(r.reason for r in self.table.rows if r.reason):
            name = f"{REASON}{reason}"
            bounded = segments.bounds(name)
            found[reason] = WorstCase(segments, name).value if bounded else None
        return found

    def witness(
        self, result: Result, between: WorstCase, per_run: WorstRun | None
    ) -> Lasso | None:
        """Return the steps of a run that attains the worst case, if they lift."""
        self.too_long = per_run is not None and per_run.edges is None
        if per_run is not None and per_run.edges is not None:
            lasso, wanted = result.lift(Path(per_run.edges), dear=True), per_run.total
        else:
            stem = shortest_path(result.graph, between.start)
            lasso, wanted = None, between.value
            if stem is not None and per_run is None:
                lasso = result.lift_segment(stem, between.edges)
        spent = lasso.cost.get(MODEL_CALLS, 0) if lasso is not None else -1
        if spent < wanted:
            return None
        return lasso

    def formula(self, result: Result, worst: WorstRun | None) -> str:
        """Return the worst case of a run as a formula in the limit of the rounds."""
        limit = next(
            (
                memory.high
                for memory in self.table.flat.variables
                if isinstance(memory, Counter)
                and memory.name == result.quotient.counter
            ),
            "",
        )
        value = self.table.limits.get(limit)
        if not isinstance(value, int) or isinstance(value, bool):
            return ""
        if worst is None or not worst.slope:
            return ""
        rest = worst.total - worst.slope * value
        return f"{worst.slope} * {limit} {'+' if rest >= 0 else '-'} {abs(rest)}"


def _lifted(found: list[Lasso | None]) -> tuple[Lasso, ...] | None:
    if any(lasso is None for lasso in found):
        return None
    return tuple(lasso for lasso in found if lasso is not None)
