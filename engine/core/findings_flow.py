"""Which values can be where: the machine run on sets of values, for `validate`.

At one setting of the limits every node gets, for each memory, the set of values that it
may have there. The sets are kept apart from each other, so that they are never too
small: what is not reached on them is not reached by any run.
"""

from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.core.declare import Choice, Counter, LimitValue
from unspiral.engine.core.findings_model import Arc, Configuration, Group, Model
from unspiral.engine.core.findings_values import (
    CAP,
    FEW,
    Domain,
    Env,
    Reader,
    compiled,
    points,
    product,
)
from unspiral.engine.core.language import (
    UNLIMITED,
    Assign,
    Const,
    Node,
    Value,
    names,
    substitute,
)

__all__ = ["Flow", "Landscape", "State", "Trial"]

_PATIENCE = 12  #: changes of a node before its counters are widened
State = dict[str, frozenset[Value]]
Moves = frozenset[tuple[Value, Value]]


@attrs.frozen(eq=False)
class Trial:
    """The alternatives of a group, tried on all values that can be there.

    Attributes:
        taken: per alternative, the combinations on which it is taken; an empty one
            says nothing of any memory. Not there if it is never taken.
        alone: the alternatives whose guards hold on some combination.
        gap: a combination that no alternative takes, or None.
        overlap: two alternatives and a combination on which both hold, or None.
        offered: whether the event is available on some combination.
    """

    taken: Mapping[int, list[dict[str, Value]]]
    alone: frozenset[int]
    gap: Env | None = None
    overlap: tuple[int, int, Env] | None = None
    offered: bool = True


@attrs.frozen(eq=False)
class _Asked:
    """A group at fixed limits."""

    group: Group
    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    available: Reader | None
    guards: tuple[Reader | None, ...]


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


class Flow:
    """The analysis of one model; what was tried is remembered between settings."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._nodes: dict[tuple[int, tuple[LimitValue, ...]], Node] = {}
        self._asked: dict[tuple[int, tuple[int, ...]], _Asked] = {}
        self._tried: dict[tuple[object, ...], Trial] = {}
        self._readers: dict[int, Reader] = {}
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
        used = sorted(names(node) & limits.keys())
        key = id(node), tuple(limits[name] for name in used)
        if key not in self._nodes:
            self._nodes[key] = substitute(node, {name: limits[name] for name in used})
        return self._nodes[key]

    def reader(self, node: Node) -> Reader:
        """Return the function that evaluates a tree."""
        if id(node) not in self._readers:  # `at` keeps the node alive
            self._readers[id(node)] = compiled(node)
        return self._readers[id(node)]

    def asked(self, group: Group, limits: Mapping[str, LimitValue]) -> _Asked:
        """Return a group with the limits put in."""
        sources = [group.available, *(arc.guard for arc in group.arcs)]
        nodes = [None if node is None else self.at(node, limits) for node in sources]
        known = tuple(node for node in nodes if node is not None)
        key = id(group), tuple(id(node) for node in known)
        if key not in self._asked:
            readers = [None if node is None else self.reader(node) for node in nodes]
            used = sorted({name for node in known for name in names(node)})
            self._asked[key] = _Asked(
                group, tuple(used), known, readers[0], tuple(readers[1:])
            )
        return self._asked[key]

    def trial(
        self, asked: _Asked, state: State, domains: Mapping[str, Domain]
    ) -> Trial:
        """Return how a group goes on the values that are there."""
        seen = tuple(state.get(name) or domains[name] for name in asked.names)
        key = (asked, seen)
        if key not in self._tried:
            self._tried[key] = _try(asked, state, domains)
        return self._tried[key]


def _try(asked: _Asked, state: State, domains: Mapping[str, Domain]) -> Trial:
    values: dict[str, tuple[Value, ...]] = {}
    undecided = _undecided(asked)
    for name in asked.names:
        here = state.get(name)
        found = (
            tuple(sorted(here, key=repr))
            if here is not None
            else points(name, domains[name], asked.nodes)
        )
        if found is None:
            return undecided
        values[name] = found
    combinations = product(values)
    if combinations is None or len(combinations) * len(asked.guards) > 10 * CAP:
        return undecided
    return _count(asked, combinations)


def _undecided(asked: _Asked) -> Trial:
    every = range(len(asked.guards))
    return Trial({i: [{}] for i in every}, frozenset(every))


def _count(asked: _Asked, combinations: list[dict[str, Value]]) -> Trial:
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
    return Trial(taken, frozenset(alone), gap, overlap, offered)


class _Run:
    """One setting being explored."""

    def __init__(self, flow: Flow, configuration: Configuration) -> None:
        self.flow = flow
        self.model = flow.model
        self.configuration = configuration
        self.limits = configuration.limits
        self.domains = {name: self.domain(name) for name in self.model.memory}
        self.states: dict[str, State] = {}
        self.changes: dict[str, int] = {}
        self.waiting: dict[str, None] = {}

    def domain(self, name: str) -> Domain:
        memory = self.model.memory[name]
        match memory:
            case Counter(low=low):
                node = self.model.highs.get(name)
                top = None if node is None else self.flow.at(node, self.limits)
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
                for arc, combinations in self.rows(group, state):
                    if arc.target is not None:
                        after = self.after(arc, combinations, state)
                        self.arrive(arc.target, after)
        trials: dict[Group, Trial] = {}
        moves: dict[Arc, dict[str, Moves | None]] = {}
        for node, state in self.states.items():
            for group in self.model.groups.get(node, ()):
                trials[group] = self.trial(group, state)
                for arc, combinations in self.rows(group, state):
                    moves[arc] = self.moves(arc, combinations, state)
        return Landscape(self.configuration, self.states, trials, self.domains, moves)

    def trial(self, group: Group, state: State) -> Trial:
        return self.flow.trial(self.flow.asked(group, self.limits), state, self.domains)

    def rows(
        self, group: Group, state: State
    ) -> Iterable[tuple[Arc, list[dict[str, Value]]]]:
        taken = self.trial(group, state).taken
        return [(group.arcs[i], combinations) for i, combinations in taken.items()]

    def arrive(self, node: str, state: State) -> None:
        here = self.states.get(node)
        if here is None:
            self.states[node] = state
            self.waiting[node] = None
            return
        grown = {n: v for n, v in state.items() if not v <= here[n]}
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

    def after(
        self, arc: Arc, combinations: list[dict[str, Value]], state: State
    ) -> State:
        """Return the values after a row is taken."""
        after = dict(state)
        if arc.action is None:
            for name in arc.site.names.values():
                every = self.domains[name].values
                if every is not None and name in after:
                    after[name] = every
            return after | self.fresh(arc)
        for name in combinations[0]:
            if name in after:
                after[name] = frozenset(env[name] for env in combinations)
        for name, pairs in self.moves(arc, combinations, state).items():
            every = self.domains[name].values
            if every is not None and name in after:
                reached = frozenset(new for _, new in pairs or ())
                after[name] = reached or every
        return after | self.fresh(arc)

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
        writes = {each.name: each for each in arc.action}
        for name, value in arc.fresh.items():
            writes[name] = Assign(name, Const(value))
        return {
            name: self.pairs(each, combinations, state) for name, each in writes.items()
        }

    def pairs(
        self, assign: Assign, combinations: list[dict[str, Value]], state: State
    ) -> Moves | None:
        name = assign.name
        value = self.flow.at(assign.value, self.limits)
        needed = {name, *names(value)}
        if not all(each in state or each in combinations[0] for each in needed):
            return None
        if name not in state:
            return None
        missing = {n: tuple(state[n]) for n in needed if n not in combinations[0]}
        rest = product(missing)
        kept = {tuple((n, env[n]) for n in needed if n in env) for env in combinations}
        if rest is None or len(rest) * len(kept) > 4 * FEW * FEW:
            return None
        reader, domain = self.flow.reader(value), self.domains[name]
        found: set[tuple[Value, Value]] = set()
        for part in kept:
            for more in rest:
                env = {**dict(part), **more}
                new = reader(env)
                if domain.holds(new):
                    found.add((env[name], new))  # type: ignore[arg-type]
        return frozenset(found)
