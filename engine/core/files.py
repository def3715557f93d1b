"""Machines as TOML text, and back, with nothing lost.

    name = "retry"

    [limits]
    max_retries = 3                     # or a table: default, unit, source, doc, ...

    [memory]
    retries = "0..max_retries"          # a counter: low..high
    warned  = false                     # a flag
    last    = "reasons"                 # a choice; ["a", "b"] names its values

    [phases]
    call   = { events = ["answer", "failure"], cost = { model_calls = 1 } }
    decide = []                         # no events: a deciding phase
    tools  = { runs = "tool_call" }     # a nested machine, see [machines.tool_call]

    [terminals]
    completed = "done"

    [[transitions]]
    source = "call"
    event = "answer"
    target = "completed"

Every part has a short form, as here, and a table with all its fields, whose names are
those of `declare`. What is left out has its default. Laws, assumptions and editions are
tables by name; machines that run phases are tables `[machines.NAME]`. UNLIMITED is
written "UNLIMITED"; a limit whose value is that very string, `{ text = "UNLIMITED" }`.

Pure: texts in, values out. Whatever is wrong with a text ends in one MachineFileError
that says where; guards and actions are judged by `validate`, as everywhere.
"""

from collections.abc import Mapping
from types import MappingProxyType

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.file_reader import read_machine
from unspiral.engine.core.file_writer import write_machine
from unspiral.engine.errors import BadValue, MachineFileError
from unspiral.engine.toml.text import MAX_FILE, read_tables

__all__ = ["MAX_FILE", "machine_from_toml", "machine_to_toml"]

_NOBODY: Mapping[str, Machine] = MappingProxyType({})


def machine_from_toml(
    text: str, path: str = "<text>", nested: Mapping[str, Machine] = _NOBODY
) -> Machine:
    """Read a machine.

    Args:
        text: the TOML text.
        path: what errors call it.
        nested: machines that may run a phase beside those of the text itself.

    Raises:
        MachineFileError: the text is no TOML, or what it says is no machine. Rows are
            counted from 1: `transitions[3].guard` is the guard of the third.
    """
    tables = read_tables(text, path, MachineFileError)
    try:
        return read_machine(tables, nested)
    except RecursionError:  # many machines, each inside the next
        tables.fail("machines are nested too deeply", "machines")


def machine_to_toml(machine: Machine) -> str:
    """Write a machine so that reading the text gives an equal one.

    Raises:
        BadValue: it holds a number beyond 1,000,000,000, which no file may hold, or
            nests machines hundreds of levels deep.
    """
    try:
        return write_machine(machine)
    except RecursionError:
        what, allowed = f"machine {machine.name!r}", "nested less deeply"
        raise BadValue(what, "many machines, each inside the next", allowed) from None
