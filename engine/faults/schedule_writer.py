"""From a schedule to the text of a file: what has its default is left out.

Nobody but `schedule_file` should call it: only there is it tried that the text gives
the schedule back.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

import attrs

from unspiral.engine.errors import ScheduleError
from unspiral.engine.faults.reply import (
    DERIVED,
    Block,
    Compaction,
    Reply,
    Text,
    Thinking,
    ToolUse,
)
from unspiral.engine.faults.schedule import (
    DONE,
    Context,
    Pattern,
    Play,
    Rule,
    Schedule,
    Step,
)

__all__ = ["write_schedule"]

Record: TypeAlias = dict[str, object]

_WIDTH = 88
_BARE = re.compile(r"[A-Za-z0-9_-]{1,60}")
_SAFE = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_DOTS = 40  # the reader takes a row of more words with dots between them for a key
_MAX_NUMBER = 2**63


def write_schedule(schedule: Schedule, path: str) -> str:
    """Return the text of a schedule.

    Args:
        schedule: what is written.
        path: what errors call it.

    Raises:
        ScheduleError: a value has no form in TOML.
    """
    try:
        return "\n".join(_blocks(schedule)) + "\n"
    except _Unwritable as error:
        raise ScheduleError(path, "", f"{error} has no form in a file") from None


class _Unwritable(Exception):
    """A value that TOML cannot hold."""


def _blocks(schedule: Schedule) -> Iterator[str]:
    yield from _lines(_top(schedule))
    if schedule.context != Context():
        yield from ("", "[context]", *_lines(_context(schedule.context)))
    if schedule.rates:
        yield from ("", "[rates]", *_lines(dict(schedule.rates)))
    for step in schedule.steps:
        yield from ("", "[[step]]", *_lines(_step(step)))
    for rule in schedule.rules:
        yield from ("", "[[rule]]", *_lines(_rule(rule)))


# -- values to tables ------------------------------------------------------------------


def _top(schedule: Schedule) -> Record:
    record: Record = {"name": schedule.name}
    if schedule.seed:
        record["seed"] = schedule.seed
    if schedule.then != DONE:
        record["then"] = _answer(schedule.then)
    if schedule.side is None:
        record["side"] = False
    elif schedule.side != DONE:
        record["side"] = _answer(schedule.side)
    if not schedule.strict:
        record["strict"] = False
    return record


def _context(context: Context) -> Record:
    window = False if context.window is None else context.window
    return {"window": window, "overflow": context.overflow}


def _step(step: Step) -> Record:
    record = _play(step.play)
    if step.times is None:
        record["forever"] = True
    elif step.times != 1:
        record["times"] = step.times
    return record


def _rule(rule: Rule) -> Record:
    record: Record = {"when": _pattern(rule.when), **_play(rule.play)}
    if rule.times is not None:
        record["times"] = rule.times
    if rule.then is not None:
        record["then"] = _answer(rule.then)
    return record


def _pattern(pattern: Pattern) -> Record:
    plain = attrs.asdict(Pattern())
    given = attrs.asdict(pattern)
    return {name: value for name, value in given.items() if value != plain[name]}


def _answer(play: Play) -> object:
    record = _play(play)
    value = record.get("reply")
    return record if play.fault or isinstance(value, Mapping) else value


def _play(play: Play) -> Record:
    record: Record = {"fault": play.fault} if play.fault else {}
    names = play.entry.parameters if play.entry else ()
    record |= {name: play.numbers[name] for name in names if name in play.numbers}
    if play.reply is not None:
        record["reply"] = _reply(play.reply)
    return record


def _reply(reply: Reply) -> object:
    content: object = [_part(block) for block in reply.blocks]
    match reply.blocks:
        case (Text(text),):
            content = text
        case _:
            pass
    more: Record = {}
    if reply.stop_reason != DERIVED:
        more["stop_reason"] = False if reply.stop_reason is None else reply.stop_reason
    for name in ("stop_sequence", "stop_details", "input_tokens", "output_tokens"):
        value: object = getattr(reply, name)
        if value is not None:
            more[name] = value
    if reply.pieces != Reply().pieces:
        more["pieces"] = reply.pieces
    return {"content": content, **more} if more else content


def _part(block: Block) -> object:
    match block:
        case Text(text):
            return text
        case Thinking(text, signature):
            signed = signature != Thinking("").signature
            more: Record = {"signature": signature} if signed else {}
            return {"thinking": text, **more}
        case Compaction(text):
            return {"compaction": text}
        case ToolUse():
            return {"tool": block.name, **_details(block)}


def _details(call: ToolUse) -> Record:
    given: Record = attrs.asdict(call, recurse=False)
    plain: Record = attrs.asdict(ToolUse(call.name), recurse=False)
    return {name: value for name, value in given.items() if value != plain[name]}


# -- tables to text --------------------------------------------------------------------


def _lines(record: Mapping[str, object]) -> Iterator[str]:
    for key, value in record.items():
        line = f"{_key(key)} = {_value(value)}"
        if len(line) <= _WIDTH or not isinstance(value, list):
            yield line
            continue
        yield f"{_key(key)} = ["
        for item in cast("list[object]", value):
            yield f"    {_value(item)},"
        yield "]"


def _key(name: object) -> str:
    if not isinstance(name, str):
        problem = "a key that is no string"
        raise _Unwritable(problem)
    return name if _BARE.fullmatch(name) else _string(name)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) < _MAX_NUMBER:
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _string(value)
        case Mapping():
            table = cast("Mapping[object, object]", value)
            pairs = [f"{_key(key)} = {_value(each)}" for key, each in table.items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case list() | tuple():
            items = [_value(item) for item in cast("Sequence[object]", value)]
            return f"[{', '.join(items)}]"
        case _:
            kind = type(value).__name__
            raise _Unwritable("null" if value is None else f"such a value ({kind})")


def _string(text: str) -> str:
    written = [_escape(character) for character in text]
    if text.count(".") >= _DOTS:
        dots = [place for place, character in enumerate(text) if character == "."]
        for place in dots[_DOTS - 1 :: _DOTS]:
            written[place] = "\\u002e"
    return f'"{"".join(written)}"'


def _escape(character: str) -> str:
    if character in _SAFE:
        return _SAFE[character]
    hidden = character < " " or character == "\x7f" or "\ud800" <= character <= "\udfff"
    return f"\\u{ord(character):04x}" if hidden else character
