"""A campaign: many runs of one machine, ever more towards what was not yet covered.

Runs are drawn by Hypothesis in rounds. Within a round nothing that a draw depends on
changes, so that `target()` can climb; between rounds the weights of events are taken
anew from the points that few runs have shown, and half of the runs begin with a way to
one of them: one that an earlier run has found, or a shortest one of the explorer. No
failure ends the campaign: each is kept, its shortest run is looked for at the end, and
the coverage says what the rest of the runs was worth.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import attrs
from hypothesis import HealthCheck, Phase, given, seed, settings, target

from unspiral.engine.check.coverage import Reach
from unspiral.engine.core.points import Meter, Point
from unspiral.engine.core.table import Table
from unspiral.engine.errors import BadValue
from unspiral.engine.fuzz.corpus import Corpus
from unspiral.engine.fuzz.failure import Failure
from unspiral.engine.fuzz.finding import Finding, Path, distinct, shortest
from unspiral.engine.fuzz.heat import Heat
from unspiral.engine.fuzz.judge import failures
from unspiral.engine.fuzz.rules import Rules
from unspiral.engine.fuzz.schedules import paths_of, walks
from unspiral.engine.fuzz.walk import Walk

__all__ = ["Campaign", "Told", "fuzz"]

Told: TypeAlias = Callable[[int, int], None]

_AGAIN = 3  # times that the last round of a beginning is repeated, at most
_ROUND = 50  # runs of a round
_UNHEALTHY = (HealthCheck.too_slow, HealthCheck.data_too_large)  # a run may be long
_PATHS = 60  # of the explorer, that a round begins with at most


@attrs.frozen(eq=False)
class Campaign:
    """What came of a campaign.

    Attributes:
        table: the machine.
        reach: what the explorer says of its points.
        shown: the points that runs have shown, each with the number of those runs.
        findings: the failures, in the order of finding.
        runs: how many runs were made.
        steps: how many steps they took together.
        seed: of the draws.
        seconds: how long it took, the explorer not counted.
        stopped: "" if all runs were made, else "time", "failure" or "interrupted".
    """

    table: Table
    reach: Reach
    shown: Mapping[Point, int]
    findings: tuple[Finding, ...]
    runs: int
    steps: int
    seed: int
    seconds: float
    stopped: str = ""

    @property
    def covered(self) -> int:
        """How many of the points that can be reached were shown."""
        return sum(point in self.shown for point in self.reach.runs)

    @property
    def share(self) -> float:
        """Coverage: of the points that can be reached, the share that was shown."""
        return self.covered / len(self.reach.runs) if self.reach.runs else 1.0

    @property
    def missed(self) -> tuple[Point, ...]:
        """The points that can be reached and were not shown."""
        return tuple(sorted(p for p in self.reach.runs if p not in self.shown))


def fuzz(  # noqa: PLR0913 - each is an option of the command
    table: Table,
    reach: Reach,
    *,
    examples: int = 1_000,
    seed: int = 0,
    seconds: float | None = None,
    paths: bool = True,
    first: bool = False,
    rules: Rules | None = None,
    told: Told | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Campaign:
    """Fuzz a machine.

    Args:
        table: the machine.
        reach: what the explorer says of it (`reach_of(table)`).
        examples: how many runs.
        seed: equal seeds give equal campaigns, as long as time does not end them.
        seconds: when to end, whatever is left to do; the shortening comes after that.
        first: end with the round that shows a failure.
        paths: let runs begin with the explorer's shortest runs to uncovered points.
        rules: what is judged; everything unless given.
        told: called now and then with the runs made and those left.
        clock: seconds.

    Raises:
        BadValue: a number out of range.
        DeclarationError: a law that cannot be compiled.
    """
    for what, value, least in (("examples", examples, 1), ("seed", seed, 0)):
        if value < least:
            raise BadValue(what, str(value), f"{least} or more")
    if seconds is not None and not seconds > 0:
        raise BadValue("time", str(seconds), "more than 0 seconds")
    work = _Work(table, reach, rules or Rules(table), seed, paths=paths)
    end = float("inf") if seconds is None else clock() + seconds
    return work.campaign(examples, end, told or _nobody, clock, first=first)


def _nobody(done: int, left: int) -> None:
    del done, left


class _Work:
    """A campaign under way."""

    def __init__(
        self, table: Table, reach: Reach, rules: Rules, seed: int, *, paths: bool
    ) -> None:
        self.table = table
        self.reach = reach
        self.rules = rules
        self.seed = seed
        self.paths = paths
        self.meter = Meter(table)
        self.corpus = Corpus(table, self.meter)
        self.found: dict[Failure, Finding] = {}
        self.runs = 0
        self.steps = 0

    def campaign(
        self,
        examples: int,
        end: float,
        told: Told,
        clock: Callable[[], float],
        *,
        first: bool,
    ) -> Campaign:
        begin = clock()
        stopped = ""
        try:
            for number, size in enumerate(_sizes(examples)):
                self.round(number, size, lambda: clock() >= end)
                told(self.runs, examples - self.runs)
                if clock() >= end and self.runs < examples:
                    stopped = "time"
                    break
                if first and self.found:
                    stopped = "failure"
                    break
        except KeyboardInterrupt:
            stopped = "interrupted"
        return Campaign(
            table=self.table,
            reach=self.reach,
            shown=dict(self.meter.seen),
            findings=self.findings(),
            runs=self.runs,
            steps=self.steps,
            seed=self.seed,
            seconds=clock() - begin,
            stopped=stopped,
        )

    def round(self, number: int, size: int, late: Callable[[], bool]) -> None:
        """Make some runs, with weights that stay as they are."""
        before = frozenset(self.meter.seen)
        count = iter(range(size))

        @seed(f"{self.seed}.{number}")
        @settings(
            max_examples=size,
            phases=(Phase.generate, Phase.target),
            database=None,
            deadline=None,
            suppress_health_check=_UNHEALTHY,
        )
        @given(walks(self.table, self.beginnings(), self.heat(), again=_AGAIN))
        def play(walk: Walk) -> None:
            if late() or next(count, None) is None:
                return
            shown = self.see(walk)
            target(float(len(shown - before)), label="points that no round has shown")
            target(float(len(shown)), label="points")

        play()

    def findings(self) -> tuple[Finding, ...]:
        """Return each failure with a short run; if a person ends that, as it was."""
        known = distinct(self.found.values())
        try:
            return distinct([shortest(self.table, each) for each in known])
        except KeyboardInterrupt:
            return known

    def see(self, walk: Walk) -> frozenset[Point]:
        """Judge one run; return the points that it shows."""
        self.runs += 1
        self.steps += len(walk.steps)
        shown = self.meter.shown(walk.steps)
        self.meter.count(shown)
        self.corpus.note(walk.events, walk.steps)
        for failure in (*failures(self.rules, walk), *self.unforeseen(walk, shown)):
            known = self.found.get(failure)
            if known is None or len(walk.events) < len(known.events):
                first = self.runs if known is None else known.first
                self.found[failure] = Finding(failure, tuple(walk.events), first)
        return shown

    def unforeseen(self, walk: Walk, shown: frozenset[Point]) -> Iterator[Failure]:
        """Yield the points that the explorer holds for unreachable: a fault of ours."""
        open_ones = frozenset(self.reach.unknown)
        for point in sorted(shown - self.reach.runs.keys() - open_ones):
            yield Failure("explorer", str(point), str(point), len(walk.steps))

    def heat(self) -> Heat:
        """Weigh the points by how few runs have shown them."""
        seen = self.meter.seen
        points = [*self.reach.runs, *self.reach.unknown]
        return Heat(self.table, {p: 1 / (1 + seen.get(p, 0)) for p in points})

    def beginnings(self) -> list[tuple[Path, ...]]:
        """Return ways to what was shown least: our own, and those of the explorer."""
        seen = self.meter.seen
        groups = [self.corpus.rare(seen, _PATHS), self.corpus.high()]
        if self.paths:
            few = sorted(self.reach.runs, key=lambda point: (seen.get(point, 0), point))
            runs = {point: self.reach.runs[point] for point in few[:_PATHS]}
            groups.append(paths_of(Reach(runs)))
        return groups


def _sizes(examples: int) -> Iterator[int]:
    whole, rest = divmod(examples, _ROUND)
    yield from (_ROUND,) * whole
    if rest:
        yield rest
