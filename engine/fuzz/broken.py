"""Machines with one thing wrong, of a kind that `validate` must find.

A well-formed machine gets the part that is wrong; the rest stays as it was drawn. Each
kind is a code of `core.findings`. Knows declarations, and nothing of how they are
judged.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import attrs
from hypothesis import strategies as st

from unspiral.engine.core.declare import (
    Counter,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.errors import UnknownName
from unspiral.engine.fuzz.machines import machines

__all__ = ["ill_formed"]

_MORE = "one_more"  # the event, phase, ... that is added


def ill_formed(kind: str | None = None) -> st.SearchStrategy[Machine]:
    """Return a strategy for machines that are not well formed.

    Args:
        kind: the code of the finding that each has, perhaps beside others; any unless
            given. `too_large` is not drawn.

    Raises:
        UnknownName: no such kind.
    """
    if kind is not None and kind not in _BREAKS:
        raise UnknownName("kind of finding", kind, tuple(_BREAKS))
    kinds = tuple(_BREAKS) if kind is None else (kind,)
    sound = machines(nested=False, max_phases=3, max_memory=2)
    return st.builds(_broken, st.sampled_from(kinds), sound)


def _broken(kind: str, machine: Machine) -> Machine:
    return _BREAKS[kind](machine)


def _plus(machine: Machine, **more: object) -> Machine:
    """Return a machine with one more part of each sort."""
    joined = {name: (*getattr(machine, name), part) for name, part in more.items()}
    return attrs.evolve(machine, **joined)  # type: ignore[arg-type]  # parts of its fields


def _hearing(machine: Machine, *rows: Transition) -> Machine:
    """Return a machine whose first phase takes one more event, by these rows."""
    first = machine.phases[0]
    heard = attrs.evolve(first, events=(*first.events, Event(_MORE)))
    return attrs.evolve(
        machine,
        phases=(heard, *machine.phases[1:]),
        transitions=(*machine.transitions, *rows),
    )


def _row(machine: Machine, guard: str = "", **more: object) -> Transition:
    """Return a row of the added event, to an end unless it says otherwise."""
    row = Transition(
        machine.phases[0].name, machine.terminals[0].name, _MORE, guard, name=""
    )
    return attrs.evolve(row, **more)  # type: ignore[arg-type]  # fields of a row


def _back(machine: Machine, guard: str = "", *, reason: str) -> Transition:
    return _row(machine, guard, target=machine.phases[0].name, reason=reason)


def _unknown_name(machine: Machine) -> Machine:
    return _hearing(machine, _row(machine, "nobody < 1"), _row(machine, "otherwise"))


def _bad_text(machine: Machine) -> Machine:
    return _hearing(machine, _row(machine, "1 +"), _row(machine, "otherwise"))


def _bad_value(machine: Machine) -> Machine:
    return _plus(machine, memory=Counter(_MORE, 1, initial=5))


def _misplaced_event(machine: Machine) -> Machine:
    return _plus(machine, transitions=_row(machine, event=""))


def _reason_without_row(machine: Machine) -> Machine:
    return _plus(machine, laws=Law(_MORE, "absence", "reason == 'nobodys'"))


def _not_total(machine: Machine) -> Machine:
    return _hearing(machine)


def _overlap(machine: Machine) -> Machine:
    lit = _plus(_plus(machine, memory=Flag("lit")), memory=Flag("dim"))
    rows = (_row(machine, "lit"), _row(machine, "not lit or dim"))
    setting = _row(machine, action="lit = not lit; dim = not dim", event="set_both")
    heard = _hearing(lit, *rows)
    first = heard.phases[0]
    more = attrs.evolve(first, events=(*first.events, Event("set_both")))
    back = attrs.evolve(setting, target=first.name, reason="set_both")
    return attrs.evolve(
        heard,
        phases=(more, *heard.phases[1:]),
        transitions=(*heard.transitions, back),
    )


def _no_exit(machine: Machine) -> Machine:
    trapped = _plus(machine, phases=Phase("trap", ("turn",)))
    rows = (_row(machine, target="trap"), Transition("trap", "trap", "turn"))
    return _hearing(trapped, *rows)


def _unreachable_phase(machine: Machine) -> Machine:
    row = Transition(_MORE, machine.terminals[0].name, "go")
    return _plus(machine, phases=Phase(_MORE, ("go",)), transitions=row)


def _unreachable_terminal(machine: Machine) -> Machine:
    return _plus(machine, terminals=Terminal(_MORE))


def _never_taken(machine: Machine) -> Machine:
    return _hearing(machine, _row(machine, "True"), _row(machine, "otherwise"))


def _reason_never_given(machine: Machine) -> Machine:
    never = _back(machine, "otherwise", reason="never")
    return _hearing(machine, _row(machine, "True"), never)


def _no_reason(machine: Machine) -> Machine:
    aside = _plus(machine, phases=Phase("aside", ("go",)))
    back = Transition("aside", machine.phases[0].name, "go")
    return _hearing(aside, _row(machine, target="aside"), back)


def _no_raise(machine: Machine) -> Machine:
    limits = _plus(_plus(machine, limits=Limit("lower", 5)), limits=Limit("higher", 3))
    return _hearing(limits, _row(machine, raises=("lower", "higher")))


def _unbudgeted(machine: Machine) -> Machine:
    return _hearing(machine, _back(machine, reason="for_nothing"))


def _equality(machine: Machine) -> Machine:
    counted = _plus(
        _plus(machine, memory=Counter("tries", "most")), limits=Limit("most", 3)
    )
    raising = _back(machine, "otherwise", reason="counted")
    counting = attrs.evolve(raising, action="tries = min(tries + 1, most)")
    return _hearing(counted, _row(machine, "tries == most"), counting)


def _unread_limit(machine: Machine) -> Machine:
    return _plus(machine, limits=Limit(_MORE, 1))


def _unread_memory(machine: Machine) -> Machine:
    return _plus(machine, memory=Flag(_MORE))


_BREAKS: Mapping[str, Callable[[Machine], Machine]] = MappingProxyType(
    {
        "unknown_name": _unknown_name,
        "bad_text": _bad_text,
        "bad_value": _bad_value,
        "misplaced_event": _misplaced_event,
        "reason_without_row": _reason_without_row,
        "not_total": _not_total,
        "overlap": _overlap,
        "no_exit": _no_exit,
        "unreachable_phase": _unreachable_phase,
        "unreachable_terminal": _unreachable_terminal,
        "never_taken": _never_taken,
        "reason_never_given": _reason_never_given,
        "no_reason": _no_reason,
        "no_raise": _no_raise,
        "unbudgeted": _unbudgeted,
        "equality": _equality,
        "unread_limit": _unread_limit,
        "unread_memory": _unread_memory,
    }
)
