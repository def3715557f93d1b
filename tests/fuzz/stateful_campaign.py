"""Every machine of the project, and many generated ones, pass `stateful`; minutes.

    python -m tests.fuzz.stateful_campaign --machines N --seed S

What must hold of a machine is what the checker says of it: the laws that are PROVED,
and no spiral where there is none. So the fuzzer and the checker are held together.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from unspiral.engine.check import check
from unspiral.engine.check.verdict import Outcome, Verdict
from unspiral.engine.core.declare import Machine
from unspiral.engine.fuzz import Found, machines, stateful
from unspiral.machines import load, names

__all__ = ["generated", "passes"]

QUIET = settings(
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=(HealthCheck.too_slow,),
)


def generated(count: int, number: int = 0) -> list[Machine]:
    """Return machines of all kinds, with laws."""
    found: list[Machine] = []

    @seed(number)
    @settings(QUIET, max_examples=count)
    @given(machines(with_laws=True))
    def collect(machine: Machine) -> None:
        found.append(machine)

    collect()
    return found


def passes(verdict: Verdict, examples: int, *, deep: bool = True) -> Found | None:
    """Run a machine as a state machine; return what was found against the verdict."""
    proved = [law.name for law in verdict.laws if law.verdict is Outcome.PROVED]
    runs = stateful(verdict.table, laws=proved, spirals=not verdict.spirals, deep=deep)
    try:
        run_state_machine_as_test(
            seed(0)(runs),
            settings=settings(QUIET, max_examples=examples, stateful_step_count=40),
        )
    except Found as found:
        return found
    return None


def shipped() -> Iterator[Verdict]:
    """Check every machine of the project in every edition."""
    for name in names():
        machine = load(name)
        if not machine.editions:
            yield check(machine)
        for edition in machine.editions:
            yield check(machine, edition=edition.name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--machines", type=int, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    chosen = parser.parse_args(arguments)
    failed = 0
    for verdict in shipped():
        found = passes(verdict, 200)
        failed += found is not None
        name = f"{verdict.table.machine.name} {verdict.table.edition}".rstrip()
        sys.stdout.write(f"{name}: {'passes' if found is None else found}\n")
    tally: Counter[str] = Counter()
    for machine in generated(chosen.machines, chosen.seed):
        verdict = check(machine)
        found = passes(verdict, 20)
        failed += found is not None
        said = verdict.verdict.value
        tally[f"{said} and {'passes' if found is None else 'FAILS'}"] += 1
        if found is not None:
            sys.stdout.write(f"{machine}: {found}\n")
    figures = ", ".join(f"{name} {number:,}" for name, number in sorted(tally.items()))
    sys.stdout.write(f"generated: {figures}\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
