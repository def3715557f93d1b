"""The product of a system and an observer asks for no state that cannot be there."""

from unspiral.engine.check.product import product
from unspiral.engine.check.system import OBSERVER, system_of
from unspiral.engine.core.declare import Law, Machine, Scope
from unspiral.engine.core.language import names
from unspiral.engine.core.laws import compile_law
from unspiral.engine.core.table import compile_table


def asking(machine: Machine, law: Law) -> set[str]:
    """Return the phases in which some edge reads or moves the observer."""
    table = compile_table(machine)
    multiplied = product(system_of(table), compile_law(law, table), table)
    return {
        edge.source
        for edge in multiplied.edges
        if OBSERVER in names(edge.enabled)
        or any(update.name == OBSERVER for update in edge.updates)
    }


def test_an_observer_that_moves_once_is_asked_only_where_a_run_starts(
    retrying_loop: Machine,
) -> None:
    law = Law("finitely", "bounded", "reason == 'repair'")

    assert asking(retrying_loop, law) == {"model.ask"}


def test_an_observer_is_asked_where_its_state_depends_on_the_run(
    retrying_loop: Machine,
) -> None:
    scope = Scope("after", "event == 'busy'")
    law = Law("none", "absence", "phase == 'judge'", scope=scope)

    assert asking(retrying_loop, law) == {"model.ask", "judge"}
