"""One call of a tool as it runs: a run of the machine `tool_call`, and its result.

It knows which events its phase offers, and where it stands; what happens, others say.
"""

import asyncio
import copy
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import attrs

from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.library import Driver
from unspiral.engine.core.step import Step, available_events, memory_of
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.live.message import Block, tool_result
from unspiral.machines.tool_call import TOOL_CALL

__all__ = ["Call", "CallTables", "Told"]


class CallTables:
    """The machine of a call at its limits, compiled once for all calls.

    Args:
        machine: it.
        edition: of it; None: the first.
        limits: other values than those of the edition; `interruptible` is that of
            each tool.
    """

    def __init__(
        self,
        machine: Machine = TOOL_CALL,
        edition: str | None = None,
        limits: Mapping[str, LimitValue] | None = None,
    ) -> None:
        self._machine, self._edition = machine, edition
        self._limits = dict(limits or {})
        self._drivers: dict[bool, Driver] = {}

    def driver(self, *, interruptible: bool) -> Driver:
        """Return a driver of a new run."""
        if interruptible not in self._drivers:
            limits = {"interruptible": interruptible, **self._limits}
            table = compile_table(self._machine, self._edition, limits)
            self._drivers[interruptible] = Driver(table)
        # The machine of a driver holds no run: its model does.
        driver = copy.copy(self._drivers[interruptible])
        driver.model = driver.machine.new_model()
        return driver


@attrs.frozen
class Told:
    """A step that a call has taken, for whoever watches.

    Attributes:
        id: of the call.
        name: of the tool.
        given: the input, as it stands.
        step: the step.
        text: of the result, if there is one by now.
    """

    id: str
    name: str
    given: Mapping[str, object]
    step: Step
    text: str


@attrs.define(eq=False)
class Call:
    """A call.

    Attributes:
        block: as the model wrote it.
        driver: where it stands.
        given: its input, which a hook may change.
        safe: whether it may run beside others.
        text: of its result.
        stop: why the run is to end after it, or "".
        notes: texts of hooks for the model.
        crashes: what went wrong with hooks.
        steps: all that it has taken.
        task: that works on it.
        running: the tool itself.
        ending: whoever works on it was told to end.
    """

    block: Block
    driver: Driver
    given: Mapping[str, object] = attrs.field(factory=dict[str, object])
    safe: bool = False
    text: str = ""
    stop: str = ""
    notes: list[str] = attrs.field(factory=list[str])
    crashes: list[str] = attrs.field(factory=list[str])
    steps: list[Step] = attrs.field(factory=list[Step])
    task: "asyncio.Task[None] | None" = None
    running: "asyncio.Future[Any] | None" = None
    ending: bool = False

    @property
    def id(self) -> str:
        """Its id, which its result must have."""
        return str(self.block.get("id"))

    @property
    def name(self) -> str:
        """The name of the tool, as the model wrote it."""
        return str(self.block.get("name"))

    @property
    def table(self) -> Table:
        """The machine at its limits."""
        return self.driver.table

    @property
    def phase(self) -> str:
        """Where it stands."""
        return self.driver.model.state

    @property
    def ended(self) -> bool:
        """Whether it is in a terminal."""
        return self.phase in self.table.terminals

    @property
    def memory(self) -> Mapping[str, int | bool | str]:
        """The memory of the machine, by name."""
        return memory_of(self.table, self.driver.snapshot)

    @property
    def real(self) -> bool:
        """Whether its result is the tool's own, of a run that went well."""
        at = self.table.positions.get("result")
        return at is not None and self.driver.model.memory[at] == "real"

    def begin(
        self,
        work: Coroutine[Any, Any, None],
        over: "Callable[[asyncio.Task[None]], object]",
    ) -> None:
        """Begin to work on it, and say when that is over."""
        self.running, self.ending = None, False
        self.task = asyncio.create_task(work)
        self.task.add_done_callback(over)

    def end(self) -> None:
        """Tell whatever works on it to end; once, so that it has its time to."""
        if self.task is not None and not self.ending:
            self.ending = True
            self.task.cancel()

    def offers(self, event: str) -> bool:
        """Tell whether an event can be sent now."""
        return event in available_events(self.table, self.driver.snapshot)

    def send(self, event: str) -> list[Step]:
        """Send what happened; return the steps, with those that the table decides.

        Raises:
            IllegalEvent: the phase does not offer this event.
        """
        taken = [self.driver.send(event)]
        while not self.ended and not self.table.events[self.phase]:
            taken.append(self.driver.send())
        self.steps += taken
        return taken

    def result(self) -> Block:
        """Return the block that answers it."""
        return tool_result(self.id, self.text, error=not self.real)
