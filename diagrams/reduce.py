"""A graph to a smaller graph: leave out what is off, fold nested machines, merge.

Pure, and true to the rows: each edge of the result says which rows it stands for.
"""

from collections.abc import Iterator, Mapping

import attrs

from unspiral.diagrams.graph import Cluster, Edge, Graph, Node

__all__ = ["collapse", "merge", "without_dead"]


def without_dead(graph: Graph) -> Graph:
    """Leave out rows that are never taken and nodes that are then out of reach."""
    live = [edge for edge in graph.edges if not edge.off]
    if len(live) == len(graph.edges):
        return graph
    after: dict[str, list[str]] = {}
    for edge in live:
        after.setdefault(edge.source, []).append(edge.target)
    reached, todo = {graph.start}, [graph.start]
    while todo:
        for target in after.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    kept = tuple(edge for edge in live if edge.source in reached)
    gone = len(graph.edges) - len(kept)
    note = f"{gone} {'row' if gone == 1 else 'rows'} off at these limits, not drawn"
    return attrs.evolve(
        graph,
        nodes=tuple(node for node in graph.nodes if node.id in reached),
        edges=kept,
        clusters=_only(graph.clusters, reached),
        caption=(*graph.caption, note),
    )


def _only(clusters: tuple[Cluster, ...], kept: set[str]) -> tuple[Cluster, ...]:
    smaller = (
        attrs.evolve(
            cluster,
            nodes=tuple(name for name in cluster.nodes if name in kept),
            clusters=_only(cluster.clusters, kept),
        )
        for cluster in clusters
    )
    return tuple(each for each in smaller if each.nodes or each.clusters)


def collapse(graph: Graph) -> Graph:
    """Draw every nested machine as one node, with the rows that leave its exits."""
    outermost = list(_machines(graph.clusters))
    place = {
        name: box.id for box in outermost for each in box.walk() for name in each.nodes
    }
    if not place:
        return graph
    folded = {box.id: _one_node(graph, box, place) for box in outermost}
    labels = {node.id: node.label for node in graph.nodes if node.kind == "exit"}
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        home = place.get(node.id, node.id)
        nodes[home] = folded.get(home, node)
    edges = tuple(
        attrs.evolve(
            edge,
            event=labels.get(edge.source, edge.event),
            source=place.get(edge.source, edge.source),
            target=place.get(edge.target, edge.target),
        )
        for edge in graph.edges
        if edge.source not in place or _leaves(edge, place, labels)
    )
    return attrs.evolve(
        graph,
        start=place.get(graph.start, graph.start),
        nodes=tuple(nodes.values()),
        edges=edges,
        clusters=_fold(graph.clusters, folded),
    )


def _machines(clusters: tuple[Cluster, ...]) -> Iterator[Cluster]:
    """Yield the outermost boxes of nested machines."""
    for cluster in clusters:
        if cluster.kind == "machine":
            yield cluster
        else:
            yield from _machines(cluster.clusters)


def _leaves(edge: Edge, place: Mapping[str, str], exits: Mapping[str, str]) -> bool:
    """Tell whether a row begins at an exit of an outermost nested machine."""
    home = place[edge.source]
    outer = edge.source.removeprefix(f"{home}.")
    return edge.source in exits and "." not in outer


def _one_node(graph: Graph, box: Cluster, place: Mapping[str, str]) -> Node:
    inside = [e for e in graph.edges if place.get(e.source) == box.id]
    exits = {node.id: "" for node in graph.nodes if node.kind == "exit"}
    inside = [edge for edge in inside if not _leaves(edge, place, exits)]
    name, _, runner = box.label.partition(", ")
    reasons = dict.fromkeys(edge.reason for edge in inside if edge.reason)
    notes = [runner, *(f"again: {reason}" for reason in reasons)]
    return Node(
        id=box.id,
        label=name,
        kind="nested",
        initial=place.get(graph.start) == box.id,
        note="; ".join(notes),
        rows=tuple(row for edge in inside for row in edge.rows),
    )


def _fold(
    clusters: tuple[Cluster, ...], folded: dict[str, Node]
) -> tuple[Cluster, ...]:
    result: list[Cluster] = []
    for cluster in clusters:
        if cluster.kind == "machine":
            continue
        inner = tuple(each.id for each in cluster.clusters if each.id in folded)
        result.append(
            attrs.evolve(
                cluster,
                nodes=cluster.nodes + inner,
                clusters=_fold(cluster.clusters, folded),
            )
        )
    return tuple(result)


def merge(graph: Graph) -> Graph:
    """Draw rows that look alike at this level as one edge; at `full` none is."""
    if graph.level == "full":
        return graph
    merged: dict[object, Edge] = {}
    for edge in graph.edges:
        key: object
        if graph.level == "overview":
            edge = _overview(edge)  # noqa: PLW2901 - the same edge with less on it
            key = (edge.source, edge.target, edge.layer, edge.progress)
        else:
            edge = attrs.evolve(edge, action=(), cost="")  # noqa: PLW2901 - same
            alone = not edge.guard and not edge.order
            key = (edge.source, edge.target, edge.layer, edge.reason, edge.progress)
            key = key if alone else edge.rows
        merged[key] = _join(merged[key], edge) if key in merged else edge
    return attrs.evolve(graph, edges=tuple(merged.values()))


def _overview(edge: Edge) -> Edge:
    return attrs.evolve(edge, order=0, event="", guard=(), action=(), cost="")


def _join(one: Edge, two: Edge) -> Edge:
    def both(first: str, second: str) -> str:
        known = first.split(" | ") if first else []
        extra = [second] if second and second not in known else []
        return " | ".join(known + extra)

    return attrs.evolve(
        one,
        rows=one.rows + two.rows,
        joined=one.joined + two.joined,
        event=both(one.event, two.event),
        reason=both(one.reason, two.reason),
        doc=one.doc or two.doc,
    )
