"""Environments: who answers when a phase asks.

The live loop, a scenario, a random draw and the adversary of the proof are environments
of one machine. Here are the two that need nothing but the table.
"""

import random
from collections.abc import Iterable
from typing import Protocol

from unspiral.engine.core.step import Snapshot, available_events, memory_of
from unspiral.engine.core.table import Table
from unspiral.engine.errors import Deadlock, ScriptError

__all__ = ["Environment", "Random", "Scripted"]


class Environment(Protocol):
    """Whoever answers acting phases."""

    def answer(self, table: Table, snapshot: Snapshot) -> str:
        """Return an event that the phase of the snapshot offers."""
        ...


class Scripted:
    """Answers from a list, in its order.

    Attributes:
        position: how many events were answered.
    """

    def __init__(self, events: Iterable[str]) -> None:
        self.events = tuple(events)
        self.position = 0

    def answer(self, table: Table, snapshot: Snapshot) -> str:
        """Return the next event of the script.

        Raises:
            ScriptError: the script is at its end, or its next event is not offered.
        """
        at_end = self.position == len(self.events)
        event = "" if at_end else self.events[self.position]
        allowed = available_events(table, snapshot)
        if event not in allowed:
            name = table.machine.name
            raise ScriptError(name, self.position, snapshot.phase, event, allowed)
        self.position += 1
        return event


class Random:
    """Answers with any available event, all equally likely.

    Equal seeds give equal runs; the global generator is neither read nor moved.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a draw, no secret

    def answer(self, table: Table, snapshot: Snapshot) -> str:
        """Return one of the available events.

        Raises:
            Deadlock: none is available (a fault of the machine).
        """
        allowed = available_events(table, snapshot)
        if not allowed:
            memory = memory_of(table, snapshot)
            raise Deadlock(table.machine.name, snapshot.phase, memory)
        return allowed[int(self._random.random() * len(allowed))]
