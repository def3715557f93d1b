"""From the tables of a machine file to a machine, and to those that run its phases.

Knows how a file is put together; each part is read by `file_parts`.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from unspiral.engine.core.declare import Machine, Phase
from unspiral.engine.core.file_parts import (
    make,
    read_assumption,
    read_edition,
    read_events,
    read_law,
    read_limit,
    read_memory,
    read_row,
    read_terminal,
)
from unspiral.engine.errors import suggestion
from unspiral.engine.toml.fields import Fields

__all__ = ["read_machine"]

_Made = TypeVar("_Made")
_MAX_MACHINES = 100
_PARTS = (
    "name",
    "doc",
    "source",
    "initial",
    "limits",
    "memory",
    "phases",
    "terminals",
    "transitions",
    "laws",
    "assumptions",
    "editions",
)


def read_machine(fields: Fields, nested: Mapping[str, Machine]) -> Machine:
    """Return the machine that the tables of a whole file declare.

    Raises:
        MachineFileError: they declare none.
    """
    fields.allow(*_PARTS, "machines")
    fields.need("name")
    return _File(fields, nested).machine(fields, fields.text("name"))


class _File:
    """One file being read, with the machines that may run phases."""

    def __init__(self, fields: Fields, nested: Mapping[str, Machine]) -> None:
        self.own = fields.inner("machines")
        self.nested = nested
        self.made: dict[str, Machine] = {}
        self.making: list[str] = [fields.text("name")]
        if len(self.own.table) > _MAX_MACHINES:
            self.own.fail(f"at most {_MAX_MACHINES} machines are read")

    def machine(self, fields: Fields, name: str) -> Machine:
        outermost = not fields.place
        if not outermost:
            fields.allow(*_PARTS)
        fields.need("phases")
        made = make(
            fields,
            lambda: Machine(
                name=name,
                phases=_each(fields, "phases", self.phase),
                terminals=_each(fields, "terminals", read_terminal),
                transitions=tuple(read_row(row) for row in fields.rows("transitions")),
                memory=_each(fields, "memory", read_memory),
                limits=_each(fields, "limits", read_limit),
                assumptions=_each(fields, "assumptions", read_assumption),
                laws=_each(fields, "laws", read_law),
                editions=_each(fields, "editions", read_edition),
                initial=fields.text("initial"),
                doc=fields.text("doc"),
                source=fields.text("source"),
            ),
        )
        if outermost:
            for unused in self.own.table:
                self.inner(self.own, unused)
        return made

    def phase(self, fields: Fields, name: str) -> Phase:
        entry = fields.table[name]
        if isinstance(entry, list):
            return make(fields, lambda: Phase(name, read_events(fields, name)), name)
        if not isinstance(entry, dict):
            fields.wrong(entry, "a list of events or a table", name)
        inner = fields.inner(name)
        inner.allow("events", "runs", "cost", "group", "doc", "source")
        return make(
            inner,
            lambda: Phase(
                name,
                events=read_events(inner, "events"),
                runs=self.inner(inner, inner.text("runs"), "runs")
                if inner.has("runs")
                else None,
                cost=inner.numbers("cost"),
                group=inner.text("group"),
                doc=inner.text("doc"),
                source=inner.text("source"),
            ),
        )

    def inner(self, fields: Fields, name: str, *keys: str) -> Machine:
        """Return a machine that runs phases; each is made once."""
        if name in self.made:
            return self.made[name]
        if name in self.own.table:
            if name in self.making[1:]:
                circle = " -> ".join([*self.making[self.making.index(name) :], name])
                fields.fail(f"machines run each other in a circle: {circle}", *keys)
            self.making.append(name)
            tables = self.own.inner(name)
            self.made[name] = self.machine(tables, tables.text("name", name))
            self.making.pop()
            return self.made[name]
        if name == self.making[0]:
            fields.fail("a machine cannot run one of its own phases", *keys)
        if name not in self.nested:
            known = (*self.own.table, *self.nested)
            fields.fail(f"no machine {name[:60]!r}{suggestion(name, known)}", *keys)
        return self.nested[name]


def _each(
    fields: Fields, key: str, read: Callable[[Fields, str], _Made]
) -> tuple[_Made, ...]:
    """Read every entry of a table of named things."""
    named = fields.inner(key)
    return tuple(read(named, name) for name in named.table)
