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

import re
import tomllib
from collections.abc import Mapping
from types import MappingProxyType

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.file_fields import Fields, shorten
from unspiral.engine.core.file_lines import find_line
from unspiral.engine.core.file_reader import read_machine
from unspiral.engine.core.file_writer import write_machine
from unspiral.engine.errors import BadValue, MachineFileError

__all__ = ["MAX_FILE", "machine_from_toml", "machine_to_toml"]

MAX_FILE = 1_000_000  #: bytes; a machine of the greatest size needs a tenth of it

_NOBODY: Mapping[str, Machine] = MappingProxyType({})
_AT = re.compile(r" \(at line (\d+), column \d+\)$")
# tomllib takes quadratic time over a key of very many parts. Possessive, and never
# begun inside a word, so that this search itself is linear.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{40}}")


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
    tables = _parse(text, shorten(path, 200))

    def fail(place: tuple[str | int, ...], problem: str) -> MachineFileError:
        line = find_line(text, place)
        return MachineFileError(shorten(path, 200), _spell(place), problem, line)

    try:
        return read_machine(Fields(tables, (), fail), nested)
    except RecursionError:  # many machines, each inside the next
        raise fail(("machines",), "machines are nested too deeply") from None


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


def _parse(text: str, path: str) -> dict[str, object]:
    """Read TOML, whatever it is, without a hang and with one kind of error."""
    problem, line = "", 0
    if len(text) > MAX_FILE:
        problem = f"it has more than {MAX_FILE:,} characters"
    elif text.startswith("\ufeff"):
        problem, line = "it begins with a byte order mark; save it without one", 1
    elif found := _LONG_KEY.search(text):
        problem = "a key has too many parts"
        line = text.count("\n", 0, found.start()) + 1
    else:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = _AT.search(str(error))
            line = int(at[1]) if at else text.count("\n") + 1
            said = shorten(_AT.sub("", str(error)), 200)
            problem = f"it is no valid TOML: {said[:1].lower()}{said[1:]}"
        except RecursionError:
            problem = "lists or tables are nested too deeply"
        except ValueError:  # of int() and of datetime
            problem = "a number or date in it cannot be read"
    raise MachineFileError(path, "", problem, line)


def _spell(place: tuple[str | int, ...]) -> str:
    """Write a place as `transitions[3].guard`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            bare = re.fullmatch(r"[\w-]{1,60}", part, re.ASCII)
            text += f".{part if bare else repr(shorten(part, 60))}"
    return text.removeprefix(".")
