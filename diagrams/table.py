"""A graph as a table: Markdown for documents, plain text and rich for terminals.

One line an edge, in the order of the rows. `rich` is loaded when a table is made.
"""

import io
from typing import TYPE_CHECKING

from unspiral.diagrams.graph import Edge, Graph

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["markdown_text", "plain_text", "rich_table"]

_MARKDOWN = frozenset("\\`*_{}[]<>()#+-.!|~&$:@\"'^=")
_WIDTH = 160


def _columns(graph: Graph) -> tuple[str, ...]:
    """Return the headings of the columns that say anything at this level."""
    heads = ["phase", "event"]
    if graph.level != "overview":
        heads.append("guard")
    heads.append("target")
    if graph.level == "full":
        heads.append("action")
    heads.append("reason")
    if graph.layers:
        heads.append("layer")
    if any(edge.cost for edge in graph.edges):
        heads.append("cost")
    if any(edge.badge for edge in graph.edges):
        heads.append("shown")
    if graph.level == "overview":
        heads.remove("event")
    return tuple(heads)


def _cells(graph: Graph, edge: Edge) -> dict[str, str]:
    exits = {node.id for node in graph.nodes if node.kind == "exit"}
    phase, event = edge.source, edge.event
    if phase in exits:
        phase, _, event = phase.rpartition(".")
    ends = {node.id: node.end for node in graph.nodes if node.kind == "terminal"}
    guard = " ".join(line.strip() for line in edge.guard)
    if edge.order:
        guard = f"{edge.order}. {guard}".strip()
    return {
        "phase": phase,
        "event": event,
        "guard": guard + (" (off at these limits)" if edge.off else ""),
        "target": edge.target
        + (f" ({ends[edge.target]})" if ends.get(edge.target) else ""),
        "action": " ".join(_with_semicolons(edge.action)),
        "reason": edge.reason + (" (progress)" if edge.progress else ""),
        "layer": edge.layer,
        "cost": edge.cost,
        "shown": edge.badge,
    }


def _with_semicolons(lines: tuple[str, ...]) -> list[str]:
    """Join wrapped lines, and part the assignments that stood on lines of their own."""
    joined: list[str] = []
    for line in lines:
        if line.startswith(" ") and joined:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
    return [f"{line};" for line in joined[:-1]] + joined[-1:]


def markdown_text(graph: Graph) -> str:
    """Return a heading and a Markdown table; every text in it stands for itself."""
    heads = _columns(graph)
    lines = [f"# {_escaped(graph.title)}", ""]
    lines += [f"{_escaped('; '.join(graph.caption))}", ""]
    lines.append(f"| {' | '.join(heads)} |")
    lines.append(f"|{'|'.join(' --- ' for _ in heads)}|")
    for edge in graph.edges:
        cells = _cells(graph, edge)
        lines.append(f"| {' | '.join(_escaped(cells[head]) for head in heads)} |")
    if graph.limits:
        lines += ["", "| limit | value |", "| --- | --- |"]
        lines += [
            f"| {_escaped(note.name)} | {_escaped(note.value)} |"
            for note in graph.limits
        ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
    return "".join(entities.get(c) or (f"\\{c}" if c in _MARKDOWN else c) for c in text)


def rich_table(graph: Graph) -> "RichTable":
    """Return a table to be printed by a rich console, which knows about NO_COLOR."""
    from rich import box  # noqa: PLC0415 - heavy, and only terminals need it
    from rich.table import Table  # noqa: PLC0415 - same
    from rich.text import Text  # noqa: PLC0415 - same

    looks = {"phase": "bold", "reason": "green", "layer": "magenta", "shown": "yellow"}
    title = f"{graph.title}: {'; '.join(graph.caption)}"
    made = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    heads = _columns(graph)
    for head in heads:
        made.add_column(head, style=looks.get(head), overflow="fold")
    before = ""
    for edge in graph.edges:
        cells = _cells(graph, edge)
        phase = cells["phase"]
        cells["phase"] = "" if phase == before else phase
        before = phase
        made.add_row(*(Text(cells[head]) for head in heads))
    return made


def plain_text(graph: Graph, width: int = _WIDTH) -> str:
    """Return the terminal table without colours, at most `width` characters wide."""
    from rich.console import Console  # noqa: PLC0415 - heavy, and only terminals need it

    target = io.StringIO()
    console = Console(file=target, width=width, color_system=None, _environ={})
    console.print(rich_table(graph))
    return "\n".join(line.rstrip() for line in target.getvalue().splitlines()) + "\n"
