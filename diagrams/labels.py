"""What is written in a drawing: markup of nodes, rows and cards.

A row says, in this order: its place among the alternatives, the event, the guard, the
action, the reason. It knows the graph and the theme, and nothing of layout.
"""

from unspiral.diagrams.graph import Edge, Graph, Node
from unspiral.diagrams.markup import (
    Html,
    bold,
    cell,
    coloured,
    escaped,
    lines_of,
    small,
    spaced,
    table,
)
from unspiral.diagrams.style import LineStyle, Theme, line_of_layer
from unspiral.diagrams.wording import name_lines

__all__ = ["Labels"]


class Labels:
    """The texts of one drawing."""

    def __init__(self, graph: Graph, theme: Theme, groups: dict[str, str]) -> None:
        """Take the drawing; `groups` names the group of nodes that have no box."""
        self.graph = graph
        self.theme = theme
        self.groups = groups

    def ink(self, mark: str) -> str:
        """Return the colour of plain texts."""
        return self.theme.faint if mark == "faded" else self.theme.ink

    def mark_colour(self, mark: str) -> str:
        """Return the colour of a stem or loop."""
        return self.theme.loop if mark == "loop" else self.theme.stem

    def line(self, edge: Edge) -> LineStyle:
        """Return how the arrow of a row is drawn."""
        if edge.mark in {"stem", "loop"}:
            colour = self.mark_colour(edge.mark)
            return LineStyle(colour, "solid" if edge.mark == "loop" else "dashed")
        if edge.off:
            return LineStyle(self.theme.faint, "dotted")
        if edge.mark == "faded":
            return LineStyle(self.theme.faint, "solid")
        return line_of_layer(self.theme, self.graph.layers, edge.layer)

    def node(self, node: Node) -> Html:
        """Return the name of a node with what belongs to it."""
        ink = self.ink(node.mark)
        lines = [escaped(part) for part in name_lines(node.label)]
        note = node.end if node.kind in {"terminal", "exit"} else node.note
        quiet = self.second_ink(node.mark)
        notes = note.split("; ") if note else []
        lines += [small(coloured(escaped(line), quiet)) for line in notes]
        if node.badge:
            lines.append(bold(escaped(node.badge)))
        return coloured(lines_of(lines), ink)

    def second_ink(self, mark: str) -> str:
        """Return the colour of texts of second rank."""
        return self.theme.faint if mark == "faded" else self.theme.quiet

    def card(self, node: Node, rows: list[tuple[int, Edge]]) -> Html:
        """Return a phase as a table: its name, then its rows in order."""
        theme = self.theme
        faded = node.mark == "faded"
        fill = theme.deciding if node.kind == "deciding" else theme.acting
        fill = theme.paper if faded else fill
        body = [[cell(self.heading(node), {"CELLPADDING": "3"})]]
        for number, edge in rows:
            look = {"PORT": f"r{number}", "ALIGN": "LEFT", "BALIGN": "LEFT"}
            if edge.mark in {"stem", "loop"}:
                look["BGCOLOR"] = theme.mark
            body.append([cell(lines_of(self.row(edge), "LEFT"), look)])
        marked = node.mark in {"stem", "loop"}
        border = self.mark_colour(node.mark) if marked else theme.quiet
        look = {
            "BORDER": "2" if marked else "1",
            "COLOR": theme.faint if faded else border,
            "BGCOLOR": fill,
            "CELLBORDER": "0",
            "CELLSPACING": "0",
            "CELLPADDING": "2",
        }
        if node.kind != "deciding":
            look["STYLE"] = "ROUNDED"
        return table(body, look, rules=True)

    def heading(self, node: Node) -> Html:
        """Return the first line of a card."""
        quiet = self.second_ink(node.mark)
        lines = name_lines(node.label)
        parts = [bold(lines_of([escaped(part) for part in lines]))]
        if node.badge:
            parts.append(bold(escaped(node.badge)))
        first, *rest = node.note.split("; ")
        extra = [each for each in (self.groups.get(node.id, ""), first) if each]
        if extra:
            parts.append(small(coloured(escaped(" - ".join(extra)), quiet)))
        notes = [small(coloured(escaped(line), quiet)) for line in rest]
        return coloured(lines_of([spaced(parts), *notes]), self.ink(node.mark))

    def row(self, edge: Edge) -> list[Html]:
        """Return the lines of a row in a card."""
        quiet = self.second_ink(edge.mark)
        ink = quiet if edge.off else self.ink(edge.mark)
        lines = [coloured(line, ink) for line in self.condition(edge)]
        if self.graph.level == "full":
            action = [f"/ {line}" for line in edge.action]
            action += [f"costs {edge.cost}"] if edge.cost else []
            lines += [small(coloured(escaped(line), quiet)) for line in action]
        lines += self.reasons(edge, ink)
        if edge.off:
            lines.append(small(coloured(Html("off at these limits"), quiet)))
        return lines or [coloured(Html("always"), quiet)]

    def condition(self, edge: Edge) -> list[Html]:
        """Return badge, order, event and guard."""
        head: list[Html] = []
        if edge.badge:
            marked = edge.mark in {"stem", "loop"}
            colour = self.mark_colour(edge.mark) if marked else self.theme.ink
            head.append(coloured(bold(escaped(edge.badge)), colour))
        if edge.order:
            head.append(Html(f"{edge.order}."))
        if edge.event:
            head.append(bold(escaped(edge.event)))
        guard = list(edge.guard)
        if guard and edge.event:
            guard[0] = f"[{guard[0]}"
            guard[-1] = f"{guard[-1]}]"
        texts = [escaped(line) for line in guard]
        if head and texts and (len(texts) == 1 or not edge.event):
            return [spaced([*head, texts[0]]), *texts[1:]]
        return ([spaced(head)] if head else []) + texts

    def reasons(self, edge: Edge, ink: str) -> list[Html]:
        """Return the reason of a continue, in the colour of its arrow."""
        if not edge.reason:
            wordy = edge.progress and self.graph.level != "overview"
            return [coloured(Html("progress"), ink)] if wordy else []
        lines = [bold(escaped(name)) for name in edge.reason.split(" | ")]
        if edge.progress:
            lines[-1] = spaced([lines[-1], Html("(progress)")])
        faded = edge.off or edge.mark == "faded"
        colour = ink if faded else self.line(edge).colour
        return [coloured(line, colour) for line in lines]

    def arrow(self, edge: Edge) -> Html | None:
        """Return the label of an arrow, or None if there is nothing to write."""
        texts = (edge.event, edge.reason, edge.badge, edge.order, edge.guard)
        acts = bool(edge.action) and self.graph.level == "full"
        if not (any(texts) or acts or edge.off):
            return None
        text = cell(lines_of(self.row(edge), "LEFT"), {"BALIGN": "LEFT"})
        return table([[text]], {"BORDER": "0", "CELLBORDER": "0", "CELLPADDING": "2"})
