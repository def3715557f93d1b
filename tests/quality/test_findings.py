"""Faults of declarations are planted, each kind in different dress, and found."""

from collections import Counter as Tally
from collections.abc import Iterable

import attrs
import pytest

from unspiral.engine.core.declare import (
    REASONS,
    Assumption,
    Choice,
    Counter,
    Edition,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Memory,
    Phase,
    Scope,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.validate import FINDINGS, validate

Row = Transition

LOOP = Machine(
    name="loop",
    phases=[
        Phase("ask", ["answered", "failed"], cost={"model_calls": 1}),
        Phase("wait"),
        Phase("act", ["done", "finished"]),
    ],
    terminals=[Terminal("completed"), Terminal("gave_up", "error")],
    memory=[Counter("retries", "max_retries")],
    limits=[Limit("max_retries", 3, values=(3, 10))],
    transitions=[
        Row("ask", "act", "answered", action="retries = 0"),
        Row("ask", "wait", "failed", "retries < max_retries", "retries += 1"),
        Row("ask", "gave_up", "failed", "otherwise"),
        Row("wait", "ask", reason="retry"),
        Row("act", "ask", "done", reason="next_turn", progress=True),
        Row("act", "completed", "finished"),
    ],
)
NESTED = Machine(
    name="outer",
    phases=[Phase("call", runs=LOOP), Phase("judge", ["accepted", "refused"])],
    terminals=[Terminal("good"), Terminal("bad", "error")],
    transitions=[
        Row("call", "judge", "completed"),
        Row("call", "bad", "gave_up"),
        Row("judge", "good", "accepted"),
        Row("judge", "bad", "refused"),
    ],
)


def plus(machine: Machine = LOOP, **more: object) -> Machine:
    """Return the machine with more rows, memory, limits ..."""
    joined = {name: (*getattr(machine, name), extra) for name, extra in more.items()}
    return attrs.evolve(machine, **joined)  # type: ignore[arg-type]  # fields of a test


def row(name: str, **changes: object) -> Machine:
    return LOOP.amend(name, **changes)


def inside(inner: Machine) -> Machine:
    """Return the nested machine with another machine run by `call`."""
    call = attrs.evolve(NESTED.phases[0], runs=inner)
    return attrs.evolve(NESTED, phases=(call, NESTED.phases[1]))


def group(
    *rows: Row, memory: Iterable[Memory] = (), limits: Iterable[Limit] = ()
) -> Machine:
    """Return a machine of one acting phase with the given rows for its event."""
    here = Phase("here", ["go"])
    return Machine("small", [here], [Terminal("end")], rows, memory, limits)


def law(what: str, scope: Scope | None = None) -> Machine:
    return plus(laws=Law("rule", "absence", what, scope=scope or Scope()))


def go(guard: str = "", action: str = "") -> Row:
    return Row("here", "end", "go", guard, action)


def shells(machine: Machine, levels: int) -> Machine:
    """Return the machine inside that many machines, each around the last."""
    for _ in range(levels):
        ends = machine.terminals
        rows = [Row("run", end.name, end.name) for end in ends]
        machine = Machine("shell", [Phase("run", runs=machine)], ends, rows)
    return machine


N = (Counter("n", 3),)
WIDE = attrs.evolve(
    NESTED,
    phases=[Phase(f"p{i}", runs=LOOP) for i in range(300)],
    transitions=[
        Row(f"p{i}", "good", end)
        for i in range(300)
        for end in ("completed", "gave_up")
    ],
)
SPIN = attrs.evolve(
    LOOP,
    memory=(),
    limits=(),
    transitions=[
        attrs.evolve(each, guard="", action="")
        for each in LOOP.transitions
        if each.guard != "otherwise"
    ],
    terminals=[Terminal("completed")],
)
SWAP = Machine(
    "swap",
    [Phase("ask", ["long", "cut", "ok"], cost={"model_calls": 1})],
    [Terminal("done"), Terminal("lost", "error")],
    [
        Row("ask", "ask", "long", "not drained", "drained = True; grown = False",
            reason="drain"),
        Row("ask", "lost", "long", "otherwise"),
        Row("ask", "ask", "cut", "not grown", "grown = True; drained = False",
            reason="grow"),
        Row("ask", "lost", "cut", "otherwise"),
        Row("ask", "done", "ok"),
    ],
    [Flag("drained"), Flag("grown")],
)  # fmt: skip
TRAP = attrs.evolve(
    LOOP,
    phases=(*LOOP.phases, Phase("mull", ["again"])),
    transitions=(*LOOP.transitions, Row("mull", "mull", "again")),
)


@attrs.frozen
class Plant:
    """A fault: its code, its dress, where it is, and what else follows from it."""

    code: str
    dress: str
    place: str
    machine: Machine
    nearest: str = ""
    also: tuple[str, ...] = ()


PLANTED = [
    Plant("too_large", "thirty levels", "machine shell", shells(LOOP, 30)),
    Plant("too_large", "three hundred phases run by machines", "machine outer", WIDE),
    Plant("unknown_name", "memory in a guard", "row ask:failed#1, guard",
          row("ask:failed#1", guard="retrys < max_retries"), "retries"),
    Plant("unknown_name", "limit in a guard", "row ask:failed#1, guard",
          row("ask:failed#1", guard="retries < max_retrys"), "max_retries"),
    Plant("unknown_name", "memory written", "row act:done, action",
          row("act:done", action="retires = 0"), "retries"),
    Plant("unknown_name", "memory read in an action", "row ask:failed#1, action",
          row("ask:failed#1", action="retries = retrie + 1"), "retries"),
    Plant("unknown_name", "target", "row wait", row("wait", target="aks"), "ask"),
    Plant("unknown_name", "source", "row wiat",
          attrs.evolve(LOOP, transitions=[
              attrs.evolve(r, source="wiat") if r.source == "wait" else r
              for r in LOOP.transitions]), "wait"),
    Plant("unknown_name", "a terminal as source", "row completed",
          plus(transitions=Row("completed", "ask", reason="again"))),
    Plant("unknown_name", "event", "row act:finishd",
          attrs.evolve(LOOP, transitions=[
              attrs.evolve(r, event="finishd") if r.event == "finished" else r
              for r in LOOP.transitions]), "finished"),
    Plant("unknown_name", "end of a nested machine", "row call:complete",
          attrs.evolve(NESTED, transitions=[
              attrs.evolve(r, event="complete") if r.event == "completed" else r
              for r in NESTED.transitions]), "completed"),
    Plant("unknown_name", "surplus end of a nested machine", "row call:zapped",
          plus(NESTED, transitions=Row("call", "bad", "zapped"))),
    Plant("unknown_name", "initial phase", "machine loop, initial",
          attrs.evolve(LOOP, initial="asq"), "ask"),
    Plant("unknown_name", "limit of an edition", "edition late",
          plus(editions=Edition("late", {"max_retris": 4})), "max_retries"),
    Plant("unknown_name", "limit in a domain", "memory retries, high",
          attrs.evolve(LOOP, memory=[Counter("retries", "max_retrie")]), "max_retries"),
    Plant("unknown_name", "assumption's phase", "assumption kind",
          plus(assumptions=Assumption("kind", "actt", "done")), "act"),
    Plant("unknown_name", "assumption's event", "assumption kind",
          plus(assumptions=Assumption("kind", "act", "don")), "done"),
    Plant("unknown_name", "memory of an assumption", "assumption kind, when",
          plus(assumptions=Assumption("kind", "act", "done", "retry == 0")), "retries"),
    Plant("unknown_name", "limit of an assumption", "assumption kind, at_most",
          plus(assumptions=Assumption("kind", "act", "done", at_most="max_retry")),
          "max_retries"),
    Plant("unknown_name", "memory in a law", "law rule, what",
          law("after.retris == 2"), "after.retries"),
    Plant("unknown_name", "phase in a law", "law rule, what",
          law("phase == 'wiat'"), "wait"),
    Plant("unknown_name", "event in the scope of a law", "law rule, start",
          law("phase == 'wait'", scope=Scope("after", "event == 'failde'")), "failed"),
    Plant("unknown_name", "limit to be raised", "row wait, raises",
          row("wait", raises=("max_retrie", "max_retries")), "max_retries"),
    Plant("unknown_name", "value of a choice", "row here:go#1, guard",
          group(go("mode == 'fats'"), go("otherwise"),
                memory=[Choice("mode", ["fast", "slow"])]), "fast"),
    Plant("unknown_name", "shared memory", "memory call.spent",
          inside(plus(memory=Flag("spent", shared=True)))),
    Plant("unknown_name", "memory in a nested guard", "row call.ask:failed#1, guard",
          inside(row("ask:failed#1", guard="retrys < max_retries")), "retries"),
    Plant("bad_text", "a call", "row ask:failed#1, guard",
          row("ask:failed#1", guard="len(retries) < 3")),
    Plant("bad_text", "no syntax", "row act:done, action",
          row("act:done", action="retries =")),
    Plant("bad_text", "a number as guard", "row ask:failed#1, guard",
          row("ask:failed#1", guard="retries + 1")),
    Plant("bad_text", "a limit written", "row act:done, action",
          row("act:done", action="max_retries = 4")),
    Plant("bad_text", "too deep", "row ask:failed#1, guard",
          row("ask:failed#1", guard="not " * 400 + "retries < max_retries")),
    Plant("bad_text", "no text at all", "row wait, guard", row("wait", guard=7)),
    Plant("bad_text", "a flag as domain", "memory retries, high",
          attrs.evolve(LOOP, memory=[Counter("retries", "max_retries < 2")])),
    Plant("bad_text", "availability", "phase act, event done, available",
          attrs.evolve(LOOP, phases=(*LOOP.phases[:2], Phase(
              "act", [Event("done", "retries is 0"), "finished"])))),
    Plant("bad_value", "negative default", "limit max_retries",
          attrs.evolve(LOOP, limits=[Limit("max_retries", -1, values=(3,))])),
    Plant("bad_value", "a flag for a number", "edition off, limit max_retries",
          plus(editions=Edition("off", {"max_retries": False}))),
    Plant("bad_value", "a start above the domain", "memory retries",
          attrs.evolve(LOOP, memory=[Counter("retries", "max_retries", initial=4)])),
    Plant("bad_value", "a start that is no value", "memory mode",
          group(go("mode == 'a'"), go("otherwise"),
                memory=[Choice("mode", ["a", "b"], "c")]), also=("never_taken",)),
    Plant("bad_value", "a law without its second condition", "law rule",
          plus(laws=Law("rule", "response", "event == 'failed'"))),
    Plant("bad_value", "three limits to be raised", "row wait, raises",
          row("wait", raises=("max_retries",) * 3)),
    Plant("bad_value", "an event declared twice", "phase act",
          attrs.evolve(LOOP, phases=(*LOOP.phases[:2], Phase(
              "act", ["done", "finished", "done"])))),
    Plant("misplaced_event", "acting without", "row wait",
          attrs.evolve(LOOP, phases=(LOOP.phases[0], Phase("wait", ["over"]),
                                     LOOP.phases[2])), also=("not_total",)),
    Plant("misplaced_event", "deciding with", "row wait", row("wait", event="over")),
    Plant("misplaced_event", "nested with events", "phase call",
          attrs.evolve(NESTED, phases=(Phase("call", ["completed"], LOOP),
                                       NESTED.phases[1]))),
    Plant("reason_without_row", "in a guard", "row act:finished#1, guard",
          attrs.evolve(LOOP, memory=(*LOOP.memory, Choice("last", REASONS)),
                       transitions=[
              *LOOP.transitions[:5],
              Row("act", "gave_up", "finished", "last == 'retri'"),
              Row("act", "completed", "finished", "otherwise")]), "retry"),
    Plant("reason_without_row", "in a law", "law rule, what",
          law("reason == 'blocked'")),
    Plant("not_total", "an event without a row", "phase act, event finished",
          attrs.evolve(LOOP, transitions=LOOP.transitions[:5]),
          also=("unreachable_terminal",)),
    Plant("not_total", "guards that leave a case", "phase act, event finished",
          row("ask:answered", action="").amend("act:finished", guard="retries > 0")),
    Plant("not_total", "only with a limit of 0", "phase act, event finished",
          attrs.evolve(row("act:finished", guard="max_retries > 0"),
                       limits=[Limit("max_retries", 3, values=(0,))])),
    Plant("not_total", "an end of a nested machine", "phase call, event gave_up",
          attrs.evolve(NESTED, transitions=[
              r for r in NESTED.transitions if r.event != "gave_up"])),
    Plant("not_total", "a deciding phase", "phase wait",
          attrs.evolve(LOOP, transitions=[
              r for r in LOOP.transitions if r.source != "wait"]),
          also=("never_taken", "unreachable_terminal")),
    Plant("overlap", "two guards", "phase here, event go",
          group(go("n < 2"), go("n >= 1"), memory=N)
          .amend("here:go#1", target="here", action="n += 1")),
    Plant("overlap", "an empty last guard", "phase ask, event failed",
          row("ask:failed#2", guard="")),
    Plant("overlap", "only in one edition", "phase here, event go",
          attrs.evolve(
              group(go("n <= low"), go("n >= high"),
                    memory=N, limits=[Limit("low", 1), Limit("high", 2)])
              .amend("here:go#1", target="here", action="n += 1"),
              editions=[Edition("apart"), Edition("wide", {"low": 2, "high": 1})])),
    Plant("no_exit", "a trap", "phase mull",
          TRAP.amend("wait", target="mull", reason=""),
          also=("never_taken", "unreachable_terminal")),
    Plant("no_exit", "no terminal", "machine gate",
          Machine("gate", [Phase("shut", ["push"])], [],
                  [Row("shut", "shut", "push")])),
    Plant("no_exit", "only with a mechanism off", "phase ask",
          attrs.evolve(SWAP, limits=[Limit("allowed", default=True)])
          .amend("ask:ok", guard="allowed")
          .amend("ask:long#2", target="ask").amend("ask:cut#2", target="ask"),
          also=("not_total", "unbudgeted", "unreachable_terminal")),
    Plant("unreachable_phase", "nothing leads there", "phase mull",
          plus(plus(phases=Phase("mull")), transitions=Row("mull", "gave_up"))),
    Plant("unreachable_phase", "its only row is never taken", "phase wait",
          row("ask:failed#1", guard="retries > max_retries"),
          also=("never_taken", "reason_never_given")),
    Plant("unreachable_phase", "inside a nested machine", "phase call.mull",
          inside(plus(plus(phases=Phase("mull")), transitions=Row("mull", "gave_up")))),
    Plant("unreachable_terminal", "no row", "terminal lost",
          plus(terminals=Terminal("lost"))),
    Plant("unreachable_terminal", "a counter that nobody raises", "terminal gave_up",
          row("ask:failed#1", action=""),
          also=("never_taken", "unbudgeted")),
    Plant("unreachable_terminal", "inside a nested machine", "terminal call.lost",
          plus(inside(plus(terminals=Terminal("lost"))),
               transitions=Row("call", "bad", "lost"))),
    Plant("never_taken", "after otherwise", "row here:go#2",
          group(go("otherwise"), go("n > 0"), memory=N)),
    Plant("never_taken", "shadowed by a wider guard", "row here:go#2",
          group(go("n < 3", "n += 1"), go("n < 2"), go("otherwise"), memory=N)
          .amend("here:go#1", target="here")),
    Plant("never_taken", "a value that nobody writes", "row here:go#1",
          group(go("mode == 'slow'"), go("otherwise"),
                memory=[Choice("mode", ["fast", "slow"])])),
    Plant("never_taken", "an event never available", "row act:done",
          attrs.evolve(LOOP, phases=(*LOOP.phases[:2], Phase(
              "act", [Event("done", "retries > max_retries"), "finished"]))),
          also=("reason_never_given",)),
    Plant("never_taken", "with every value of a switch", "row here:go#1",
          group(go("on and not on"), go("otherwise"),
                limits=[Limit("on", default=False)])),
    Plant("reason_never_given", "an impossible guard", "reason retry",
          row("wait", guard="retries < 0"),
          also=("never_taken", "not_total", "no_exit", "unreachable_terminal")),
    Plant("reason_never_given", "an unreachable phase", "reason nag",
          plus(plus(phases=Phase("mull")),
               transitions=Row("mull", "ask", reason="nag")),
          also=("unreachable_phase",)),
    Plant("no_reason", "a retry", "row wait", row("wait", reason="")),
    Plant("no_reason", "in a nested machine", "row call.act:done",
          inside(row("act:done", reason=""))),
    Plant("no_raise", "the same value", "row wait",
          attrs.evolve(row("wait", raises=("low", "high")),
                       limits=(*LOOP.limits, Limit("low", 8), Limit("high", 8)))),
    Plant("no_raise", "in one edition", "row wait",
          attrs.evolve(row("wait", raises=("low", "high")),
                       limits=(*LOOP.limits, Limit("low", 8), Limit("high", 9)),
                       editions=[Edition("fine"), Edition("odd", {"high": 2})])),
    Plant("no_raise", "above UNLIMITED", "row wait",
          attrs.evolve(row("wait", raises=("low", "high")),
                       limits=(*LOOP.limits, Limit("low", 8, values=(8, UNLIMITED)),
                               Limit("high", 9)))),
    Plant("unbudgeted", "no counter", "row wait", SPIN),
    Plant("unbudgeted", "two recoveries that reset each other", "row ask:cut#1", SWAP),
    Plant("unbudgeted", "reset on the way back", "row wait",
          row("wait", action="retries = 0"),
          also=("unreachable_terminal", "never_taken")),
    Plant("unbudgeted", "reset by leaving a nested machine", "row judge:refused",
          attrs.evolve(NESTED, transitions=[
              *NESTED.transitions[:3],
              Row("judge", "call", "refused", reason="once_more")])),
    Plant("unbudgeted", "only with a limit UNLIMITED", "row wait",
          attrs.evolve(LOOP, limits=[Limit("max_retries", 3, values=(UNLIMITED,))])),
    Plant("equality", "in a guard", "row ask:failed#1, guard",
          row("ask:failed#1", guard="retries != max_retries")),
    Plant("equality", "mirrored", "row ask:failed#1, guard",
          row("ask:failed#1", guard="not (max_retries == retries)")),
    Plant("equality", "in the availability", "phase act, event done, available",
          attrs.evolve(LOOP, phases=(*LOOP.phases[:2], Phase(
              "act", [Event("done", "retries == max_retries - 3"), "finished"])))),
    Plant("unread_limit", "in the outer machine", "limit spare",
          plus(NESTED, limits=Limit("spare", 3))),
    Plant("unread_limit", "in the nested machine", "limit spare",
          inside(plus(limits=Limit("spare", default=True)))),
    Plant("unread_memory", "only written", "memory seen",
          attrs.evolve(row("act:done", action="seen = True"),
                       memory=(*LOOP.memory, Flag("seen")))),
    Plant("unread_memory", "only counts itself", "memory call.turn",
          inside(attrs.evolve(row("act:done", action="turn += 1"),
                              limits=(*LOOP.limits, Limit("turns", UNLIMITED)),
                              memory=(*LOOP.memory, Counter("turn", "turns"))))),
]  # fmt: skip
IDS = [f"{plant.code}: {plant.dress}" for plant in PLANTED]


@pytest.mark.parametrize("plant", PLANTED, ids=IDS)
def test_a_planted_fault_is_found_at_its_place(plant: Plant) -> None:
    found = validate(plant.machine)

    here = [f for f in found if (f.code, f.place) == (plant.code, plant.place)]
    assert len(here) == 1, "\n".join(map(str, found))
    assert here[0].nearest == plant.nearest
    assert here[0].fix
    assert here[0].cause
    assert here[0].machine == plant.machine.name


@pytest.mark.parametrize("plant", PLANTED, ids=IDS)
def test_one_fault_gives_no_findings_that_do_not_follow_from_it(plant: Plant) -> None:
    codes = {finding.code for finding in validate(plant.machine)}

    assert codes == {plant.code, *plant.also}


@pytest.mark.parametrize("machine", [LOOP, NESTED], ids=["loop", "nested"])
def test_the_ground_of_the_plants_is_clean(machine: Machine) -> None:
    assert validate(machine) == ()


@pytest.mark.parametrize("code", FINDINGS)
def test_every_documented_kind_is_planted_in_two_dresses(code: str) -> None:
    assert Tally(plant.code for plant in PLANTED)[code] >= 2


@pytest.mark.parametrize("plant", PLANTED, ids=IDS)
def test_findings_come_with_the_gravest_first(plant: Plant) -> None:
    ranks = [list(FINDINGS).index(finding.code) for finding in validate(plant.machine)]

    assert ranks == sorted(ranks)
