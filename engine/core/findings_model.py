"""A declaration as `validate` looks at it: one graph, nested machines in their place.

Unlike the compiled table it can be made of any machine, however ill-formed: what could
not be read is None and may do anything. A phase run by a machine is entered at the
initial phase of that machine; each of its terminals is a node of its own, at which the
outer rows for it are asked.
"""

import functools
from collections.abc import Mapping

import attrs

from unspiral.engine.core.declare import (
    Choice,
    Counter,
    Limit,
    LimitValue,
    Machine,
    Memory,
    Phase,
    Transition,
)
from unspiral.engine.core.language import (
    BOOL,
    INT,
    Assign,
    ChoiceType,
    Name,
    Node,
    Scope,
    Type,
    Value,
    replace,
)

__all__ = ["Arc", "Configuration", "Group", "Model", "Site", "limit_type", "sites"]

_DEPTH, _MANY = 20, 200  #: levels of nesting, and machines in all


@attrs.frozen(eq=False)
class Site:
    """A machine in its place.

    Attributes:
        machine: the machine.
        prefix: what stands before its names, such as `call_model.`.
        names: its memory by local name: the name in the whole.
        memory: the same: the declaration that counts (of shared memory the outer one).
    """

    machine: Machine
    prefix: str
    names: Mapping[str, str]
    memory: Mapping[str, Memory]

    @functools.cached_property
    def phases(self) -> Mapping[str, Phase]:
        """Return the phases by name."""
        return {phase.name: phase for phase in self.machine.phases}

    @functools.cached_property
    def types(self) -> Scope:
        """Return the types of the memory by local name."""
        return {name: _memory_type(each) for name, each in self.memory.items()}

    @functools.cached_property
    def reasons(self) -> frozenset[str]:
        """Return the memory that holds continue reasons."""
        spelled = {memory.name for memory in self.machine.memory}
        spelled &= {
            memory.name
            for memory, full in zip(
                self.machine.memory, self.machine.variables, strict=True
            )
            if isinstance(memory, Choice) and memory is not full
        }
        return frozenset(spelled)

    @property
    def own(self) -> tuple[Memory, ...]:
        """Return the memory that is not shared, or all of the outermost machine."""
        return tuple(
            memory
            for memory in self.machine.variables
            if not (self.prefix and memory.shared)
        )

    @functools.cached_property
    def fresh(self) -> Mapping[str, Value]:
        """Return what leaving a nested machine puts back."""
        if not self.prefix:
            return {}
        return {self.names[memory.name]: memory.initial for memory in self.own}

    def outwards(self, node: Node) -> Node:
        """Return a tree with the names of the whole."""

        def change(inner: Node) -> Node | None:
            if isinstance(inner, Name) and inner.id in self.names:
                return Name(self.names[inner.id])
            return None

        return replace(node, change) if self.prefix else node


@attrs.frozen(eq=False)
class Arc:
    """One row in its place.

    Attributes:
        row: the row.
        site: the machine whose row it is.
        name: its name in the whole.
        source: the node it leaves.
        target: the node it leads to, or None if that is unknown.
        guard: its condition over memory and limits, or None if it cannot be read.
        action: its assignments, or None if they cannot be read.
        fresh: what it puts back because it ends a nested machine.
        head: whether it returns to the initial phase of its machine.
        costed: whether it costs anything.
    """

    row: Transition
    site: Site
    name: str
    source: str
    target: str | None
    guard: Node | None
    action: tuple[Assign, ...] | None
    fresh: Mapping[str, Value]
    head: bool
    costed: bool

    @property
    def origin(self) -> tuple[int, str]:
        """Return what is the same wherever its machine is nested."""
        return id(self.site.machine), self.row.name


@attrs.frozen(eq=False)
class Group:
    """The alternatives of a node for one event.

    Attributes:
        node: the node.
        place: what findings about it call it.
        available: when the event can be answered, or None if it cannot be read.
        arcs: the alternatives in the order of asking.
        ordered: whether an `otherwise` declares that order.
        doubtful: whether a finding already touches it, so that no other is drawn.
    """

    node: str
    place: str
    available: Node | None
    arcs: tuple[Arc, ...]
    ordered: bool
    doubtful: bool


@attrs.frozen(eq=False)
class Configuration:
    """Limits at one of the declared settings.

    Attributes:
        label: what findings call it.
        limits: the value of every limit.
    """

    label: str
    limits: Mapping[str, LimitValue]


@attrs.frozen(eq=False)
class Model:
    """All that the analyses read.

    Attributes:
        machine: the machine.
        sites: it and those nested in it, the outermost first.
        start: the node at which a run starts.
        groups: the alternatives by node.
        memory: all memory by name in the whole.
        highs: the greatest value of each counter over limits; None if unreadable.
        configurations: the settings to judge.
    """

    machine: Machine
    sites: tuple[Site, ...]
    start: str
    groups: Mapping[str, tuple[Group, ...]]
    memory: Mapping[str, Memory]
    highs: Mapping[str, Node | None]
    configurations: tuple[Configuration, ...]

    @functools.cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Return all rows."""
        return tuple(
            arc
            for groups in self.groups.values()
            for group in groups
            for arc in group.arcs
        )

    @functools.cached_property
    def terminals(self) -> frozenset[str]:
        """Return the ends of the whole."""
        return frozenset(terminal.name for terminal in self.machine.terminals)


def limit_type(limit: Limit) -> Type:
    """Return the type of a limit, whatever is wrong with its values."""
    if isinstance(limit.default, bool):
        return BOOL
    if isinstance(limit.default, str):
        texts = [value for value in limit.values if isinstance(value, str)]
        return ChoiceType(tuple(dict.fromkeys((limit.default, *texts))))
    return INT


def _memory_type(memory: Memory) -> Type:
    if isinstance(memory, Choice):
        return ChoiceType(tuple(str(value) for value in memory.values))
    return INT if isinstance(memory, Counter) else BOOL


def sites(machine: Machine) -> tuple[Site, ...] | None:
    """Return a machine and all machines nested in it, or None if they are too many."""
    memory = {each.name: each for each in machine.variables}
    found = [Site(machine, "", {name: name for name in memory}, memory)]
    waiting = [(found[0], 0)]
    while waiting:
        outer, depth = waiting.pop()
        inner = [
            _inside(outer, phase.name, phase.runs)
            for phase in outer.machine.phases
            if phase.runs is not None
        ]
        found += inner
        waiting += [(site, depth + 1) for site in inner]
        if len(found) > _MANY or (inner and depth >= _DEPTH):
            return None
    return tuple(found)


def _inside(outer: Site, phase: str, machine: Machine) -> Site:
    prefix = f"{outer.prefix}{phase}."
    names: dict[str, str] = {}
    memory: dict[str, Memory] = {}
    for each in machine.variables:
        shared = each.shared and each.name in outer.names
        names[each.name] = outer.names[each.name] if shared else prefix + each.name
        memory[each.name] = outer.memory[each.name] if shared else each
    return Site(machine, prefix, names, memory)
