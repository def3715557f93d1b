"""Safe calls that begin while their answer is still streamed."""

from collections.abc import Callable

import attrs
import pytest

from tests.live.histories import answer, call
from tests.live.running import Bench, Ran, Script, refused, said, wrong
from unspiral.engine.live.agent import Settings
from unspiral.engine.live.events import Answered, Called, Calling, ToolsRan
from unspiral.engine.live.message import Block
from unspiral.engine.live.ports import Abort, Ask, LoopClock, Outcome, Piece, Ready
from unspiral.engine.live.tools.executor import Bounds
from unspiral.engine.live.tools.registry import Tool, tool

LOOK, CHANGE = call("c1", "look"), call("c2", "change")
BOTH = Outcome("answered", answer(LOOK, CHANGE, id_="a"), "tool_use")


@attrs.define
class Streaming(Script):
    """Streams for a second, tells of calls, and streams for two seconds more.

    With an abort, it comes while the answer is streamed.
    """

    ahead: tuple[Block, ...] = ()
    abort: Abort | None = None

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        first = not self.asks
        await LoopClock().sleep(1.0)
        for each in self.ahead if first else ():
            tell(Ready(each))
        await LoopClock().sleep(1.0)
        if first and self.abort is not None:
            self.abort.set("user")
        return await super().attempt(ask, tell)


def logged(log: list[tuple[str, float]]) -> tuple[Tool, Tool]:
    """The tools, which write down when they begin and end."""

    @tool({"properties": {"path": {"type": "string"}}}, safe=True, name="look")
    async def looks(path: str = "") -> str:
        """Look at something."""
        log.append(("look", LoopClock().now()))
        await LoopClock().sleep(0.5)
        log.append(("seen", LoopClock().now()))
        return f"This is {path or 'it'}."

    @tool({"properties": {}}, safe=False, name="change")
    async def changes() -> str:
        """Change something."""
        log.append(("change", LoopClock().now()))
        return "Changed."

    return looks, changes


def ran(script: Streaming, log: list[tuple[str, float]], *, early: bool = True) -> Ran:
    settings = Settings("claude-sonnet-5-5", rounds=Bounds(early=early))
    bench = Bench(script, tools=logged(log), settings=settings)
    bench = attrs.evolve(bench, abort=script.abort or Abort())
    return bench.run()


def begun(log: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """When what began, in seconds of the run: virtual time begins at a round number."""
    return [(name, round(at % 1_000, 3)) for name, at in log]


def test_a_safe_call_runs_while_the_answer_comes_and_an_unsafe_one_waits() -> None:
    log: list[tuple[str, float]] = []
    done = ran(Streaming([BOTH, said(id_="b")], ahead=(LOOK, CHANGE)), log)

    assert wrong(done) == []
    assert begun(log) == [("look", 1.0), ("seen", 1.5), ("change", 3.0)]


def test_nothing_begins_early_unless_that_is_wished() -> None:
    log: list[tuple[str, float]] = []
    ran(Streaming([BOTH, said(id_="b")], ahead=(LOOK, CHANGE)), log, early=False)

    assert begun(log) == [("look", 3.0), ("seen", 3.5), ("change", 3.5)]


def test_what_is_told_and_kept_is_the_same_early_or_not() -> None:
    early, late = (
        ran(Streaming([BOTH, said(id_="b")], ahead=(LOOK, CHANGE)), [], early=each)
        for each in (True, False)
    )

    kinds = Answered, Calling, Called, ToolsRan
    told = [
        [each for each in done.events if isinstance(each, kinds)]
        for done in (early, late)
    ]
    assert told[0] == told[1]
    assert isinstance(told[0][0], Answered)
    assert early.history == late.history


def test_of_an_answer_that_is_withdrawn_no_call_is_ever_told() -> None:
    log: list[tuple[str, float]] = []
    script = Streaming([refused("stream_died"), said(id_="b")], ahead=(LOOK,))
    done = ran(script, log)

    assert wrong(done) == []
    assert begun(log) == [("look", 1.0), ("seen", 1.5)]
    assert [e for e in done.events if isinstance(e, Calling | Called)] == []


@pytest.mark.parametrize("told", [call("c9", "look"), call("c1", "look", path="other")])
def test_calls_that_the_answer_has_otherwise_are_run_as_the_answer_has_them(
    told: Block,
) -> None:
    log: list[tuple[str, float]] = []
    done = ran(Streaming([BOTH, said(id_="b")], ahead=(told,)), log)

    assert wrong(done) == []
    assert begun(log)[-3:] == [("look", 3.0), ("seen", 3.5), ("change", 3.5)]
    assert [e.id for e in done.events if isinstance(e, Calling)] == ["c1", "c2"]


def test_a_run_that_is_stopped_while_it_streams_has_no_call() -> None:
    log: list[tuple[str, float]] = []
    script = Streaming([BOTH], ahead=(LOOK, CHANGE), abort=Abort())
    done = ran(script, log)

    assert done.end == "aborted_streaming"
    assert begun(log) == [("look", 1.0), ("seen", 1.5)]
    assert [e for e in done.events if isinstance(e, Calling | Called)] == []


def test_a_call_of_an_answer_that_was_cut_off_is_begun_for_nothing() -> None:
    cut = Outcome("answered", answer(LOOK, id_="a"), "max_tokens", {"c1": "cut off"})
    log: list[tuple[str, float]] = []
    done = ran(Streaming([cut, said(id_="b")], ahead=(LOOK,)), log)

    assert wrong(done) == []
    assert [e for e in done.events if isinstance(e, Calling | Called)] == []
    assert done.reasons == ["max_output_tokens_escalate"]
