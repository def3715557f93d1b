"""A machine file from a stranger: whatever stands in it stays text."""

import re
import xml.etree.ElementTree as ET

from unspiral.diagrams import Overlay, extract, lay_over, render
from unspiral.diagrams.graph import Graph, plain
from unspiral.diagrams.layout import Layout
from unspiral.diagrams.mermaid import mermaid_text
from unspiral.diagrams.svg import svg
from unspiral.diagrams.table import markdown_text, plain_text
from unspiral.engine.core.declare import (
    Choice,
    Event,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.table import compile_table

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "g", "title", "path", "polygon", "polyline", "ellipse", "text"}


def machine_of(text: str) -> Machine:
    """Return a machine with the text wherever a text is taken."""
    return Machine(
        name="stranger",
        doc=text,
        source=text,
        phases=(
            Phase(
                "here",
                events=(Event("go", doc=text), Event("stay"), Event("wait")),
                group=text,
                doc=text,
                source=text,
                cost={text: 1},
            ),
        ),
        terminals=(Terminal("there", doc=text, source=text),),
        limits=(Limit("most", 3, unit=text, doc=text, source=text),),
        transitions=(
            Transition(
                "here",
                "there",
                "go",
                guard=text,
                action=text,
                layer=text,
                name=text,
                doc=text,
                cite=text,
                cost={text: 2},
            ),
            Transition("here", "here", "stay", guard="most == 3"),
            Transition("here", "here", "wait", layer=text),
        ),
    )


def graph_of(text: str) -> Graph:
    graph = extract(machine_of(text), "full")
    row = graph.edges[0].rows[0]
    overlay = Overlay(steps=[row], numbers={"here": text}, title=text, stem_name=text)
    return lay_over(graph, overlay)


def check_picture(picture: bytes, graph: Graph) -> None:
    tree = ET.fromstring(picture)  # noqa: S314 - our own output
    for each in tree.iter():
        assert each.tag.removeprefix(SVG) in ALLOWED
        for name in each.attrib:
            assert not name.startswith("on")
            assert "href" not in name
    kinds = [g.get("class", "").split() for g in tree.iter(f"{SVG}g")]
    assert sum("row" in kind for kind in kinds) == len(graph.edges)
    assert sum("node" in kind for kind in kinds) == len(graph.nodes) + 1  # the start


def test_pictures_keep_a_hostile_text_in_its_place(hostile: str) -> None:
    graph = graph_of(hostile)

    for layout in (Layout("labels"), Layout("cards", "LR", boxes=False)):
        check_picture(svg(graph, layout=layout), graph)


def test_a_tooltip_says_what_was_written(hostile: str) -> None:
    graph = extract(machine_of(hostile), "full")

    tree = ET.fromstring(svg(graph))  # noqa: S314 - our own output

    titles = {title.text for title in tree.iter(f"{SVG}title")}
    wanted = next(node.doc for node in graph.nodes if node.id == "here") or "here"
    box = {cluster.label for cluster in graph.all_clusters()}
    assert {wanted, *box} <= {title or "" for title in titles}
    words = "".join("".join(text.itertext()) for text in tree.iter(f"{SVG}text"))
    assert all(label.replace(" ", "") in words.replace(" ", "") for label in box)


def test_mermaid_keeps_a_hostile_text_in_its_place(hostile: str) -> None:
    lines = mermaid_text(graph_of(hostile)).splitlines()
    clean = mermaid_text(graph_of("harmless")).splitlines()

    def skeleton(text: str) -> str:
        bare = re.sub(r'"[^"]*"', '""', text)
        return re.sub(r" : .*|: .*|classDef.*", "", bare)

    assert [skeleton(line) for line in lines] == [skeleton(line) for line in clean]
    assert not re.search(r"[<>](?!br/>|\s)(?<!-->)(?<!br/>)", "\n".join(lines))


def test_markdown_keeps_a_hostile_text_in_its_cell(hostile: str) -> None:
    lines = markdown_text(graph_of(hostile)).splitlines()
    clean = markdown_text(graph_of("harmless")).splitlines()

    heads = next(line for line in lines if line.startswith("| phase")).count("|")
    assert len(lines) == len(clean)
    for line in lines:
        assert "<" not in line
        if line.startswith("|") and "---" not in line:
            bars = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
            assert bars in {heads, 3}


def test_a_terminal_shows_no_control_character(hostile: str) -> None:
    text = plain_text(graph_of(hostile))

    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\x1b" not in text


def test_every_format_can_be_written_to_a_file(hostile: str) -> None:
    for form in ("dot", "mermaid", "markdown", "text"):
        assert render(machine_of(hostile), form, "full").decode("utf-8")


def test_a_hostile_value_of_a_choice_survives_compilation(hostile: str) -> None:
    machine = Machine(
        name="chooser",
        phases=(Phase("here"),),
        terminals=(Terminal("there"),),
        memory=(Choice("what", values=("plain", hostile[:300])),),
        transitions=(
            Transition("here", "there", guard=f"what == {hostile[:300]!r}"),
            Transition("here", "there", guard="otherwise"),
        ),
    )

    graph = extract(compile_table(machine), "full")

    check_picture(svg(graph), graph)


def test_plain_text_is_one_printable_line_of_bounded_length(hostile: str) -> None:
    text = plain(hostile)

    assert text.isprintable()
    assert len(text) <= 600
    assert text.encode("utf-8").decode("utf-8") == text
