"""Writes machines as TOML, as one would by hand: short forms, no defaults.

Knows what has a short form. The text is laid out in blocks, one a table; two inner
machines with the same blocks are the same machine and are written once.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import attrs

from unspiral.engine.core.declare import (
    NONE,
    REASONS,
    Choice,
    Counter,
    Edition,
    Event,
    Flag,
    Law,
    Limit,
    LimitValue,
    Machine,
    Memory,
    Phase,
    Scope,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.errors import BadValue
from unspiral.engine.toml.fields import MAX_NUMBER

__all__ = ["write_machine"]

Record: TypeAlias = dict[str, object]
Body: TypeAlias = "tuple[_Block, ...]"

_WIDTH = 88
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_COUNTER = re.compile(r"\S(?:.*\S)?")
_SAFE = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


@attrs.frozen
class _Block:
    """One table: its path within the machine, whether it is a row, its lines."""

    path: tuple[str, ...]
    lines: tuple[str, ...]
    row: bool = False

    def text(self, prefix: tuple[str, ...]) -> str:
        name = ".".join(_key(part) for part in (*prefix, *self.path))
        header = [f"[[{name}]]" if self.row else f"[{name}]"] if name else []
        return "\n".join([*header, *self.lines])


def write_machine(machine: Machine) -> str:
    """Return the text of a machine and of all machines inside it."""
    book = _Book()
    body = book.body(machine)
    texts = [_Block((), (f"name = {_string(machine.name)}",)).text(())]
    if body[0].lines:
        texts[0] += "\n" + body[0].text(())
    texts += [block.text(()) for block in body[1:]]
    for (name, inner), alias in book.aliases.items():
        head = inner[0]
        if alias != name:
            head = attrs.evolve(head, lines=(f"name = {_string(name)}", *head.lines))
        blocks = (head, *inner[1:]) if head.lines else inner[1:]
        texts += [block.text(("machines", alias)) for block in blocks]
    return "\n\n".join(texts) + "\n"


class _Book:
    """The inner machines of one file and what they are called there."""

    def __init__(self) -> None:
        self.aliases: dict[tuple[str, Body], str] = {}
        self.known: dict[int, str] = {}

    def body(self, machine: Machine) -> Body:
        """Return the blocks of a machine; the first is that of its own fields."""
        own = _fields(machine, ("doc", "source", "initial"))
        blocks = [_Block((), tuple(_lines(own)))]
        blocks += _section("limits", {x.name: _limit(x) for x in machine.limits})
        blocks += _section("memory", {x.name: _memory(x) for x in machine.memory})
        blocks += _section("phases", {x.name: self.phase(x) for x in machine.phases})
        ends = {
            each.name: _fields(each, ("kind", "doc", "source"))
            for each in machine.terminals
        }
        shorts: dict[str, object] = {
            name: (fields.get("kind", "done") if set(fields) <= {"kind"} else fields)
            for name, fields in ends.items()
        }
        blocks += _section("terminals", shorts)
        for row in machine.transitions:
            blocks.append(_Block(("transitions",), tuple(_lines(_row(row))), row=True))
        for name, records in (
            ("laws", {law.name: _law(law) for law in machine.laws}),
            ("assumptions", {x.name: _fields(x) for x in machine.assumptions}),
            ("editions", {x.name: _edition(x) for x in machine.editions}),
        ):
            for key, record in records.items():
                blocks += _table((name, key), record)
        return tuple(blocks)

    def alias(self, machine: Machine) -> str:
        """Return the name of an inner machine, and write it if it is new."""
        if id(machine) not in self.known:
            content = machine.name, self.body(machine)
            if content not in self.aliases:
                taken = set(self.aliases.values())
                numbered = (f"{machine.name}_{i}" for i in itertools.count(2))
                names = itertools.chain([machine.name], numbered)
                free = next(name for name in names if name not in taken)
                self.aliases[content] = free
            self.known[id(machine)] = self.aliases[content]
        return self.known[id(machine)]

    def phase(self, phase: Phase) -> object:
        record: Record = {}
        if phase.events or phase.runs is None:
            record["events"] = [_event(event) for event in phase.events]
        if phase.runs is not None:
            record["runs"] = self.alias(phase.runs)
        record |= _fields(phase, ("cost", "group", "doc", "source"))
        if set(record) == {"events"}:
            return record["events"]
        if not phase.events:
            record.pop("events", None)
        return record


# -- records ---------------------------------------------------------------------------


def _fields(value: attrs.AttrsInstance, names: Sequence[str] = ()) -> Record:
    """Return the fields that differ from their defaults, without the name."""
    record: Record = {}
    for field in attrs.fields(type(value)):
        if field.name == "name" or (names and field.name not in names):
            continue
        content: object = getattr(value, field.name)
        default: object = field.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # it is a class
            default = {}
        if content != default:
            record[field.name] = content
    return record


def _limit(limit: Limit) -> object:
    rest = _fields(limit, ("unit", "source", "doc", "reading"))
    if limit.values:
        rest["values"] = [_limit_value(value) for value in limit.values]
    value = _limit_value(limit.default)
    if rest or limit.default == "UNLIMITED":
        return {"default": value, **rest}
    return value


def _limit_value(value: LimitValue) -> object:
    if value is UNLIMITED:
        return "UNLIMITED"
    return {"text": value} if value == "UNLIMITED" else value


def _memory(memory: Memory) -> object:
    rest = _fields(memory, ("unit", "doc", "source", "shared"))
    match memory:
        case Counter(low=low, high=high, initial=initial):
            if initial != low:
                rest = {"initial": initial, **rest}
            if not _PLAIN_COUNTER.fullmatch(high):
                return {"low": low, "high": high, **rest}
            span = f"{low}..{high}"
            return {"counter": span, **rest} if rest else span
        case Flag(initial=initial):
            return {"flag": initial, **rest} if rest else initial
        case Choice(values=values, initial=initial):
            named: object = "reasons" if values == REASONS else list(values)
            first = NONE if values == REASONS else next(iter(values), None)
            if initial != first:
                rest = {"initial": initial, **rest}
            return {"choice": named, **rest} if rest else named


def _event(event: Event) -> object:
    rest = _fields(event)
    return {"name": event.name, **rest} if rest else event.name


def _row(row: Transition) -> Record:
    record = _fields(row)
    if row.name:
        record["name"] = row.name
    order = ("name", "source", "event", "guard", "target", "action")
    return {key: record.pop(key) for key in order if key in record} | record


def _law(law: Law) -> Record:
    record = _fields(law)
    if law.scope != Scope():
        record["scope"] = {
            "kind": law.scope.kind,
            **_fields(law.scope, ("start", "end")),
        }
    return record


def _edition(edition: Edition) -> Record:
    record = _fields(edition, ("doc",))
    limits = {name: _limit_value(value) for name, value in edition.limits.items()}
    return record | ({"limits": limits} if limits else {})


# -- layout ----------------------------------------------------------------------------


def _section(title: str, entries: Mapping[str, object]) -> list[_Block]:
    """Lay out short entries as one table, longer ones as a table each."""
    if not entries:
        return []
    width = max(len(_key(name)) for name in entries)
    lines = [f"{_key(k):{width}} = {_value(v)}" for k, v in entries.items()]
    if all(len(line) <= _WIDTH for line in lines):
        return [_Block((title,), tuple(lines))]
    blocks: list[_Block] = []
    for name, entry in entries.items():
        blocks += _table((title, name), _long(title, entry))
    return blocks


def _long(title: str, entry: object) -> Record:
    """Return the table that means the same as a short entry."""
    if isinstance(entry, dict):
        return cast("Record", entry)
    if title == "limits":
        return {"default": entry}
    if title == "phases":
        return {"events": entry} if entry else {}
    if title == "terminals":
        return {"kind": entry} if entry != "done" else {}
    if isinstance(entry, bool):
        return {"flag": entry}
    kind = "choice" if isinstance(entry, list) or entry == "reasons" else "counter"
    return {kind: entry}


def _table(path: tuple[str, ...], record: Record) -> list[_Block]:
    """Lay out a table; a table in it that is too long for a line stands below it."""
    below = {
        key: dict(cast("Mapping[str, object]", value))
        for key, value in record.items()
        if isinstance(value, Mapping) and len(_line(key, record)) > _WIDTH
    }
    flat = {key: value for key, value in record.items() if key not in below}
    blocks = [_Block(path, tuple(_lines(flat)))]
    for key, value in below.items():
        blocks += _table((*path, key), value)
    return blocks


def _lines(record: Record) -> list[str]:
    lines: list[str] = []
    for key, value in record.items():
        line = _line(key, record)
        if len(line) > _WIDTH and isinstance(value, list | tuple):
            items = [f"    {_value(item)}," for item in cast("list[object]", value)]
            line = "\n".join([f"{_key(key)} = [", *items, "]"])
        elif isinstance(value, str) and "\n" in value:
            line = f"{_key(key)} = {_paragraph(value)}"
        lines.append(line)
    return lines


def _line(key: str, record: Record) -> str:
    return f"{_key(key)} = {_value(record[key])}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return _number(value)
        case Mapping():
            table = cast("Mapping[str, object]", value)
            pairs = [f"{_key(key)} = {_value(table[key])}" for key in table]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case list() | tuple():
            items = [_value(item) for item in cast("list[object]", value)]
            return f"[{', '.join(items)}]"
        case _:
            return _string(str(value))


def _number(value: int) -> str:
    if abs(value) > MAX_NUMBER:
        # Not the number itself: a huge one cannot even be written out.
        shown = f"a number of {value.bit_length()} bits"
        raise BadValue("a number in a machine", shown, f"at most {MAX_NUMBER:,}")
    return str(value)


def _escape(character: str) -> str:
    if character in _SAFE:
        return _SAFE[character]
    control = character < " " or character == "\x7f"
    return f"\\u{ord(character):04x}" if control else character


def _string(text: str) -> str:
    return f'"{"".join(_escape(character) for character in text)}"'


def _paragraph(text: str) -> str:
    """Write a text of several lines as several lines."""
    lines = ["".join(_escape(c) for c in line) for line in text.split("\n")]
    return '"""\n' + "\n".join(lines) + '"""'
