"""What is wrong with a declaration, found without running it.

`validate` is total: it takes any machine, however ill-formed, and says all that can be
said of it, over all declared values of the limits. The kinds are in `FINDINGS`. What
only some settings show is filed with the first setting that shows it; that something is
never reached or taken is filed only if no setting reaches or takes it.
"""

import math
from collections.abc import Mapping

from unspiral.engine.core.declare import Counter, LimitValue, Machine, limit_text
from unspiral.engine.core.findings import FINDINGS, Finding, Kind, gravity
from unspiral.engine.core.findings_budget import unbudgeted
from unspiral.engine.core.findings_context import (
    configurations,
    judge_context,
    judge_unread,
)
from unspiral.engine.core.findings_flow import Flow, Landscape
from unspiral.engine.core.findings_model import (
    Arc,
    Configuration,
    Group,
    Model,
    Site,
    sites,
)
from unspiral.engine.core.findings_read import Reading
from unspiral.engine.core.findings_text import Judge
from unspiral.engine.core.findings_trial import Trial
from unspiral.engine.core.findings_values import spell
from unspiral.engine.core.language import TRUE, UNLIMITED, names

__all__ = ["FINDINGS", "Finding", "Kind", "validate"]


def validate(machine: Machine) -> tuple[Finding, ...]:
    """Return all that is found wrong with a machine, the gravest first.

    A machine with a finding that `forbids` cannot be compiled at every setting; one
    without can.
    """
    judge = Judge(machine.name)
    found = sites(machine)
    if found is None:
        problem, cause = "it nests too many machines", "20 levels and 200 are read"
        judge.report("too_large", f"machine {machine.name}", problem, cause)
        return tuple(judge.found)
    settings = configurations(machine, judge)
    reading = Reading(machine, found, judge, settings)
    judge_context(reading)
    judge_unread(reading)
    _Inspection(reading.model, judge).inspect()
    return tuple(sorted(dict.fromkeys(judge.found), key=gravity))


class _Inspection:
    """The graph of a machine, looked at under each setting of the limits."""

    def __init__(self, model: Model, judge: Judge) -> None:
        self.model = model
        self.judge = judge
        self.flow = Flow(model)
        self.filed: set[tuple[str, str]] = set()
        self.reached: set[str] = set()
        self.offered: set[Group] = set()
        self.taken: set[tuple[int, str]] = set()
        self.trials: dict[Group, tuple[Trial, Landscape]] = {}

    def inspect(self) -> None:
        """File everything."""
        seen: set[tuple[object, ...]] = set()
        used = self._limits()
        for setting in self.model.configurations:
            values = tuple((n, repr(v)) for n, v in setting.limits.items() if n in used)
            if values not in seen:
                seen.add(values)
                self._at(setting)
        self._never()

    def _limits(self) -> set[str]:
        """Return the limits that can make a difference to the rows."""
        nodes = [arc.guard for arc in self.model.arcs]
        nodes += self.model.highs.values()
        nodes += [a.value for arc in self.model.arcs for a in arc.action or ()]
        nodes += [
            group.available for groups in self.model.groups.values() for group in groups
        ]
        read = {name for node in nodes if node is not None for name in names(node)}
        return read.union(*(arc.row.raises for arc in self.model.arcs))

    def once(self, code: str, place: str, problem: str, cause: str) -> None:
        """File something unless another setting has shown it already."""
        if (code, place) not in self.filed:
            self.filed.add((code, place))
            self.judge.report(code, place, problem, cause)

    def _at(self, setting: Configuration) -> None:
        self._domains(setting)
        landscape = self.flow.explore(setting)
        self.reached |= landscape.states.keys()
        self.taken |= {arc.origin for arc in landscape.taken}
        for group, trial in landscape.trials.items():
            self.trials[group] = trial, landscape
            if trial.offered:
                self.offered.add(group)
            if not group.doubtful:
                self._group(group, trial, setting)
        self._exits(landscape)
        for arc in landscape.taken:
            self._raises(arc, setting)
        for each in unbudgeted(landscape, lambda n: self.flow.at(n, setting.limits)):
            place = f"row {each.arc.name}"
            if ("unbudgeted", place) not in self.filed:  # a cause takes long to find
                problem = f"it can recur for ever without progress ({setting.label})"
                self.once("unbudgeted", place, problem, each.cause)

    def _domains(self, setting: Configuration) -> None:
        """File counters that do not start in their domain."""
        for name, node in self.model.highs.items():
            memory = self.model.memory[name]
            if not isinstance(memory, Counter):
                continue
            top = None if node is None else self.flow.at(node, setting.limits)
            high = getattr(top, "value", UNLIMITED)
            low, initial = memory.low, memory.initial
            if initial < low or (isinstance(high, int) and initial > high):
                problem = f"it starts at {initial}, outside {low}..{high}"
                self.once("bad_value", f"memory {name}", problem, f"at {setting.label}")

    def _group(self, group: Group, trial: Trial, setting: Configuration) -> None:
        if trial.gap is not None:
            problem = f"no row is taken with {spell(trial.gap)}"
            cause = f"its guards leave that case out ({setting.label})"
            if not group.arcs:
                problem, cause = "it has no row", "every answer needs one"
            self.once("not_total", group.place, problem, cause)
        if trial.overlap is not None and not group.ordered:
            one, two, env = trial.overlap
            first, second = group.arcs[one].name, group.arcs[two].name
            problem = f"rows {first} and {second} both hold with {spell(env)}"
            cause = f"no `otherwise` declares an order ({setting.label})"
            self.once("overlap", group.place, problem, cause)

    def _exits(self, landscape: Landscape) -> None:
        if not self.model.terminals:
            place = f"machine {self.model.machine.name}"
            self.once("no_exit", place, "it never ends", "it declares no terminal")
            return
        before: dict[str, set[str]] = {}
        leaving = set(self.model.terminals)
        for arc in landscape.taken:
            if arc.target is None:
                leaving.add(arc.source)  # it may lead anywhere
            else:
                before.setdefault(arc.target, set()).add(arc.source)
        waiting = list(leaving)
        while waiting:
            more = before.get(waiting.pop(), set()) - leaving
            leaving |= more
            waiting += more
        for node in landscape.states:
            if node not in leaving and not self._empty(node):
                label = landscape.configuration.label
                cause = f"its rows only lead to one another ({label})"
                problem = "no terminal can be reached from it"
                self.once("no_exit", f"phase {node}", problem, cause)

    def _empty(self, node: str) -> bool:
        """Tell whether a node has no rows, which is said already."""
        groups = self.model.groups.get(node, ())
        return not any(group.arcs for group in groups)

    def _raises(self, arc: Arc, setting: Configuration) -> None:
        if len(arc.row.raises) != 2:  # noqa: PLR2004 - filed already
            return
        low, high = (setting.limits.get(name) for name in arc.row.raises)
        if low is None or high is None:
            return
        least, most = _height(low), _height(high)
        if least is not None and most is not None and least >= most:
            one, two = arc.row.raises
            problem = f"{two} = {limit_text(high)} is not above {one} = "
            problem += limit_text(low)
            self.once("no_raise", f"row {arc.name}", problem, f"at {setting.label}")

    def _never(self) -> None:
        """File what no setting reaches, offers or takes."""
        by_machine: dict[int, list[Site]] = {}
        for site in self.model.sites:
            by_machine.setdefault(id(site.machine), []).append(site)
        for places in by_machine.values():
            entered = [site for site in places if self._entered(site)]
            if entered:
                self._unreached(entered)
        for groups in self.model.groups.values():
            for group in groups:
                self._untaken(group)
                never = group.node not in self.reached
                if never and not group.arcs and group.available == TRUE:
                    ends = group.place.startswith("phase") and not group.doubtful
                    if ends:
                        self.once(
                            "not_total",
                            group.place,
                            "it has no row",
                            "every answer needs one",
                        )
        self._reasons(by_machine)

    def _entered(self, site: Site) -> bool:
        return not site.prefix or any(
            node.startswith(site.prefix) for node in self.reached
        )

    def _unreached(self, places: list[Site]) -> None:
        site = places[0]

        def lost(name: str) -> bool:
            inside = [f"{each.prefix}{name}" for each in places]
            return not any(
                node in self.reached
                or any(other.startswith(f"{node}.") for other in self.reached)
                for node in inside
            )

        for phase in site.machine.phases:
            if lost(phase.name):
                self._lost("phase", site, phase.name)
        for terminal in site.machine.terminals:
            if lost(terminal.name):
                self._lost("terminal", site, terminal.name)

    def _lost(self, kind: str, site: Site, name: str) -> None:
        leading = [row.name for row in site.machine.rows if row.target == name]
        cause = "no row leads to it"
        if leading:
            cause = f"the rows that lead to it ({', '.join(leading[:3])}) never do"
        place = f"{kind} {site.prefix}{name}"
        self.once(f"unreachable_{kind}", place, "no run reaches it", cause)

    def _untaken(self, group: Group) -> None:
        if group.doubtful or group not in self.trials:
            return
        trial, landscape = self.trials[group]
        for i, arc in enumerate(group.arcs):
            if arc.origin in self.taken:
                continue
            if group not in self.offered:
                cause = "its event is never available"
            elif i in trial.alone:
                earlier = [group.arcs[j].name for j in sorted(trial.taken) if j < i]
                cause = (
                    f"{', '.join(earlier[:3]) or 'an earlier row'} always holds first"
                )
            else:
                cause = f"its guard is false with {_there(arc, landscape)}"
            problem = f"no run takes it to {arc.row.target}"
            self.once("never_taken", f"row {arc.name}", problem, cause)

    def _reasons(self, by_machine: Mapping[int, list[Site]]) -> None:
        read = {arc.origin for arc in self.model.arcs}
        for key, places in by_machine.items():
            site = places[0]
            if not any(self._entered(each) for each in places):
                continue
            for reason in site.machine.reasons:
                rows = [row for row in site.machine.rows if row.reason == reason]
                origins = {(key, row.name) for row in rows}
                if origins & read and not origins & self.taken:
                    problem = f"no run continues for the reason {reason}"
                    cause = f"row {rows[0].name} is never taken"
                    place = f"reason {site.prefix}{reason}"
                    self.once("reason_never_given", place, problem, cause)


def _height(value: LimitValue) -> float | None:
    """Return how high a limit is, UNLIMITED the highest; None if it is no number."""
    if value is UNLIMITED:
        return math.inf
    return value if isinstance(value, int) else None


def _there(arc: Arc, landscape: Landscape) -> str:
    """Say which values the guard of a row meets."""
    state = landscape.states[arc.source]
    read = sorted(names(arc.guard)) if arc.guard is not None else []
    told = [
        f"{name} in {{{', '.join(sorted(map(repr, state[name])))}}}"
        for name in read
        if name in state and len(state[name]) < 8  # noqa: PLR2004 - more are not read
    ]
    return " and ".join(told) or "every value that is declared"
