"""Where results go: the terminal, a pipe, a file. It knows no machine.

Files are written whole or not at all. A reader that has gone away is no error: what is
left to say is dropped, and the command ends with its own exit code.
"""

import contextlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from unspiral.engine.errors import FileProblem
from unspiral.engine.report.lines import WIDTH, Line, coloured, plain

__all__ = [
    "has_colour",
    "say",
    "say_bytes",
    "say_json",
    "say_json_line",
    "say_lines",
    "write_new_files",
    "write_whole",
]


def has_colour() -> bool:
    """Tell whether standard output is a terminal that is to show colours."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str) -> None:
    """Write text to standard output as it is.

    Raises:
        FileProblem: the output cannot be written (a full disk, not a closed pipe).
    """
    try:
        click.echo(text, nl=False, color=has_colour())
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        raise _problem("standard output", error) from None


def say_bytes(data: bytes) -> None:
    """Write bytes to standard output.

    Raises:
        FileProblem: the output cannot be written.
    """
    try:
        click.echo(data, nl=False)
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        raise _problem("standard output", error) from None


def say_lines(lines: Iterable[Line]) -> None:
    """Write a report: coloured and as wide as the terminal, or plain."""
    if has_colour():
        width = shutil.get_terminal_size((WIDTH, 24)).columns
        say(coloured(lines, width))
    else:
        say(plain(lines))


def say_json(value: object) -> None:
    """Write one JSON value, readable and in plain ASCII."""
    say(json.dumps(value, indent=2) + "\n")


def say_json_line(value: object) -> None:
    """Write one JSON value on a line of its own, for a reader that waits for it."""
    say(json.dumps(value) + "\n")


def _drop_output() -> None:
    """Send what is still in the buffer nowhere, so that exit is quiet."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a device or pipe is written directly.

    Raises:
        FileProblem: it cannot be written.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        try:
            with part.open("xb") as file:
                file.write(data)
            if target.exists():
                part.chmod(target.stat().st_mode & 0o777)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise _problem(str(path), error) from None


def write_new_files(files: Iterable[tuple[Path, bytes]]) -> None:
    """Write files that must not exist yet: all of them or none.

    Raises:
        FileProblem: one exists or cannot be written.
    """
    made: list[Path] = []
    for path, data in files:
        try:
            with path.open("xb") as file:
                made.append(path)
                file.write(data)
        except (OSError, ValueError) as error:
            for each in made:
                each.unlink(missing_ok=True)
            raise _problem(str(path), error) from None


def _problem(path: str, error: OSError | ValueError) -> FileProblem:
    if isinstance(error, FileExistsError):
        return FileProblem(path, "written", "it exists already and is not overwritten")
    words = error.strerror if isinstance(error, OSError) else str(error)
    return FileProblem(path, "written", (words or type(error).__name__).lower())
