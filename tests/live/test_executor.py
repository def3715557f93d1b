"""The calls of an answer: each has one result, whatever happens to it and around it."""

import asyncio
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.core.declare import Machine, Transition
from unspiral.engine.core.laws import broken_laws
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.trace import record
from unspiral.engine.errors import RunError
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.live.message import Block
from unspiral.engine.live.ports import (
    Abort,
    HookCall,
    HookWord,
    LoopClock,
    Ruling,
    ToolOutcome,
    Tools,
    ToolSpec,
)
from unspiral.engine.live.tools.calls import CallTables, Told
from unspiral.engine.live.tools.executor import (
    TABLES,
    Bounds,
    Executor,
    ToolRound,
    run_calls,
)
from unspiral.engine.live.tools.lanes import Lanes
from unspiral.engine.live.tools.performing import Performer
from unspiral.engine.live.tools.registry import Toolbox, Traits, tool
from unspiral.machines.tool_call import TOOL_CALL

EVERY = CallTables(limits={"cancel_all_siblings": True})
TERMINALS = {each.name for each in TOOL_CALL.terminals}
NAMES = ("read", "write", "bash", "fetch", "unknown")
SILENT = HookWord()
Ending = Literal["ok", "same", "error", "raises", "cancels itself", "stubborn", "stops"]


@attrs.frozen
class Plan:
    """What happens to one call.

    Attributes:
        name: "read" and "fetch" are safe, "fetch" can be interrupted, "bash" is a
            shell, "unknown" is not there.
        seconds: that the tool takes.
        ending: how it ends.
        gate: "yes", "no", or how the gate fails.
        before: what hooks say before.
        after: what hooks say after.
        wait: seconds that hooks and gate take, each.
        bad: whether its input cannot be read.
    """

    name: str = "read"
    seconds: float = 1.0
    ending: Ending = "ok"
    gate: Literal["yes", "no", "raises"] = "yes"
    before: HookWord | None = SILENT
    after: HookWord | None = SILENT
    wait: float = 0.0
    bad: bool = False

    @property
    def safe(self) -> bool:
        return self.name in {"read", "fetch"}


@attrs.define
class World:
    """Tools, gate and hooks that do what is planned, and note what is done to them."""

    plans: Sequence[Plan]
    inside: dict[int, bool] = attrs.field(factory=dict[int, bool])
    most: int = 0
    begun: list[int] = attrs.field(factory=list[int])
    overlaps: list[tuple[int, ...]] = attrs.field(factory=list[tuple[int, ...]])
    ruled: list[tuple[object, Ruling | None]] = attrs.field(
        factory=list[tuple[object, "Ruling | None"]]
    )
    left: tuple[int, ...] = ()  # inside when the round was over
    heard: list[HookCall] = attrs.field(factory=list[HookCall])
    told: list[Told] = attrs.field(factory=list[Told])

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec(name, "", {}) for name in NAMES[:-1]]

    def traits(self, name: str) -> Traits:
        return Traits(name == "bash", name == "fetch", 100.0)

    def safe(self, name: str, given_: Mapping[str, object], /) -> bool:
        del name
        return given_.get("safe") is True

    def problem(self, name: str, given_: Mapping[str, object], /) -> str:
        if name not in NAMES[:-1]:
            return f"There is no tool {name}."
        return "" if "n" in given_ else "There is no n."

    async def run(self, name: str, given_: Mapping[str, object], /) -> ToolOutcome:
        del name
        n = int(str(given_["n"]))
        plan = self.plans[n]
        self.begun.append(n)
        self.inside[n] = given_.get("safe") is True
        self.most = max(self.most, len(self.inside))
        if len(self.inside) > 1 and not all(self.inside.values()):
            self.overlaps.append(tuple(self.inside))
        try:
            await self._take(plan)
        finally:
            del self.inside[n]
        match plan.ending:
            case "error":
                return ToolOutcome(f"error of {n}", error=True)
            case "raises":
                raise ValueError(n)
            case "cancels itself":
                raise asyncio.CancelledError
            case "stops":
                return ToolOutcome(f"out of {n}", stop="the tool says so")
            case "same":
                return ToolOutcome("the same")
            case _:
                return ToolOutcome(f"out of {n}")

    async def _take(self, plan: Plan) -> None:
        end = asyncio.get_running_loop().time() + plan.seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                if plan.ending != "stubborn":
                    raise

    async def rule(
        self, name: str, given_: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        del name
        self.ruled.append((given_.get("n"), hook))
        plan = self.plans[int(str(given_["n"]))]
        await asyncio.sleep(plan.wait)
        if plan.gate == "raises":
            raise ValueError
        return plan.gate == "yes" and hook != "deny", "so the rules"

    async def call(self, call: HookCall, /) -> HookWord:
        self.heard.append(call)
        plan = self.plans[int(str(call.facts["tool_use_id"]).removeprefix("call"))]
        await asyncio.sleep(plan.wait)
        word = plan.before if call.point == "PreToolUse" else plan.after
        if word is None:
            raise ValueError
        return word

    def note(self, told: object) -> None:
        assert isinstance(told, Told)
        self.told.append(told)

    def blocks(self) -> list[Block]:
        return [
            {
                "type": "tool_use",
                "id": f"call{n}",
                "name": plan.name,
                "input": {"n": n, "safe": plan.safe},
            }
            for n, plan in enumerate(self.plans)
        ]


#: seconds from the beginning, and what somebody does then
Deed: TypeAlias = tuple[float, Literal["user", "interrupt"]]


def rounds(  # noqa: PLR0913 - what a test changes
    world: World,
    deed: Deed | None = None,
    *,
    earlier: Iterable[str] = (),
    tables: CallTables = TABLES,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    tools: Tools | None = None,
    calls: Sequence[Block] | None = None,
) -> ToolRound:
    async def main() -> ToolRound:
        abort = Abort()
        if deed is not None:
            if deed[0]:
                asyncio.get_running_loop().call_later(deed[0], abort.set, deed[1])
            else:
                abort.set(deed[1])
        bad = {f"call{n}": "no JSON" for n, plan in enumerate(world.plans) if plan.bad}
        done = await run_calls(
            world.blocks() if calls is None else calls,
            bad,
            tools or world,
            world,
            world,
            LoopClock(),
            abort,
            world.note,
            earlier=frozenset(earlier),
            tables=tables,
            bounds=bounds,
        )
        world.left = tuple(world.inside)
        return done

    return run_virtual(main())


def played(*plans: Plan, deed: Deed | None = None, **more: Any) -> ToolRound:
    return rounds(World(plans), deed, **more)


def texts(done: ToolRound) -> list[str]:
    return [str(result["content"]) for result in done.results]


def table_of(plan: Plan, *, all_siblings: bool = False) -> Table:
    limits = {
        "interruptible": plan.name == "fetch",
        "cancel_all_siblings": all_siblings,
    }
    return compile_table(TOOL_CALL, None, limits)


_TABLES = {
    (name, every): table_of(Plan(name), all_siblings=every)
    for name in NAMES
    for every in (False, True)
}


def words(steps: Iterable[Step]) -> list[tuple[object, ...]]:
    return [(each.before, each.event, each.row.name, each.after) for each in steps]


@functools.cache
def lawful(
    name: str, events: tuple[str | None, ...], *, all_siblings: bool = False
) -> list[tuple[object, ...]]:
    """Return the run of the machine that has these events; it keeps its laws."""
    table = _TABLES[name, all_siblings]
    steps = record(table, events).steps
    assert broken_laws(steps, table) == ()
    return words(steps)


def check(
    world: World, done: ToolRound, *, all_siblings: bool = False, cap: int = 10
) -> None:
    """Check the laws of a round that has ended."""
    plans = world.plans
    assert [result["tool_use_id"] for result in done.results] == [
        f"call{n}" for n in range(len(plans))
    ]
    for plan, result, status, steps in zip(
        plans, done.results, done.statuses, done.steps, strict=True
    ):
        assert status in TERMINALS - {"discarded"}
        assert (result.get("is_error") is True) == (status != "answered")
        assert str(result["content"]).strip()
        events = tuple(step.event for step in steps)
        assert words(steps) == lawful(plan.name, events, all_siblings=all_siblings)
    assert all(plans[n].ending == "stubborn" for n in world.left)
    assert world.overlaps == []
    assert world.most <= cap
    assert len(set(world.begun)) == len(world.begun)
    executing: set[str] = set()
    for told in world.told:
        if told.step.after.phase == "executing":
            executing.add(told.id)
        else:
            executing.discard(told.id)
        assert len(executing) <= cap
    for n in world.begun:
        plan = plans[n]
        assert plan.gate == "yes"
        assert not plan.bad
        assert plan.name != "unknown"
        assert plan.before is None or plan.before.ruling != "deny"
    order = [told.id for told in world.told if told.step.event == "yielded"]
    assert order == [f"call{n}" for n in range(len(plans))]
    failed = any(
        step.event == "failed"
        for plan, steps in zip(plans, done.steps, strict=True)
        for step in steps
        if plan.name == "bash"
    )
    for plan, status in zip(plans, done.statuses, strict=True):
        if status == "sibling_cancelled":
            assert failed
            assert all_siblings or plan.name == "bash"


# -- everything at random --------------------------------------------------------------

WORDS = st.sampled_from(
    [
        HookWord(),
        HookWord(),
        HookWord(),
        None,
        HookWord(ruling="deny", blocks=("no",)),
        HookWord(blocks=("stop that",)),
        HookWord(ruling="allow"),
        HookWord(prevent="enough"),
        HookWord(context=("mind this",), crashes=("one crashed",)),
    ]
)
SECONDS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 150.0])
PLANS = st.builds(
    Plan,
    name=st.sampled_from(["read", "read", "write", "bash", "bash", "fetch", "unknown"]),
    seconds=SECONDS,
    ending=st.sampled_from(
        ["ok", "ok", "same", "error", "raises", "cancels itself", "stops", "stubborn"]
    ),
    gate=st.sampled_from(["yes", "yes", "yes", "no", "raises"]),
    before=WORDS,
    after=WORDS,
    wait=st.sampled_from([0.0, 0.0, 0.25]),
    bad=st.sampled_from([False, False, False, True]),
)
DEEDS = st.none() | st.tuples(
    st.sampled_from([0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 3.0, 200.0]),
    st.sampled_from(["user", "interrupt"]),
)


@given(st.lists(PLANS, max_size=14), DEEDS, st.integers(1, 10), st.booleans())
def test_every_call_has_exactly_one_result_whatever_happens(
    plans: list[Plan], deed: Deed | None, cap: int, every: bool
) -> None:
    world = World(plans)
    done = rounds(
        world, deed, tables=EVERY if every else TABLES, bounds=Bounds(cap=cap)
    )

    check(world, done, all_siblings=every, cap=cap)
    assert world.inside == {}
    if done.stop:
        assert done.fact in {"hook_stopped", "aborted"}
    if done.fact == "executed":
        assert "answered" in done.statuses
    if done.fact == "unproductive":
        assert "answered" not in done.statuses
    if done.fact == "aborted":
        assert deed is not None


@given(
    st.lists(PLANS.filter(lambda plan: plan.ending != "stubborn"), max_size=6),
    DEEDS,
    st.integers(0, 40),
)
def test_whoever_is_cancelled_at_any_moment_leaves_nothing_running(
    plans: list[Plan], deed: Deed | None, quarter: int
) -> None:
    world = World(plans)

    async def main() -> None:
        abort = Abort()
        if deed is not None:
            asyncio.get_running_loop().call_later(deed[0], abort.set, deed[1])
        bad = {f"call{n}": "no JSON" for n, plan in enumerate(plans) if plan.bad}
        task = asyncio.create_task(
            run_calls(
                world.blocks(),
                bad,
                world,
                world,
                world,
                LoopClock(),
                abort,
                lambda _: None,
            )
        )
        await asyncio.sleep(quarter / 4)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(main())
    assert world.inside == {}
    assert world.overlaps == []


# -- question J1: everything that can happen to up to three calls ----------------------

EVENTS: dict[str, Callable[[Plan], Plan] | Deed] = {
    "a sibling fails": lambda plan: attrs.evolve(plan, ending="error"),
    "an exception": lambda plan: attrs.evolve(plan, ending="raises"),
    "a denial": lambda plan: attrs.evolve(plan, gate="no"),
    "a hook denies": lambda plan: attrs.evolve(plan, before=HookWord(ruling="deny")),
    "the time is out": lambda plan: attrs.evolve(plan, seconds=500.0),
}
MOMENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
KINDS = [
    kinds
    for count in (1, 2, 3)
    for kinds in itertools.product(("read", "write", "bash", "fetch"), repeat=count)
]


@pytest.mark.parametrize("event", EVENTS)
def test_what_happens_to_one_call_leaves_one_result_for_each(event: str) -> None:
    change = EVENTS[event]
    assert callable(change)
    for kinds in KINDS:
        for n in range(len(kinds)):
            plans = [Plan(name) for name in kinds]
            plans[n] = change(plans[n])
            world = World(plans)

            done = rounds(world)

            check(world, done)
            assert done.statuses[n] == "error_result"
            cascades = event not in {"a denial", "a hook denies"} and kinds[n] == "bash"
            for m, kind in enumerate(kinds):
                if m > n and cascades and kind == "bash":
                    assert done.statuses[m] == "sibling_cancelled"
                elif m != n:
                    assert done.statuses[m] == "answered"


@pytest.mark.parametrize("reason", ["user", "interrupt"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_abort_at_any_moment_leaves_one_result_for_each(
    reason: Literal["user", "interrupt"], moment: float
) -> None:
    for kinds in KINDS:
        world = World([Plan(name) for name in kinds])

        done = rounds(world, (moment, reason))

        check(world, done)
        if done.fact == "aborted":
            word = {"user": "user_rejected", "interrupt": "interrupted"}[reason]
            assert set(done.statuses) <= {"answered", word}
            if moment == 0:
                assert set(done.statuses) == {word}
                assert world.begun == []
            first = kinds[0]
            if moment == 0.5 and reason == "interrupt" and first != "fetch":
                assert done.statuses[0] == "answered"
        else:
            assert set(done.statuses) == {"answered"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_discarded_at_any_moment_yields_nothing_and_leaves_nothing_running(
    moment: float,
) -> None:
    for kinds in KINDS:
        world = World([Plan(name) for name in kinds])

        async def main(world: World = world) -> None:
            executor = started(world)
            await asyncio.sleep(moment)
            await executor.discard()
            told = len(world.told)
            executor.add({**world.blocks()[0], "id": "late"})
            await asyncio.sleep(1_000)
            late = [each.step.event for each in world.told[told:]]
            assert late[-1] == "discarded"
            assert "yielded" not in late

        run_virtual(main())
        assert world.inside == {}
        for n, kind in enumerate(kinds):
            steps = [each.step for each in world.told if each.id == f"call{n}"]
            events = tuple(step.event for step in steps)
            assert words(steps) == lawful(kind, events)
            assert steps[-1].after.phase in {"discarded", "answered"}


def started(
    world: World,
    abort: Abort | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
) -> Executor:
    performer = Performer(
        world, world, world, LoopClock(), Lanes(bounds.cap), bounds.grace
    )
    executor = Executor(
        performer,
        abort or Abort(),
        world.note,
        bounds=bounds,
    )
    for block in world.blocks():
        executor.add(block)
    return executor


# -- who runs beside whom --------------------------------------------------------------


def test_safe_calls_run_side_by_side_and_unsafe_ones_alone() -> None:
    safe, unsafe = Plan("read"), Plan("write")

    assert lasting(World([safe] * 10)) == 1
    assert lasting(World([unsafe] * 10)) == 10
    assert lasting(World([safe, safe, unsafe, safe, safe])) == 3


def test_never_more_than_the_cap_run_at_once() -> None:
    world = World([Plan("read")] * 25)

    assert lasting(world) == 3
    assert world.most == 10
    assert lasting(World([Plan("read")] * 25), bounds=Bounds(cap=1)) == 25


def test_no_call_overtakes_one_that_waits() -> None:
    world = World([Plan("read", 3), Plan("write"), Plan("read", 1)])

    rounds(world)

    assert world.begun == [0, 1, 2]


def test_steps_are_told_as_they_happen_and_results_given_in_order() -> None:
    world = World([Plan("read", 3), Plan("read", 1), Plan("read", 2)])

    done = rounds(world)

    def order(event: str) -> list[str]:
        return [told.id for told in world.told if told.step.event == event]

    assert order("finished") == ["call1", "call2", "call0"]
    assert order("yielded") == ["call0", "call1", "call2"]
    assert texts(done) == ["out of 0", "out of 1", "out of 2"]


def test_a_call_can_begin_while_the_answer_is_still_streamed() -> None:
    world = World([Plan("read", 2), Plan("read", 2)])

    async def main() -> ToolRound:
        first, second = world.blocks()
        executor = Executor(
            Performer(world, world, world, LoopClock(), Lanes(), 2.0),
            Abort(),
            lambda _: None,
        )
        executor.add(first)
        await asyncio.sleep(1)
        assert world.begun == [0]
        executor.add(second)
        return await executor.finish()

    assert texts(run_virtual(main())) == ["out of 0", "out of 1"]


def test_a_hook_that_makes_a_safe_call_unsafe_makes_it_run_alone() -> None:
    changed = HookWord(given={"n": 1, "safe": False})
    world = World([Plan("read", 2), Plan("read", 2, before=changed), Plan("read", 2)])

    done = rounds(world)

    check(world, done)
    assert set(done.statuses) == {"answered"}


# -- what is wrong with a call ---------------------------------------------------------


def test_what_cannot_be_called_is_an_error_that_says_why() -> None:
    @tool({"properties": {"n": {"type": "integer"}}, "required": ["n"]}, safe=True)
    def read(n: int) -> int:
        return n

    def call(id_: str, name: str, input_: object) -> Block:
        return {"type": "tool_use", "id": id_, "name": name, "input": input_}

    calls = [
        call("a", "raed", {"n": 1}),
        call("b", "read", {}),
        call("c", "read", {"n": 1}),
        call("call0", "read", {}),
        call("d", "read", "text"),
        call("c", "read", {"n": 2}),
    ]

    class Open:
        async def rule(self, *_: object) -> tuple[bool, str]:
            return True, ""

        async def call(self, _: HookCall, /) -> HookWord:
            return HookWord()

    async def main() -> ToolRound:
        return await run_calls(
            calls,
            {"call0": "The input is no JSON."},
            Toolbox([read]),
            Open(),
            Open(),
            LoopClock(),
            Abort(),
            lambda _: None,
        )

    done = run_virtual(main())
    said = texts(done)

    assert "did you mean 'read'" in said[0]
    assert "Call it as read(n: integer)" in said[1]
    assert said[2] == "1"
    assert said[3] == "The input is no JSON."
    assert "no JSON object" in said[4]
    assert "used before" in said[5]
    assert [bool(result.get("is_error")) for result in done.results] == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]
    assert done.fact == "executed"


def test_an_empty_result_is_not_empty_for_the_model() -> None:
    def quiet(n: int) -> None:
        del n

    block = {"type": "tool_use", "id": "call0", "name": "quiet", "input": {"n": 0}}
    box = Toolbox([tool({"properties": {"n": {}}, "required": ["n"]})(quiet)])

    done = rounds(World([Plan()]), tools=box, calls=[block])

    assert texts(done) == ["(no output)"]


@pytest.mark.parametrize("part", ["safe", "problem"])
def test_tools_that_fail_when_asked_are_not_trusted(part: str) -> None:
    class Odd(World):
        def safe(self, name: str, given_: Mapping[str, object], /) -> bool:
            if part == "safe":
                raise ValueError
            return super().safe(name, given_)

        def problem(self, name: str, given_: Mapping[str, object], /) -> str:
            if part == "problem":
                raise ValueError
            return super().problem(name, given_)

    world = Odd([Plan("read"), Plan("read")])
    done = rounds(world)

    if part == "safe":
        assert world.most == 1
        assert done.statuses == ("answered", "answered")
    else:
        assert world.begun == []
        assert "cannot be checked: ValueError" in texts(done)[0]


# -- gate and hooks --------------------------------------------------------------------


def test_a_call_that_is_denied_does_not_run_and_the_loop_can_go_on() -> None:
    world = World(
        [
            Plan(gate="no"),
            Plan(gate="raises"),
            Plan(before=HookWord(ruling="deny", blocks=("not on my watch",))),
            Plan(before=HookWord(blocks=("never",))),
        ]
    )

    done = rounds(world)

    assert world.begun == []
    said = texts(done)
    assert said[0] == "Not allowed: so the rules."
    assert "the gate failed" in said[1]
    assert "not on my watch" in said[2]
    assert "never" in said[3]
    assert done.fact == "unproductive"
    assert dict(world.ruled)[2] == "deny"
    assert dict(world.ruled)[3] == "deny"


def test_a_hooks_denial_holds_even_if_the_gate_lets_it_pass() -> None:
    class Lax(World):
        async def rule(
            self, name: str, given_: Mapping[str, object], hook: Ruling | None, /
        ) -> tuple[bool, str]:
            del name, given_, hook
            return True, ""

    world = Lax(
        [Plan(before=HookWord(ruling="deny")), Plan(before=HookWord(blocks=("x",)))]
    )

    assert rounds(world).statuses == ("error_result", "error_result")
    assert world.begun == []


def test_a_hook_changes_the_input_which_is_ruled_on_and_run_but_not_the_history() -> (
    None
):
    world = World([Plan("write", before=HookWord(given={"n": 1})), Plan("write")])
    blocks = world.blocks()[:1]

    done = rounds(world, calls=blocks)

    assert texts(done) == ["out of 1"]
    assert [n for n, _ in world.ruled] == [1]
    assert blocks == world.blocks()[:1]
    assert world.heard[-1].facts["tool_input"] == {"n": 1}


def test_an_input_that_a_hook_spoils_is_not_run() -> None:
    world = World([Plan("bash", before=HookWord(given={"m": 1})), Plan("bash")])

    done = rounds(world)

    assert world.begun == [1]
    assert texts(done)[0] == "Not run: a hook changed its input.\nThere is no n."
    assert done.statuses == ("error_result", "answered")


def test_a_hook_that_prevents_lets_the_tool_run_and_then_the_run_is_to_end() -> None:
    before = played(Plan(before=HookWord(prevent="enough")), Plan())
    after = played(Plan(after=HookWord(prevent="enough")), Plan())
    by_tool = played(Plan(ending="stops"))

    for done in (before, after):
        assert done.statuses == ("answered", "answered")
        assert done.fact == "hook_stopped"
        assert done.stop == "enough"
    assert by_tool.stop == "the tool says so"


def test_hooks_are_told_of_the_call_and_of_its_result_and_what_they_say_is_kept() -> (
    None
):
    word = HookWord(context=("mind this",), crashes=("oh",), blocks=("and that",))
    world = World(
        [Plan(before=HookWord(context=("first",)), after=word), Plan(ending="error")]
    )

    done = rounds(world)

    points = [(call.point, call.facts["tool_use_id"]) for call in world.heard]
    assert sorted(points) == [
        ("PostToolUse", "call0"),
        ("PreToolUse", "call0"),
        ("PreToolUse", "call1"),
    ]
    assert world.heard[-1].facts["tool_response"] == "out of 0"
    assert done.notes == ("first", "mind this", "and that")
    assert done.crashes == ("oh",)


def test_no_call_begins_before_the_hooks_on_an_unsafe_one_are_done() -> None:
    world = World([Plan("write", wait=5), Plan("read")])

    async def main() -> list[int]:
        task = asyncio.create_task(started(world).finish())
        await asyncio.sleep(15.5)
        begun = list(world.begun)
        await task
        return begun

    assert run_virtual(main()) == [0]
    assert world.begun == [0, 1]


# -- time, failures, aborts ------------------------------------------------------------


def test_a_call_that_takes_too_long_is_ended_and_told() -> None:
    done = played(Plan("write", 1_000), Plan("write"))

    assert texts(done) == ["It took longer than 100 s.", "out of 1"]


def test_a_call_that_cannot_be_ended_keeps_unsafe_ones_out_and_is_not_waited_for() -> (
    None
):
    world = World([Plan("write", 5_000, "stubborn"), Plan("write"), Plan("read")])

    done = rounds(world)

    assert texts(done)[0] == "It took longer than 100 s."
    assert "still runs" in texts(done)[1]
    assert "still runs" in texts(done)[2]
    assert world.overlaps == []


def test_calls_that_cannot_be_ended_count_as_running() -> None:
    world = World([Plan("read", 5_000, "stubborn"), Plan("read")])

    done = rounds(world, bounds=Bounds(cap=1))

    assert world.most == 1
    assert "still runs" in texts(done)[1]
    assert rounds(World(world.plans)).statuses == ("error_result", "answered")


def test_only_the_failure_of_a_shell_call_reaches_its_siblings() -> None:
    read, bash = Plan("read", ending="error"), Plan("bash", ending="error")

    assert played(read, Plan("bash")).statuses == ("error_result", "answered")
    done = played(bash, Plan("read"), Plan("bash"))
    assert done.statuses == ("error_result", "answered", "sibling_cancelled")
    assert "bash {'n': 0" in texts(done)[2]
    done = played(bash, Plan("read"), Plan("bash"), tables=EVERY)
    assert done.statuses == ("error_result", "sibling_cancelled", "sibling_cancelled")


def test_an_interrupt_waits_for_tools_that_cannot_be_interrupted_only() -> None:
    world = World([Plan("read", 10), Plan("fetch", 10), Plan("write")])

    done = rounds(world, (1.0, "interrupt"))

    assert done.statuses == ("answered", "interrupted", "interrupted")
    assert done.fact == "aborted"
    assert world.begun == [0, 1]
    assert "by then is done" in texts(done)[1]
    assert "by then is done" not in texts(done)[2]


def test_a_result_that_was_there_before_an_abort_is_kept() -> None:
    done = played(Plan("read", 1), Plan("read", 9), deed=(5.0, "user"))

    assert done.statuses == ("answered", "user_rejected")


@pytest.mark.parametrize("reason", ["user", "interrupt"])
def test_an_abort_ends_the_tools_that_it_may_end_at_once(
    reason: Literal["user", "interrupt"],
) -> None:
    world = World([Plan("fetch", 90), Plan("fetch", 90)])

    assert lasting(world, (1.0, reason)) == 1


def test_a_user_who_stops_the_run_does_not_wait_for_hooks_on_what_is_done() -> None:
    world = World([Plan("write", 1, wait=40)])
    hooks_before_and_gate = 80

    assert lasting(world, (hooks_before_and_gate + 10, "user")) == 90
    assert [each.step.event for each in world.told][-2] == "yielded"
    assert world.told[-1].step.after.phase == "answered"


def test_a_failed_shell_call_ends_its_siblings_at_once() -> None:
    class Shells(World):
        def traits(self, name: str) -> Traits:
            return Traits(runs_shell=name == "read")

    world = Shells([Plan("read", 1, "error"), Plan("read", 90)])

    assert lasting(world) == 1
    assert world.told[-1].step.after.phase == "sibling_cancelled"


def test_a_tool_that_is_done_when_the_abort_comes_says_so_itself() -> None:
    abort = Abort()

    class Last(World):
        async def run(self, name: str, given_: Mapping[str, object], /) -> ToolOutcome:
            outcome = await super().run(name, given_)
            abort.set()
            return outcome

    world = Last([Plan("write"), Plan("write")])

    async def main() -> ToolRound:
        executor = started(world, abort)
        return await executor.finish()

    assert run_virtual(main()).statuses == ("answered", "user_rejected")


def test_a_tool_that_is_told_to_end_is_told_once_and_has_time_to_tidy_up() -> None:
    tidied: list[int] = []

    class Tidy(World):
        async def _take(self, plan: Plan) -> None:
            try:
                await asyncio.sleep(plan.seconds)
            except asyncio.CancelledError:
                await asyncio.sleep(plan.wait)
                tidied.append(1)
                raise

    quick, slow = Plan("fetch", 90, wait=0.5), Plan("fetch", 90, wait=1.5)
    world = Tidy([quick, slow, quick])

    done = rounds(world, (60.0, "user"))

    assert len(tidied) == 3
    assert set(done.statuses) == {"user_rejected"}
    assert world.left == ()


@pytest.mark.parametrize("says", ["yes", "no"])
@pytest.mark.parametrize("part", ["hook", "gate"])
def test_a_hook_or_gate_that_swallows_its_cancellation_does_not_let_the_tool_run(
    part: str, says: Literal["yes", "no"]
) -> None:
    async def stay() -> None:
        try:
            await asyncio.sleep(90)
        except asyncio.CancelledError:
            return

    class Swallows(World):
        async def rule(
            self, name: str, given_: Mapping[str, object], hook: Ruling | None, /
        ) -> tuple[bool, str]:
            if part == "gate":
                await stay()
            return await super().rule(name, given_, hook)

        async def call(self, call: HookCall, /) -> HookWord:
            if part == "hook":
                await stay()
            return await super().call(call)

    world = Swallows([Plan("write", gate=says), Plan("write")])

    done = rounds(world, (5.0, "user"))

    assert world.begun == []
    assert done.statuses == ("user_rejected", "user_rejected")


def lasting(
    world: World,
    deed: Deed | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
) -> float:
    """Return how many seconds a round lasts."""

    async def main() -> float:
        abort = Abort()
        loop = asyncio.get_running_loop()
        begin = loop.time()
        if deed is not None:
            loop.call_later(deed[0], abort.set, deed[1])
        await started(world, abort, bounds).finish()
        return round(loop.time() - begin, 3)

    return run_virtual(main())


# -- what a round was ------------------------------------------------------------------


def test_a_round_that_only_repeats_an_earlier_one_is_unproductive() -> None:
    first = played(Plan(ending="same"))
    again = played(Plan(ending="same"), earlier=first.digests)
    other = played(Plan(ending="ok"), earlier=first.digests)

    assert [first.fact, again.fact, other.fact] == [
        "executed",
        "unproductive",
        "executed",
    ]
    assert played(Plan(ending="error")).fact == "unproductive"
    mixed = played(Plan(ending="error"), Plan(ending="same"), Plan("unknown"))
    assert mixed.fact == "executed"


def test_an_abort_is_told_before_a_hooks_stop() -> None:
    done = played(Plan(before=HookWord(prevent="enough")), deed=(0.5, "user"))

    assert done.fact == "aborted"
    assert done.stop == "enough"


# -- the table decides -----------------------------------------------------------------


def swapped(**targets: str) -> CallTables:
    """Return the machine with other targets of rows, by their names."""
    rows: tuple[Transition, ...] = tuple(
        attrs.evolve(row, target=targets[row.event])
        if row.event in targets and row.source == "executing"
        else row
        for row in TOOL_CALL.transitions
    )
    machine: Machine = attrs.evolve(TOOL_CALL, transitions=rows, laws=())
    return CallTables(machine)


def test_with_another_target_a_failure_is_tried_again_and_no_code_has_changed() -> None:
    class Mending(World):
        async def run(self, name: str, given_: Mapping[str, object], /) -> ToolOutcome:
            outcome = await super().run(name, given_)
            return ToolOutcome("good") if len(self.begun) == 3 else outcome

    world = Mending([Plan("write", ending="error")])

    done = rounds(world, tables=swapped(failed="queued"))

    assert world.begun == [0, 0, 0]
    assert done.statuses == ("answered",)
    assert texts(done) == ["good"]


def test_with_another_target_a_denial_discards_the_call() -> None:
    assert played(Plan(gate="no"), tables=swapped(denied="discarded")).statuses == (
        "discarded",
    )


def test_an_event_that_the_machine_lacks_is_a_fault_and_nothing_is_left_running() -> (
    None
):
    rows = tuple(row for row in TOOL_CALL.transitions if row.event != "failed")
    phases = tuple(
        attrs.evolve(
            phase,
            events=tuple(event for event in phase.events if event.name != "failed"),
        )
        for phase in TOOL_CALL.phases
    )
    machine = attrs.evolve(TOOL_CALL, transitions=rows, phases=phases, laws=())
    world = World([Plan("read", 1, "error"), Plan("read", 50)])

    with pytest.raises(RunError, match="failed"):
        rounds(world, tables=CallTables(machine))
    assert world.inside == {}
