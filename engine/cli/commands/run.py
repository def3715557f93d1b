"""`unspiral run`: an agent does a task, in the loop that `unspiral check` proves.

With a credential of the anthropic SDK it is the real thing; with `--scenario` the model
is scripted, in the process, with no key and no network.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import attrs
import click

from unspiral.engine.cli.subject import (
    edition_option,
    find_machine,
    limits_from_texts,
    set_option,
)
from unspiral.engine.errors import BadValue
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.ports import HookPoint
from unspiral.engine.live.rules import Rules
from unspiral.engine.live.ruling import Mode

__all__ = ["command"]

MACHINE = "agent_loop"
EDITION = "hardened"
MODEL = "claude-sonnet-5-5"

_MICRO = 1_000_000
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _gate_options(command: _Command) -> _Command:
    for option in (
        click.option("--deny", multiple=True, metavar="RULE", help="Never run."),
        click.option("--ask", multiple=True, metavar="RULE", help="Always ask."),
        click.option(
            "--allow",
            multiple=True,
            metavar="RULE",
            help="Run without a question, as `bash(git status*)`.",
        ),
        click.option(
            "--permission",
            "mode",
            type=click.Choice(get_args(Mode)),
            help="What may run without a question.",
        ),
    ):
        command = option(command)
    return command


def _budget_options(command: _Command) -> _Command:
    count, amount = click.IntRange(1), click.FloatRange(0, min_open=True)
    for option in (
        click.option("--max-seconds", type=amount, help="Stop after so long."),
        click.option("--max-cost", type=amount, help="Dollars, by list prices."),
        click.option("--max-tokens", type=count, help="Tokens sent and received."),
        click.option("--max-tool-calls", type=count, help="Stop after so many."),
        click.option("--max-model-calls", type=count, help="Stop after so many."),
    ):
        command = option(command)
    return command


@click.command(
    "run",
    epilog="Exit codes: 0 the run is `completed` (and a scenario is as expected), "
    "1 it ended otherwise, 2 bad usage or input, 130 stopped by ctrl-C.",
)
@click.argument("task", default="")
@click.option("--scenario", metavar="NAME|FILE", help="Play a scripted model.")
@click.option("--loopback", is_flag=True, help="Serve the scenario on a real socket.")
@click.option("--model", default="", help=f"The model (default {MODEL}).")
@click.option("--fallback-model", default="", help="Takes over when it is overloaded.")
@click.option("--window", type=click.IntRange(1), help="Tokens of its window.")
@click.option("--machine", default=MACHINE, help=f"The loop (default {MACHINE}).")
@edition_option
@set_option
@click.option(
    "--workspace",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder that tools may touch (default: here; a new one in a scenario).",
)
@_gate_options
@click.option(
    "--hook",
    "hooks",
    multiple=True,
    nargs=2,
    metavar="POINT COMMAND",
    help="Run a command at a point, as `--hook Stop 'make test'`.",
)
@_budget_options
@click.option(
    "--early-tools",
    is_flag=True,
    help="Begin calls that only read while their answer still comes.",
)
@click.option(
    "--server-context",
    is_flag=True,
    help="Let the server clear old results of tools.",
)
@click.option(
    "--notes",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Running notes, which a compaction tries before it asks for a summary.",
)
@click.option("--resume", default="", metavar="ID", help="Go on with a session.")
@click.option(
    "--sessions",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where sessions are kept.",
)
@click.option(
    "--trace",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a record of each decision there, as JSON, a line each.",
)
@click.option("--seed", type=int, help="Of the jitter of waits.")
@click.option("--json", "as_json", is_flag=True, help="Print events, a line each.")
def command(task: str, **given: Any) -> int:  # noqa: ANN401 - click passes each option
    """Let an agent do TASK in a folder, within its limits.

    Ctrl-C stops it in good order; once more, at once.
    """
    from unspiral.engine.cli import playing  # noqa: PLC0415 - slow

    _require_text(task)
    order = _order(given)
    shown = playing.Showing(
        as_json=given["as_json"],
        sessions=given["sessions"],
        trace=given["trace"],
        seed=given["seed"],
    )
    scenario, resume = given["scenario"], given["resume"]
    if scenario is not None:
        _require_no("--resume", resume, "used without --scenario")
        _require_no("--model", given["model"], "left out: the model is scripted")
        from unspiral.engine.cli import rehearsing  # noqa: PLC0415 - slow

        return rehearsing.rehearse(
            scenario, order, task, given["workspace"], shown, loopback=given["loopback"]
        )
    _require_no("--loopback", given["loopback"], "used with --scenario")
    if resume:
        return playing.go_on(order, resume, task if task.strip() else None, shown)
    if not task.strip():
        raise BadValue("TASK", task, "what is to be done, or --scenario, or --resume")
    return playing.start(attrs.evolve(order, model=order.model or MODEL), task, shown)


def _order(given: dict[str, Any]) -> "Any":  # noqa: ANN401 - an Order, which is slow to load
    from unspiral.engine.cli.launch import Order  # noqa: PLC0415 - slow

    machine = find_machine(given["machine"])
    cost = given["max_cost"]
    return Order(
        machine=machine,
        edition=given["edition"] or (EDITION if given["machine"] == MACHINE else ""),
        limits=limits_from_texts(machine, given["settings"]),
        model=given["model"],
        fallback=given["fallback_model"],
        workspace=given["workspace"] or Path.cwd(),
        mode=given["mode"] or "default",
        rules=Rules.parse(given["allow"], given["ask"], given["deny"]),
        hooks=tuple(_hook(*each) for each in given["hooks"]),
        window=given["window"],
        early=given["early_tools"],
        server_context=given["server_context"],
        notes=given["notes"],
        budgets=Budgets(
            model_calls=given["max_model_calls"],
            tool_calls=given["max_tool_calls"],
            tokens=given["max_tokens"],
            micro_dollars=None if cost is None else max(int(cost * _MICRO), 1),
            seconds=given["max_seconds"],
        ),
    )


def _require_text(task: str) -> None:
    try:
        task.encode()
    except UnicodeEncodeError:
        raise BadValue("TASK", ascii(task), "text in UTF-8") from None


def _require_no(option: str, value: object, allowed: str) -> None:
    if value:
        raise BadValue(option, str(value), allowed)


def _hook(point: str, text: str) -> tuple[HookPoint, tuple[str, ...]]:
    points: tuple[str, ...] = get_args(HookPoint)
    if point not in points:
        raise BadValue("--hook", point, ", ".join(points))
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadValue("--hook", text, f"a command ({error})") from None
    if not words:
        raise BadValue("--hook", text, "a command")
    return cast("HookPoint", point), words
