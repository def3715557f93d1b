"""What a command is about: a machine, and the limits it is judged at.

Here texts of the command line become values; nothing is checked or drawn.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click
from click.shell_completion import CompletionItem

from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.settings import limit_from_text
from unspiral.engine.errors import (
    BadValue,
    CannotImport,
    FileProblem,
    UnknownName,
    UnspiralError,
)

__all__ = [
    "MACHINE",
    "NAMED_MACHINE",
    "Named",
    "edition_option",
    "find_machine",
    "limits_from_texts",
    "read_text",
    "set_option",
]

_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.\w+)*)")
_Command = TypeVar("_Command", bound=Callable[..., Any])


def find_machine(text: str) -> Machine:
    """Return a shipped machine, one of a `.toml` file, or `module:NAME`.

    Raises:
        UnspiralError: there is none, or it cannot be loaded.
    """
    from unspiral import machines  # noqa: PLC0415 - only commands need them

    if text.lower().endswith(".toml"):
        from unspiral.engine.cli.machine_files import load_machine  # noqa: PLC0415 - slow

        return load_machine(Path(text))
    if found := _MODULE.fullmatch(text):
        return _imported(found[1], found[2])
    if text in machines.names():
        return machines.load(text)
    if Path(text).is_file():
        allowed = "a file whose name ends in .toml, a shipped name or module:NAME"
        raise BadValue("MACHINE", text, allowed)
    raise UnknownName("machine", text, tuple(machines.names()))


def _imported(module: str, name: str) -> Machine:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does
    try:
        value: object = importlib.import_module(module)
    except UnspiralError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may do anything
        problem = f"{type(error).__name__}: {error}"
        raise CannotImport(module, problem) from None
    for part in name.split("."):
        known = tuple(each for each in vars(value) if not each.startswith("_"))
        if part not in vars(value):
            raise UnknownName("name", part, known, f"module {module}")
        value = vars(value)[part]
    if not isinstance(value, Machine):
        raise BadValue(f"{module}:{name}", type(value).__name__, "a Machine")
    return value


def limits_from_texts(
    machine: Machine, settings: Iterable[str]
) -> dict[str, LimitValue]:
    """Return the limits that `--set limit=value` texts give.

    Raises:
        BadValue: a text without `=`, or a value that the limit cannot have.
        UnknownName: the machine has no such limit.
    """
    declared = {limit.name: limit for limit in machine.all_limits}
    values: dict[str, LimitValue] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadValue("--set", text, "limit=value")
        if name.strip() not in declared:
            within = f"machine {machine.name}"
            raise UnknownName("limit", name.strip(), tuple(declared), within)
        limit = declared[name.strip()]
        values[limit.name] = limit_from_text(limit, value)
    return values


def read_text(path: str, longest: int) -> str:
    """Read a text file of at most `longest` bytes.

    Raises:
        FileProblem: it cannot be read, is longer, or is no UTF-8.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(longest + 1)
        if len(data) > longest:
            raise FileProblem(path, "read", f"it is longer than {longest:,} bytes")
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileProblem(path, "read", "it is no UTF-8 text") from None
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise FileProblem(path, "read", (words or "unknown").lower()) from None


if TYPE_CHECKING:
    MachineParam = click.ParamType[Machine]
else:
    MachineParam = click.ParamType  # generic only in newer releases of click


class MachineType(MachineParam):
    """The type of the argument MACHINE: shells complete the shipped names."""

    name = "machine"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Machine:
        """Load the machine."""
        del param, ctx
        return value if isinstance(value, Machine) else find_machine(str(value))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the shipped names, and files."""
        del ctx, param
        from unspiral import machines  # noqa: PLC0415 - only completion needs them

        names = [name for name in machines.names() if name.startswith(incomplete)]
        files = [] if names else [CompletionItem(incomplete, type="file")]
        return [CompletionItem(name) for name in names] + files


MACHINE = MachineType()


@attrs.frozen
class Named:
    """A machine, and how it was named.

    Attributes:
        text: the argument.
        machine: the machine.
    """

    text: str
    machine: Machine


class NamedMachineType(MachineType):
    """The same argument, for a command that names the machine again in its output."""

    def convert(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] - click hands on whatever it is
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Named:
        """Load the machine, and keep its name."""
        if isinstance(value, Named):
            return value
        return Named(str(value), super().convert(value, param, ctx))


NAMED_MACHINE = NamedMachineType()


def edition_option(command: _Command) -> _Command:
    """Add `--edition`."""
    text = "Use the limits of this edition (the machine's first unless given)."
    return click.option("--edition", metavar="NAME", help=text)(command)


def set_option(command: _Command) -> _Command:
    """Add `--set`."""
    text = "Set a limit; may be repeated. UNLIMITED is a value."
    return click.option(
        "--set", "settings", multiple=True, metavar="LIMIT=VALUE", help=text
    )(command)
