"""What the command line says of a run reaches the agent."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.running import Script, said
from unspiral.engine.cli.launch import Order, assemble, table_of
from unspiral.engine.live.agent import Agent
from unspiral.engine.live.ports import Abort, LoopClock
from unspiral.engine.live.session import MemoryStore
from unspiral.machines.agent_loop import AGENT_LOOP


def agent(folder: Path, **more: Any) -> Agent:
    order = Order(AGENT_LOOP, "hardened", {}, "m", "", folder, **more)

    async def main() -> Agent:
        return assemble(
            order,
            table_of(order),
            Script([said()]),
            MemoryStore(),
            abort=Abort(),
            ask=None,
            waits=LoopClock(),
            name="test",
        )

    return asyncio.run(main())


def test_notes_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    made = agent(tmp_path, notes=file)

    assert made.world.notes() == ""
    file.write_text("All is read.", "utf-8")
    assert made.world.notes() == "All is read."


def bytes_(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")


def long(file: Path) -> None:
    file.write_text("x" * 200_001, "utf-8")


@pytest.mark.parametrize("spoil", [bytes_, long, Path.mkdir, os.mkfifo])
def test_notes_that_cannot_be_read_are_none(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    file = tmp_path / "notes.md"
    spoil(file)

    assert agent(tmp_path, notes=file).world.notes() == ""


@pytest.mark.parametrize(("given", "size"), [(None, 200_000), (50_000, 50_000)])
def test_the_window_is_the_one_that_is_told(
    tmp_path: Path, given: int | None, size: int
) -> None:
    assert agent(tmp_path, window=given).settings.window.size == size


@pytest.mark.parametrize("early", [True, False])
def test_tools_begin_early_only_if_that_is_said(tmp_path: Path, *, early: bool) -> None:
    assert agent(tmp_path, early=early).settings.rounds.early is early
