"""Machine files on disk: read whole within a limit, written whole or not at all.

The texts themselves are read and written by `core.files`, which does no I/O.
"""

import os
import stat
import tempfile
from pathlib import Path

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.files import MAX_FILE, machine_from_toml, machine_to_toml
from unspiral.engine.core.validate import validate
from unspiral.engine.errors import FileProblem, MachineFileError, UnspiralError
from unspiral.engine.toml.disk import read_text, reason
from unspiral.machines import SHIPPED

__all__ = ["load_machine", "save_machine"]

_MAX_SHOWN = 200


def load_machine(path: str | os.PathLike[str]) -> Machine:
    """Load a machine that can be compiled; shipped machines may run its phases.

    Raises:
        MachineFileError: the file cannot be read, is no machine file, or its machine
            cannot be compiled: the gravest finding is told.
    """
    name = _shown(path)
    text = read_text(
        path, MAX_FILE, lambda problem, line: MachineFileError(name, "", problem, line)
    )
    machine = machine_from_toml(text, name, SHIPPED)
    forbidding = [each for each in validate(machine) if each.forbids]
    if not forbidding:
        return machine
    worst = forbidding[0]
    meant = f" (did you mean {worst.nearest!r}?)" if worst.nearest else ""
    problem = f"{worst.problem}{meant}: {worst.cause}; {worst.fix}"[:600]
    if more := len(forbidding) - 1:
        problem += f" (and {more:,} more such finding{'s' if more > 1 else ''})"
    raise MachineFileError(name, worst.place[:_MAX_SHOWN], problem)


def save_machine(machine: Machine, path: str | os.PathLike[str]) -> None:
    """Save a machine; a file that is there is replaced as a whole or stays as it is.

    Raises:
        FileProblem: the file cannot be written, or the machine holds what no file
            gives back, such as a number beyond 1,000,000,000.
    """
    name = _shown(path)
    try:
        text = machine_to_toml(machine)
        data = text.encode("utf-8")
        lossless = machine_to_toml(machine_from_toml(text)) == text
    except UnicodeEncodeError:
        raise FileProblem(name, "written", "a text in it is no UTF-8") from None
    except UnspiralError as error:
        raise FileProblem(name, "written", str(error)[:600]) from None
    if not lossless:
        raise FileProblem(name, "written", "reading it would not give the machine back")
    try:
        _replace(Path(path), data)
    except (OSError, ValueError) as error:
        raise FileProblem(name, "written", reason(error)) from None


def _shown(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return text if len(text) <= _MAX_SHOWN else "..." + text[-_MAX_SHOWN:]


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _copy_mode(path, temporary)
        os.replace(temporary, path)  # noqa: PTH105 - both spellings do the same
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _copy_mode(path: Path, temporary: str) -> None:
    """Give the new file the rights of the old one, or those of any new file."""
    if path.exists():
        mode = stat.S_IMODE(path.stat().st_mode)
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    Path(temporary).chmod(mode)
