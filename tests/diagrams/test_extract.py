import pytest

from unspiral.diagrams import LEVELS, Level, extract
from unspiral.engine.core.declare import Machine, Phase, Terminal, Transition
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import BadValue, UnknownName


def inner_names(machine: Machine, prefix: str = "") -> list[str]:
    names = [prefix + row.name for row in machine.rows]
    for phase in machine.phases:
        if phase.runs is not None:
            names += inner_names(phase.runs, f"{prefix}{phase.name}.")
    return names


def test_at_level_full_every_declared_row_is_exactly_one_edge(loop: Machine) -> None:
    graph = extract(loop, "full", nested=True)

    drawn = [name for edge in graph.edges for name in edge.rows]

    assert sorted(drawn) == sorted(inner_names(loop))
    assert all(len(edge.rows) == 1 for edge in graph.edges)


def test_at_level_full_every_row_of_a_table_is_exactly_one_edge(loop: Machine) -> None:
    table = compile_table(loop)

    drawn = [name for edge in extract(table, "full").edges for name in edge.rows]

    assert all(drawn.count(row.name) == 1 for row in table.rows)


@pytest.mark.parametrize("level", LEVELS)
def test_every_live_row_is_in_some_edge_at_every_level(
    loop: Machine, level: Level
) -> None:
    graph = extract(loop, level, nested=True)

    drawn = {name for edge in graph.edges for name in edge.rows}

    assert drawn == set(inner_names(loop))


def test_ends_of_edges_are_nodes_and_nodes_are_in_one_box_at_most(
    loop: Machine,
) -> None:
    for level in LEVELS:
        for nested in (True, False):
            graph = extract(loop, level, nested=nested)
            ids = [node.id for node in graph.nodes]
            boxed = [name for box in graph.all_clusters() for name in box.nodes]

            assert len(set(ids)) == len(ids)
            assert {e.source for e in graph.edges} <= set(ids)
            assert {e.target for e in graph.edges} <= set(ids)
            assert len(set(boxed)) == len(boxed)
            assert set(boxed) <= set(ids)


def test_the_start_and_the_ends_are_marked(loop: Machine) -> None:
    graph = extract(loop, "full")

    kinds = {node.id: (node.kind, node.end) for node in graph.nodes}

    assert graph.start == "start_turn"
    assert [n.id for n in graph.nodes if n.initial] == ["start_turn", "call_model.send"]
    assert kinds["completed"] == ("terminal", "done")
    assert kinds["max_turns"] == ("terminal", "limit")
    assert kinds["aborted_tools"] == ("terminal", "abort")
    assert kinds["call_model.failed"] == ("exit", "error")


def test_alternatives_are_numbered_in_the_order_of_asking(loop: Machine) -> None:
    graph = extract(loop, "full")

    diagnose = [(e.order, e.target) for e in graph.edges if e.source == "diagnose"]

    assert diagnose == [
        (1, "drain"),
        (2, "compact_reactively"),
        (3, "prompt_too_long"),
    ]
    assert [e.order for e in graph.edges if e.source == "compact"] == [0, 0, 0]


def test_a_nested_machine_is_a_box_with_its_phases_and_ends(loop: Machine) -> None:
    graph = extract(loop, "full")

    box = next(box for box in graph.all_clusters() if box.kind == "machine")

    assert box.label == "call_model, run by attempt"
    assert "call_model.send" in box.nodes
    assert "call_model.replied" in box.nodes
    sources = {e.source for e in graph.edges if e.target == "after_reply"}
    assert sources == {"call_model.replied"}


def test_phases_are_grouped_as_declared(loop: Machine) -> None:
    boxes = {box.label: box.nodes for box in extract(loop).all_clusters()}

    assert boxes["shape"] == ("start_turn", "shrink", "compact")
    assert boxes["end"] == ("ask_hooks", "ask_budget")


def test_the_overview_draws_a_nested_machine_as_one_node_and_merges(
    loop: Machine,
) -> None:
    graph = extract(loop, "overview")

    node = next(node for node in graph.nodes if node.id == "call_model")
    pairs = [(e.source, e.target, e.layer, e.progress) for e in graph.edges]

    assert node.kind == "nested"
    assert "call_model.send:reply" in node.rows
    assert "again: retry" in node.note
    assert len(set(pairs)) == len(pairs)
    assert all(not e.guard and not e.action and not e.event for e in graph.edges)


def test_limits_are_put_in_and_rows_that_they_switch_off_are_known(
    loop: Machine,
) -> None:
    table = compile_table(loop, "plain")

    edges = {edge.rows[0]: edge for edge in extract(table, "full").edges}
    policy = extract(table, "policy")

    assert edges["judge_cut#2"].guard == ("recoveries < 3",)
    assert edges["diagnose#1"].off
    assert not edges["diagnose#2"].off
    assert "drain" not in {node.id for node in policy.nodes}
    assert any("not drawn" in line for line in policy.caption)


def test_a_declaration_keeps_the_names_of_limits_and_notes_their_values(
    loop: Machine,
) -> None:
    graph = extract(loop, "policy")

    notes = {note.name: note.value for note in graph.limits}

    assert notes["max_output_recoveries"] == "3 recoveries"
    assert notes["max_turns"] == "UNLIMITED turns"
    assert "max_attempts" in notes
    assert extract(loop, "overview").limits == ()


def test_long_guards_break_at_the_words_that_join_them(loop: Machine) -> None:
    edge = next(e for e in extract(loop, "full").edges if e.rows == ("judge_cut#1",))

    assert edge.guard == (
        "not escalated and recoveries == 0",
        "and last != 'stop_hook_blocking'",
    )


def test_a_machine_too_large_for_a_page_shows_nested_machines_as_nodes(
    loop: Machine,
) -> None:
    phases = tuple(Phase(f"p{i}") for i in range(40))
    ends = (Terminal("over"),)
    chain = [Transition(f"p{i}", f"p{i + 1}") for i in range(39)]
    rows = (*chain, Transition("p39", "start_turn"))
    wide = Machine(
        name="wide",
        initial="p0",
        phases=(*phases, *loop.phases),
        terminals=(*ends, *loop.terminals),
        transitions=(*rows, *loop.transitions),
        memory=loop.memory,
        limits=loop.limits,
    )

    graph = extract(wide, "full")

    assert all(box.kind == "group" for box in graph.all_clusters())
    assert any(node.kind == "nested" for node in graph.nodes)


def test_an_unknown_level_is_refused(gate: Machine) -> None:
    with pytest.raises(BadValue, match="overview, policy, full"):
        extract(gate, "huge")  # type: ignore[arg-type]  # that is the test


def test_a_row_to_nowhere_is_refused_with_the_nearest_name() -> None:
    machine = Machine(
        name="lost",
        phases=(Phase("here", events=("go",)),),
        terminals=(Terminal("there"),),
        transitions=(Transition("here", "ther", "go"),),
    )

    with pytest.raises(UnknownName, match="did you mean 'there'"):
        extract(machine)


def test_a_guard_that_cannot_be_read_is_drawn_as_written(gate: Machine) -> None:
    broken = gate.amend("locked:push#1", guard="pushes === 3 ??")

    edge = next(e for e in extract(broken, "full").edges if e.target == "jammed")

    assert edge.guard == ("pushes === 3 ??",)
