"""How a graph may be set on a page: form, direction, boxes, columns.

What a drawing says does not depend on it. Which layout is best is found by trying
(`svg`); here are only the choices, and what each needs to know of the graph.
"""

from typing import Literal as OneOf

import attrs

from unspiral.diagrams.graph import Graph

__all__ = ["Layout", "back_edges", "columns", "layouts"]

_MANY_ROWS = 12
_STACKS = (1.0, 1.3, 1.7, 2.5)
_HEAD, _RULE, _GAP = 1.8, 0.35, 1.5  #: heights in lines: of a card's head, and so on
_SMALL = 0.8  #: the height of a line of small letters


@attrs.frozen
class Layout:
    """One way to set a graph.

    Attributes:
        form: rows on arrows, or in cards.
        direction: top to bottom, or left to right.
        boxes: groups of phases get a box; without it the group is written in the card.
        stack: phases of a group stand above each other, up to so many times the
            height of the highest card; 0 lets them stand where they may.
    """

    form: OneOf["labels", "cards"] = "labels"
    direction: OneOf["TB", "LR"] = "TB"
    boxes: bool = True
    stack: float = 0.0


def layouts(graph: Graph) -> tuple[Layout, ...]:
    """Return the layouts worth trying, the most natural one first.

    One without boxes is the last resort, if a layout program fails at all others.
    Labels of arrows push a drawing apart: from about a dozen rows on, only cards fit.
    """
    wordy = graph.level != "overview" and len(graph.edges) > _MANY_ROWS
    if not wordy:
        return Layout("labels", "TB"), Layout("labels", "LR")
    wide, tall = Layout("cards", "LR"), Layout("cards", "TB")
    if not any(box.kind == "group" for box in graph.all_clusters()):
        return wide, tall
    stacked = [attrs.evolve(wide, stack=stack) for stack in _STACKS]
    different = {columns(graph, layout.stack): layout for layout in reversed(stacked)}
    return (*reversed(different.values()), attrs.evolve(tall, boxes=False))


def columns(graph: Graph, stack: float) -> tuple[tuple[str, ...], ...]:
    """Return the phases that stand above each other, a column each."""
    if not stack:
        return ()
    heights = _heights(graph)
    room = stack * max(heights.values())
    found: list[tuple[str, ...]] = []
    for cluster in graph.all_clusters():
        column: list[str] = []
        used = 0.0
        for name in cluster.nodes if cluster.kind == "group" else ():
            if column and used + heights[name] > room:
                found.append(tuple(column))
                column, used = [], 0.0
            column.append(name)
            used += heights[name] + _GAP
        found.append(tuple(column))
    return tuple(column for column in found if len(column) > 1)


def _heights(graph: Graph) -> dict[str, float]:
    """Return about how many lines the card of each node has."""
    heights = dict.fromkeys((node.id for node in graph.nodes), _HEAD)
    for edge in graph.edges:
        head = 1 if edge.event and len(edge.guard) != 1 else 0
        lines = max(1, head + len(edge.guard)) + bool(edge.reason)
        small = _SMALL * len(edge.action) if graph.level == "full" else 0
        heights[edge.source] += lines + small + _RULE
    return heights


def back_edges(graph: Graph) -> set[int]:
    """Return the edges that go back to where a walk from the start came from.

    They are written the other way round, so that the layout keeps the start first and
    reads in the order of the rows.
    """
    leaving: dict[str, list[tuple[int, str]]] = {}
    for number, edge in enumerate(graph.edges):
        leaving.setdefault(edge.source, []).append((number, edge.target))
    back: set[int] = set()
    seen: set[str] = set()
    for root in (graph.start, *(node.id for node in graph.nodes)):
        if root in seen:
            continue
        seen.add(root)
        path = [root]
        rests = [iter(leaving.get(root, ()))]
        while rests:
            for number, target in rests[-1]:
                if target in path[:-1]:
                    back.add(number)
                elif target not in seen:
                    seen.add(target)
                    path.append(target)
                    rests.append(iter(leaving.get(target, ())))
                    break
            else:
                path.pop()
                rests.pop()
    return back
