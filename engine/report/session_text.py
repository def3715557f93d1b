"""Sessions told: a list of them, and why one of them went on and stopped.

What a session holds may be hostile; all of it is cleaned. Files are read elsewhere.
"""

import datetime as dt
from collections.abc import Sequence

import attrs

from unspiral.engine.live.record import Record, record_to_plain
from unspiral.engine.live.why import why, whys
from unspiral.engine.report.lines import Line, Role, clean, columns
from unspiral.engine.report.live_lines import dollars

__all__ = [
    "Entry",
    "entries_lines",
    "entry_object",
    "why_lines",
    "why_object",
]

_TASK = 64  # characters of a task
_WORD = 60
_INDENT = 2


@attrs.frozen
class Entry:
    """What a list says of a session.

    Attributes:
        id: its id.
        path: its file.
        begun: when, in seconds since 1970.
        task: what it is about.
        machine: the machine that it runs.
        edition: of the machine.
        model: the model that it asks.
        steps: decisions recorded.
        state: the terminal of the last run, or "interrupted", or "running".
        micro_dollars: what it has cost, in millionths of a dollar.
        problem: why it cannot be read, or "". Then nothing else is known.
    """

    id: str
    path: str
    begun: float = 0.0
    task: str = ""
    machine: str = ""
    edition: str = ""
    model: str = ""
    steps: int = 0
    state: str = ""
    micro_dollars: int = 0
    problem: str = ""


# -- a list ----------------------------------------------------------------------------


def entries_lines(entries: Sequence[Entry], folder: str) -> list[Line]:
    """Return a list of sessions as a report: two lines each."""
    if not entries:
        return [Line(f"no sessions in {clean(folder)}", "dim")]
    whole = [each for each in entries if not each.problem]
    heads = dict(zip((e.id for e in whole), columns(map(_head, whole)), strict=True))
    return [line for each in entries for line in _entry_lines(each, heads)]


def _head(entry: Entry) -> tuple[str, ...]:
    return (
        clean(entry.id),
        when(entry.begun).replace("T", " "),
        clean(entry.state, _WORD),
        f"{entry.steps:,} step{'' if entry.steps == 1 else 's'}",
        dollars(entry.micro_dollars),
    )


def _entry_lines(entry: Entry, heads: dict[str, str]) -> list[Line]:
    if entry.problem:
        return [
            Line(f"{clean(entry.id)}  broken", "bad", whole=True),
            Line(clean(entry.problem), indent=_INDENT),
        ]
    runs = f"{entry.machine} {entry.edition}".strip()
    which = ", ".join(clean(each, _WORD) for each in (runs, entry.model) if each)
    task = clean(entry.task, _TASK) or "(no task)"
    told = f"{task}  [{which}]" if which else task
    head = Line(heads[entry.id], _role(entry.state), whole=True)
    return [head, Line(told, indent=_INDENT, whole=True)]


def _role(state: str) -> Role:
    roles: dict[str, Role] = {"completed": "good", "interrupted": "open"}
    return roles.get(state, "head" if state == "running" else "bad")


def when(seconds: float) -> str:
    """Return a time as ISO has it, in UTC; "" if no calendar knows it."""
    try:
        found = dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return found.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def entry_object(entry: Entry) -> dict[str, object]:
    """Return what a list says of a session as plain values for JSON."""
    plain = attrs.asdict(entry)
    return {**plain, "begun": when(entry.begun), "problem": entry.problem or None}


# -- why -------------------------------------------------------------------------------


def why_lines(
    records: Sequence[Record], name: str, task: str = "", step: int | None = None
) -> list[Line]:
    """Say why a session went on and stopped, and why not otherwise.

    Args:
        records: of the session.
        name: of the session.
        task: what it is about, or "".
        step: the number of one step, or None for every continue and stop.

    Raises:
        BadValue: there is no such step.
    """
    told = why(records, step)
    if not told:
        steps = f"{len(records):,} step{'' if len(records) == 1 else 's'}"
        told = [f"it has not gone on or stopped yet ({steps})"]
    title = f"{clean(name, _WORD)}: {clean(task, _TASK)}" if task else clean(name)
    return [Line(title, "dim", whole=True), *map(_why_line, told)]


def _why_line(text: str) -> Line:
    bare = text.lstrip(" ")
    indent = len(text) - len(bare)
    roles: tuple[Role, ...] = ("head", "", "dim")
    role = roles[min(indent // _INDENT, 2)]
    if not indent and " stops: " in bare:
        role = "good" if bare.endswith(" stops: completed") else "bad"
    return Line(clean(bare), role, indent, hang=4)


def why_object(
    records: Sequence[Record], name: str, task: str = "", step: int | None = None
) -> dict[str, object]:
    """Return the same as plain values for JSON.

    Raises:
        BadValue: there is no such step.
    """
    why(records, step)  # which refuses a step that is not there
    found = [(each.record, each.round) for each in whys(records)]
    if step is not None:
        found = [each for each in found if each[0].n == step] or [
            (each, (each,)) for each in records if each.n == step
        ]
    return {
        "format": 1,
        "session": name,
        "task": task,
        "decisions": [
            {
                **record_to_plain(last),
                "round": [record_to_plain(each) for each in round_],
            }
            for last, round_ in found
        ],
    }
