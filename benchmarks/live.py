"""What an agent costs a turn besides its model and its tools: CPU, by library.

A turn is a request to a scripted model, one call of an async tool that answers at once,
and whatever a library does around them. Ours keeps a record of every decision and a
session meanwhile, in memory or in SQLite on the disk; the machine is `agent_loop`,
edition `hardened`. All are taken in turn, several times; the median round of each
counts. Read the ratios: the absolute numbers belong to the machine that measured them.

    python benchmarks/live.py [--turns 200,2000,10000] [--rounds N] [--json]
                              [--others PYTHON] [--patience SECONDS]

`--others` is the Python of an environment with the other libraries; how to make one is
told in `benchmarks/live_others.py`. Each runs there in a process of its own. Those that
are not installed are said to be missing, and those that take longer than `--patience`
are left out.

The results of the tool are tiny, or a page: then the window fills, and our agent makes
its context smaller as it would for a user. How often is told. The others have tiny
results only, and never make anything smaller.
"""

import argparse
import asyncio
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import attrs

from unspiral.engine.core.table import compile_table
from unspiral.engine.live.agent import Agent, Settings, World
from unspiral.engine.live.events import Ended
from unspiral.engine.live.hooks import HookList
from unspiral.engine.live.message import Message
from unspiral.engine.live.ports import Ask, LoopClock, Outcome, Piece, Ruling
from unspiral.engine.live.session import MemoryStore, Session
from unspiral.engine.live.tools.registry import Tool, Toolbox, tool
from unspiral.machines.agent_loop import AGENT_LOOP

__all__ = ["OTHERS", "OURS", "Row", "main", "measure"]

MODEL = "claude-sonnet-5-5"
OTHERS = ("pydantic-ai", "langgraph", "mini-swe-agent")
TINY, PAGE = 10, 2_000  # characters of a result
_PROGRAM = Path(__file__).with_name("live_others.py")
_LIMITS = {"max_turns": 1_000_000, "token_budget_on": False}

Store = MemoryStore | Session


@attrs.frozen
class Row:
    """What a way costs at a number of turns.

    Attributes:
        way: the library and what it keeps.
        turns: of one run.
        milliseconds: of CPU a turn, in the median round; None: not measured.
        note: how often the context was made smaller; or why nothing was measured.
    """

    way: str
    turns: int
    milliseconds: float | None
    note: str = ""


# -- ours ------------------------------------------------------------------------------


@attrs.define
class Script:
    """Calls the tool once a turn, and says that it is done after the last one.

    Attributes:
        turns: with a call.
        size: characters of a result.
    """

    turns: int
    size: int
    _turn: int = attrs.field(default=0, init=False)

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        """Answer at once."""
        del tell
        if ask.source != "main":
            summary = "<summary>Seen.</summary>"
            return self._outcome(ask, {"type": "text", "text": summary})
        self._turn += 1
        if self._turn > self.turns:
            return self._outcome(ask, {"type": "text", "text": "Done."})
        call = {"name": "look", "input": {"n": self._turn}, "id": f"t{self._turn}"}
        return self._outcome(ask, {"type": "tool_use", **call}, "tool_use")

    def _outcome(
        self, ask: Ask, block: Mapping[str, object], stop: str = "end_turn"
    ) -> Outcome:
        # About what the API would count: four characters a token.
        tokens = 500 + len(ask.messages) * (20 + self.size // 8)
        message = Message("assistant", (block,), "answer", f"m{self._turn}", tokens)
        return Outcome("answered", message, stop, input_tokens=tokens, output_tokens=9)

    async def refresh(self) -> bool:
        """Say that there is nothing to renew."""
        return False


class _Open:
    """A gate that is open."""

    async def rule(
        self, name: str, given: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        del name, given, hook
        return True, ""


class _Nowhere:
    """Keeps large results nowhere; none is large enough."""

    def keep(self, call: str, text: str, /) -> str:
        del text
        return call


def _looking(size: int) -> Tool:
    @tool({"properties": {"n": {"type": "integer"}}, "required": ["n"]}, safe=True)
    async def look(n: int) -> str:
        """Look."""
        return f"seen {n} ".ljust(size, "x")

    return look


async def _run(store: Store, turns: int, size: int) -> float:
    """Run all turns; return the seconds of CPU."""
    world = World(
        model=Script(turns, size),
        tools=Toolbox([_looking(size)]),
        permission=_Open(),
        hooks=HookList(),
        store=store,
        keep=_Nowhere(),
        clock=LoopClock(),
        waits=LoopClock(),
        wall=time.time,
        pause=lambda retry, hint: hint or float(retry),
    )
    table = compile_table(AGENT_LOOP, "hardened", _LIMITS)
    agent, last = Agent(table, world, Settings(MODEL)), ""
    start = time.process_time()
    async for event in agent.run("Do it."):
        if isinstance(event, Ended):
            last = event.text
    seconds = time.process_time() - start
    if last != "Done.":
        raise SystemExit(f"the last answer was {last!r}")
    return seconds


def _memory(_: Path) -> AbstractContextManager[Store]:
    return nullcontext(MemoryStore())


def _sqlite(folder: Path) -> AbstractContextManager[Store]:
    return Session.create(folder / "session.db")


#: where the session is kept, and how large results are
OURS: Mapping[str, tuple[Callable[[Path], AbstractContextManager[Store]], int]] = {
    "unspiral, in memory": (_memory, TINY),
    "unspiral, SQLite": (_sqlite, TINY),
    "unspiral, in memory, pages": (_memory, PAGE),
    "unspiral, SQLite, pages": (_sqlite, PAGE),
}


def time_ours(way: str, turns: int) -> tuple[float, str]:
    """Run one of ours; return its seconds, and how often its context was made smaller.

    It is told by the records of the run, which so are known to be there.
    """
    opened, size = OURS[way]
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as store:
        seconds = asyncio.run(_run(store, turns, size))
        events = [e.value.get("event") for e in store.events() if e.kind == "decision"]
    if len(events) < turns:
        raise SystemExit(f"only {len(events)} decisions of {turns} turns were recorded")
    words = {"compacted": "compacted", "snipped": "snipped", "cleared": "cleared"}
    counts = [f"{word} {n} x" for e, word in words.items() if (n := events.count(e))]
    return seconds, ", ".join(counts)


# -- others ----------------------------------------------------------------------------


def time_other(
    way: str, turns: int, python: str, patience: float
) -> tuple[float | None, str]:
    """Run another library; return its seconds, and its version or what is wrong."""
    command = [python, str(_PROGRAM), way, str(turns)]
    try:
        done = subprocess.run(  # noqa: S603 - a program of ours, by a Python of theirs
            command, capture_output=True, timeout=patience, check=True
        )
    except subprocess.TimeoutExpired:
        return None, f"left out: it took longer than {patience:g} s"
    except (OSError, subprocess.CalledProcessError) as error:
        return None, f"left out: {error}"
    said = json.loads(done.stdout.splitlines()[-1])
    if "missing" in said:
        return None, f"missing: {said['missing']}"
    return said["seconds"], said["version"]


# -- all -------------------------------------------------------------------------------


def measure(
    turns: Sequence[int], rounds: int, python: str = "", patience: float = 120.0
) -> list[Row]:
    """Time every way at every number of turns.

    Args:
        turns: of a run.
        rounds: of each pair.
        python: of an environment with the other libraries; "": only ours.
        patience: seconds that a run of another library may take.
    """
    ways = [*OURS, *(OTHERS if python else ())]
    pairs = [(way, count) for count in turns for way in ways]
    taken: dict[tuple[str, int], list[float]] = {each: [] for each in pairs}
    notes: dict[tuple[str, int], str] = {}
    for way in OURS:
        time_ours(way, 20)  # what is imported or compiled upon first use
    for _ in range(rounds):
        for way, count in pairs:
            if notes.get((way, count), "").startswith(("left out", "missing")):
                continue
            spent, notes[way, count] = (
                time_ours(way, count)
                if way in OURS
                else time_other(way, count, python, patience)
            )
            taken[way, count] += [] if spent is None else [spent]
    return [
        Row(
            way,
            count,
            statistics.median(seconds) / count * 1_000 if seconds else None,
            notes[way, count],
        )
        for (way, count), seconds in taken.items()
    ]


def growth(rows: Sequence[Row], way: str) -> float | None:
    """Return how much more a turn costs in the longest run than in the shortest."""
    found = {row.turns: row.milliseconds for row in rows if row.way == way}
    first, last = found[min(found)], found[max(found)]
    return None if first is None or last is None else last / first


def _printed(rows: Sequence[Row]) -> None:
    lengths = sorted({row.turns for row in rows})
    for length in lengths:
        here = [row for row in rows if row.turns == length]
        base = here[0].milliseconds or 1.0
        print(f"{length:,} turns")
        for row in here:
            shown = f"{'-':>9}{'':>14}"
            if row.milliseconds is not None:
                ratio = row.milliseconds / base
                shown = f"{row.milliseconds:>9.3f} ms/turn{ratio:>7.1f} x"
            print(f"  {row.way:<28}{shown}   {row.note}".rstrip())
    print(f"a turn at {lengths[-1]:,} to one at {lengths[0]:,}")
    for way in dict.fromkeys(row.way for row in rows):
        grown = growth(rows, way)
        print(f"  {way:<28}{'-' if grown is None else f'{grown:.2f}':>9}")


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="CPU a turn, by library.")
    parser.add_argument("--turns", default="200,2000,10000", help="of runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--others", default="", help="the Python of the others")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(words)
    turns = [int(each) for each in asked.turns.split(",")]
    rows = measure(turns, asked.rounds, asked.others, asked.patience)
    if asked.json:
        print(json.dumps([attrs.asdict(row) for row in rows], indent=2))
        return
    version = importlib.metadata.version("unspiral")
    print(f"unspiral {version}, CPU, median of {asked.rounds} rounds")
    _printed(rows)


if __name__ == "__main__":
    main()
