"""Reading a declaration for `validate`: every name and text is judged once.

What is wrong is filed with the judge; what is right goes into the model. A name that is
nearly right is read as what was meant, so that one slip gives one finding.
"""

from unspiral.engine.core.declare import (
    Choice,
    Counter,
    Event,
    Machine,
    Memory,
    Phase,
    Transition,
)
from unspiral.engine.core.findings_model import (
    Arc,
    Configuration,
    Group,
    Model,
    Site,
    limit_type,
)
from unspiral.engine.core.findings_text import Judge, walk, words
from unspiral.engine.core.language import (
    INT,
    OTHERWISE,
    TRUE,
    Assign,
    Compare,
    Name,
    Node,
    Scope,
    names,
)
from unspiral.engine.errors import nearest

__all__ = ["Reading", "alphabet"]


class Reading:
    """A machine being read.

    Attributes:
        model: what was read.
        reads: the memory (by name in the whole) and limits that something reads.
    """

    def __init__(
        self,
        machine: Machine,
        found: tuple[Site, ...],
        judge: Judge,
        configurations: tuple[Configuration, ...],
    ) -> None:
        self.judge = judge
        self.reads: set[str] = set()
        self.limits = {each.name: limit_type(each) for each in machine.all_limits}
        self.by_prefix = {site.prefix: site for site in found}
        self.groups: dict[str, list[Group]] = {}
        self.memory: dict[str, Memory] = {}
        self.highs: dict[str, Node | None] = {}
        seen: set[int] = set()
        for site in found:
            # A machine that runs several phases is judged once.
            self.judge = Judge("") if id(site.machine) in seen else judge
            seen.add(id(site.machine))
            self._memory(site)
            self._rows(site)
        self.judge = judge
        self.model = Model(
            machine=machine,
            sites=found,
            start=self.entry(found[0], self.start(found[0])),
            groups={node: tuple(groups) for node, groups in self.groups.items()},
            memory=self.memory,
            highs=self.highs,
            configurations=configurations,
        )

    def scope(self, site: Site) -> Scope:
        """Return the types of what a text of this machine may name."""
        return {**self.limits, **site.types}

    def note(self, site: Site, *nodes: Node) -> None:
        """Remember what trees with local names read."""
        for node in nodes:
            self.reads |= {site.names.get(name, name) for name in names(node)}

    def guess(self, site: Site, text: object) -> None:
        """Remember what an unreadable text may read."""
        self.reads |= {site.names.get(word, word) for word in words(text)}

    def start(self, site: Site) -> str:
        """Return the initial phase of a machine, or what was meant by it."""
        named = site.machine.start_phase
        if named in site.phases:
            return named
        return nearest(named, site.phases) or site.machine.phases[0].name

    def entry(self, site: Site, phase: str) -> str:
        """Return the node at which a phase is entered."""
        while site.phases[phase].runs is not None:
            site = self.by_prefix[f"{site.prefix}{phase}."]
            phase = self.start(site)
        return site.prefix + phase

    def condition(self, site: Site, text: object, place: str) -> Node | None:
        """Return a condition over the names of the whole."""
        node = self.judge.guard(text, self.scope(site), site.reasons, place)
        if node is None:
            self.guess(site, text)
            return None
        self.note(site, node)
        self._equalities(site, node, place)
        return site.outwards(node)

    def _equalities(self, site: Site, node: Node, place: str) -> None:
        counters = {name for name, kind in site.types.items() if kind == INT}
        limits = {name for name, kind in self.limits.items() if kind == INT} - counters
        for each in walk(node):
            if not isinstance(each, Compare) or each.op not in {"==", "!="}:
                continue
            for one, two in ((each.left, each.right), (each.right, each.left)):
                bound = names(two)
                if isinstance(one, Name) and one.id in counters and bound & limits:
                    name, op = min(bound & limits), each.op
                    self.judge.report(
                        "equality",
                        place,
                        f"{one.id} is compared with {name} by {op}",
                        f"if {one.id} ever jumps over {name}, nothing stops it",
                        fix=f"write {'>=' if op == '==' else '<'}",
                    )

    def _memory(self, site: Site) -> None:
        for memory in site.machine.variables:
            name = site.names[memory.name]
            place = f"memory {site.prefix}{memory.name}"
            if site.prefix and memory.shared and self._shared(site, memory, place):
                continue
            self.memory[name] = memory
            if isinstance(memory, Counter):
                node = self.judge.number(memory.high, self.limits, f"{place}, high")
                self.highs[name] = node
                self.reads |= words(memory.high)
            elif isinstance(memory, Choice) and memory.initial not in memory.values:
                problem = f"it starts at {memory.initial!r}, which is no value of it"
                self.judge.report("bad_value", place, problem, _values(memory))

    def _shared(self, site: Site, memory: Memory, place: str) -> bool:
        """Tell whether shared memory is that of the outer machine, and judge it."""
        outer = site.memory[memory.name]
        if outer is memory:
            prefix = site.prefix[:-1].rpartition(".")[0]
            around = self.by_prefix[prefix + "." if prefix else ""]
            cause = f"{site.machine.name} shares it, and {around.machine.name} lacks it"
            self.judge.unknown("shared memory", memory.name, around.names, place, cause)
            return False
        if type(outer) is not type(memory):
            kinds = type(memory).__name__.lower(), type(outer).__name__.lower()
            problem = f"it is a {kinds[0]} here and a {kinds[1]} outside"
            self.judge.report("bad_value", place, problem, "shared memory is one")
        return True

    def _rows(self, site: Site) -> None:
        machine = site.machine
        if machine.start_phase not in site.phases:
            place = f"machine {machine.name}, initial"
            self.judge.unknown("phase", machine.start_phase, site.phases, place)
        parts: dict[tuple[str, str], list[Transition]] = {}
        spoiled: set[tuple[str, str]] = set()
        for row in machine.rows:
            key = self._key(site, row, spoiled)
            if key is not None:
                parts.setdefault(key, []).append(row)
        for phase in machine.phases:
            if phase.runs is not None and phase.events:
                problem = f"it is run by {phase.runs.name} and declares events"
                cause = "the terminals of that machine are its events"
                place = f"phase {site.prefix}{phase.name}"
                self.judge.report("misplaced_event", place, problem, cause)
            events = {event.name: event for event in alphabet(phase)}
            self._twice(site, phase)
            wanted = dict.fromkeys(events or ("",))
            extra = [e for p, e in parts if p == phase.name and e not in wanted]
            for event in (*wanted, *extra):
                rows = parts.get((phase.name, event), [])
                doubtful = (phase.name, event) in spoiled or bool(extra and not event)
                self._group(site, phase, events.get(event), event, rows, doubtful)

    def _twice(self, site: Site, phase: Phase) -> None:
        told = [event.name for event in phase.events]
        for name in sorted({each for each in told if told.count(each) > 1}):
            place = f"phase {site.prefix}{phase.name}"
            cause = "the later one would replace the earlier"
            problem = f"event {name} is declared twice"
            self.judge.report("bad_value", place, problem, cause, fix="name it once")

    def _key(
        self, site: Site, row: Transition, spoiled: set[tuple[str, str]]
    ) -> tuple[str, str] | None:
        """Return the phase and event of a row, and judge both."""
        place = f"row {site.prefix}{row.name}"
        source, event, judge = row.source, row.event, self.judge
        if source not in site.phases:
            ends = {terminal.name for terminal in site.machine.terminals}
            cause = f"{source} is a terminal: a run ends there"
            source = judge.unknown(
                "phase", source, site.phases, place, cause if source in ends else ""
            )
            if not source:
                return None
            spoiled.add((source, event))
        phase = site.phases[source]
        events = tuple(each.name for each in alphabet(phase))
        if event and not events:
            problem = f"{source} is a deciding phase and takes no event {event!r}"
            fix = f"declare {event!r} as an event of {source}, or name none"
            judge.report("misplaced_event", place, problem, _no_events(source), fix=fix)
        elif events and not event:
            cause = f"{source} is answered by {', '.join(events[:12])}"
            problem = "the row names no event"
            judge.report("misplaced_event", place, problem, cause)
        elif event not in events and event:
            event = judge.unknown(f"event of {source}", event, events, place) or event
        else:
            return source, event
        spoiled.add((source, event))
        return source, event

    def _group(  # noqa: PLR0913, PLR0917 - a group is all of these
        self,
        site: Site,
        phase: Phase,
        event: Event | None,
        word: str,
        rows: list[Transition],
        doubtful: bool,  # noqa: FBT001 - private, one caller
    ) -> None:
        name = site.prefix + phase.name
        place = f"phase {name}" + (f", event {word}" if word else "")
        node = name
        available: Node | None = TRUE
        if phase.runs is not None and word:
            node = f"{name}.{word}"
        elif event is not None and event.available != "":
            what = f"{place}, available"
            available = self.condition(site, event.available, what)
        arcs = tuple(self._arc(site, phase, node, row) for row in rows)
        ordered = any(_stripped(row.guard) == OTHERWISE for row in rows)
        unclear = available is None or any(arc.guard is None for arc in arcs)
        group = Group(node, place, available, arcs, ordered, doubtful or unclear)
        self.groups.setdefault(node, []).append(group)

    def _arc(self, site: Site, phase: Phase, node: str, row: Transition) -> Arc:
        name = site.prefix + row.name
        place = f"row {name}"
        guard = self.condition(site, row.guard, f"{place}, guard")
        action = self._action(site, row.action, f"{place}, action")
        states = (*site.phases, *(end.name for end in site.machine.terminals))
        end: str = row.target
        if end not in states:
            end = self.judge.unknown("phase or terminal", row.target, states, place)
        target = self.entry(site, end) if end in site.phases else site.prefix + end
        start = self.start(site)
        head = end == start and row.source != start
        if head and not row.reason:
            self.judge.report(
                "no_reason",
                place,
                f"it returns to {site.prefix}{start} without a reason",
                f"{start} is the initial phase, so this is a continue",
            )
        inner = phase.runs is not None
        cost = list(row.cost.values())
        cost += phase.cost.values() if row.event and not inner else ()
        return Arc(
            row=row,
            site=site,
            name=name,
            source=node,
            target=target if end else None,
            guard=guard,
            action=action,
            fresh={} if end in site.phases else site.fresh,
            head=head,
            costed=any(cost),
        )

    def _action(
        self, site: Site, text: object, place: str
    ) -> tuple[Assign, ...] | None:
        scope, writable = self.scope(site), site.types
        action = self.judge.action(text, scope, writable, site.reasons, place)
        if action is None:
            self.guess(site, text)
            return None
        for each in action:
            # A counter that only counts itself is not read.
            read_here = names(each.value) - {each.name}
            self.reads |= {site.names.get(name, name) for name in read_here}
        return tuple(
            Assign(site.names[each.name], site.outwards(each.value)) for each in action
        )


def alphabet(phase: Phase) -> tuple[Event, ...]:
    """Return the events of a phase; of a nested one, the ends of its machine."""
    if phase.runs is None:
        return phase.events
    return tuple(Event(terminal.name) for terminal in phase.runs.terminals)


def _stripped(text: object) -> str:
    return text.strip() if isinstance(text, str) else ""


def _no_events(source: str) -> str:
    return f"{source} declares no events"


def _values(choice: Choice) -> str:
    return f"its values are {', '.join(map(str, choice.values[:12]))}"
