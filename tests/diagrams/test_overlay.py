import pytest

from unspiral.diagrams import Level, Overlay, extract, lay_over
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.step import available_events, initial_snapshot, step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import UnknownName


def rows_of_a_run(table: Table, events: list[str]) -> list[str]:
    """Return the names of the rows taken; deciding phases are passed by themselves."""
    rows: list[str] = []
    answers = iter(events)
    snapshot = initial_snapshot(table)
    while snapshot.phase not in table.terminals:
        offered = available_events(table, snapshot)
        event = next(answers, "") if offered else None
        if event == "":
            break
        taken = step(table, snapshot, event)
        rows.append(taken.row.name)
        snapshot = taken.after
    return rows


def test_stem_and_loop_are_marked_and_numbered_and_all_else_fades(
    gate: Machine,
) -> None:
    overlay = Overlay(steps=["locked:push#2"], loop=["locked:coin", "open:push"])

    graph = lay_over(extract(gate, "full"), overlay)

    marks = {edge.rows[0]: (edge.mark, edge.badge) for edge in graph.edges}
    assert marks == {
        "locked:coin": ("loop", "(2)"),
        "locked:push#1": ("faded", ""),
        "locked:push#2": ("stem", "(1)"),
        "open:push": ("loop", "(3)"),
    }
    nodes = {node.id: node.mark for node in graph.nodes}
    assert nodes == {"locked": "loop", "open": "loop", "jammed": "faded"}


def test_numbers_alone_fade_nothing(gate: Machine) -> None:
    overlay = Overlay(numbers={"locked": "<= 3", "open:push": "7x"}, title="bounds")

    graph = lay_over(extract(gate, "full"), overlay)

    assert graph.title == "gate: bounds"
    assert {edge.mark for edge in graph.edges} == {""}
    assert {node.mark for node in graph.nodes} == {""}
    assert [e.badge for e in graph.edges if e.rows == ("open:push",)] == ["7x"]
    assert [n.badge for n in graph.nodes if n.id == "locked"] == ["<= 3"]


@pytest.mark.parametrize("level", ["overview", "policy", "full"])
@pytest.mark.parametrize("nested", [True, False])
def test_every_step_of_a_run_through_a_nested_machine_is_marked(
    loop: Machine,
    level: Level,
    nested: bool,
) -> None:
    table = compile_table(loop)
    rows = rows_of_a_run(
        table, ["fits", "overloaded", "waited", "reply", "text", "block"]
    )
    graph = extract(table, level, nested=nested)

    marked = lay_over(graph, Overlay(steps=rows))

    shown = {n for e in marked.edges if e.mark == "stem" for n in (*e.rows, *e.joined)}
    shown |= {n for node in marked.nodes if node.mark == "stem" for n in node.rows}
    assert "ask_hooks:block#1" in rows
    assert set(rows) <= shown
    arrived = [e for e in marked.edges if e.target == "after_reply"]
    assert [e.mark for e in arrived] == ["stem"]


def test_a_long_list_of_steps_at_one_row_is_cut(gate: Machine) -> None:
    overlay = Overlay(steps=["locked:push#2"] * 9)

    graph = lay_over(extract(gate, "full"), overlay)

    assert "(1,2,3,4,5,6,...)" in {edge.badge for edge in graph.edges}


def test_a_name_that_is_not_there_is_refused(gate: Machine) -> None:
    graph = extract(gate)

    with pytest.raises(UnknownName, match="did you mean 'locked:coin'"):
        lay_over(graph, Overlay(steps=["locked:coins"]))
    with pytest.raises(UnknownName, match="row or phase"):
        lay_over(graph, Overlay(numbers={"nowhere": "1"}))
