"""Title, caption, legend and limits: the head of a drawing.

The legend says only what occurs in this drawing, each sign in its own look.
"""

from collections.abc import Iterator

from unspiral.diagrams.graph import Graph
from unspiral.diagrams.markup import (
    Html,
    bold,
    cell,
    coloured,
    escaped,
    small,
    spaced,
    table,
)
from unspiral.diagrams.style import LineStyle, Theme, line_of_layer

__all__ = ["heading"]

_STROKES = {"solid": "-----", "dashed": "- - -", "dotted": ". . . ."}
_BARE = {"BORDER": "0", "CELLBORDER": "0", "CELLSPACING": "0", "CELLPADDING": "1"}


def heading(graph: Graph, theme: Theme, width: int) -> Html:
    """Return the head of a drawing, a table of lines of about `width` characters."""
    title = Html(f'<FONT POINT-SIZE="14">{bold(escaped(graph.title))}</FONT>')
    lines = [title]
    lines += [coloured(escaped(each), theme.quiet) for each in graph.caption]
    lines += _lines([*_kinds(graph, theme), *_strokes(graph, theme)], width)
    limits = [
        (f"{note.name} = {note.value}", escaped(f"{note.name} = {note.value}"))
        for note in graph.limits
    ]
    if limits:
        limits[0] = (limits[0][0], spaced([bold(Html("limits")), limits[0][1]]))
    lines += [coloured(line, theme.quiet) for line in _lines(limits, width)]
    rows = [[cell(small(line), {"ALIGN": "LEFT"})] for line in lines]
    rows[0] = [cell(title, {"ALIGN": "LEFT"})]
    return table(rows, _BARE)


def _lines(entries: list[tuple[str, Html]], width: int) -> list[Html]:
    """Set entries beside each other, as many as fit a line."""
    lines: list[list[Html]] = []
    room = 0
    for text, markup in entries:
        if room < len(text) or not lines:
            lines.append([])
            room = width
        lines[-1].append(markup)
        room -= len(text) + 4
    return [Html(" | ".join(line)) for line in lines]


def _kinds(graph: Graph, theme: Theme) -> Iterator[tuple[str, Html]]:
    """Yield the signs of nodes, if there is more than one kind of phase."""
    phases = {node.kind for node in graph.nodes} - {"terminal"}
    words = {
        "acting": "round corners: acts, answered by an event",
        "deciding": "square corners: decides by guards alone",
        "nested": "with ears: run by another machine",
        "exit": "single frame in a machine: its end",
    }
    if phases - {"acting"}:
        for kind, text in words.items():
            if kind in phases:
                yield text, coloured(Html(text), theme.quiet)
    if any(node.kind == "terminal" for node in graph.nodes):
        text = "double frame: the run ends"
        yield text, coloured(Html(text), theme.quiet)


def _strokes(graph: Graph, theme: Theme) -> Iterator[tuple[str, Html]]:
    """Yield the signs of arrows."""
    live = [edge for edge in graph.edges if edge.mark == "" and not edge.off]
    for layer in graph.layers:
        if any(edge.layer == layer for edge in live):
            style = line_of_layer(theme, graph.layers, layer)
            yield _stroke(style, f"recovery: {layer}")
    if any(edge.progress for edge in live):
        yield _stroke(LineStyle(theme.ink, "solid"), "thick: progress")
    if graph.stem and any(edge.mark == "stem" for edge in graph.edges):
        yield _stroke(LineStyle(theme.stem, "dashed"), graph.stem)
    if graph.loop and any(edge.mark == "loop" for edge in graph.edges):
        yield _stroke(LineStyle(theme.loop, "solid"), graph.loop)
    if any(edge.off for edge in graph.edges):
        yield _stroke(LineStyle(theme.faint, "dotted"), "off at these limits")


def _stroke(style: LineStyle, words: str) -> tuple[str, Html]:
    sign = bold(coloured(Html(_STROKES[style.dash]), style.colour))
    return f"------ {words}", spaced([sign, escaped(words)])
