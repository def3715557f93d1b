"""Drawings of machines, from the declaration or the compiled table alone.

    graph    what a drawing shows          extract  from a machine to a graph
    dot, svg, mermaid, table               from a graph to bytes
    style    themes                        overlay  a run laid over a graph

Importing this package loads neither graphviz nor rich; a renderer loads what it needs.
"""

from pathlib import PurePath
from typing import Literal as OneOf
from typing import TypeAlias

from unspiral.diagrams.extract import extract
from unspiral.diagrams.graph import LEVELS, Graph, Level
from unspiral.diagrams.overlay import Overlay, lay_over
from unspiral.diagrams.style import THEMES, theme_named
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.table import Table
from unspiral.engine.errors import UnknownName

__all__ = [
    "FORMATS",
    "LEVELS",
    "THEMES",
    "Format",
    "Graph",
    "Level",
    "Overlay",
    "draw",
    "extract",
    "format_of",
    "lay_over",
    "render",
]

Format: TypeAlias = OneOf["svg", "png", "pdf", "dot", "mermaid", "markdown", "text"]
FORMATS: tuple[Format, ...] = (
    "svg",
    "png",
    "pdf",
    "dot",
    "mermaid",
    "markdown",
    "text",
)
_SUFFIXES: dict[str, Format] = {
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".md": "markdown",
    ".txt": "text",
}


def format_of(path: str | PurePath) -> Format:
    """Return the format that a file's suffix asks for.

    Raises:
        UnknownName: no format has this suffix.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UnknownName("format with the suffix", suffix, tuple(_SUFFIXES))
    return _SUFFIXES[suffix]


def draw(
    graph: Graph,
    format: str = "svg",  # noqa: A002 - the word that users know
    theme: str = "light",
    *,
    system_dot: bool = False,
) -> bytes:
    """Return a graph in a format; the same graph gives the same bytes.

    Args:
        graph: what is drawn.
        format: one of `FORMATS`.
        theme: one of `THEMES`; tables and Mermaid have none.
        system_dot: use the `dot` of the system rather than the wheel's.

    Raises:
        UnknownName: no such format or theme.
        BadValue: the graph is too large for a picture.
        MissingTool: a program or library that is needed is not here.
        ToolFailed: the layout program gives up.
    """
    colours = theme_named(theme)
    match format:
        case "dot":
            from unspiral.diagrams.dot import dot_text  # noqa: PLC0415 - as needed

            return dot_text(graph, colours).encode()
        case "mermaid":
            from unspiral.diagrams.mermaid import mermaid_text  # noqa: PLC0415 - same

            return mermaid_text(graph).encode()
        case "markdown":
            from unspiral.diagrams.table import markdown_text  # noqa: PLC0415 - same

            return markdown_text(graph).encode()
        case "text":
            from unspiral.diagrams.table import plain_text  # noqa: PLC0415 - same

            return plain_text(graph).encode()
        case "svg" | "png" | "pdf":
            from unspiral.diagrams import svg  # noqa: PLC0415 - it loads graphviz

            renderer = {"svg": svg.svg, "png": svg.png, "pdf": svg.pdf}[format]
            return renderer(graph, colours, system_dot=system_dot)
        case _:
            raise UnknownName("format", format, FORMATS)


def render(  # noqa: PLR0913 - each is one independent choice of the user
    source: Machine | Table,
    format: str = "svg",  # noqa: A002 - the word that users know
    level: Level = "policy",
    theme: str = "light",
    overlay: Overlay | None = None,
    *,
    nested: bool | None = None,
    system_dot: bool = False,
) -> bytes:
    """Draw a machine as declared, or a table with its limits put in.

    Args:
        source: the machine or table.
        format: one of `FORMATS`.
        level: one of `LEVELS`.
        theme: one of `THEMES`.
        overlay: a run or numbers to lay over the drawing.
        nested: draw the inside of nested machines; by default in all but the overview.
        system_dot: use the `dot` of the system rather than the wheel's.

    Raises:
        UsageError: what `draw` and `extract` raise.
    """
    graph = extract(source, level, nested=nested)
    if overlay is not None:
        graph = lay_over(graph, overlay)
    return draw(graph, format, theme, system_dot=system_dot)
