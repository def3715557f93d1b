"""A session that is written as a run writes it, for tests; runs as a program too.

As a program it takes up a session and goes on with it until it is killed: what it has
on the disk it says on its output, an event a line.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from unspiral.engine.core.run import Run
from unspiral.engine.core.step import Snapshot, initial_snapshot
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.live.message import (
    Block,
    History,
    Message,
    results_message,
    tool_result,
    user_text,
)
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.session import Session
from unspiral.engine.live.session_events import Keeper, Notes
from unspiral.machines.query_loop import QUERY_LOOP

TABLE = compile_table(QUERY_LOOP, "hardened")
START = initial_snapshot(TABLE)


@attrs.define
class Loud:
    """A store that says what the store behind it has on the disk."""

    session: Session

    def append(self, kind: str, value: Mapping[str, object]) -> None:
        self.session.append(kind, value)
        print(self.session.last, kind, flush=True)  # noqa: T201 - that is its purpose

    def note(self, kind: str, value: Mapping[str, object]) -> None:
        self.session.note(kind, value)


def standing(turn: int, table: Table = TABLE) -> Snapshot:
    """Return a snapshot in some turn."""
    memory = list(START.memory)
    memory[table.positions["turn"]] = turn
    return Snapshot(START.phase, tuple(memory))


def turn_of(kept: Restored) -> int:
    """Return the turn in which the machine of a session stands."""
    if kept.machine is None:
        return 1
    turn_ = Run.resume(QUERY_LOOP, kept.machine).memory["turn"]
    assert isinstance(turn_, int)
    return turn_


def turn(keeper: Keeper, number: int) -> None:
    """Write a turn with two calls; each fourth compacts the history."""
    calls: list[Block] = [
        {"type": "tool_use", "id": f"c{number}.{k}", "name": "read", "input": {}}
        for k in (1, 2)
    ]
    keeper.appended([Message("assistant", tuple(calls), "answer", f"a{number}")])
    results = [tool_result(f"c{number}.{k}", f"text {k}") for k in (1, 2)]
    for one, result in zip(calls, results, strict=True):
        keeper.calling(one)
        keeper.called(result)
        keeper.decided({"note": number})
    whole: History = (*keeper.history, results_message(results))
    if number % 4 == 0:
        whole = (user_text(f"summary {number}", "summary"), *whole[-2:])
    keeper.became(whole, standing(number % 20 + 1), {"tokens": {"spent": number}})


def begun(store: Notes) -> Keeper:
    """Write the beginning of a run."""
    keeper = Keeper(store, TABLE)
    keeper.began(START)
    keeper.appended([user_text("Mend the parser.")])
    return keeper


def written(store: Notes, turns: int) -> Iterator[Keeper]:
    """Write a run turn by turn."""
    keeper = begun(store)
    yield keeper
    for number in range(1, turns + 1):
        turn(keeper, number)
        yield keeper


def main(path: Path) -> None:
    with Session.resume(path) as session:
        loud = Loud(session)
        kept = session.restored()
        keeper = Keeper(loud, TABLE, kept.kept)
        keeper.became(kept.history)
        keeper.began(standing(turn_of(kept)))
        if not kept.history:
            keeper.appended([user_text("Mend the parser.")])
        for number in range(kept.last, 1_000_000):
            turn(keeper, number)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
