"""The reference loop has the published behaviour, state for state, row for row."""

import functools
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from benchmarks.reference_loop import Ablation, reference_loop
from unspiral.engine.core.step import available_events, initial_snapshot, step
from unspiral.engine.core.table import compile_table

PUBLISHED = Path(__file__).parents[3] / "shared" / "mc" / "reference_loop.py"
ABLATIONS: list[Ablation | None] = [None, "hook", "collapse", "react"]


@functools.cache
def count(
    turns: int, window: int, blocks: int, drop: Ablation | None, retries: int = 10
) -> tuple[int, int]:
    """Return the number of states and of (state, row) pairs of our declaration."""
    loop = reference_loop(turns, window, blocks, drop)
    table = compile_table(loop, limits={"max_retries": retries})
    first = initial_snapshot(table)
    seen, open_, taken = {first}, [first], 0
    while open_:
        snapshot = open_.pop()
        if snapshot.phase in table.terminals:
            continue
        events = available_events(table, snapshot)
        for event in events if table.events[snapshot.phase] else (None,):
            taken += 1
            after = step(table, snapshot, event).after
            if after not in seen:
                seen.add(after)
                open_.append(after)
    return len(seen), taken


# The same loop by hand: written from the published Promela text alone and with its
# names, it shares nothing with the declaration. A state is a tuple in the order of
# FIRST; an ended run is its reason alone.
State = tuple[int | str, ...]
FIRST: dict[str, int | str] = {
    "phase": "SHAPE",
    "turn": 1,
    "rec": 0,
    "esc": 0,
    "react": 0,
    "last": "none",
    "sha": 0,
    "hb": 0,
    "cf": 0,
    "api": 0,
    "c529": 0,
    "fb": 0,
    "bud": 0,
    "ctx": 1,
}


class Hand:
    """One state of the loop and where it leads: one method a phase."""

    turns, window, blocks, retries = 1, 2, 1, 3
    drop: Ablation | None = None

    def __init__(self, state: State) -> None:
        self.values: dict[str, int | str] = dict(zip(FIRST, state, strict=True))

    def __getattr__(self, name: str) -> int:
        return int(self.values[name])

    def go(self, phase: str, **changes: int | str) -> State:
        changed: dict[str, int | str] = {**self.values, "phase": phase, **changes}
        return tuple(changed.values())

    def grown(self, levels: int) -> int:
        return min(self.ctx + levels, self.window)

    def successors(self) -> Iterator[State]:
        moves: Callable[[], Iterator[State]] = getattr(
            self, f"at_{str(self.values['phase']).lower()}"
        )
        return moves()

    def at_shape(self) -> Iterator[State]:
        if self.ctx >= 3 * self.window // 4 and self.cf < 3:
            yield self.go("LIMIT", ctx=1, cf=0)
            yield self.go("LIMIT", cf=self.cf + 1)
        else:
            yield self.go("LIMIT")

    def at_limit(self) -> Iterator[State]:
        yield ("blocklim",) if self.ctx >= self.window else self.go("API")

    def at_api(self) -> Iterator[State]:
        yield self.go("OUT", api=0, c529=0)
        yield ("modelerr",)  # fatal
        yield ("aborts",)
        if self.api == self.retries:
            yield from [("modelerr",)] * 4
            return
        for _ in ("429", "401", "connection"):
            yield self.go("API", api=self.api + 1, c529=0)
        if self.c529 < 2:
            yield self.go("API", api=self.api + 1, c529=self.c529 + 1)
        elif self.fb == 0:
            yield self.go("API", api=0, c529=0, fb=1)
        else:
            yield ("529",)

    def at_out(self) -> Iterator[State]:
        for phase in ("TOOLS", "STOP", "PTL", "MEDIA", "MAXOUT"):
            yield self.go(phase)
        yield ("aborts",)

    def at_ptl(self) -> Iterator[State]:
        if self.values["last"] != "coll" or self.drop == "collapse":
            yield self.go("SHAPE", ctx=max(self.ctx - 1, 0), last="coll")
        yield self.go("REACT")

    def at_react(self) -> Iterator[State]:
        if not self.react:
            yield self.go("SHAPE", react=1, ctx=1, last="react")
        yield ("ptl",)

    def at_media(self) -> Iterator[State]:
        if not self.react:
            yield self.go("SHAPE", react=1, ctx=1, last="react")
        yield ("image",)

    def at_maxout(self) -> Iterator[State]:
        if not self.esc:
            yield self.go("SHAPE", esc=1, last="esc")
        elif self.rec < 3:
            for levels in (0, 1):
                ctx = self.grown(levels)
                yield self.go("SHAPE", rec=self.rec + 1, last="rec", ctx=ctx)
        else:
            yield ("completed",)

    def at_stop(self) -> Iterator[State]:
        yield self.go("BUDGET")
        yield ("hookprev",)
        if self.hb == self.blocks and self.drop != "hook":
            yield ("hookcap",)
            return
        hb = self.hb if self.drop == "hook" else self.hb + 1
        react = 0 if self.drop == "react" else self.react
        for levels in (0, 1):
            ctx = self.grown(levels)
            yield self.go(
                "SHAPE", hb=hb, react=react, sha=1, rec=0, last="hook", ctx=ctx
            )

    def at_budget(self) -> Iterator[State]:
        yield ("completed",)
        for levels in (0, 1) if self.bud < 3 else ():
            bud, ctx = self.bud + 1, self.grown(levels)
            yield self.go("SHAPE", bud=bud, rec=0, react=0, last="bud", ctx=ctx)

    def at_tools(self) -> Iterator[State]:
        yield ("abortt",)
        yield ("hookstop",)
        if self.turn == self.turns:
            yield ("maxturns",)
            return
        for levels in (0, 1, 2):
            turn, ctx = self.turn + 1, self.grown(levels)
            yield self.go("SHAPE", turn=turn, rec=0, react=0, last="next", ctx=ctx)


def count_by_hand(kind: type[Hand]) -> tuple[int, int]:
    first: State = tuple(FIRST.values())
    seen, open_, taken = {first}, [first], 0
    while open_:
        state = open_.pop()
        for after in kind(state).successors() if len(state) > 1 else ():
            taken += 1
            if after not in seen:
                seen.add(after)
                open_.append(after)
    return len(seen), taken


def published() -> ModuleType:
    spec = importlib.util.spec_from_file_location("published_loop", PUBLISHED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def count_published(
    turns: int, window: int, blocks: int, drop: Ablation | None
) -> tuple[int, int]:
    """Explore the published table, whose guards and updates are Python texts."""
    loop = published().build(turns, window, blocks, drop)
    names = [each[0] for each in loop.vars]
    groups: dict[int, list[tuple[CodeType, list[dict[str, CodeType]]]]] = {}

    def compiled(text: str) -> CodeType:
        return compile(text, "published", "eval")

    for _, phase, guard, branches in loop.groups:
        updates = [{k: compiled(v) for k, v in b[2].items()} for b in branches]
        groups.setdefault(loop.consts[phase], []).append((compiled(guard), updates))
    value: Callable[[CodeType, dict[str, object]], int] = eval
    first = tuple(each[3] for each in loop.vars)
    seen, open_, taken = {first}, [first], 0
    while open_:
        state = dict(zip(names, open_.pop(), strict=True))
        scope = {**loop.consts, **state}
        for guard, branches in groups.get(state["phase"], []):
            for branch in branches if value(guard, scope) else ():
                changed = {k: value(v, scope) for k, v in branch.items()}
                merged: dict[str, int] = {**state, **changed}
                after = tuple(merged.values())
                taken += 1
                if after not in seen:
                    seen.add(after)
                    open_.append(after)
    return len(seen), taken


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_declared_and_hand_written_loop_have_equally_many_states(
    ablation: Ablation | None,
) -> None:
    class Ablated(Hand):
        drop = ablation

    assert count(1, 2, 1, ablation, retries=3) == count_by_hand(Ablated)


def test_growth_of_turns_and_context_is_as_by_hand() -> None:
    class Wide(Hand):
        turns, window, blocks, retries = 2, 3, 0, 2

    assert count(2, 3, 0, None, retries=2) == count_by_hand(Wide)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published table is not here")
@pytest.mark.parametrize("ablation", ABLATIONS)
def test_declared_and_published_loop_have_equally_many_states(
    ablation: Ablation | None,
) -> None:
    assert count(1, 2, 1, ablation) == count_published(1, 2, 1, ablation)


def test_the_counts_at_the_smallest_sizes_are_known_numbers() -> None:
    assert count(1, 1, 1, None) == (4, 4)
    assert count(1, 2, 1, None) == (97_119, 562_538)
