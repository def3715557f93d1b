"""A scenario on the command line: the loop is real, the model is scripted.

The schedule is played in the process, or on a socket of this machine. Waits between
attempts are told and not waited; everything else takes its time.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import attrs

from unspiral.engine.cli.launch import Order
from unspiral.engine.cli.output import say_lines
from unspiral.engine.cli.playing import Begun, Showing, begin, code_of, play
from unspiral.engine.cli.stopping import to_its_end
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.serving import ServerThread
from unspiral.engine.faults.transport import FaultTransport
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.client import make_model
from unspiral.engine.live.events import Ended, Refused
from unspiral.engine.live.ports import Model
from unspiral.engine.live.rules import Rules
from unspiral.engine.report.lines import Line
from unspiral.engine.scenarios.project import check, write
from unspiral.engine.scenarios.scenario import Scenario
from unspiral.engine.scenarios.shipped import load

__all__ = ["Hurried", "rehearse"]

_KEY = "run-scenario"  # opens nothing
_MODELS = ("claude-sonnet-5-5", "claude-haiku-5-5")


class Hurried:
    """A clock by which nothing takes any time."""

    def now(self) -> float:
        """Return the time of the loop, in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Let others have their turn."""
        del seconds
        await asyncio.sleep(0)


def rehearse(  # noqa: PLR0913 - each is of another kind
    name: str,
    order: Order,
    task: str,
    workspace: Path | None,
    showing: Showing,
    *,
    loopback: bool,
) -> int:
    """Play a scenario; return the exit code: 0 if it came as expected.

    Args:
        name: of it, or its file.
        order: what the command line says; it is stronger than the scenario.
        task: another prompt, or "".
        workspace: an empty folder; None: a new one, which is removed.
        showing: how it is shown.
        loopback: serve it on a socket.

    Raises:
        UnspiralError: the scenario cannot be read, or not be played.
    """
    scenario = load(name)
    if showing.seed is None:
        showing = attrs.evolve(showing, seed=0)  # the same case is the same run
    with _folder(workspace) as folder:
        write(scenario, folder)
        order = _ordered(scenario, order, folder)
        prompt = task or scenario.task
        begun = begin(order, prompt, scenario.name, showing.sessions)
        with begun.session:
            make = _on_socket if loopback else _in_process
            ended = to_its_end(_played(make(scenario.schedule), begun, prompt, showing))
        terminal = ended.terminal if isinstance(ended, Ended) else ""
        differs = check(scenario, terminal, folder)
    if not showing.as_json:
        say_lines([Line(f"not as expected: {each}", "bad") for each in differs])
    as_expected = bool(terminal) and not differs
    return 0 if as_expected else code_of(ended) or 1


def _ordered(scenario: Scenario, order: Order, folder: Path) -> Order:
    rules = Rules(
        (*scenario.rules.allow, *order.rules.allow),
        (*scenario.rules.ask, *order.rules.ask),
        (*scenario.rules.deny, *order.rules.deny),
    )
    budgets: dict[str, Any] = {**scenario.budgets}
    given = attrs.asdict(order.budgets)
    budgets.update({n: value for n, value in given.items() if value is not None})
    return attrs.evolve(
        order,
        edition=scenario.edition or order.edition,
        limits={**scenario.limits, **order.limits},
        model=_MODELS[0],
        fallback=_MODELS[1] if scenario.fallback else "",
        workspace=folder,
        mode=scenario.mode if order.mode == "default" else order.mode,
        rules=rules,
        hooks=(*scenario.hooks, *order.hooks),
        budgets=Budgets(**budgets),
        window=order.window or scenario.window,
    )


async def _played(
    model_of: AbstractAsyncContextManager[Model],
    begun: Begun,
    prompt: str,
    showing: Showing,
) -> Ended | Refused | None:
    async with model_of as model:
        return await play(begun, prompt, model, Hurried(), showing)


@contextlib.asynccontextmanager
async def _in_process(schedule: Schedule) -> AsyncGenerator[Model]:
    made = make_model(_KEY, transport=FaultTransport(schedule))
    async with contextlib.aclosing(made) as model:
        yield model


@contextlib.asynccontextmanager
async def _on_socket(schedule: Schedule) -> AsyncGenerator[Model]:
    with ServerThread(schedule) as server:
        made = make_model(_KEY, base_url=server.url)
        async with contextlib.aclosing(made) as model:
            yield model


@contextlib.contextmanager
def _folder(workspace: Path | None) -> Generator[Path]:
    if workspace is not None:
        yield workspace
        return
    with tempfile.TemporaryDirectory(prefix="unspiral-") as folder:
        yield Path(folder)
