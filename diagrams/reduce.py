"""A graph to a smaller graph: leave out what is off, fold nested machines, merge.

Pure, and true to the rows: each edge of the result says which rows it stands for.
"""

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
    """Draw every nested machine as one node, with the rows that leave it."""
    place: dict[str, str] = {}
    folded: dict[str, Node] = {}
    for cluster in graph.all_clusters():
        inside = [name for each in cluster.walk() for name in each.nodes]
        if cluster.kind != "machine" or not inside or inside[0] in place:
            continue
        place.update(dict.fromkeys(inside, cluster.id))
        start = graph.start in inside
        label = cluster.label.partition(",")
        note = label[2].strip()
        folded[cluster.id] = Node(
            cluster.id, label[0], "nested", initial=start, note=note
        )
    if not folded:
        return graph
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        home = place.get(node.id, node.id)
        nodes[home] = folded.get(home, node)
    edges = tuple(
        attrs.evolve(
            edge,
            source=place.get(edge.source, edge.source),
            target=place.get(edge.target, edge.target),
        )
        for edge in graph.edges
        if not (
            edge.source in place
            and place[edge.source] == place.get(edge.target)
            and not edge.reason
        )
    )
    clusters = _fold(graph.clusters, folded)
    return attrs.evolve(
        graph,
        start=place.get(graph.start, graph.start),
        nodes=tuple(nodes.values()),
        edges=edges,
        clusters=clusters,
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
        event=both(one.event, two.event),
        reason=both(one.reason, two.reason),
        doc=one.doc or two.doc,
    )
