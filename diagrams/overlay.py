"""A run, a counterexample or numbers laid over a graph; everything else fades.

Plain data in: names of rows in the order in which they were taken, and texts beside
rows or phases. It knows nothing of who found them.
"""

from collections.abc import Mapping, Sequence

import attrs

from unspiral.diagrams.graph import Edge, Graph, Mark, Node, plain
from unspiral.engine.errors import UnknownName

__all__ = ["Overlay", "lay_over"]

_MOST_NUMBERS = 6  #: of one row; a longer list is shortened


def _names(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(values)


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: plain(str(text)) for name, text in values.items()}


@attrs.frozen
class Overlay:
    """What is laid over a drawing.

    Attributes:
        steps: the names of the rows taken: a trace, or the stem of a counterexample.
        loop: the names of the rows that repeat after the stem.
        numbers: texts to write at rows or phases, by name.
        title: what the drawing then shows.
        stem_name: what the legend calls the steps.
        loop_name: what the legend calls the loop.
    """

    steps: tuple[str, ...] = attrs.field(default=(), converter=_names)
    loop: tuple[str, ...] = attrs.field(default=(), converter=_names)
    numbers: Mapping[str, str] = attrs.field(factory=dict[str, str], converter=_texts)
    title: str = ""
    stem_name: str = "steps taken"
    loop_name: str = "steps that repeat"


def lay_over(graph: Graph, overlay: Overlay) -> Graph:
    """Return the graph with the overlay on it.

    Steps are numbered from 1, those of the loop going on from the stem. A row of both
    is drawn as part of the loop. A row that flattening joins to another is marked with
    it; a nested machine that is drawn as one node is marked with the rows inside.

    Raises:
        UnknownName: a name that is no row of the machine (or no phase, for numbers).
    """
    _check(graph, overlay)
    places: dict[str, list[int]] = {}
    for number, name in enumerate((*overlay.steps, *overlay.loop), start=1):
        places.setdefault(name, []).append(number)
    edges = [_edge(each, overlay, places) for each in graph.edges]
    nodes = [_node(each, overlay, edges, places) for each in graph.nodes]
    title = f"{graph.title}: {plain(overlay.title)}" if overlay.title else graph.title
    return attrs.evolve(
        graph,
        title=title,
        nodes=tuple(nodes),
        edges=tuple(edges),
        stem=plain(overlay.stem_name) if overlay.steps else "",
        loop=plain(overlay.loop_name) if overlay.loop else "",
    )


def _check(graph: Graph, overlay: Overlay) -> None:
    phases = {node.id for node in graph.nodes}
    for name in (*overlay.steps, *overlay.loop):
        if name not in graph.row_names:
            known = tuple(graph.row_names)
            raise UnknownName("row", name, known, f"machine {graph.name}")
    for name in overlay.numbers:
        if name not in graph.row_names and name not in phases:
            known = (*graph.row_names, *phases)
            raise UnknownName("row or phase", name, known, f"machine {graph.name}")


def _numbers(names: Sequence[str], places: Mapping[str, list[int]]) -> str:
    taken = sorted({number for name in names for number in places.get(name, ())})
    shown = [str(number) for number in taken[:_MOST_NUMBERS]]
    shown += ["..."] if len(taken) > _MOST_NUMBERS else []
    return f"({','.join(shown)})" if shown else ""


def _edge(edge: Edge, overlay: Overlay, places: Mapping[str, list[int]]) -> Edge:
    names = (*edge.rows, *edge.joined)
    numbers = _numbers(names, places)
    texts = [overlay.numbers[name] for name in edge.rows if name in overlay.numbers]
    mark: Mark = ""
    if numbers:
        mark = "loop" if set(overlay.loop).intersection(names) else "stem"
    elif places and not texts:
        mark = "faded"
    badge = " ".join(part for part in (numbers, *texts) if part)
    return attrs.evolve(edge, mark=mark, badge=badge)


def _node(
    node: Node,
    overlay: Overlay,
    edges: list[Edge],
    places: Mapping[str, list[int]],
) -> Node:
    numbers = _numbers(node.rows, places)
    text = overlay.numbers.get(node.id, "")
    badge = " ".join(part for part in (numbers, text) if part)
    if not places:
        return attrs.evolve(node, badge=badge)
    marks = {edge.mark for edge in edges if node.id in (edge.source, edge.target)}
    if numbers:
        marks.add("loop" if set(overlay.loop).intersection(node.rows) else "stem")
    mark: Mark = "" if badge else "faded"
    if "loop" in marks:
        mark = "loop"
    elif "stem" in marks:
        mark = "stem"
    return attrs.evolve(node, mark=mark, badge=badge)
