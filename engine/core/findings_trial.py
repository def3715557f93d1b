"""The alternatives of one phase and event, tried on sets of values, for `validate`."""

from collections.abc import Mapping
from typing import cast

import attrs

from unspiral.engine.core.findings_model import Group
from unspiral.engine.core.findings_values import (
    CAP,
    FEW,
    Domain,
    Env,
    Reader,
    points,
    product,
)
from unspiral.engine.core.language import Node, Value

__all__ = ["Asked", "Moves", "State", "Trial", "Write", "attempt", "undecided"]

State = dict[str, frozenset[Value]]
Moves = frozenset[tuple[Value, Value]]


@attrs.frozen(eq=False)
class Trial:
    """The alternatives of a group, tried on all values that can be there.

    Attributes:
        taken: per alternative, the combinations on which it is taken; an empty one
            says nothing of any memory. Not there if it is never taken.
        alone: the alternatives whose guards hold on some combination.
        met: per alternative taken, the values of each memory on its combinations.
        gap: a combination that no alternative takes, or None.
        overlap: two alternatives and a combination on which both hold, or None.
        offered: whether the event is available on some combination.
        work: how many guards were tried.
    """

    taken: Mapping[int, list[dict[str, Value]]]
    alone: frozenset[int]
    met: Mapping[int, State]
    gap: Env | None = None
    overlap: tuple[int, int, Env] | None = None
    offered: bool = True
    work: int = 1


@attrs.frozen(eq=False)
class Asked:
    """A group at fixed limits."""

    group: Group
    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    available: Reader | None
    guards: tuple[Reader | None, ...]


def attempt(asked: Asked, state: State, domains: Mapping[str, Domain]) -> Trial:
    """Try the alternatives of a group on all values that can be there."""
    values: dict[str, tuple[Value, ...]] = {}
    for name in asked.names:
        here = state.get(name)
        found = (
            tuple(sorted(here, key=repr))
            if here is not None
            else points(name, domains[name], asked.nodes)
        )
        if found is None:
            return undecided(asked)
        values[name] = found
    combinations = product(values)
    if combinations is None or len(combinations) * len(asked.guards) > 10 * CAP:
        return undecided(asked)
    return _count(asked, combinations)


def undecided(asked: Asked) -> Trial:
    """Return the trial that gives every alternative the benefit of the doubt."""
    every = range(len(asked.guards))
    return Trial({i: [{}] for i in every}, frozenset(every), {i: {} for i in every})


def _count(asked: Asked, combinations: list[dict[str, Value]]) -> Trial:
    taken: dict[int, list[dict[str, Value]]] = {}
    alone: set[int] = set()
    gap: Env | None = None
    overlap: tuple[int, int, Env] | None = None
    offered = False
    for env in combinations:
        if asked.available is not None and not asked.available(env):
            continue
        offered = True
        holding: list[int] = []
        possible: list[int] = []
        for i, guard in enumerate(asked.guards):
            if guard is None:
                possible += [] if holding else [i]
                alone.add(i)
            elif guard(env):
                holding.append(i)
        alone.update(holding)
        for i in (*possible, *holding[:1]):
            taken.setdefault(i, []).append(env)
        if not holding and not possible and gap is None:
            gap = env
        if len(holding) > 1 and overlap is None:
            overlap = holding[0], holding[1], env
    met = {
        i: {name: frozenset(env[name] for env in each) for name in each[0]}
        for i, each in taken.items()
    }
    work = len(combinations) * (len(asked.guards) + 1)
    return Trial(taken, frozenset(alone), met, gap, overlap, offered, work)


@attrs.frozen(eq=False)
class Write:
    """An assignment at fixed limits.

    Attributes:
        name: the memory assigned.
        reader: its new value.
        needed: the memory that decides both its old and its new value.
    """

    name: str
    reader: Reader
    needed: tuple[str, ...]

    def pairs(
        self, combinations: list[dict[str, Value]], missing: State, domain: Domain
    ) -> Moves | None:
        """Return the values before and after that stay in bounds; None if too many.

        Args:
            combinations: on which the row is taken.
            missing: the values of what is needed and they do not say.
            domain: the domain of the memory.
        """
        rest = product({n: tuple(values) for n, values in missing.items()})
        kept = {
            tuple((n, env[n]) for n in self.needed if n in env) for env in combinations
        }
        if rest is None or len(rest) * len(kept) > FEW * FEW:
            return None
        found: set[tuple[Value, Value]] = set()
        for part in kept:
            for more in rest:
                env = {**dict(part), **more}
                new = cast("Value", self.reader(env))
                if domain.holds(new):
                    found.add((env[self.name], new))
        return frozenset(found)
