"""A `RuleBasedStateMachine` made from any declaration: one rule an event.

    TestLoop = stateful(MACHINE).TestCase

Its laws are invariants, and so is all else that `judge` knows: rows are there, counters
stay in their domain, no death spiral, both interpreters take the same row. All of them
are looked at after each answer, not by `@invariant`, which would print a line for each:
a failure is printed as nothing but the answers that lead to it, `state.answer_push()`.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from unspiral.engine.fuzz.failure import Found
from unspiral.engine.fuzz.finding import Path
from unspiral.engine.fuzz.judge import Judge
from unspiral.engine.fuzz.rules import Rules
from unspiral.engine.fuzz.schedules import paths_of, reach_of
from unspiral.engine.fuzz.walk import Subject, Walk, table_for

__all__ = ["MachineRuns", "stateful"]

Method: TypeAlias = Callable[..., Any]


class MachineRuns(RuleBasedStateMachine):
    """What the generated classes have in common: an example is one run of the machine.

    Attributes:
        judged: what is judged (of the class).
        walk: the run.
        judge: what is wrong with it.
    """

    judged: ClassVar[Rules]

    def __init__(self) -> None:
        super().__init__()
        self.walk = Walk(self.judged.table)
        self.judge = Judge(self.judged)
        self._seen = 0
        self._look()

    def answer(self, event: str) -> None:
        """Answer an event, if it is offered, and judge what comes of it.

        Raises:
            Found: something is wrong.
        """
        if event in self.walk.options:
            self.walk.answer(event)
            self._look()

    def _look(self) -> None:
        for step in self.walk.steps[self._seen :]:
            self.judge.see(step)
        self._seen = len(self.walk.steps)
        if not self.walk.options:
            self.judge.stop(self.walk)
        for failure in self.judge.broken.values():
            raise Found(failure)


def stateful(
    subject: Subject,
    *,
    laws: Iterable[str] | None = None,
    spirals: bool = True,
    driver: bool = True,
    deep: bool = True,
) -> type[MachineRuns]:
    """Return a class of Hypothesis that runs a machine and judges its runs.

    Args:
        subject: the machine, at its first edition; or a table, at any.
        laws: the names of the laws that must hold; all of the machine unless given.
        spirals: whether a death spiral is a failure.
        driver: whether the machine of `transitions` takes each step as well.
        deep: let half of the examples begin with a shortest run of the explorer.

    Raises:
        UnknownName: no such law.
        DeclarationError: the machine or a law cannot be compiled.
    """
    table = table_for(subject)
    judged = Rules(table, laws, spirals=spirals, driver=driver)
    space: dict[str, object] = {"judged": judged, "rest": _rest()}
    for event in dict.fromkeys(e for each in table.events.values() for e in each):
        method = _answer(event)
        space[method.__name__] = rule_where(event)(rule()(method))
    paths = paths_of(reach_of(table)) if deep else ()
    if paths:
        space["begin_with"] = _beginning(paths)
    name = "".join(part.title() for part in table.machine.name.split("_"))
    made: type[MachineRuns] = type(f"{name}Runs", (MachineRuns,), space)
    return made


def rule_where(event: str) -> Callable[[Method], Method]:
    """Return a precondition: the event is offered."""

    def offered(self: MachineRuns) -> bool:
        return event in self.walk.options

    return precondition(offered)


def _answer(event: str) -> Method:
    def method(self: MachineRuns) -> None:
        self.answer(event)

    method.__name__ = f"answer_{event.replace('.', '_')}"
    return method


def _rest() -> Method:
    """Return the rule of a run that is over: Hypothesis wants some rule to apply."""

    def rest(self: MachineRuns) -> None:
        del self

    def over(self: MachineRuns) -> bool:
        return not self.walk.options

    return precondition(over)(rule()(rest))


def _beginning(paths: tuple[Path, ...]) -> Method:
    def begin_with(self: MachineRuns, path: Path) -> None:
        for event in path:
            self.answer(event)

    return initialize(path=st.just(()) | st.sampled_from(paths))(begin_with)
