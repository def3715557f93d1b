"""From a machine, declared or compiled, to the graph that is drawn.

A nested machine is drawn as it is declared: inside its own box, with an exit for each
of its ends, where the rows of the outer machine begin. Of a compiled table the limits
are put in, and rows that these limits switch off are known. Names of nodes and rows are
those of the flat machine; a row that flattening joins to those before an exit knows
their names.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

import attrs

from unspiral.diagrams.graph import (
    LEVELS,
    Cluster,
    Edge,
    Graph,
    Level,
    LimitNote,
    Node,
    plain,
)
from unspiral.diagrams.reduce import collapse, merge, without_dead
from unspiral.diagrams.wording import (
    action_lines,
    cost_words,
    doc_words,
    guard_lines,
)
from unspiral.engine.core.declare import (
    LimitValue,
    Machine,
    Phase,
    Terminal,
    limit_text,
)
from unspiral.engine.core.language import FALSE, TRUE, names, parse_guard
from unspiral.engine.core.table import Table
from unspiral.engine.errors import BadValue, ExpressionError, UnknownName

__all__ = ["MOST_ROWS", "extract"]

MOST_ROWS = 60  #: of one page; beyond, nested machines are drawn on pages of their own


def extract(
    source: Machine | Table, level: Level = "policy", *, nested: bool | None = None
) -> Graph:
    """Return the graph of a machine.

    Args:
        source: a declared machine, or a table, whose limits are then put in.
        level: `overview` (phases and reasons; parallel rows are one edge), `policy`
            (guards and limits; rows that look alike are one edge), `full` (every row).
        nested: whether the inside of nested machines is drawn; unless given, in all
            but the overview if no more than 60 rows are to be drawn.

    Raises:
        BadValue: no such level.
        UnknownName: a row names a phase or terminal that is not there.
    """
    if level not in LEVELS:
        raise BadValue("level of detail", str(level), "one of " + ", ".join(LEVELS))
    machine = source.machine if isinstance(source, Table) else source
    walk = _Walk(source if isinstance(source, Table) else None)
    clusters = walk.machine(machine, "")
    nodes = [*walk.nodes, *(_terminal(each) for each in machine.terminals)]
    edges = _joined(nodes, walk.edges)
    _check_ends(machine, nodes, edges)
    graph = Graph(
        name=machine.name,
        title=machine.name,
        caption=_caption(source, level),
        level=level,
        start=_entry({p.name: p for p in machine.phases}, machine.start_phase),
        nodes=tuple(nodes),
        edges=tuple(edges),
        clusters=clusters,
        layers=tuple(dict.fromkeys(edge.layer for edge in edges if edge.layer)),
        row_names=frozenset(name for edge in edges for name in edge.rows),
    )
    if level != "full":
        graph = without_dead(graph)
    if nested is None:
        nested = level != "overview" and len(graph.edges) <= MOST_ROWS
    if not nested:
        graph = collapse(graph)
    if level != "overview":
        graph = attrs.evolve(graph, limits=_limits(source, graph))
    return merge(graph)


class _Walk:
    """The phases of a machine and of those nested in it, and the rows as declared."""

    def __init__(self, table: Table | None) -> None:
        self.table = table
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def machine(self, machine: Machine, prefix: str) -> tuple[Cluster, ...]:
        groups: dict[str, tuple[list[str], list[Cluster]]] = {}
        first = len(self.edges)
        for phase in machine.phases:
            ids, inner = groups.setdefault(plain(phase.group), ([], []))
            if phase.runs is None:
                self.nodes.append(_phase(phase, prefix, machine.start_phase))
                ids.append(prefix + phase.name)
            else:
                inner.append(self.nested(phase, phase.runs, prefix))
        self.edges[first:first] = self.rows(machine, prefix)  # before those inside
        loose = groups.pop("", ([], []))
        boxes = tuple(
            Cluster(f"{prefix}group:{name}", name, "group", tuple(ids), tuple(inner))
            for name, (ids, inner) in groups.items()
        )
        return (*boxes, *loose[1])

    def nested(self, phase: Phase, inner: Machine, prefix: str) -> Cluster:
        inside = f"{prefix}{phase.name}."
        first = len(self.nodes)
        boxes = self.machine(inner, inside)
        self.nodes += [_exit(end, inside) for end in inner.terminals]
        boxed = {name for box in boxes for each in box.walk() for name in each.nodes}
        return Cluster(
            id=prefix + phase.name,
            label=f"{phase.name}, run by {inner.name}",
            kind="machine",
            nodes=tuple(n.id for n in self.nodes[first:] if n.id not in boxed),
            clusters=boxes,
        )

    def rows(self, machine: Machine, prefix: str) -> Iterator[Edge]:
        phases = {phase.name: phase for phase in machine.phases}
        orders = _orders((row.source, row.event) for row in machine.rows)
        for row, order in zip(machine.rows, orders, strict=True):
            source, event = prefix + row.source, row.event
            if row.source in phases and phases[row.source].runs is not None:
                source, event = f"{source}.{event}", ""
            name = prefix + row.name
            yield Edge(
                rows=(plain(name),),
                source=source,
                target=prefix + _entry(phases, row.target),
                order=order,
                event=event,
                guard=guard_lines(row.guard, self.limits),
                action=action_lines(row.action, self.limits),
                reason=row.reason,
                layer=plain(row.layer),
                progress=row.progress,
                cost=cost_words(row.cost),
                doc=doc_words(row.doc, row.cite),
                off=self.table is not None and _off(self.table, name),
            )

    @property
    def limits(self) -> Mapping[str, LimitValue]:
        """Return the limits to put in; of a declaration they stay names."""
        return self.table.limits if self.table is not None else {}


def _off(table: Table, name: str) -> bool:
    """Tell whether a row can never be taken at the limits of the table."""
    row = table.row_names.get(name)
    if row is None:  # it is joined to others, which are judged instead
        return False
    ready = table.available.get((row.source, row.event or ""), TRUE)
    taken_before = {TRUE, row.guard}
    never = FALSE in (row.guard, ready)
    return never or any(each.guard in taken_before for each in row.earlier)


def _joined(nodes: list[Node], edges: list[Edge]) -> list[Edge]:
    """Tell each row that alone leaves an exit which rows flattening joins it to."""
    exits = {node.id for node in nodes if node.kind == "exit"}
    leaving: dict[str, int] = {}
    arriving: dict[str, list[Edge]] = {}
    for edge in edges:
        leaving[edge.source] = leaving.get(edge.source, 0) + 1
        if edge.target in exits:
            arriving.setdefault(edge.target, []).append(edge)

    def before(edge: Edge) -> tuple[str, ...]:
        if edge.source not in exits or leaving[edge.source] > 1:
            return ()
        rows = arriving.get(edge.source, [])
        return tuple(name for row in rows for name in (*row.rows, *before(row)))

    return [attrs.evolve(edge, joined=before(edge)) for edge in edges]


def _entry(phases: dict[str, Phase], target: str) -> str:
    """Return where a row that goes to `target` arrives: inside, if it is nested."""
    phase = phases.get(target)
    if phase is None or phase.runs is None:
        return target
    inner = phase.runs
    known = {each.name: each for each in inner.phases}
    return f"{target}.{_entry(known, inner.start_phase)}"


def _phase(phase: Phase, prefix: str, start: str) -> Node:
    return Node(
        id=prefix + phase.name,
        label=phase.name,
        kind="acting" if phase.events else "deciding",
        initial=phase.name == start,
        note=cost_words(phase.cost),
        doc=doc_words(phase.doc, phase.source),
    )


def _terminal(terminal: Terminal) -> Node:
    doc = doc_words(terminal.doc, terminal.source)
    return Node(terminal.name, terminal.name, "terminal", terminal.kind, doc=doc)


def _exit(terminal: Terminal, prefix: str) -> Node:
    doc = doc_words(terminal.doc, terminal.source)
    name = terminal.name
    return Node(prefix + name, name, "exit", terminal.kind, doc=doc)


def _orders(keys: Iterable[tuple[str, str]]) -> list[int]:
    """Return the place of each row among its alternatives; 0 where it is alone."""
    listed = list(keys)
    counts: dict[tuple[str, str], int] = {}
    places: list[int] = []
    for key in listed:
        counts[key] = counts.get(key, 0) + 1
        places.append(counts[key])
    pairs = zip(listed, places, strict=True)
    return [place if counts[key] > 1 else 0 for key, place in pairs]


def _check_ends(machine: Machine, nodes: list[Node], edges: list[Edge]) -> None:
    known = {node.id for node in nodes}
    for edge in edges:
        for end in (edge.source, edge.target):
            if end not in known:
                place = f"machine {machine.name}, row {edge.rows[0]}"
                raise UnknownName("phase or terminal", end, tuple(known), place)


def _caption(source: Machine | Table, level: Level) -> tuple[str, ...]:
    parts = [f"level {level}"]
    if isinstance(source, Table):
        if source.edition:
            parts.append(f"edition {source.edition}")
        if source.assumptions:
            parts.append("assuming " + ", ".join(source.assumptions))
    return ("; ".join(parts),)


def _limits(source: Machine | Table, graph: Graph) -> tuple[LimitNote, ...]:
    """Return the limits that the drawn rows name, with their values."""
    drawn = {name for edge in graph.edges for name in edge.rows}
    if isinstance(source, Table):
        machine, values = source.machine, dict(source.limits)
    else:
        machine = source
        values = {limit.name: limit.default for limit in source.all_limits}
    read: set[str] = set()
    for name, guard in _guards(machine, ""):
        with contextlib.suppress(ExpressionError):  # drawn as written; `check` tells
            read |= names(parse_guard(guard)) if plain(name) in drawn else set()
    return tuple(
        LimitNote(
            limit.name,
            plain(f"{limit_text(values[limit.name])} {limit.unit}"),
        )
        for limit in machine.all_limits
        if limit.name in read
    )


def _guards(machine: Machine, prefix: str) -> Iterator[tuple[str, str]]:
    for row in machine.rows:
        yield prefix + row.name, row.guard
    for phase in machine.phases:
        if phase.runs is not None:
            yield from _guards(phase.runs, f"{prefix}{phase.name}.")
