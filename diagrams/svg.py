"""Pictures: SVG, PNG and PDF of a graph. The one door to the `graphviz` library.

The layout program is that of the graphviz-pure wheel, so nothing need be installed
beside the package, and the same graph gives the same bytes everywhere. A system's `dot`
is taken when asked for, or when the wheel has no program for this platform.

Several layouts are tried and the one that is largest on an A4 page is drawn.
"""

import importlib
import importlib.metadata
import io
import re
import shutil
import subprocess
import threading
from pathlib import Path
from xml.sax.saxutils import quoteattr

from unspiral.diagrams.dot import dot_text
from unspiral.diagrams.graph import Graph
from unspiral.diagrams.layout import Layout, layouts
from unspiral.diagrams.style import FONT, THEMES, Theme, dark_mode_css
from unspiral.engine.errors import BadValue, MissingTool, ToolFailed

__all__ = ["MAX_EDGES", "best_layout", "pdf", "png", "svg"]

MAX_EDGES = 300  #: beyond, a layout takes minutes and nobody can read it
_MANY_EDGES = 150  #: beyond, the first layout that can be done is taken
_PNG_DPI = 144
_LONG, _SHORT = 792.0, 547.0  #: points that an A4 page leaves between its margins
_FAMILIES = (
    "Helvetica, Arial, 'Liberation Sans', Arimo, 'Nimbus Sans', "
    "'DejaVu Sans Condensed', sans-serif"
)
_lock = threading.Lock()  # the library keeps the name of the program in a global


def svg(
    graph: Graph,
    theme: Theme = THEMES["light"],
    layout: Layout | None = None,
    *,
    system_dot: bool = False,
) -> bytes:
    """Return the drawing as SVG, without scripts, links or references.

    Args:
        graph: what is drawn.
        theme: its colours; `auto` follows the reader's dark mode on screen.
        layout: how it is set; the best of several unless given.
        system_dot: use the `dot` of the system rather than the wheel's.

    Raises:
        BadValue: the graph has too many edges to be drawn.
        MissingTool: there is no layout program.
        ToolFailed: the layout program gives up.
    """
    if layout is None:
        made = _best(graph, theme, system_dot=system_dot)[1]
    else:
        made = _run(dot_text(graph, theme, layout), "svg", system_dot=system_dot)
    return _tidy(made.decode(), graph, theme).encode()


def png(
    graph: Graph,
    theme: Theme = THEMES["light"],
    layout: Layout | None = None,
    *,
    system_dot: bool = False,
) -> bytes:
    """Return the drawing as PNG, 144 dots an inch; see `svg`."""
    chosen = layout or best_layout(graph, system_dot=system_dot)
    text = dot_text(graph, theme, chosen)
    return _run(text, "png", system_dot=system_dot, dpi=_PNG_DPI)


def pdf(
    graph: Graph,
    theme: Theme = THEMES["light"],
    layout: Layout | None = None,
    *,
    system_dot: bool = False,
) -> bytes:
    """Return the drawing as PDF, by svglib or by a system's `dot`; see `svg`."""
    chosen = layout or best_layout(graph, system_dot=system_dot)
    if system_dot:
        return _run(dot_text(graph, theme, chosen), "pdf", system_dot=True)
    try:
        reader = importlib.import_module("svglib.svglib")
        renderer = importlib.import_module("reportlab.graphics.renderPDF")
        canvas_type = importlib.import_module("reportlab.pdfgen.canvas").Canvas
    except ImportError:
        if shutil.which("dot") is None:
            advice = "install it with `pip install unspiral[pdf]`, or install Graphviz"
            raise MissingTool("PDF", "svglib", advice) from None
        return _run(dot_text(graph, theme, chosen), "pdf", system_dot=True)
    made = svg(graph, theme, chosen).decode().replace(_FAMILIES, FONT)
    drawing = reader.svg2rlg(
        io.BytesIO(re.sub("<style>.*?</style>", "", made).encode())
    )
    if drawing is None:
        raise ToolFailed("svglib", "it cannot read the SVG")
    target = io.BytesIO()
    # `invariant` leaves out the date, so that the same graph gives the same bytes.
    canvas = canvas_type(target, (drawing.width, drawing.height), invariant=1)
    canvas.setTitle(graph.title)
    renderer.draw(drawing, canvas, 0, 0)
    canvas.showPage()
    canvas.save()
    return target.getvalue()


def best_layout(graph: Graph, *, system_dot: bool = False) -> Layout:
    """Return the layout in which letters are largest on an A4 page.

    Raises:
        BadValue: the graph has too many edges to be drawn.
        MissingTool: there is no layout program.
        ToolFailed: the layout program gives up.
    """
    return _best(graph, THEMES["light"], system_dot=system_dot)[0]


def _best(graph: Graph, theme: Theme, *, system_dot: bool) -> tuple[Layout, bytes]:
    """Return the best layout and the SVG that was made to judge it."""
    if len(graph.edges) > MAX_EDGES:
        allowed = f"of at most {MAX_EDGES} rows; try level overview, or a table"
        raise BadValue("drawing", f"a graph of {len(graph.edges)} rows", allowed)
    found: list[tuple[float, Layout, bytes]] = []
    failure: ToolFailed | None = None
    for layout in layouts(graph):
        if found and (not layout.boxes or len(graph.edges) > _MANY_EDGES):
            break  # the last resort, or a matter of minutes
        try:
            made = _run(dot_text(graph, theme, layout), "svg", system_dot=system_dot)
        except ToolFailed as error:  # a layout that it cannot do is no candidate
            failure = error
            continue
        scale = _scale(made)
        found.append((scale, layout, made))
        if scale == 1.0:  # it fits as it is
            break
    if not found and failure is not None:
        raise failure
    _, layout, made = max(found, key=lambda each: each[0])
    return layout, made


def _scale(made: bytes) -> float:
    """Return how much a drawing must shrink to fit an A4 page; at most 1."""
    size = re.search(rb'width="([\d.]+)pt" height="([\d.]+)pt"', made)
    if size is None:
        return 0.0
    width, height = (max(float(part), 1.0) for part in size.groups())
    upright = min(_SHORT / width, _LONG / height)
    across = min(_LONG / width, _SHORT / height)
    return min(1.0, max(upright, across))


def _run(text: str, form: str, *, system_dot: bool, dpi: int = 0) -> bytes:
    """Run the layout program on a DOT text."""
    # Modules of the library are loaded as needed, and are not typed.
    command = importlib.import_module("graphviz.backend.dot_command")
    piping = importlib.import_module("graphviz.backend.piping")
    not_found = importlib.import_module("graphviz.backend.execute").ExecutableNotFound

    program = _program(system_dot=system_dot)
    if dpi:
        text = text.replace("digraph {", f"digraph {{\n  graph [dpi={dpi}]", 1)
    with _lock:
        before = command.__dict__["DOT_BINARY"]
        command.__dict__["DOT_BINARY"] = program
        try:
            return bytes(piping.pipe("dot", form, text.encode(), quiet=True))
        except not_found:
            raise _missing() from None
        except (subprocess.CalledProcessError, OSError) as error:
            said = getattr(error, "stderr", None) or str(error).encode()
            raise ToolFailed(program.name, said.decode(errors="replace")) from None
        finally:
            command.__dict__["DOT_BINARY"] = before


def _program(*, system_dot: bool) -> Path:
    wheel = None if system_dot else _wheel_program()
    found = wheel or shutil.which("dot")
    if found is None:
        raise _missing()
    return Path(found)


def _wheel_program() -> Path | None:
    """Return the program of the graphviz-pure wheel, wherever it was installed."""
    try:
        files = importlib.metadata.files("graphviz-pure") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.stem == "graphviz-pure":
            path = Path(str(file.locate()))
            if path.is_file():
                return path.resolve()
    found = shutil.which("graphviz-pure")
    return Path(found) if found else None


def _missing() -> MissingTool:
    advice = "run `pip install graphviz-pure`, or install Graphviz for a system `dot`"
    return MissingTool("drawing", "a layout program", advice)


def _tidy(text: str, graph: Graph, theme: Theme) -> str:
    """Return the SVG without what differs between versions, and with plain tooltips.

    The program's texts are escaped by it, so that the patterns here only ever meet its
    own markup.
    """
    body = text[text.index("<svg") :]
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
    body = re.sub(r"<title>[^<]*</title>\n?", "", body)
    body = re.sub(r'<a xlink:title="([^"]*)">', r"<title>\1</title>", body)
    body = body.replace("</a>\n", "").replace("</a>", "")
    body = body.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    body = re.sub(rf'font-family="{FONT}[^"]*"', f'font-family="{_FAMILIES}"', body)
    name = quoteattr(f"{graph.title}: state machine, {'; '.join(graph.caption)}")
    css = f"<style>{dark_mode_css(theme)}</style>\n" if theme.adapts else ""
    head, _, rest = body.partition(">")
    return f'{head} role="img" aria-label={name}>\n{css}{rest.lstrip()}'
