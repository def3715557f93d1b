"""Strategies for the runs of a machine: events, schedules, traces, snapshots.

A run begins with nothing, or with a shortest run of the explorer to some verdict of
some guard, and goes on from there, drawn to what leads to many verdicts. It shrinks to
no event at all, by leaving out whole rounds (from phase to phase) and single events.
"""

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from unspiral.engine.check.coverage import Reach, reach
from unspiral.engine.core.step import Snapshot
from unspiral.engine.core.table import Table
from unspiral.engine.core.trace import Trace
from unspiral.engine.errors import BadValue, UnknownName
from unspiral.engine.fuzz.finding import Path
from unspiral.engine.fuzz.heat import Heat
from unspiral.engine.fuzz.walk import Subject, Walk, table_for

__all__ = [
    "events",
    "paths_of",
    "reach_of",
    "schedules",
    "snapshots",
    "traces",
    "walks",
]

_REACH = "reach of points"  # in `Table.compiled`
_MOST = 120  # events of a schedule, unless told otherwise
_DEEPEST = 60  # rounds that can be left out as a whole; Hypothesis nests no deeper


def reach_of(table: Table) -> Reach:
    """Return what the explorer says of the points of a table; it is asked once."""
    if _REACH not in table.compiled:
        table.compiled[_REACH] = reach(table)
    found: Reach = table.compiled[_REACH]
    return found


def paths_of(found: Reach) -> tuple[Path, ...]:
    """Return the answers of the explorer's shortest runs, the shortest first."""
    paths = {
        tuple(step.event for step in steps if step.event is not None)
        for steps in found.runs.values()
    }
    return tuple(sorted(paths - {()}, key=lambda path: (len(path), path)))


def events(subject: Subject, phase: str | None = None) -> st.SearchStrategy[str]:
    """Return a strategy for the names of events.

    Args:
        subject: the machine.
        phase: only those of this phase (`call` or, in a nested machine, `call.send`).

    Raises:
        UnknownName: no such phase.
        DeclarationError: the machine cannot be compiled.
    """
    table = table_for(subject)
    if phase is not None and phase not in table.events:
        raise UnknownName("phase", phase, table.phases, f"machine {table.machine.name}")
    alphabets = table.events.values() if phase is None else (table.events[phase],)
    names = tuple(dict.fromkeys(name for each in alphabets for name in each))
    return st.sampled_from(names) if names else st.nothing()


def schedules(
    subject: Subject, *, deep: bool = True, max_events: int = _MOST
) -> st.SearchStrategy[tuple[str, ...]]:
    """Return a strategy for schedules: events that are available one after the other.

    `Walk.along` plays one. A schedule may end anywhere, in a terminal or before.

    Args:
        subject: the machine, at its first edition; or a table, at any.
        deep: let half of the schedules begin with a shortest run to some verdict of
            some guard, as the explorer finds it when the strategy is made.
        max_events: of a schedule.

    Raises:
        BadValue: less than one event.
        DeclarationError: the machine cannot be compiled.
    """
    return _walks(subject, deep, max_events).map(lambda walk: tuple(walk.events))


def traces(
    subject: Subject, *, deep: bool = True, max_events: int = _MOST
) -> st.SearchStrategy[Trace]:
    """Return a strategy for traces: runs, or their beginnings; see `schedules`."""
    return _walks(subject, deep, max_events).map(lambda walk: walk.trace)


def snapshots(
    subject: Subject, *, deep: bool = True, max_events: int = _MOST
) -> st.SearchStrategy[Snapshot]:
    """Return a strategy for snapshots that runs can reach; see `schedules`.

    Those of phases that decide are among them, and terminals.
    """
    return _walks(subject, deep, max_events).flatmap(_stations)


def _stations(walk: Walk) -> st.SearchStrategy[Snapshot]:
    """Return the last snapshot of a run, and those that decisions led through."""
    last = [walk.here]
    for step in reversed(walk.steps):
        if step.event is not None:
            break
        last.append(step.before)
    return st.sampled_from(last)


def _walks(subject: Subject, deep: bool, max_events: int) -> st.SearchStrategy[Walk]:  # noqa: FBT001 - from the public functions
    if max_events < 1:
        raise BadValue("max_events", str(max_events), "1 or more")
    table = table_for(subject)
    found = reach_of(table) if deep else Reach({})
    wanted = dict.fromkeys(found.runs, 1.0)
    return walks(table, [paths_of(found)], Heat(table, wanted), max_events)


def walks(
    table: Table,
    paths: Iterable[Sequence[Path]],
    heat: Heat,
    max_events: int = _MOST,
    *,
    again: int = 0,
) -> st.SearchStrategy[Walk]:
    """Return a strategy for runs.

    Args:
        table: the machine.
        paths: groups of beginnings; as many runs begin with one of each group as with
            nothing.
        heat: the weights of events.
        max_events: that are answered after such a beginning.
        again: how often the last round of a beginning is repeated, at most: what spends
            a budget should stop some time. Such runs do not shrink well.
    """
    nothing: st.SearchStrategy[Path] = st.just(())
    begin = st.one_of(nothing, *(st.sampled_from(group) for group in paths if group))
    return _walk(table, begin, heat, max_events, again)


@st.composite
def _walk(  # noqa: PLR0913, PLR0917 - those of `walks`
    draw: st.DrawFn,
    table: Table,
    begin: st.SearchStrategy[Path],
    heat: Heat,
    most: int,
    again: int,
) -> Walk:
    walk = Walk.along(table, draw(begin))
    for _ in range(draw(st.integers(0, again)) if again and walk.events else 0):
        walk.follow(walk.last_round())
    draw(_rounds(walk, heat, len(walk.events) + most, _DEEPEST))
    return walk


@st.composite
def _rounds(draw: st.DrawFn, walk: Walk, heat: Heat, most: int, deep: int) -> None:
    """Answer one round, from where the run stands to the same phase; then the rest.

    Each round contains all later ones, so that Hypothesis, when it shrinks, can put a
    later one in the place of an earlier one and so leave out what lies between.
    """
    begin = walk.here.phase
    while walk.options and len(walk.events) < most:
        event = draw(st.sampled_from(heat.tickets(walk.here.phase, walk.options)))
        if not event:
            return
        walk.answer(event)
        if walk.here.phase == begin and deep:
            draw(_rounds(walk, heat, most, deep - 1))
            return
