"""`validate` is total, and what it says agrees with runs of the machine."""

from collections import deque
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspiral.engine.core.declare import (
    REASONS,
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
    Terminal,
    Transition,
)
from unspiral.engine.core.findings_budget import components
from unspiral.engine.core.findings_context import configurations
from unspiral.engine.core.findings_text import Judge
from unspiral.engine.core.language import UNLIMITED, evaluate
from unspiral.engine.core.laws import compile_law
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    memory_of,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.validate import FINDINGS, Finding, validate
from unspiral.engine.errors import OutOfRange, StuckError

SLOW = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
GUARDS = (
    "", "otherwise", "otherwise", "n < bound", "n >= bound", "not f", "f",
    "last == 'again'", "last != 'again'", "n == 1 or f", "on and n < 2", "not on",
    "c in ('a', 'b')", "c == 'c' and not f", "min(n, 1) == n", "n + 1 < bound",
    "turn < 90", "turn > 70",
)  # fmt: skip
ACTIONS = (
    "", "n = min(n + 1, bound)", "n = 0", "f = True", "f = False", "last = 'again'",
    "last = 'none'", "c = 'b'; f = True", "c = 'c'", "n = max(n - 1, 0); f = f or on",
    "turn = min(turn + 1, 100)", "n = bound - n",
)  # fmt: skip
AVAILABLE = ("", "", "", "", "not f", "n < 2", "on")
MEMORY: tuple[Memory, ...] = (
    Counter("n", "bound"),
    Flag("f"),
    Choice("c", ["a", "b", "c"]),
    Choice("last", REASONS),
    Counter("turn", 100),
)
LIMITS = (Limit("bound", 2, values=(2, 3)), Limit("on", default=True))
PHASES = ("p", "q", "r")
ENDS = ("good", "bad")


@st.composite
def rows(draw: st.DrawFn, source: str, event: str) -> list[Transition]:
    found: list[Transition] = []
    for _ in range(draw(st.integers(1, 3))):
        target = draw(st.sampled_from((*PHASES, *ENDS)))
        guard = draw(st.sampled_from(GUARDS)) if found or event else ""
        row = Transition(
            source,
            target,
            event,
            guard,
            draw(st.sampled_from(ACTIONS)),
            reason=draw(st.sampled_from(("", "again", "more"))),
            progress=draw(st.integers(0, 3)) == 0,
        )
        found.append(row)
    return found


@st.composite
def flat_machines(draw: st.DrawFn, *, shared: bool = False) -> Machine:
    """Return a machine of three phases whose texts can all be read."""
    phases: list[Phase] = []
    found = [Transition("p", "p", "again", reason="again")]
    for name in PHASES:
        events = draw(st.sampled_from(((), ("x",), ("x", "y"))))
        if name == "p":
            events = (*events, "again")  # so that the reason exists
        phases.append(
            Phase(
                name,
                [Event(e, draw(st.sampled_from(AVAILABLE))) for e in events],
                cost=draw(st.sampled_from(({}, {"model_calls": 1}))),
            )
        )
        for event in events or ("",):
            found += draw(rows(name, event))
    memory = [
        attrs.evolve(m, shared=True) if shared and m.name in {"f", "n"} else m
        for m in MEMORY
    ]
    return Machine("flat", phases, [Terminal(e) for e in ENDS], found, memory, LIMITS)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Return a machine, every second time with one nested in it."""
    outer = draw(flat_machines())
    if draw(st.booleans()):
        return outer
    inner = draw(flat_machines(shared=True))
    at = draw(st.sampled_from(("q", "r")))
    phases = [Phase(at, runs=inner) if p.name == at else p for p in outer.phases]
    kept = [row for row in outer.transitions if row.source != at]
    for end in ENDS:
        if draw(st.integers(0, 5)):
            kept += draw(rows(at, end))
    return attrs.evolve(outer, phases=phases, transitions=kept)


class Runs:
    """All that runs of a table do, found by breadth-first search."""

    def __init__(self, table: Table, most: int = 400) -> None:
        self.table = table
        self.seen = {initial_snapshot(table)}
        self.steps: list[Step] = []
        self.stuck: set[tuple[str, str]] = set()
        self.both: set[tuple[str, str]] = set()
        waiting = deque(self.seen)
        while waiting and len(self.seen) < most:
            for taken in self.steps_from(waiting.popleft()):
                self.steps.append(taken)
                if taken.after not in self.seen:
                    self.seen.add(taken.after)
                    waiting.append(taken.after)

    def steps_from(self, here: Snapshot) -> Iterator[Step]:
        if here.phase in self.table.terminals:
            return
        acting = bool(self.table.events[here.phase])
        events = available_events(self.table, here) if acting else (None,)
        for event in events:
            self.ask(here, event)
            try:
                yield step(self.table, here, event)
            except StuckError:
                self.stuck.add((here.phase, event or ""))
            except OutOfRange:
                continue

    def ask(self, here: Snapshot, event: str | None) -> None:
        group = self.table.alternatives.get((here.phase, event), ())
        if any(row.declared.guard == "otherwise" for row in group):
            return
        memory = memory_of(self.table, here)
        if sum(bool(evaluate(row.guard, memory)) for row in group) > 1:
            self.both.add((here.phase, event or ""))

    @property
    def spiral(self) -> bool:
        steps = [s for s in self.steps if not s.row.progress]
        part = components((s.before, s.after) for s in steps)
        return any(s.row.cost and part[s.before] == part[s.after] for s in steps)


def places(found: tuple[Finding, ...], code: str) -> set[str]:
    return {finding.place for finding in found if finding.code == code}


def at(phase: str, event: str) -> set[str]:
    """Return how findings may call a phase and event of the compiled table."""
    head, _, end = phase.rpartition(".")
    plain = f"phase {phase}, event {event}" if event else f"phase {phase}"
    return {plain, f"phase {head}, event {end}"}


@SLOW
@given(machines())
def test_what_a_run_does_is_never_called_impossible(machine: Machine) -> None:
    found = validate(machine)
    runs = Runs(compile_table(machine))

    phases = {f"phase {snapshot.phase}" for snapshot in runs.seen}
    ends = {f"terminal {snapshot.phase}" for snapshot in runs.seen}
    taken = {f"row {step.row.name}" for step in runs.steps}
    reasons = {
        f"reason {step.row.reason}" for step in runs.steps if "." not in step.row.name
    }
    assert not phases & places(found, "unreachable_phase")
    assert not ends & places(found, "unreachable_terminal")
    assert not taken & places(found, "never_taken")
    assert not reasons & places(found, "reason_never_given")


@SLOW
@given(machines())
def test_a_run_gets_stuck_only_where_a_finding_says_so(machine: Machine) -> None:
    found = places(validate(machine), "not_total")
    runs = Runs(compile_table(machine))

    for phase, event in runs.stuck:
        assert found & at(phase, event)


@SLOW
@given(machines())
def test_two_guards_hold_together_only_where_a_finding_says_so(
    machine: Machine,
) -> None:
    found = places(validate(machine), "overlap")
    runs = Runs(compile_table(machine))

    for phase, event in runs.both:
        assert found & at(phase, event)


@SLOW
@given(machines())
def test_a_machine_without_unbudgeted_recovery_has_no_spiral(machine: Machine) -> None:
    runs = Runs(compile_table(machine))
    if runs.spiral:
        assert places(validate(machine), "unbudgeted")


@SLOW
@given(machines())
def test_a_machine_without_forbidding_findings_compiles_at_every_setting(
    machine: Machine,
) -> None:
    assert not any(finding.forbids for finding in validate(machine))
    for setting in configurations(machine, Judge("")):
        compile_table(machine, limits=setting.limits)


TEXTS = st.one_of(
    st.sampled_from((*GUARDS, *ACTIONS)),
    st.text(alphabet="nfc01<=>()'\"+-*;., notadrimxl\0\\\n", max_size=40),
    st.text(max_size=20),
)
NAMES = st.sampled_from(("p", "q", "r", "s", "good", "x", "y", "n", "bound"))


@st.composite
def wrecks(draw: st.DrawFn) -> Machine:
    """Return a machine in which anything may be wrong."""
    found = [
        Transition(
            draw(NAMES),
            draw(NAMES),
            draw(st.one_of(st.just(""), NAMES)),
            draw(TEXTS),
            draw(TEXTS),
            raises=draw(st.lists(NAMES, max_size=3)),
            reason=draw(st.sampled_from(("", "again"))),
        )
        for _ in range(draw(st.integers(0, 6)))
    ]
    value = st.one_of(st.booleans(), st.integers(), TEXTS, st.just(UNLIMITED))
    values = draw(st.lists(value, max_size=3))
    inner = draw(st.one_of(st.none(), st.just(None), flat_machines(shared=True)))
    laws = [
        Law("never", "absence", draw(TEXTS), at_most=draw(TEXTS)),
        Law("then", "response", draw(TEXTS), draw(TEXTS)),
    ][: draw(st.integers(0, 2))]
    return Machine(
        "wreck",
        [
            Phase("p", [Event("x", draw(TEXTS)), "y"]),
            Phase("q", runs=inner),
            Phase("r"),
        ],
        [Terminal("good")][: draw(st.integers(0, 1))],
        found,
        [Counter("n", draw(TEXTS), initial=draw(st.integers(-3, 3))), Flag("f")],
        [Limit("bound", draw(value), values=tuple(values))],
        laws=laws,
        editions=[Edition("one", {draw(NAMES): draw(value)})],
        initial=draw(st.one_of(st.just(""), NAMES)),
    )


@SLOW
@given(wrecks())
def test_anything_can_be_validated(machine: Machine) -> None:
    for finding in validate(machine):
        assert finding.code in FINDINGS
        assert str(finding)


@SLOW
@given(wrecks())
def test_what_is_not_forbidden_compiles_however_odd_it_is(machine: Machine) -> None:
    if any(finding.forbids for finding in validate(machine)):
        return
    for setting in configurations(machine, Judge("")):
        table = compile_table(machine, limits=setting.limits)
        for law in machine.laws:
            compile_law(law, table)


def test_a_finding_is_one_or_two_lines_with_place_and_fix() -> None:
    machine = Machine(
        "gate",
        [Phase("shut", ["push"])],
        [Terminal("open")],
        [Transition("shut", "opne", "push")],
    )

    (finding,) = validate(machine)

    head, rest = str(finding).splitlines()
    assert head == (
        "error unknown_name: gate, row shut:push: no phase or terminal 'opne' "
        "(did you mean 'open'?)"
    )
    assert rest.endswith("write 'open'")


@pytest.mark.parametrize("code", FINDINGS)
def test_every_kind_says_what_it_means_and_how_it_is_mended(code: str) -> None:
    kind = FINDINGS[code]

    assert kind.meaning.endswith(".")
    assert kind.remedy
    assert kind.severity == "error" or not kind.forbids


def test_a_large_counter_is_judged_around_the_numbers_it_meets() -> None:
    machine = Machine(
        "tokens",
        [Phase("count", ["more"])],
        [Terminal("full")],
        [
            Transition("count", "count", "more", "used + 500 < 90000", "used += 500"),
            Transition("count", "full", "more", "used > 90000 - 500"),
        ],
        [Counter("used", 100_000)],
    )

    (finding,) = validate(machine)

    assert (finding.code, finding.place) == ("not_total", "phase count, event more")
    assert "used = 89500" in finding.problem


def test_a_machine_that_runs_two_phases_is_judged_by_what_both_do() -> None:
    inner = Machine(
        "inner",
        [Phase("look")],
        [Terminal("yes"), Terminal("no")],
        [Transition("look", "yes", guard="f"), Transition("look", "no", guard="not f")],
        [Flag("f", shared=True)],
    )
    ends = [Transition("one", "two", e, action="f = True") for e in ("yes", "no")]
    ends += [Transition("two", "over", e) for e in ("yes", "no")]
    machine = Machine(
        "outer",
        [Phase("one", runs=inner), Phase("two", runs=inner)],
        [Terminal("over")],
        ends,
        [Flag("f")],
    )

    assert validate(machine) == ()
