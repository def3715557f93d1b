"""`unspiral new`: a machine file to begin with, and its test."""

from pathlib import Path

import click

from unspiral.engine.cli.output import say_lines, write_new_files
from unspiral.engine.core.template import machine_text, test_text
from unspiral.engine.report.lines import Line

__all__ = ["command"]


@click.command("new")
@click.argument("name")
def command(name: str) -> int:
    """Write a starting machine file and its test.

    NAME.toml and test_NAME.py are written into the current folder; neither may exist.
    """
    machine, test = Path(f"{name}.toml"), Path(f"test_{name}.py")
    texts = (machine, machine_text(name)), (test, test_text(name))
    write_new_files((path, text.encode()) for path, text in texts)
    said = (
        f"written: {machine}, {test}",
        f"next:    unspiral check {machine}",
        f"         unspiral draw {machine} -o {name}.svg",
        f"         pytest {test}",
    )
    say_lines([Line(text, whole=True) for text in said])
    return 0
