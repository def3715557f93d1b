"""A graph as DOT text. It runs no program and knows no machine.

Two forms. `labels`: the classical state diagram, each row a labelled arrow. `cards`:
each phase is a card that lists its rows in the order of asking, and each row has an
arrow of its own without a label.

No text of a machine stands in the output unescaped: identifiers are numbers of ours,
strings and labels pass `markup`, and all texts were cleaned by `graph.plain`.
"""

from collections.abc import Iterator

from unspiral.diagrams.graph import Cluster, Edge, Graph, Node
from unspiral.diagrams.labels import Labels
from unspiral.diagrams.layout import Layout, back_edges, columns, layouts
from unspiral.diagrams.legend import heading
from unspiral.diagrams.markup import Html, attributes, bold, escaped
from unspiral.diagrams.style import FONT, THEMES, Theme

__all__ = ["dot_text"]

#: Ends differ in outline and fill, and each says its kind in a word.
_OUTLINES = {
    "done": "rounded,filled",
    "limit": "filled",
    "error": "filled,bold",
    "abort": "filled,dashed",
    "hook": "filled,dotted",
}


def dot_text(
    graph: Graph, theme: Theme = THEMES["light"], layout: Layout | None = None
) -> str:
    """Return the drawing in the DOT language.

    Args:
        graph: what is drawn.
        theme: its colours.
        layout: how it is set; unless given, the first of `layouts`.
    """
    chosen = layout or layouts(graph)[0]
    return "\n".join(_Writer(graph, theme, chosen).lines()) + "\n"


class _Writer:
    """One drawing being written."""

    def __init__(self, graph: Graph, theme: Theme, layout: Layout) -> None:
        self.graph = graph
        self.theme = theme
        self.layout = layout
        self.cards = layout.form == "cards"
        self.ids = {node.id: f"n{i}" for i, node in enumerate(graph.nodes)}
        self.nodes = {node.id: node for node in graph.nodes}
        self.leaving: dict[str, list[tuple[int, Edge]]] = {}
        for number, edge in enumerate(graph.edges):
            self.leaving.setdefault(edge.source, []).append((number, edge))
        groups = {
            name: box.label
            for box in graph.all_clusters()
            for name in box.nodes
            if box.kind == "group" and not layout.boxes
        }
        self.labels = Labels(graph, theme, groups)
        self.back = back_edges(graph)
        self.columns = columns(graph, layout.stack)
        self.boxes = 0
        self.slugs: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        yield "digraph {"
        yield from self.defaults()
        boxed = {n for box in self.graph.all_clusters() for n in box.nodes}
        for node in self.graph.nodes:
            if node.id not in boxed:
                yield from self.node(node, "  ")
        for cluster in self.graph.clusters:
            yield from self.cluster(cluster, "  ")
        for number, edge in enumerate(self.graph.edges):
            yield self.edge(number, edge)
        yield "}"

    def defaults(self) -> Iterator[str]:
        theme = self.theme
        yield "  graph" + attributes(
            rankdir=self.layout.direction,
            bgcolor=theme.paper,
            pad="0.2",
            nodesep="0.1" if self.cards else "0.22",
            ranksep="0.24" if self.cards else "0.36",
            fontname=FONT,
            fontsize="10",
            fontcolor=theme.ink,
            labelloc="t",
            labeljust="l",
            label=heading(self.graph, theme, 190 if self.cards else 84),
            tooltip=self.graph.title,
        )
        yield "  node" + attributes(
            fontname=FONT,
            fontsize="10",
            fontcolor=theme.ink,
            color=theme.quiet,
            margin="0.11,0.06",
            height="0.3",
            width="0.4",
        )
        yield "  edge" + attributes(
            fontname=FONT,
            fontsize="9",
            fontcolor=theme.ink,
            color=theme.ink,
            arrowsize="0.7",
        )

    def cluster(self, cluster: Cluster, indent: str) -> Iterator[str]:
        machine = cluster.kind == "machine"
        drawn = machine or self.layout.boxes
        self.boxes += 1
        if drawn:
            yield f"{indent}subgraph cluster_{self.boxes} {{"
            yield f"{indent}  graph" + attributes(
                label=bold(escaped(cluster.label)),
                style="rounded,filled,dashed" if machine else "rounded,filled",
                fillcolor=self.theme.inner if machine else self.theme.panel,
                color=self.theme.quiet if machine else self.theme.faint,
                fontsize="9",
                fontcolor=self.theme.quiet,
                margin="8",
                tooltip=cluster.label,
                id=self.slug("box", cluster.id),
            )
        inside = indent + "  " if drawn else indent
        for name in cluster.nodes:
            yield from self.node(self.nodes[name], inside)
        for column in self.columns:
            if column[0] in cluster.nodes:
                names = " ".join(self.ids[name] for name in column)
                yield f"{inside}{{rank=same; {names}}}"
        for inner in cluster.clusters:
            yield from self.cluster(inner, inside)
        if drawn:
            yield f"{indent}}}"

    def slug(self, kind: str, name: str) -> str:
        """Return a stable and unique id for the SVG."""
        kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
        slug = base = f"{kind}-{kept}"
        number = 2
        while self.slugs.setdefault(slug, name) != name:
            slug, number = f"{base}-{number}", number + 1
        return slug

    def node(self, node: Node, indent: str) -> Iterator[str]:
        """Write a node and, if a run or a visit starts there, the dot before it."""
        number = self.ids[node.id]
        rows = self.leaving.get(node.id, [])
        look = self.shape(node)
        label: Html
        if self.is_card(node):
            look, label = {"shape": "plain"}, self.labels.card(node, rows)
        else:
            label = self.labels.node(node)
            look |= self.room(node)
        kinds = f"{node.kind} {node.end} {node.mark}"
        yield f"{indent}{number}" + attributes(
            label=label,
            tooltip=node.doc or node.id,
            id=self.slug("node", node.id),
            **{"class": " ".join(kinds.split())},
            **look,
        )
        if node.initial:
            yield from self.start(node, indent)

    def room(self, node: Node) -> dict[str, str]:
        """Return a height that keeps the label of a loop at the node clear of others.

        The layout program reserves room beside a node for it, and none below.
        """
        rows = self.leaving.get(node.id, [])
        loops = [len(self.labels.row(e)) for _, e in rows if e.target == node.id]
        return {"height": f"{0.17 * max(loops) + 0.1:.2f}"} if loops else {}

    def start(self, node: Node, indent: str) -> Iterator[str]:
        number = self.ids[node.id]
        size = "0.17" if node.id == self.graph.start else "0.09"
        ink = self.labels.ink(node.mark)
        yield f"{indent}start_{number}" + attributes(
            shape="circle",
            style="filled",
            fillcolor=ink,
            color=ink,
            label="",
            width=size,
            height=size,
            fixedsize="true",
            tooltip="start",
            **{"class": "initial"},
        )
        yield f"{indent}start_{number} -> {number}" + attributes(
            color=ink, weight="8", tooltip="start"
        )

    def is_card(self, node: Node) -> bool:
        return self.cards and node.id in self.leaving and node.kind != "exit"

    def shape(self, node: Node) -> dict[str, str]:
        theme = self.theme
        faded = node.mark == "faded"
        look = {"color": theme.faint} if faded else {}
        if node.mark in {"stem", "loop"}:
            look = {"color": self.labels.mark_colour(node.mark), "penwidth": "2.2"}
        if node.kind in {"terminal", "exit"}:
            end = node.end or "done"
            look["peripheries"] = "2" if node.kind == "terminal" else "1"
            look["margin"] = "0.07,0.03"
            shape, style, fill = "box", _OUTLINES[end], theme.ends[end]
        elif node.kind == "nested":
            shape, style, fill = "component", "filled", theme.acting
        elif node.kind == "deciding":
            shape, style, fill = "box", "filled", theme.deciding
        else:
            shape, style, fill = "box", "rounded,filled", theme.acting
        fill = theme.paper if faded else fill
        return {"shape": shape, "style": style, "fillcolor": fill, **look}

    def edge(self, number: int, edge: Edge) -> str:
        style = self.labels.line(edge)
        carded = self.is_card(self.nodes[edge.source])
        width = {"solid": "1.1", "dashed": "1.4", "dotted": "1.9"}[style.dash]
        if edge.progress and not edge.mark:
            width = "2.4"
        if edge.mark in {"stem", "loop"}:
            width = "2.4"
        words = edge.doc or ", ".join(edge.rows)
        look = {
            "color": style.colour,
            "style": style.dash,
            "penwidth": width,
            "tooltip": words,
            "labeltooltip": words,
            "id": self.slug("row", edge.rows[0]),
            "class": f"row {edge.mark}".strip(),
        }
        label = None if carded else self.labels.arrow(edge)
        if label is not None:
            look["label"] = label
        tail = self.ids[edge.source] + (f":r{number}:_" if carded else "")
        head = self.ids[edge.target]
        if number in self.back:
            return f"  {head} -> {tail}" + attributes(dir="back", **look)
        return f"  {tail} -> {head}" + attributes(**look)
