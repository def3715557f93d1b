"""The one door to `transitions`: the same rows as a machine of that library.

People who know `transitions` get its states, events, transitions and conditions to work
with; the live loop is driven by it. It is built from the table and from nothing that
`step` compiles, so that the agreement of the two is worth testing.

How rows map: a phase or terminal is a State (terminals are final); an event is a
trigger of the same name; every row of a deciding phase has the trigger `decide`; a
guard, and the availability of an event, are conditions; an action runs before the
state changes. Triggers are called as `machine.events[name].trigger(model)`: a model
need not be registered, and then no method is set on it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import transitions

from unspiral.engine.core.callbacks import Action, Available, Guard, Model
from unspiral.engine.core.environments import Environment
from unspiral.engine.core.language import TRUE
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    memory_of,
)
from unspiral.engine.core.table import Row, Table
from unspiral.engine.core.trace import Trace
from unspiral.engine.errors import IllegalEvent, MissingTool, RunError, StuckError

__all__ = [
    "DECIDE",
    "Driver",
    "Model",
    "TableMachine",
    "drive",
    "graph_machine",
    "transitions_machine",
]

DECIDE = "decide"  #: the trigger of every row of a deciding phase
MAX_STEPS = 10_000  #: of one `drive`, unless told otherwise


class DirectCondition(transitions.core.Condition):
    """A condition that calls its function and does not search the model for it."""

    def check(self, event_data: Any) -> bool:  # noqa: ANN401 - as the library has it
        """Say whether the condition passes."""
        verdict = self.func(event_data)  # type: ignore[operator]  # pyright: ignore[reportCallIssue] - ours are functions, never names of methods
        return verdict is self.target


class RowTransition(transitions.Transition):
    """A transition of `transitions` made from a row.

    Where nobody has set a callback but us, it takes the steps of the library one by
    one without looking for those that are not there.
    """

    condition_cls = DirectCondition

    def take(self, data: Any) -> bool:  # noqa: ANN401 - as the library has it
        """Do what `execute` does, where there is nothing to do but our own."""
        machine: Any = data.machine
        before: list[Any] = self.before
        source, dest = machine.states[self.source], machine.states[self.dest]
        others = self.prepare or self.after or source.on_exit or dest.on_enter
        if others or len(before) != 1 or type(before[0]) is not Action:
            return bool(self.execute(data))
        conditions: list[Any] = self.conditions
        for condition in conditions:
            if condition.func(data) is not condition.target:
                return False
        before[0](data)
        setattr(data.model, machine.model_attribute, self.dest)
        data.state = dest
        return True


class RowEvent(transitions.Event):
    """An event of `transitions` that is triggered without detours.

    The library wraps each trigger for machines that queue, and logs each; ours do not
    queue. Where callbacks are set, or the phase does not know the event, the library
    does it all.
    """

    def trigger(self, model: Any, *args: Any, **kwargs: Any) -> bool:  # noqa: ANN401 - as the library has it
        """Take the first row whose conditions hold; return whether there is one."""
        machine: Any = self.machine
        here: str = getattr(model, machine.model_attribute)
        rows: Any = self.transitions.get(here)
        if rows is None or machine.is_watched:
            return bool(super().trigger(model, *args, **kwargs))
        data: Any = transitions.EventData(
            machine.states[here], self, machine, model, args, kwargs
        )
        for row in rows:
            data.transition = row
            if row.take(data):
                data.result = True
                return True
        return False


class PlainState(transitions.State):
    """A state that does nothing, and logs nothing, where no callback is set.

    Without it a fifth of a driver's time goes into log records that nobody reads.
    """

    def enter(self, event_data: Any) -> None:  # noqa: ANN401 - as the library has it
        """Run the callbacks of entering."""
        if self.on_enter:
            super().enter(event_data)

    def exit(self, event_data: Any) -> None:  # noqa: ANN401 - as the library has it
        """Run the callbacks of leaving."""
        if self.on_exit:
            super().exit(event_data)


class TableMachine(transitions.Machine):
    """A machine of `transitions` made from a table.

    Attributes:
        table: the table.
    """

    transition_cls = RowTransition
    event_cls = RowEvent
    state_cls = PlainState
    table: Table

    @property
    def is_watched(self) -> bool:
        """Whether somebody has set a callback on the machine as a whole."""
        return bool(
            self._prepare_event
            or self._before_state_change
            or self._after_state_change
            or self._finalize_event
            or self._on_exception
            or self._on_final
        )

    def new_model(self, snapshot: Snapshot | None = None) -> Model:
        """Return an unregistered model that stands in a snapshot, or at the start."""
        here = initial_snapshot(self.table) if snapshot is None else snapshot
        return Model(here.phase, here.memory)


def transitions_machine(table: Table) -> TableMachine:
    """Return the rows of a table as a machine of `transitions`.

    No model is registered. Make one with `machine.new_model()` and move it with
    `machine.events[event].trigger(model)`; afterwards `model.row` is the row taken and
    `model.asked` says what every guard said. `machine.add_model(model)` registers it
    and gives it the methods that people know (`model.may_trigger`, ...).
    """
    machine = TableMachine(**_arguments(table))
    machine.table = table
    return machine


def graph_machine(table: Table) -> Any:  # noqa: ANN401 - a class of an untyped library
    """Return the rows of a table as a `GraphMachine`, drawn by graphviz.

    One model is registered, since this class draws models: `machine.get_graph()`
    returns a graph of the `graphviz` package. It merges edges of one phase and target
    and knows no terminals; `unspiral.diagrams` draws what this cannot.

    Raises:
        MissingTool: the `graphviz` package is not installed.
    """
    try:
        from transitions.extensions import GraphMachine  # noqa: PLC0415 - slow to load
        from transitions.extensions.diagrams import (  # noqa: PLC0415 - the same
            TransitionGraphSupport,
        )
    except ImportError:
        raise MissingTool(
            "a GraphMachine", "graphviz", "pip install graphviz"
        ) from None

    class GraphTransition(TransitionGraphSupport):
        condition_cls = DirectCondition

    class GraphTableMachine(GraphMachine):
        transition_cls = GraphTransition

        @staticmethod
        def format_references(func: object) -> str:
            return str(getattr(func, "__name__", func))

    machine = GraphTableMachine(
        **_arguments(table),
        graph_engine="graphviz",
        show_conditions=True,
        title=table.machine.name,
    )
    here = initial_snapshot(table)
    machine.add_model(Model(here.phase, here.memory))
    return machine


def _arguments(table: Table) -> dict[str, Any]:
    states: list[dict[str, Any]] = [{"name": phase} for phase in table.phases]
    states += [{"name": t.name, "final": True} for t in table.flat.terminals]
    return {
        "model": None,
        "states": states,
        "initial": table.initial,
        "transitions": [_transition(table, row) for row in table.rows],
        "auto_transitions": False,
        "send_event": True,
        "queued": False,
    }


def _transition(table: Table, row: Row) -> dict[str, Any]:
    conditions: list[Guard | Available] = []
    if row.event and table.available[row.source, row.event] != TRUE:
        conditions.append(Available(table, row.source, row.event))
    if row.guard != TRUE:
        conditions.append(Guard(table, row))
    return {
        "trigger": DECIDE if row.event is None else row.event,
        "source": row.source,
        "dest": row.target,
        "conditions": conditions,
        "before": Action(table, row),
    }


Triggers: TypeAlias = Mapping[tuple[str, str | None], Callable[[Model], bool]]

_DRIVEN = "driven machine"  # in `Table.compiled`


def _driven(table: Table) -> tuple[TableMachine, Triggers]:
    """Return the machine of a driver: it holds no run, so all of a table share it."""
    if _DRIVEN not in table.compiled:
        machine = transitions_machine(table)
        triggers = {
            (row.source, row.event): machine.events[row.event or DECIDE].trigger
            for row in table.rows
        }
        table.compiled[_DRIVEN] = machine, triggers
    driven: tuple[TableMachine, Triggers] = table.compiled[_DRIVEN]
    return driven


class Driver:
    """One run on a machine of `transitions`: what the live loop is driven by.

    Attributes:
        table: the table.
        machine: the machine of `transitions`.
        model: where the run stands.
    """

    def __init__(self, table: Table, snapshot: Snapshot | None = None) -> None:
        self.table = table
        self.machine, self._triggers = _driven(table)
        self.model = self.machine.new_model(snapshot)

    @property
    def snapshot(self) -> Snapshot:
        """Return where the run stands."""
        return Snapshot(self.model.state, self.model.memory)

    def send(self, event: str | None = None) -> Step:
        """Take one step.

        Args:
            event: what the environment answered; None in a deciding phase.

        Raises:
            IllegalEvent: the phase does not offer this event now.
            StuckError: no alternative applies (the machine is not total).
            OutOfRange: the action leaves a counter's domain.
        """
        return self.step(self.snapshot, event)

    def step(self, before: Snapshot, event: str | None) -> Step:
        """Take one step from `before`, which must be where the run stands."""
        model = self.model
        trigger = self._triggers.get((before.phase, event))
        model.asked.clear()
        if trigger is None or not trigger(model) or model.row is None:
            raise self.refusal(before, event)
        return Step(before, event, model.row, Snapshot(model.state, model.memory))

    def refusal(self, here: Snapshot, event: str | None) -> RunError:
        """Return the error that says why no row was taken."""
        machine = self.table.machine.name
        allowed = available_events(self.table, here)
        decides = event is None and not self.table.events.get(here.phase, (here,))
        if event in allowed or decides:
            memory = memory_of(self.table, here)
            return StuckError(machine, here.phase, event or "", memory)
        return IllegalEvent(machine, here.phase, event or "", allowed)


def drive(table: Table, environment: Environment, max_steps: int = MAX_STEPS) -> Trace:
    """Run a machine on `transitions` until it ends, or for `max_steps` steps.

    Args:
        table: the machine.
        environment: who answers its acting phases.
        max_steps: when to stop a run that goes on; the trace then has no terminal.

    Raises:
        RunError: an answer that is not offered, or a fault of the machine.
    """
    driver = Driver(table)
    here = driver.snapshot
    steps: list[Step] = []
    while len(steps) < max_steps and here.phase not in table.terminals:
        asks = table.events[here.phase]
        event = environment.answer(table, here) if asks else None
        taken = driver.step(here, event)
        steps.append(taken)
        here = taken.after
    return Trace(table, tuple(steps))
