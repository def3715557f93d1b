"""Judging what stands around the rows: limits, editions, laws, assumptions, raises.

It also says at which settings of the limits the rows are judged, and what nothing
reads.
"""

from collections.abc import Iterator

import attrs

from unspiral.engine.core.declare import (
    Assumption,
    Edition,
    Law,
    Limit,
    LimitValue,
    Machine,
    Memory,
    limit_text,
)
from unspiral.engine.core.findings_model import Configuration, Site
from unspiral.engine.core.findings_read import Reading, alphabet
from unspiral.engine.core.findings_text import Judge
from unspiral.engine.core.language import BOOL, INT, ChoiceType, Node, Type, names
from unspiral.engine.core.observer import predicates
from unspiral.engine.core.settings import resolve
from unspiral.engine.errors import UsageError

__all__ = ["configurations", "judge_context", "judge_unread"]

_MOST = 200  #: configurations that are judged
_WORK = 20_000  #: rows times configurations


def configurations(machine: Machine, judge: Judge) -> tuple[Configuration, ...]:
    """Return the settings at which a machine is judged.

    They are each edition, and each single alternative of a limit on top of each
    edition. Values that are not allowed are filed and left out.
    """
    bare = attrs.evolve(machine, editions=())
    limits = {limit.name: limit for limit in machine.all_limits}
    base: dict[str, LimitValue] = {}
    others: list[tuple[str, LimitValue]] = []
    for name, limit in limits.items():
        values = [
            value
            for value in _alternatives(limit)
            if _fits(bare, limit, value, judge, f"limit {name}")
        ]
        base[name] = values[0] if values else 0
        others += [(name, value) for value in values]
    editions = [
        (f"edition {edition.name}", base | _edition(bare, limits, edition, judge))
        for edition in machine.editions
    ] or [("the defaults", base)]
    rows = sum(1 for _ in machine.transitions) + 1
    room = max(len(editions[:_MOST]), min(_MOST, _WORK // rows))
    found = [Configuration(label, values) for label, values in editions]
    found += [
        Configuration(
            f"{label} with {name} = {limit_text(value)}", {**values, name: value}
        )
        for label, values in editions
        for name, value in others
        if values[name] is not value
    ]
    return tuple(found[:room])


def _alternatives(limit: Limit) -> tuple[LimitValue, ...]:
    if isinstance(limit.default, bool):
        return (limit.default, not limit.default)
    return (limit.default, *(v for v in limit.values if v is not limit.default))


def _edition(
    bare: Machine, limits: dict[str, Limit], edition: Edition, judge: Judge
) -> dict[str, LimitValue]:
    place = f"edition {edition.name}"
    found: dict[str, LimitValue] = {}
    for name, value in edition.limits.items():
        if name not in limits:
            judge.unknown("limit", str(name), limits, place)
        elif _fits(bare, limits[name], value, judge, f"{place}, limit {name}"):
            found[name] = value
    return found


def _fits(
    bare: Machine, limit: Limit, value: LimitValue, judge: Judge, place: str
) -> bool:
    try:
        resolve(bare, None, {limit.name: value})
    except UsageError as error:
        problem = f"{limit.name} cannot be {str(value)[:100]!r}"
        judge.report("bad_value", place, problem, str(error))
        return False
    except TypeError:
        judge.report("bad_value", place, f"{value!r:.100} is no value", "it is no word")
        return False
    return True


def judge_context(reading: Reading) -> None:
    """Judge laws, assumptions, raises and counters' domains of all machines."""
    seen: set[int] = set()
    for site in reading.model.sites:
        if id(site.machine) in seen:
            continue
        seen.add(id(site.machine))
        for law in site.machine.laws:
            _law(reading, site, law)
        for assumption in site.machine.assumptions:
            _assumption(reading, site, assumption)
        for row in site.machine.rows:
            if row.raises:
                _raises(reading, row.raises, f"row {site.prefix}{row.name}, raises")


def _law(reading: Reading, site: Site, law: Law) -> None:
    judge = reading.judge
    place = f"law {site.prefix}{law.name}"
    scope = _law_scope(reading, site)
    reasons = frozenset({"reason"}) | {
        each for name in site.reasons for each in (name, f"after.{name}")
    }
    read = dict(predicates(law))
    optional = {"start"} if law.scope.kind == "between" else set[str]()
    parts = {"other": law.other, "start": law.scope.start, "end": law.scope.end}
    pattern = f"{law.pattern}, {law.scope.kind}"
    for part, text in parts.items():
        empty = not str(text).strip()
        if part in read and empty and part not in optional:
            problem = f"its condition {part!r} is missing"
            judge.report("bad_value", place, problem, f"{pattern} needs it")
        elif part not in read and not empty:
            problem = f"its condition {part!r} is never asked"
            judge.report("bad_value", place, problem, f"{pattern} reads none")
    for part, text in read.items():
        node = judge.guard(text, scope, reasons, f"{place}, {part}")
        if node is None:
            reading.guess(site, text)
        else:
            _note(reading, site, node)
    if law.at_most.strip():
        _number(reading, site, law.at_most, f"{place}, at_most")
        if law.pattern != "bounded":
            cause = f"{law.pattern} reads no at_most"
            judge.report("bad_value", place, "its at_most is never asked", cause)


def _note(reading: Reading, site: Site, node: Node) -> None:
    for name in names(node):
        plain = name.removeprefix("after.")
        reading.reads |= {site.names.get(plain, plain), site.prefix + plain}


def _number(reading: Reading, site: Site, text: str, place: str) -> None:
    node = reading.judge.number(text, reading.limits, place)
    if node is None:
        reading.guess(site, text)
    else:
        reading.note(site, node)


def _law_scope(reading: Reading, site: Site) -> dict[str, Type]:
    """Return what a law may name; see `core.laws.law_scope`."""
    cut = len(site.prefix)
    inside = [s for s in reading.model.sites if s.prefix.startswith(site.prefix)]
    memory: dict[str, Type] = dict(site.types)
    phases: dict[str, None] = {}
    events: dict[str, None] = {}
    reasons: dict[str, None] = {}
    for each in inside:
        for name, full in each.names.items():
            if full.startswith(site.prefix):
                memory.setdefault(full[cut:], each.types[name])
        for phase in each.machine.phases:
            phases[each.prefix[cut:] + phase.name] = None
            for event in alphabet(phase):
                events[event.name] = None
                if phase.runs is not None:
                    phases[f"{each.prefix[cut:]}{phase.name}.{event.name}"] = None
        reasons |= dict.fromkeys(each.machine.reasons)
    ends = (terminal.name for terminal in site.machine.terminals)
    return {
        **reading.limits,
        **memory,
        **{f"after.{name}": kind for name, kind in memory.items()},
        "event": ChoiceType(tuple(events)),
        "phase": ChoiceType(tuple(phases)),
        "target": ChoiceType((*phases, *ends)),
        "reason": ChoiceType(tuple(reasons)),
        "progress": BOOL,
    }


def _assumption(reading: Reading, site: Site, assumption: Assumption) -> None:
    place = f"assumption {site.prefix}{assumption.name}"
    if assumption.phase not in site.phases:
        reading.judge.unknown("phase", str(assumption.phase), site.phases, place)
    else:
        events = [each.name for each in alphabet(site.phases[assumption.phase])]
        if assumption.event not in events:
            kind = f"event of {assumption.phase}"
            reading.judge.unknown(kind, str(assumption.event), events, place)
    if assumption.when != "":
        reading.condition(site, assumption.when, f"{place}, when")
    _number(reading, site, assumption.at_most, f"{place}, at_most")


def _raises(reading: Reading, pair: tuple[str, ...], place: str) -> None:
    judge = reading.judge
    reading.reads |= set(pair)
    if len(pair) != 2:  # noqa: PLR2004 - from, to
        problem = f"{len(pair)} limits are named"
        judge.report("bad_value", place, problem, "it is a pair: from, to")
        return
    for name in pair:
        if name not in reading.limits:
            judge.unknown("limit", str(name), reading.limits, place)
        elif reading.limits[name] != INT:
            judge.report("bad_value", place, f"{name} is no number", "it cannot raise")


def judge_unread(reading: Reading) -> None:
    """File limits and memory that nothing reads, nested machines included."""
    machine, judge = reading.model.machine, reading.judge
    # A slip reads what was meant by it.
    meant = {each.nearest.removeprefix("after.") for each in judge.found}
    meant |= reading.reads
    for limit in machine.all_limits:
        if limit.name not in meant:
            place = f"limit {limit.name}"
            problem, cause = "nothing reads it", "no guard, action, law or domain does"
            judge.report("unread_limit", place, problem, cause)
    for name, memory in _once(reading):
        places = {n for n, m in reading.model.memory.items() if m is memory}
        # Shared memory of the outermost machine is read by whoever nests it.
        if not meant & {memory.name, *places} and not memory.shared:
            problem, cause = "nothing reads it but itself", "it is only written"
            judge.report("unread_memory", f"memory {name}", problem, cause)


def _once(reading: Reading) -> Iterator[tuple[str, Memory]]:
    seen: set[int] = set()
    for name, memory in reading.model.memory.items():
        if id(memory) not in seen:
            seen.add(id(memory))
            yield name, memory
