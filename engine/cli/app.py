"""The group of commands: how it is called, how every failure ends.

Exit codes: 0 fine or PROVED, 1 REFUTED, 2 bad usage or input, 3 UNDETERMINED, 130
interrupted. It knows the commands by name and imports one only to run it.
"""

import importlib
import io
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from unspiral.engine.errors import UnknownName, UnspiralError
from unspiral.version import __version__

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = {
    "run": "Let an agent do a task, or play a scenario.",
    "list": "List the machines that come with unspiral.",
    "show": "Show a machine as a table of rows.",
    "draw": "Draw a machine: SVG, PNG, PDF, DOT, Mermaid, Markdown.",
    "check": "Prove that a machine cannot spiral, or show how it does.",
    "recheck": "Check a certificate again, row by row.",
    "fuzz": "Run a machine at random, deep, and judge every run.",
    "mutate": "Change a machine in every small way; say what notices it.",
    "explain": "Explain a reason, limit, phase, terminal or finding.",
    "sessions": "List the sessions of runs; export and import them.",
    "why": "Say why a session went on and stopped, and why not otherwise.",
    "faults": "List what the fault server can do to a client.",
    "serve": "Serve a fault schedule as a Messages API on this machine.",
    "journal": "Draw a journal: what a client sent, and what it got.",
    "new": "Write a starting machine file and its test.",
}  #: in the order of the help page

INTERRUPTED = 130
BAD = 2


class Commands(click.Group):
    """The group; its commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help page."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"unspiral.engine.cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], tuple(COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(  # type: ignore[override]  # click's has overloads; ours never returns
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,  # noqa: ANN401 - click's own signature
    ) -> NoReturn:
        """Run a command and exit with its code; every error is one message."""
        extra["standalone_mode"] = False
        try:
            result: object = super().main(args, prog_name or "unspiral", **extra)
            code = result if isinstance(result, int) else 0
        except click.ClickException as error:
            error.show()
            code = BAD
        except UnspiralError as error:
            _complain(str(error))
            code = BAD
        except OSError as error:
            # Our own files end in a FileProblem: this is the output of click's help.
            _complain(f"cannot write the output: {error.strerror}")
            code = BAD
        except (click.Abort, KeyboardInterrupt):
            _complain("interrupted", "")
            code = INTERRUPTED
        sys.exit(code)


def _complain(message: str, label: str = "Error: ") -> None:
    from unspiral.engine.report.lines import clean_lines  # noqa: PLC0415 - only here

    click.echo(f"{label}{clean_lines(message)}", err=True)


@click.group(
    "unspiral",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="Exit codes: 0 fine or PROVED, 1 REFUTED, 2 bad usage or input, "
    "3 UNDETERMINED, 130 interrupted.",
)
@click.version_option(__version__, prog_name="unspiral")
def app() -> None:
    """Agent loops you can draw, run and prove.

    MACHINE is the name of a shipped machine, a .toml file, or module:NAME.
    """


def main() -> NoReturn:
    """Run the command line (the entry point of `unspiral`)."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the report.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app.main()
