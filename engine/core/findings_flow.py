"""Which values can be where: the machine run on sets of values, for `validate`.

At one setting of the limits every node gets, for each memory, the set of values that it
may have there. The sets are kept apart from each other, so that they are never too
small: what is not reached on them is not reached by any run.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs

from unspiral.engine.core.declare import Choice, Counter, LimitValue
from unspiral.engine.core.findings_model import Arc, Configuration, Group, Model
from unspiral.engine.core.findings_trial import (
    Asked,
    Moves,
    State,
    Trial,
    Write,
    attempt,
    undecided,
)
from unspiral.engine.core.findings_values import FEW, Domain, Reader, compiled
from unspiral.engine.core.language import (
    UNLIMITED,
    Assign,
    Const,
    Node,
    Value,
    names,
    substitute,
)

__all__ = ["Flow", "Landscape"]

_FAR = 10**9
_WORK = 4_000_000  #: guards that are tried in all; then comes the benefit of the doubt
_PATIENCE = 12  #: changes of a node before its counters are widened


@attrs.frozen(eq=False)
class Landscape:
    """What is where at one setting of the limits.

    Attributes:
        configuration: the setting.
        states: the values at each node that is reached.
        trials: how each group of a reached node goes.
        domains: the memory at these limits.
        moves: per row taken and memory written, the pairs of values before and after;
            None where they are not followed.
    """

    configuration: Configuration
    states: Mapping[str, State]
    trials: Mapping[Group, Trial]
    domains: Mapping[str, Domain]
    moves: Mapping[Arc, Mapping[str, Moves | None]]

    @property
    def taken(self) -> Iterable[Arc]:
        """Return the rows that can be taken."""
        return self.moves.keys()


@attrs.frozen(eq=False)
class _Way:
    """A row that can be taken, what it does to memory, and the values that change."""

    arc: Arc
    moves: Mapping[str, Moves | None]
    changed: State


@attrs.frozen(eq=False)
class _Left:
    """How a group goes on the values at its node."""

    trial: Trial
    ways: tuple[_Way, ...]


#: a group at fixed limits, how it goes by what it touches, and the memory it touches
_Touched: TypeAlias = tuple[Asked, dict[tuple[object, ...], _Left], tuple[str, ...]]


class Flow:
    """The analysis of one model; what was tried is remembered between settings."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._nodes: dict[tuple[int, tuple[LimitValue, ...]], Node] = {}
        self._asked: dict[tuple[int, tuple[int, ...]], Asked] = {}
        self._tried: dict[tuple[object, ...], Trial] = {}
        self._work = 0
        self._readers: dict[int, Reader] = {}
        self._writes: dict[tuple[str, int], Write] = {}
        self._used: dict[int, tuple[str, ...]] = {}
        self.remembered: dict[tuple[object, ...], Moves | None] = {}
        self.left: dict[tuple[object, ...], dict[tuple[object, ...], _Left]] = {}
        self.domains: dict[Domain, Domain] = {}
        blurred = any(arc.action is None for arc in model.arcs)
        written = {each.name for arc in model.arcs for each in arc.action or ()}
        # Shared memory of the outermost machine is written by whoever nests it.
        self.outer = {name for name, each in model.memory.items() if each.shared}
        fixed = model.memory.keys() - written - self.outer
        self.constant = frozenset[str]() if blurred else fixed

    def explore(self, configuration: Configuration) -> Landscape:
        """Return what is where at one setting."""
        return _Run(self, configuration).landscape()

    def at(self, node: Node, limits: Mapping[str, LimitValue]) -> Node:
        """Return a tree with the limits put in."""
        if id(node) not in self._used:  # the model keeps the node alive
            self._used[id(node)] = tuple(names(node) & limits.keys())
        used = self._used[id(node)]
        key = id(node), tuple(limits[name] for name in used)
        if key not in self._nodes:
            self._nodes[key] = substitute(node, {name: limits[name] for name in used})
        return self._nodes[key]

    def reader(self, node: Node) -> Reader:
        """Return the function that evaluates a tree."""
        if id(node) not in self._readers:  # `at` keeps the node alive
            self._readers[id(node)] = compiled(node)
        return self._readers[id(node)]

    def write(self, assign: Assign, limits: Mapping[str, LimitValue]) -> Write:
        """Return an assignment with the limits put in."""
        value = self.at(assign.value, limits)
        key = assign.name, id(value)
        if key not in self._writes:
            needed = tuple(sorted({assign.name, *names(value)}))
            self._writes[key] = Write(assign.name, self.reader(value), needed)
        return self._writes[key]

    def asked(self, group: Group, limits: Mapping[str, LimitValue]) -> Asked:
        """Return a group with the limits put in."""
        sources = [group.available, *(arc.guard for arc in group.arcs)]
        nodes = [None if node is None else self.at(node, limits) for node in sources]
        known = tuple(node for node in nodes if node is not None)
        key = id(group), tuple(id(node) for node in known)
        if key not in self._asked:
            readers = [None if node is None else self.reader(node) for node in nodes]
            used = sorted({name for node in known for name in names(node)})
            self._asked[key] = Asked(
                group, tuple(used), known, readers[0], tuple(readers[1:])
            )
        return self._asked[key]

    def trial(self, asked: Asked, state: State, domains: Mapping[str, Domain]) -> Trial:
        """Return how a group goes on the values that are there."""
        seen = tuple(state.get(name) or domains[name] for name in asked.names)
        key = (asked, seen)
        if key not in self._tried:
            trial = attempt(asked, state, domains) if self._work < _WORK else None
            self._tried[key] = trial or undecided(asked)
            self._work += self._tried[key].work
        return self._tried[key]


class _Run:
    """One setting being explored."""

    def __init__(self, flow: Flow, configuration: Configuration) -> None:
        self.flow = flow
        self.model = flow.model
        self.configuration = configuration
        self.limits = configuration.limits
        domains = {name: self.domain(name) for name in self.model.memory}
        self.domains = {n: flow.domains.setdefault(d, d) for n, d in domains.items()}
        self.states: dict[str, State] = {}
        self.changes: dict[str, int] = {}
        self.waiting: dict[str, None] = {}
        self.touched: dict[Group, _Touched] = {}
        self.writes: dict[int, Write] = {}

    def domain(self, name: str) -> Domain:
        memory = self.model.memory[name]
        match memory:
            case Counter(low=low):
                node = self.model.highs.get(name)
                if node is None:  # unreadable; that it ends is likely
                    return Domain(None, low, _FAR)
                top = self.flow.at(node, self.limits)
                value = top.value if isinstance(top, Const) else UNLIMITED
                if value is UNLIMITED or not isinstance(value, int):
                    return Domain(None, low)
                few = value - low < FEW
                numbers = frozenset[Value](range(low, value + 1)) if few else None
                return Domain(numbers, low, value)
            case Choice(values=values):
                few = len(values) <= FEW
                listed = () if few else tuple(values)
                return Domain(frozenset(values) if few else None, listed=listed)
            case _:
                return Domain(frozenset({False, True}))

    def initial(self) -> State:
        state: State = {}
        for name, memory in self.model.memory.items():
            every = self.domains[name].values
            if every is not None and name in self.flow.outer:
                state[name] = every
            elif every is not None or name in self.flow.constant:
                state[name] = frozenset({memory.initial})
        return state

    def landscape(self) -> Landscape:
        self.arrive(self.model.start, self.initial())
        while self.waiting:
            node = next(iter(self.waiting))
            del self.waiting[node]
            for group in self.model.groups.get(node, ()):
                state = self.states[node]
                for way in self.left(group, state).ways:
                    if way.arc.target is not None:
                        self.arrive(way.arc.target, state | way.changed)
        trials: dict[Group, Trial] = {}
        moves: dict[Arc, Mapping[str, Moves | None]] = {}
        for node, state in self.states.items():
            for group in self.model.groups.get(node, ()):
                left = self.left(group, state)
                trials[group] = left.trial
                moves |= {way.arc: way.moves for way in left.ways}
        return Landscape(self.configuration, self.states, trials, self.domains, moves)

    def left(self, group: Group, state: State) -> _Left:
        """Return how a node is left; few settings differ in what its rows touch."""
        if group not in self.touched:
            self.touched[group] = self.touches(group)
        asked, known, touched = self.touched[group]
        values = tuple(map(state.get, touched))
        if values not in known:
            trial = self.flow.trial(asked, state, self.domains)
            ways = [self.way(group.arcs[i], i, trial, state) for i in trial.taken]
            known[values] = _Left(trial, tuple(ways))
        return known[values]

    def touches(self, group: Group) -> _Touched:
        """Return a group at these limits, what is known of it, and what it touches."""
        asked = self.flow.asked(group, self.limits)
        names = set(asked.names)
        writes: list[Write] = []
        for arc in group.arcs:
            names |= arc.fresh.keys()
            if arc.action is None:
                names |= set(arc.site.names.values())
            writes += [self.written(each) for each in arc.action or ()]
        touched = tuple(sorted(names.union(*(each.needed for each in writes))))
        # What is named by its id is kept alive by this flow.
        domains = [id(self.domains[name]) for name in touched]
        key = (asked, *map(id, writes), *domains)
        return asked, self.flow.left.setdefault(key, {}), touched

    def arrive(self, node: str, state: State) -> None:
        here = self.states.get(node)
        if here is None:
            self.states[node] = state
            self.waiting[node] = None
            return
        grown = {
            n: v for n, v in state.items() if v is not here[n] and not v <= here[n]
        }
        if not grown:
            return
        self.changes[node] = self.changes.get(node, 0) + 1
        wide = self.changes[node] > _PATIENCE
        joined = dict(here)
        for name, values in grown.items():
            every = self.domains[name].values
            counter = isinstance(self.model.memory[name], Counter)
            widened = wide and counter and every is not None
            joined[name] = (
                every if widened and every is not None else here[name] | values
            )
        self.states[node] = joined
        self.waiting[node] = None

    def way(self, arc: Arc, i: int, trial: Trial, state: State) -> _Way:
        """Return what a row does, and the values that it changes."""
        moves = self.moves(arc, trial.taken[i], state)
        after: State = {}
        if arc.action is None:
            for name in arc.site.names.values():
                every = self.domains[name].values
                if every is not None and name in state:
                    after[name] = every
            return _Way(arc, moves, after | self.fresh(arc))
        after |= {n: met for n, met in trial.met[i].items() if n in state}
        for name, pairs in moves.items():
            every = self.domains[name].values
            if every is not None and name in state:
                after[name] = frozenset(new for _, new in pairs or ()) or every
        return _Way(arc, moves, after | self.fresh(arc))

    def fresh(self, arc: Arc) -> State:
        return {
            name: frozenset({value})
            for name, value in arc.fresh.items()
            if self.domains[name].values is not None or name in self.flow.constant
        }

    def moves(
        self, arc: Arc, combinations: list[dict[str, Value]], state: State
    ) -> dict[str, Moves | None]:
        """Return the pairs of values before and after, of each memory written."""
        if arc.action is None:
            return dict.fromkeys(arc.site.names.values())
        found = {
            each.name: self.pairs(each, combinations, state)
            for each in arc.action
            if each.name not in arc.fresh
        }
        for name, value in arc.fresh.items():
            old = state.get(name)
            found[name] = None if old is None else frozenset((v, value) for v in old)
        return found

    def pairs(
        self, assign: Assign, combinations: list[dict[str, Value]], state: State
    ) -> Moves | None:
        """Return the pairs of one assignment; remembered, since few ever differ."""
        write = self.written(assign)
        if not all(name in state for name in write.needed):
            return None
        missing = {n: state[n] for n in write.needed if n not in combinations[0]}
        domain = self.domains[assign.name]
        # What is named by its id is kept alive by this flow.
        key = (id(write), id(combinations), domain, *missing.values())
        known = self.flow.remembered
        if key not in known:
            known[key] = write.pairs(combinations, missing, domain)
        return known[key]

    def written(self, assign: Assign) -> Write:
        """Return an assignment with the limits put in."""
        if id(assign) not in self.writes:
            self.writes[id(assign)] = self.flow.write(assign, self.limits)
        return self.writes[id(assign)]
