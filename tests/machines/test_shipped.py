"""What holds of every shipped machine: it compiles, is total, and is one screen."""

import subprocess
import sys
from typing import Any

import pytest

from unspiral.engine.core.laws import compile_law
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import UnknownName
from unspiral.machines import SHIPPED, load, names

SMALL = {
    "max_retries": 1,
    "max_overloads": 1,
    "max_compact_retries": 1,
    "history_groups": 2,
    "max_shakes": 2,
    "max_output_recoveries": 1,
    "stop_block_cap": 1,
    "recovery_budget": 2,
    "token_budget": 2,
    "max_turns": 2,
    "token_budget_on": False,
}
CASES = [(n, e.name) for n in names() for e in load(n).editions] + [
    (n, None) for n in names() if not load(n).editions
]


def small(name: str, edition: str | None) -> Any:
    machine = load(name)
    known = {limit.name for limit in machine.all_limits}
    limits = {k: v for k, v in SMALL.items() if k in known}
    return compile_table(machine, edition, limits)


def test_the_nearest_name_is_said_for_an_unknown_machine() -> None:
    with pytest.raises(UnknownName, match="did you mean 'query_loop'"):
        load("querry_loop")


def test_the_registry_is_a_mapping_of_all_machines() -> None:
    assert dict(SHIPPED).keys() == set(names())
    assert all(SHIPPED[name].name == name for name in SHIPPED)
    assert all(SHIPPED.subject(name) for name in SHIPPED)


def test_listing_the_machines_declares_none_of_them() -> None:
    code = (
        "import sys; from unspiral.machines import names; names(); "
        "print([m for m in sys.modules if m.endswith('query_loop')])"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "edition"), CASES)
def test_every_machine_compiles_at_its_editions(name: str, edition: str | None) -> None:
    assert compile_table(load(name), edition).rows


@pytest.mark.parametrize(("name", "edition"), CASES)
def test_every_law_compiles(name: str, edition: str | None) -> None:
    table = compile_table(load(name), edition)

    assert all(compile_law(law, table).law is law for law in load(name).laws)


@pytest.mark.parametrize(("name", "edition"), CASES)
def test_every_available_event_has_a_row_and_stays_in_range(
    name: str, edition: str | None, plain: Any
) -> None:
    found = plain.search(small(name, edition))

    assert found.ends  # `step` raises where there is no row, or a counter overflows


@pytest.mark.parametrize("name", names())
def test_a_machine_declares_at_most_sixty_rows(name: str) -> None:
    # One that is made from another one declares no row of that.
    inherited = {"agent_loop": len(load("query_loop").rows)}.get(name, 0)

    assert len(load(name).rows) - inherited <= 60


@pytest.mark.parametrize("name", names())
def test_every_limit_tells_what_it_limits_and_whence(name: str) -> None:
    missing = [
        limit.name
        for limit in load(name).limits
        if not limit.doc or (name != "turnstile" and not limit.source)
    ]

    assert missing == []


@pytest.mark.parametrize("name", names())
def test_every_law_has_a_source_and_every_terminal_a_meaning(name: str) -> None:
    machine = load(name)

    assert [law.name for law in machine.laws if not (law.source or law.doc)] == []
    assert [end.name for end in machine.terminals if not end.doc] == []
