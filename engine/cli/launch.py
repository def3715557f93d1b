"""Puts an agent together from what the command line says: the composition of a run.

Everything real is chosen here: the workspace, the gate, hooks, the session, and the
model, or the scripted one of a scenario. The agent itself knows none of that.
"""

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import BadValue
from unspiral.engine.live.agent import Agent, Settings, World
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.client import AnthropicModel, make_model
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.hook_commands import CommandHook, filtered
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.keeping import WorkspaceKeep
from unspiral.engine.live.permission import Asker, Gate
from unspiral.engine.live.ports import Abort, Clock, HookPoint, LoopClock, Model
from unspiral.engine.live.rules import Rules
from unspiral.engine.live.ruling import Mode
from unspiral.engine.live.session_events import Notes
from unspiral.engine.live.tools.builtin import builtin_tools
from unspiral.engine.live.tools.executor import Bounds
from unspiral.engine.live.tools.registry import Toolbox
from unspiral.engine.live.tools.workspace import Workspace
from unspiral.engine.live.waiting import LONGEST, LONGEST_UNATTENDED, Backoff

if TYPE_CHECKING:
    from unspiral.engine.live.restoring import Restored

__all__ = ["SYSTEM", "WINDOW", "Order", "assemble", "model_of", "table_of"]

SYSTEM = """\
You are a coding agent. You work in one folder of the user's machine, with the tools \
that you are given; paths are relative to that folder. Look before you change, make \
the smallest change that does what is asked, and check it by running what the project \
has for that. When it is done, say in a few sentences what you did and how you know \
that it works. If something cannot be done, say so."""


@attrs.frozen
class Order:
    """What is to be run.

    Attributes:
        machine: the table's.
        edition: of it; "": the first.
        limits: that were set.
        model: the name of the model.
        fallback: of the one that takes over, or "".
        workspace: the folder.
        mode: of the gate.
        rules: of the gate.
        hooks: points with commands.
        budgets: what may be spent.
        window: tokens of the model's window; None: `WINDOW`.
        early: whether safe calls begin while their answer is still streamed.
        server_context: whether the server may clear old results of tools by itself.
        notes: a file with the running notes of the session, or None.
    """

    machine: Machine
    edition: str
    limits: Mapping[str, LimitValue]
    model: str
    fallback: str
    workspace: Path
    mode: Mode = "default"
    rules: Rules = attrs.field(factory=Rules)
    hooks: tuple[tuple[HookPoint, tuple[str, ...]], ...] = ()
    budgets: Budgets = attrs.field(factory=Budgets)
    window: int | None = None
    early: bool = False
    server_context: bool = False
    notes: Path | None = None

    def __attrs_post_init__(self) -> None:
        Window.scaled(self.window or WINDOW)  # or an error, before a session is begun


WINDOW = 200_000  #: tokens of a model's window, unless another one is told
_LONGEST_NOTES = 200_000  # bytes: more is no summary

#: what the loop of a command is unless it is told otherwise
_DEFAULTS: Mapping[str, LimitValue] = {"token_budget_on": False}


def table_of(order: Order) -> Table:
    """Return the table of a run.

    Raises:
        UnspiralError: the machine cannot be compiled at these limits.
    """
    declared = {limit.name for limit in order.machine.all_limits}
    defaults = {k: v for k, v in _DEFAULTS.items() if k in declared}
    if "fallback_model" in declared:
        defaults["fallback_model"] = bool(order.fallback)
    return compile_table(
        order.machine, order.edition or None, {**defaults, **order.limits}
    )


def model_of(order: Order) -> AnthropicModel:
    """Return the real model of a run.

    Raises:
        NoCredential: the SDK would send none.
    """
    return make_model(server_context=order.server_context)


def assemble(  # noqa: PLR0913 - each is of another kind, and named
    order: Order,
    table: Table,
    model: Model,
    store: Notes,
    *,
    abort: Abort,
    ask: Asker | None,
    waits: Clock,
    name: str,
    restored: "Restored | None" = None,
    seed: int | None = None,
) -> Agent:
    """Return an agent.

    Args:
        order: what is to be run.
        table: of the run.
        model: whoever answers.
        store: where it is written down.
        abort: how it can be stopped.
        ask: asks a person; None: nobody is there.
        waits: the clock of the waits between attempts.
        name: of the session.
        restored: what the session has come to, if it is resumed.
        seed: of the jitter of waits; None: any.

    Raises:
        BadValue: the workspace is no folder that can be worked in.
    """
    environment = dict(os.environ)
    clock = LoopClock()
    workspace = Workspace(order.workspace)
    hooks = HookList(
        tuple(_hook(point, words, workspace.root) for point, words in order.hooks)
    )
    world = World(
        model=model,
        tools=Toolbox(builtin_tools(workspace, environment, clock)),
        permission=Gate(workspace.root, order.rules, order.mode, ask),
        hooks=hooks,
        store=store,
        keep=WorkspaceKeep(workspace),
        clock=clock,
        waits=waits,
        wall=time.time,
        pause=_pause(table, seed),
        notes=lambda: _noted(order.notes),
    )
    settings = Settings(
        model=order.model,
        fallback=order.fallback,
        system=SYSTEM,
        window=Window.scaled(order.window or WINDOW),
        budgets=order.budgets,
        rounds=Bounds(early=order.early),
        about={"cwd": workspace.root, "session": name},
    )
    return Agent(table, world, settings, abort, restored)


def _pause(table: Table, seed: int | None) -> Backoff:
    """Return the policy of waits: whoever runs unattended has more patience."""
    chance = random.Random(seed).random  # noqa: S311 - jitter, no secret
    unattended = table.limits.get("persistent") is True
    return Backoff(chance, LONGEST_UNATTENDED if unattended else LONGEST)


def _noted(file: Path | None) -> str:
    """Return the notes; where there are none that can be read, a model is asked."""
    try:
        if file is None or not file.is_file():
            return ""
        if file.stat().st_size > _LONGEST_NOTES:
            return ""
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _hook(point: HookPoint, words: tuple[str, ...], folder: str) -> Hook:
    if not words:
        raise BadValue("a hook", point, "a point and a command")
    command = CommandHook(words, folder, filtered(os.environ))
    return Hook(command, (point,), name=f"{point} hook {words[0]}")
