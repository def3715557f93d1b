"""SVG, PNG and PDF: what a reader of the file finds in it."""

import re
import xml.etree.ElementTree as ET
from typing import Literal

import pytest

from unspiral.diagrams import THEMES, Overlay, extract, render
from unspiral.diagrams.dot import dot_text
from unspiral.diagrams.layout import Layout, layouts
from unspiral.diagrams.style import line_of_layer, theme_named
from unspiral.diagrams.svg import MAX_EDGES, best_layout, svg
from unspiral.engine.core.declare import Machine, Phase, Terminal, Transition
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import BadValue, MissingTool, UnknownName

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {
    "svg",
    "g",
    "title",
    "path",
    "polygon",
    "polyline",
    "ellipse",
    "text",
    "style",
}


def classes(picture: bytes, name: str) -> list[ET.Element]:
    tree = ET.fromstring(picture)  # noqa: S314 - our own output
    return [g for g in tree.iter(f"{SVG}g") if name in g.get("class", "").split()]


def texts(picture: bytes) -> str:
    tree = ET.fromstring(picture)  # noqa: S314 - our own output
    return " ".join("".join(each.itertext()) for each in tree.iter(f"{SVG}text"))


@pytest.mark.parametrize("form", ["labels", "cards"])
def test_every_row_is_one_arrow_of_the_picture(
    loop: Machine, form: Literal["labels", "cards"]
) -> None:
    graph = extract(loop, "full")

    picture = svg(graph, layout=Layout(form, "LR"))

    arrows = [each.get("id") for each in classes(picture, "row")]
    assert len(arrows) == len(graph.edges)
    assert len(set(arrows)) == len(arrows)


def test_the_start_and_the_ends_are_drawn_as_such(gate: Machine) -> None:
    picture = render(gate, "svg", "full")

    assert len(classes(picture, "initial")) == 1
    ends = classes(picture, "terminal")
    assert [end.get("id") for end in ends] == ["node-jammed"]
    frames = [each for each in ends[0].iter() if each.tag.endswith("polygon")]
    assert len(frames) == 2  # a double frame


def test_order_event_guard_action_and_reason_are_written(loop: Machine) -> None:
    words = texts(render(loop, "svg", "full"))

    assert "2. recoveries < max_output_recoveries" in words
    assert "[compact_failures < max_compact_failures]" in words
    assert "/ compact_failures += 1" in words
    assert "stop_hook_blocking" in words
    assert "call_model, run by attempt" in words


def test_the_legend_says_only_what_occurs(gate: Machine, loop: Machine) -> None:
    small = texts(render(gate, "svg", "full"))
    large = texts(render(loop, "svg", "full"))

    assert "recovery" not in small
    assert "decides by guards alone" not in small
    assert "thick: progress" in small
    assert "recovery: context" in large
    assert "decides by guards alone" in large
    assert "off at these limits" not in large


def test_layers_differ_in_colour_and_dash_together() -> None:
    layers = tuple(f"layer{i}" for i in range(18))
    for theme in THEMES.values():
        lines = {line_of_layer(theme, layers, layer) for layer in layers}
        assert len(lines) == 18


def test_each_theme_names_every_colour_once_so_that_dark_mode_can_exchange_them() -> (
    None
):
    for name in ("light", "dark", "auto"):
        colours = theme_named(name).colours()
        assert len(set(colours)) == len(colours)


def test_the_picture_holds_no_script_link_or_reference(loop: Machine) -> None:
    for theme in THEMES:
        picture = render(loop, "svg", "policy", theme)
        tree = ET.fromstring(picture)  # noqa: S314 - our own output
        for each in tree.iter():
            assert each.tag.removeprefix(SVG) in ALLOWED
            assert not [a for a in each.attrib if a.startswith("on") or "href" in a]
        assert b"http" not in picture.replace(b"http://www.w3.org/2000/svg", b"")


def test_only_the_theme_auto_follows_the_dark_mode_of_the_screen(
    gate: Machine,
) -> None:
    assert b"prefers-color-scheme" in render(gate, "svg", theme="auto")
    assert b"prefers-color-scheme" not in render(gate, "svg", theme="light")


def test_dark_mode_has_a_colour_for_every_colour_drawn(loop: Machine) -> None:
    picture = render(loop, "svg", "full", "auto").decode()
    css, _, body = picture.partition("</style>")

    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', body))

    assert used
    assert all(f'[fill="{colour}"]' in css for colour in used)


def test_a_png_is_a_png_and_a_pdf_a_pdf(gate: Machine) -> None:
    pytest.importorskip("svglib")

    assert render(gate, "png").startswith(b"\x89PNG\r\n\x1a\n")
    assert render(gate, "pdf").startswith(b"%PDF-")


def test_pictures_need_no_program_of_the_system(
    gate: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")

    assert render(gate, "svg")
    assert render(gate, "png")


def test_a_system_dot_that_is_not_there_is_named(
    gate: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(MissingTool, match="graphviz-pure"):
        render(gate, "svg", system_dot=True)


def test_a_graph_that_nobody_can_read_is_refused() -> None:
    names = [f"e{i}" for i in range(MAX_EDGES + 1)]
    machine = Machine(
        name="huge",
        phases=(Phase("only", events=tuple(names)),),
        terminals=(Terminal("over"),),
        transitions=tuple(Transition("only", "over", name) for name in names),
    )

    with pytest.raises(BadValue, match="try level overview"):
        render(machine, "svg", "full")
    assert render(machine, "svg", "overview")


def test_unknown_formats_and_themes_are_refused(gate: Machine) -> None:
    with pytest.raises(UnknownName, match="did you mean 'svg'"):
        render(gate, "svgg")
    with pytest.raises(UnknownName, match="did you mean 'dark'"):
        render(gate, "svg", theme="darc")


def test_small_machines_are_labelled_arrows_and_large_ones_cards(
    gate: Machine, loop: Machine
) -> None:
    assert best_layout(extract(gate)).form == "labels"
    assert best_layout(extract(loop)).form == "cards"
    assert best_layout(extract(loop, "overview")).form == "labels"


def test_without_boxes_the_group_is_written_in_the_card(loop: Machine) -> None:
    graph = extract(loop, "policy")
    bare = next(layout for layout in layouts(graph) if not layout.boxes)

    text = dot_text(graph, layout=bare)

    assert "recovery" in text
    assert text.count("subgraph") == 1  # that of the nested machine


def test_what_is_off_is_drawn_faint_at_level_full(loop: Machine) -> None:
    picture = render(compile_table(loop, "plain"), "svg", "full")

    assert "off at these limits" in texts(picture)


def test_an_overlay_marks_rows_in_the_picture(gate: Machine) -> None:
    overlay = Overlay(steps=["locked:coin"], loop=["open:push", "locked:coin"])

    picture = render(gate, "svg", "full", overlay=overlay)

    assert [
        each.get("id")
        for each in classes(picture, "loop")
        if "row" in each.get("class", "")
    ] == ["row-locked-coin", "row-open-push"]
    assert "(1,3)" in texts(picture)
    assert "steps that repeat" in texts(picture)
