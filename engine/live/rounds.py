"""The tools of an answer as a phase of the loop: run all calls, look for circles.

The answer is kept before its first call runs, each call before it runs, each result
when it is there: so whatever kills the process, what was done is known. Whether the
loop goes on is not decided here.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from unspiral.engine.live.events import Answered, Called, Calling, ToolsRan, Warned
from unspiral.engine.live.fuse import Fuse, round_digest
from unspiral.engine.live.message import (
    Block,
    Message,
    calls_of,
    results_message,
    tool_result,
    user_text,
)
from unspiral.engine.live.ports import Abort, Clock, Hooks, Permission, Tools
from unspiral.engine.live.state import Here, Round
from unspiral.engine.live.tools.ahead import Ahead, Hear
from unspiral.engine.live.tools.calls import Told
from unspiral.engine.live.tools.executor import (
    TABLES,
    Bounds,
    Executor,
    ToolRound,
    run_calls,
)
from unspiral.engine.live.tools.lanes import Lanes
from unspiral.engine.live.tools.performing import Performer

__all__ = ["Diary", "NoDiary", "Rounds"]

#: what the fuse says, as facts of a round
_CIRCLES: Mapping[str, str] = {"tripped": "cycled", "stuck": "cycled_again"}
_REMEMBERED = 200  # calls that a later one is compared with


class Diary:
    """Takes what must be known after a kill; this one keeps nothing."""

    def answered(self, answer: Message) -> None:
        """Keep an answer; its calls run when this returns."""

    def calling(self, call: Block) -> None:
        """Keep that a call is about to run."""

    def called(self, result: Block) -> None:
        """Keep the result of a call."""


NoDiary = Diary


@attrs.define
class Rounds:
    """Performs `run_tools`.

    Attributes:
        tools: what can be called.
        permission: the gate.
        hooks: that are heard before and after each call.
        clock: for the time limits.
        abort: how the run can be stopped.
        diary: takes what must outlive the process.
        entered: is told how many calls a round has, before they are kept.
        bounds: limits of a round.
        fuse: looks for circles.
        ahead: has the calls that began while their answer was streamed.
    """

    tools: Tools
    permission: Permission
    hooks: Hooks
    clock: Clock
    abort: Abort
    diary: Diary = attrs.field(factory=Diary)
    entered: Callable[[int], None] = lambda _: None
    bounds: Bounds = attrs.field(factory=Bounds)
    fuse: Fuse = attrs.field(factory=Fuse)
    _lanes: Lanes = attrs.field(
        default=attrs.Factory(lambda self: Lanes(self.bounds.cap), takes_self=True),
        init=False,
    )
    _seen: dict[str, None] = attrs.field(factory=dict[str, None], init=False)
    ahead: Ahead = attrs.field(
        default=attrs.Factory(lambda self: Ahead(self._executor), takes_self=True),
        init=False,
    )

    async def run_tools(self, here: Here) -> str:
        """Run every call of the answer."""
        work, answer = here.work, here.work.answer
        assert answer is not None  # noqa: S101 - tools run only after an answer
        assert work.outcome is not None  # noqa: S101 - which came of an attempt
        calls = calls_of(answer)
        self.entered(len(calls))
        self.diary.answered(answer)
        here.tell(Answered(answer))
        work.told = True
        by_id = {str(call.get("id")): call for call in calls}

        def tell(told: object) -> None:
            self._told(told, by_id, here)

        done = await run_calls(
            calls,
            work.outcome.bad_calls,
            self.tools,
            self.permission,
            self.hooks,
            self.clock,
            self.abort,
            tell,
            earlier=self._seen,
            tables=TABLES,
            bounds=self.bounds,
            lanes=self._lanes,
            begun=await self.ahead.take(calls, tell),
        )
        notes = tuple(user_text(text, "note") for text in done.notes if text)
        work.round = Round(results_message(done.results), notes)
        here.tell(ToolsRan(work.round.message))
        for crash in done.crashes:
            here.tell(Warned(f"A hook failed: {crash}"))
        if done.stop:
            here.tell(Warned(f"A hook or tool stops the run: {done.stop}"))
        self._remember(done.digests)
        return self._fact(here, calls, done)

    def _executor(self, tell: Hear) -> Executor:
        performer = Performer(
            self.tools,
            self.permission,
            self.hooks,
            self.clock,
            self._lanes,
            self.bounds.grace,
        )
        return Executor(performer, self.abort, tell, TABLES, self.bounds)

    def _told(self, told: object, calls: Mapping[str, Block], here: Here) -> None:
        if not isinstance(told, Told):
            return
        match told.step.event:
            case "started":
                self.diary.calling({**calls[told.id], "input": told.given})
                here.tell(Calling(told.id, told.name, told.given))
            case "yielded" | "discarded":
                pass
            case _ if told.step.after.phase == "completed":
                memory = told.step.after.memory
                error = "real" not in memory
                self.diary.called(tool_result(told.id, told.text, error=error))
                here.tell(Called(told.id, told.name, told.text, error))
            case _:
                pass

    def _remember(self, digests: Sequence[str]) -> None:
        for digest in digests:
            self._seen.pop(digest, None)
            self._seen[digest] = None
        while len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def _fact(self, here: Here, calls: Sequence[Block], done: ToolRound) -> str:
        """Return what the round was; a circle, if the table has an ear for it."""
        if done.fact not in {"executed", "unproductive"}:
            return done.fact
        alone = len(done.digests) == 1
        digest = done.digests[0] if alone else round_digest(calls, done.results)
        self.fuse, verdict = self.fuse.after(digest)
        circle = _CIRCLES.get(verdict, "")
        if circle in here.offered:
            here.tell(Warned("The last rounds of tools were all the same."))
            return circle
        return done.fact
