"""What a drawing shows: frozen values between a machine and its renderers.

A graph knows phases, rows and groups as clean texts; it knows neither machines (that
is `extract`) nor colours (`style`) nor any output language (`dot`, `mermaid`, `table`).
Every text in it has passed `plain`, so that no renderer meets a control character.
"""

import unicodedata
from collections.abc import Iterator
from typing import Literal as OneOf
from typing import TypeAlias

import attrs

__all__ = [
    "LEVELS",
    "Cluster",
    "Edge",
    "Graph",
    "Level",
    "LimitNote",
    "Mark",
    "Node",
    "plain",
]

Level: TypeAlias = OneOf["overview", "policy", "full"]
LEVELS: tuple[Level, ...] = ("overview", "policy", "full")
Mark: TypeAlias = OneOf["", "stem", "loop", "faded"]

#: Unicode categories that are never drawn: controls, surrogates, unassigned, private.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}
_LONGEST = 600


def plain(text: str) -> str:
    """Return a text that is safe to put into any file: one line, printable, finite.

    Every run of white space becomes one space, whatever cannot be printed (controls,
    lone surrogates, marks that turn the direction of writing) U+FFFD.
    """
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    words = " ".join(short.split())
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNPRINTABLE else c
        for c in words
    )


@attrs.frozen
class Node:
    """A phase, a terminal, or an exit of a nested machine.

    Attributes:
        id: its name in the flat machine, such as `call_model.send`.
        label: what is written in it.
        kind: who answers it; an exit is the end of a nested machine.
        end: of a terminal or exit: its kind.
        initial: whether a run (or a visit of the nested machine) starts here.
        note: what each answer costs or who runs it, in lines parted by `; `.
        rows: of a nested machine drawn as one node: the names of the rows inside.
        doc: what it is, and its source.
        mark: how an overlay shows it.
        badge: the number or text of an overlay, or "".
    """

    id: str
    label: str
    kind: OneOf["acting", "deciding", "nested", "terminal", "exit"]
    end: OneOf["", "done", "limit", "error", "abort", "hook"] = ""
    initial: bool = False
    note: str = ""
    rows: tuple[str, ...] = ()
    doc: str = ""
    mark: Mark = ""
    badge: str = ""


@attrs.frozen
class Edge:
    """One row; at lower levels of detail several that look alike.

    Attributes:
        rows: the names of the rows that it stands for.
        joined: the rows inside a nested machine that this one ends: in the flat
            machine they are one step with it and bear their own names.
        source: the node where it begins.
        target: the node where it ends.
        order: its place among the alternatives of its event, from 1; 0 if alone.
        event: what was answered, or "".
        guard: the condition in lines, or ().
        action: the assignments, one a line.
        reason: the name of the continue, or "".
        layer: the recovery layer, or "".
        progress: whether it does the user's work.
        cost: what it costs beyond its phase, or "".
        doc: what is surprising about it, and its source.
        off: it can never be taken at these limits.
        mark: how an overlay shows it.
        badge: the number or text of an overlay, or "".
    """

    rows: tuple[str, ...]
    source: str
    target: str
    order: int = 0
    event: str = ""
    guard: tuple[str, ...] = ()
    action: tuple[str, ...] = ()
    reason: str = ""
    layer: str = ""
    progress: bool = False
    cost: str = ""
    doc: str = ""
    off: bool = False
    mark: Mark = ""
    badge: str = ""
    joined: tuple[str, ...] = ()


@attrs.frozen
class Cluster:
    """A box around nodes: a group of phases, or a machine that runs a phase.

    Attributes:
        id: unique among the clusters.
        label: what is written on it.
        kind: what it is.
        nodes: the ids of the nodes directly in it.
        clusters: the boxes in it.
    """

    id: str
    label: str
    kind: OneOf["group", "machine"]
    nodes: tuple[str, ...] = ()
    clusters: tuple["Cluster", ...] = ()

    def walk(self) -> Iterator["Cluster"]:
        """Yield this cluster and all inside it, the outer first."""
        yield self
        for inner in self.clusters:
            yield from inner.walk()


@attrs.frozen
class LimitNote:
    """A limit that the drawn guards name.

    Attributes:
        name: the limit.
        value: its value and unit.
    """

    name: str
    value: str


@attrs.frozen
class Graph:
    """A drawing before any choice of colours and language.

    Attributes:
        name: the machine.
        title: the heading.
        caption: what a reader must know, in lines: level, edition, what is left out.
        level: the level of detail.
        start: the node in which a run starts.
        nodes: phases first, in the order of the declaration.
        edges: in the order of the rows.
        clusters: the outermost boxes.
        layers: the recovery layers of the whole machine, in the order of its rows.
        limits: the limits that the drawn guards name.
        row_names: every row that may be named by an overlay, drawn or not.
        stem: what the legend calls the marked path, or "".
        loop: what the legend calls the marked loop, or "".
    """

    name: str
    title: str
    caption: tuple[str, ...]
    level: Level
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...] = ()
    layers: tuple[str, ...] = ()
    limits: tuple[LimitNote, ...] = ()
    row_names: frozenset[str] = frozenset()
    stem: str = ""
    loop: str = ""

    def all_clusters(self) -> Iterator[Cluster]:
        """Yield every cluster, the outer ones before those inside."""
        for cluster in self.clusters:
            yield from cluster.walk()
