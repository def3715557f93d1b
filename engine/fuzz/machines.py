"""Machines at random: well formed, small, and of all three kinds that matter.

A machine has a *spine*: from each phase the first event leads on to the next phase and
at last to a terminal. Every other way forward is free; what differs is how a run may
come *back*, since only a way back can make a cycle:

* `open`: it comes back only with progress, or never (acyclic, or open-ended);
* `bounded`: it also comes back by recoveries, and each spends a budget that only
  progress, or a recovery that spends an earlier budget, renews: there is no death
  spiral, for the budgets fall in lexicographic order;
* `spiral`: in one place the discipline is broken: a way back without a budget, a
  budget renewed on its own loop, or two recoveries that renew each other's budget.

In every kind ways back lead only to phases that the environment answers, so no run
turns in a circle of mere decisions. Knows how a machine is declared and nothing of how
it is checked, so that a check can be tested against it.
"""

from typing import Literal as OneOf
from typing import TypeAlias

import attrs
from hypothesis import strategies as st

from unspiral.engine.core.declare import (
    Assumption,
    Edition,
    Law,
    Limit,
    LimitValue,
    Machine,
    Scope,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.errors import BadValue
from unspiral.engine.fuzz.author import write
from unspiral.engine.fuzz.parts import Kind, Options
from unspiral.engine.fuzz.texts import conditions

__all__ = ["Kind", "limits_for", "machines"]

Draw: TypeAlias = st.DrawFn
_KINDS: tuple[Kind, ...] = ("open", "bounded", "spiral")


def machines(  # noqa: PLR0913 - each part of a machine can be left out
    *,
    kind: Kind | None = None,
    max_phases: int = 5,
    max_memory: int = 3,
    nested: bool = True,
    costs: bool = True,
    progress: bool = True,
    unlimited: bool = False,
    editions: bool = False,
    assumptions: bool = False,
    with_laws: bool = False,
) -> st.SearchStrategy[Machine]:
    """Return a strategy for well-formed machines.

    Each compiles and is total: in every reachable snapshot each available event takes
    exactly one row, at least one event is available, and no counter leaves its domain.
    Parts that no run reaches may occur, as in machines that people write.
    With the default sizes it has fewer than 3,000 reachable snapshots. It shrinks to
    few phases, few rows and plain guards: to the shortest story.

    Args:
        kind: how runs come back (see the module); a third each unless given. A
            `spiral` nearly always has a death spiral: a guard may hide the loop.
        max_phases: phases of the outer machine; an inner one has at most 2.
        max_memory: memory of the outer machine; an inner one has 1 of its own.
        nested: phases may be run by machines, and theirs again, with shared memory.
        costs: answers and rows may cost something; without it nothing can spiral.
        progress: rows may be marked as progress.
        unlimited: the limit of turns is always UNLIMITED (then a search over all
            snapshots need not end).
        editions: there may be editions; the first one sets the limits.
        assumptions: there may be assumptions on the environment.
        with_laws: there may be laws, true and false ones.

    Raises:
        BadValue: an unknown kind, or a size below the least that makes a machine.
    """
    if kind not in (None, *_KINDS):
        raise BadValue("kind", str(kind), "one of " + ", ".join(_KINDS))
    if max_phases < 1:
        raise BadValue("max_phases", str(max_phases), "1 or more")
    if max_memory < 0:
        raise BadValue("max_memory", str(max_memory), "0 or more")
    options = Options(
        max_phases=max_phases,
        max_memory=max_memory,
        depth=2 if nested else 0,
        costs=costs,
        progress=progress,
        unlimited=unlimited,
    )
    extras = _Extras(editions=editions, assumptions=assumptions, laws=with_laws)
    kinds = _KINDS if kind is None else (kind,)
    return _machines(options, kinds, extras)


def limits_for(machine: Machine) -> st.SearchStrategy[dict[str, LimitValue]]:
    """Return a strategy for values of some of a machine's limits.

    Switches and names take each of their values; a number is one of the declared
    values or from 0 to 3. UNLIMITED is drawn only where it is declared.
    """

    def values(limit: Limit) -> st.SearchStrategy[LimitValue]:
        declared = st.sampled_from(limit.alternatives)
        if isinstance(limit.default, bool | str):
            return declared
        return declared | st.integers(0, 3)

    choices = {limit.name: values(limit) for limit in machine.all_limits}
    return st.fixed_dictionaries({}, optional=choices)


@attrs.frozen
class _Extras:
    """What may stand in a machine beside what decides its runs."""

    editions: bool
    assumptions: bool
    laws: bool


@st.composite
def _machines(
    draw: Draw, options: Options, kinds: tuple[Kind, ...], extras: _Extras
) -> Machine:
    kind = draw(st.sampled_from(kinds))
    limits = _limits(draw, options)
    machine = write(draw, options, kind, limits)
    if extras.assumptions:
        machine = attrs.evolve(machine, assumptions=_assumptions(draw, machine))
    if extras.laws:
        laws = draw(st.lists(_laws(machine), max_size=3))
        named = [attrs.evolve(law, name=f"law_{i}") for i, law in enumerate(laws)]
        machine = attrs.evolve(machine, laws=named)
    if extras.editions:
        machine = attrs.evolve(machine, editions=_editions(draw, machine))
    return machine


def _limits(draw: Draw, options: Options) -> tuple[Limit, ...]:
    turns = UNLIMITED if options.unlimited else draw(st.integers(1, 2))
    return (
        Limit("cap", draw(st.integers(1, 2)), unit="recoveries"),
        Limit("max_turns", turns, unit="turns"),
        Limit("mode", "plain", values=("plain", "careful")),
        Limit("switch", draw(st.booleans())),
    )


def _editions(draw: Draw, machine: Machine) -> tuple[Edition, ...]:
    """Draw editions within the sizes of the defaults, so that spaces stay small."""
    values: dict[str, st.SearchStrategy[LimitValue]] = {
        limit.name: st.sampled_from(limit.alternatives)
        if isinstance(limit.default, bool | str) or limit.default is UNLIMITED
        else st.integers(1, 2)
        for limit in machine.all_limits
    }
    drawn = draw(st.lists(st.fixed_dictionaries({}, optional=values), max_size=2))
    return tuple(Edition(f"edition_{i}", each) for i, each in enumerate(drawn))


def _assumptions(draw: Draw, machine: Machine) -> tuple[Assumption, ...]:
    """Draw assumptions that leave the first event of each phase alone: no deadlock."""
    places = [
        (phase.name, event.name)
        for phase in machine.phases
        for event in phase.events[1:]
    ]
    if not places:
        return ()
    # Reading a reason memory would need the reasons; `none` is always there.
    when = st.just("") | conditions(machine.memory, machine.limits)
    drawn = draw(
        st.lists(
            st.tuples(st.sampled_from(places), when, st.integers(0, 2)), max_size=2
        )
    )
    return tuple(
        Assumption(f"assumption_{i}", *place, when=condition, at_most=str(most))
        for i, (place, condition, most) in enumerate(drawn)
    )


def _laws(machine: Machine) -> st.SearchStrategy[Law]:
    """Return laws about reasons, ends, plain phases, progress and memory."""
    ends = [f"target == {end.name!r}" for end in machine.terminals]
    plain = [f"phase == {p.name!r}" for p in machine.phases if p.runs is None]
    again = [f"reason == {reason!r}" for reason in machine.reasons]
    known = st.sampled_from([*again, *ends, *plain, "progress"])
    asked = known | conditions(machine.memory, ())
    scopes = st.one_of(
        st.just(Scope()),
        st.builds(Scope, st.just("after"), asked),
        st.builds(Scope, st.just("before"), st.just(""), asked),
        st.builds(Scope, st.just("between"), asked, asked),
    )
    one: tuple[OneOf["absence", "existence"], ...] = ("absence", "existence")
    two: tuple[OneOf["precedence", "response"], ...] = ("precedence", "response")
    most = st.sampled_from(("", "0", "1", "2"))
    # The real names are given when the list is complete.
    return st.one_of(
        st.builds(Law, st.just("law"), st.sampled_from(one), asked, scope=scopes),
        st.builds(
            Law, st.just("law"), st.just("bounded"), asked, at_most=most, scope=scopes
        ),
        st.builds(
            Law, st.just("law"), st.sampled_from(two), asked, asked, scope=scopes
        ),
    )
