"""A graph as Mermaid text (stateDiagram-v2), for pages that draw Mermaid themselves.

A nested machine is a composite state; groups are classes, since Mermaid draws no arrow
between the insides of two composite states. Arrows have no colours there: a recovery
layer is written behind its reason. Ids are numbers of ours; every other character than
letters, digits and a few signs is written as an entity, so that no text of a machine is
read as Mermaid or HTML.
"""

from collections.abc import Iterator

from unspiral.diagrams.graph import Cluster, Edge, Graph, Node
from unspiral.diagrams.style import THEMES

__all__ = ["mermaid_text"]

_PLAIN = frozenset(" _.,()=+-/*!?|'")


def mermaid_text(graph: Graph) -> str:
    """Return the graph in Mermaid's language."""
    return "\n".join(_Writer(graph).lines()) + "\n"


def _text(text: str) -> str:
    """Return a text in which only harmless characters stand for themselves."""
    return "".join(
        c if (c.isascii() and c.isalnum()) or c in _PLAIN else f"#{ord(c)};"
        for c in text
    )


class _Writer:
    """One diagram being written."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = {node.id: node for node in graph.nodes}
        self.ids = {node.id: f"s{i}" for i, node in enumerate(graph.nodes)}
        boxes = [box for box in graph.all_clusters() if box.kind == "machine"]
        self.boxes = {box.id: f"m{i}" for i, box in enumerate(boxes)}
        self.home = {
            name: box.id for box in boxes for each in box.walk() for name in each.nodes
        }

    def lines(self) -> Iterator[str]:
        yield "stateDiagram-v2"
        words = f"{self.graph.title}; {'; '.join(self.graph.caption)}"
        yield f"  accTitle {_text(self.graph.title)}".replace("Title ", "Title: ", 1)
        yield f"  accDescr {_text(words)}".replace("Descr ", "Descr: ", 1)
        for node in self.graph.nodes:
            if node.id not in self.home:
                yield self.state(node, "  ")
        yield from self.clusters(self.graph.clusters, "  ")
        start = self.graph.start
        yield f"  [*] --> {self.outer(start)}"
        for edge in self.graph.edges:
            if not self.inside(edge):
                yield self.arrow(edge, "  ")
        for node in self.graph.nodes:
            if node.kind == "terminal":
                yield f"  {self.ids[node.id]} --> [*]"
        yield from self.looks()

    def clusters(self, clusters: tuple[Cluster, ...], indent: str) -> Iterator[str]:
        for cluster in clusters:
            if cluster.kind == "machine":
                yield from self.composite(cluster, indent)
            else:
                yield from self.clusters(cluster.clusters, indent)

    def composite(self, cluster: Cluster, indent: str) -> Iterator[str]:
        """Write a nested machine with the rows that stay inside it."""
        yield f'{indent}state "{_text(cluster.label)}" as {self.boxes[cluster.id]} {{'
        inner = [name for name, home in self.home.items() if home == cluster.id]
        for name in inner:
            yield self.state(self.nodes[name], indent + "  ")
        yield from self.clusters(cluster.clusters, indent + "  ")
        for name in inner:
            if self.nodes[name].initial:
                yield f"{indent}  [*] --> {self.ids[name]}"
        for edge in self.graph.edges:
            if self.inside(edge) == cluster.id:
                yield self.arrow(edge, indent + "  ")
        yield f"{indent}}}"

    def inside(self, edge: Edge) -> str:
        """Return the nested machine in which both ends lie, or ""."""
        home = self.home.get(edge.source, "")
        return home if home == self.home.get(edge.target, "") else ""

    def outer(self, name: str) -> str:
        """Return a node as it is named from outside its machine."""
        home = self.home.get(name)
        return self.ids[name] if home is None else self.boxes[home]

    def state(self, node: Node, indent: str) -> str:
        lines = [node.label, *(each for each in node.note.split("; ") if each)]
        lines += [node.badge] if node.badge else []
        text = "<br/>".join(_text(line) for line in lines)
        return f'{indent}state "{text}" as {self.ids[node.id]}'

    def arrow(self, edge: Edge, indent: str) -> str:
        """Write a row; one that leaves or enters a nested machine ends at its box."""
        source, target = self.ids[edge.source], self.ids[edge.target]
        event = edge.event
        if not self.inside(edge):
            source, target = self.outer(edge.source), self.outer(edge.target)
            if self.nodes[edge.source].kind == "exit":
                event = self.nodes[edge.source].label
        words = self.words(edge, event)
        label = f" : {words}" if words else ""
        return f"{indent}{source} --> {target}{label}"

    def words(self, edge: Edge, event: str) -> str:
        parts = [edge.badge, f"{edge.order}." if edge.order else "", event]
        head = " ".join(part for part in parts if part)
        lines = [_text(head)] if head else []
        if edge.guard:
            lines.append(_text(f"[{' '.join(edge.guard)}]"))
        if self.graph.level == "full":
            lines += [_text(f"/ {line}") for line in edge.action]
        if edge.reason:
            layer = f" ({edge.layer})" if edge.layer else ""
            lines.append(_text(edge.reason + layer))
        if edge.progress and self.graph.level != "overview":
            lines.append("progress")
        if edge.off:
            lines.append("off at these limits")
        return "<br/>".join(lines)

    def looks(self) -> Iterator[str]:
        """Write the classes that occur: kinds of ends, and marks of an overlay."""
        theme = THEMES["light"]
        used: dict[str, list[str]] = {}
        for node in self.graph.nodes:
            ended = node.end and node.kind == "terminal"
            name = node.mark or (f"end_{node.end}" if ended else "")
            if name:
                used.setdefault(name, []).append(self.ids[node.id])
        styles = {f"end_{kind}": f"fill:{fill}" for kind, fill in theme.ends.items()}
        styles["stem"] = f"stroke:{theme.stem},stroke-width:3px"
        styles["loop"] = f"stroke:{theme.loop},stroke-width:3px"
        styles["faded"] = "opacity:0.35"
        for name, ids in used.items():
            yield f"  classDef {name} {styles[name]}"
            yield f"  class {','.join(ids)} {name}"
