"""A schedule as people read it before it is played: in the order of decisions.

Every text of the schedule is quoted or cut to one printable line.
"""

from collections.abc import Iterator, Mapping

import attrs

from unspiral.engine.faults.reply import Compaction, Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.schedule import Context, Pattern, Play, Rule, Schedule
from unspiral.engine.faults.wire import as_json

__all__ = ["schedule_lines"]

_LONGEST = 48  # characters of an answer; of a name
_SHOWN = 40  # steps, and rules: nobody reads two thousand
_GAP = "  "

_Row = tuple[str, str, str, str]


def schedule_lines(schedule: Schedule) -> list[str]:
    """Return what is answered when: one line a decision, in the order of decisions.

    The columns are: which decision, what is answered, how often, and what it tests.
    """
    rows = [
        ("refused", _refused(schedule), "", ""),
        *_rules(schedule),
        *_side(schedule),
        *_random(schedule),
        *_steps(schedule),
        ("then", _answer(schedule.then), "for ever", _tests(schedule.then)),
    ]
    return [f"{_cut(schedule.name)}: {_counts(schedule)}", *_aligned(rows)]


def _counts(schedule: Schedule) -> str:
    counts = [
        f"{number:,} {word}{'s' if number > 1 else ''}"
        for word, number in (
            ("step", len(schedule.steps)),
            ("rule", len(schedule.rules)),
            ("random fault", len(schedule.rates)),
        )
        if number
    ]
    return ", ".join(counts) or "no step"


def _refused(schedule: Schedule) -> str:
    context: Context = schedule.context
    reasons = ["malformed requests"]
    if schedule.strict:
        reasons.append("histories with unpaired tool calls")
    if context.window is not None:
        reasons.append(f"prompts over {context.window:,} tokens")
        if context.overflow == "error":
            reasons[-1] += " (max_tokens included)"
    return ", ".join(reasons)


def _rules(schedule: Schedule) -> Iterator[_Row]:
    for number, rule in enumerate(schedule.rules[:_SHOWN], 1):
        label = f"rule {number}"
        yield label, _answer(rule.play), _times(rule.times), _tests(rule.play)
        yield "", f"when {_when(rule.when)}", "", ""
        yield from _after(rule)
    yield from _more(len(schedule.rules), "rules")


def _after(rule: Rule) -> Iterator[_Row]:
    if rule.then is not None:
        yield "", f"then {_answer(rule.then)}", "for ever", _tests(rule.then)


def _side(schedule: Schedule) -> Iterator[_Row]:
    if schedule.side is not None:
        answer, tests = _answer(schedule.side), _tests(schedule.side)
        yield "no tools", answer, "for ever", tests


def _random(schedule: Schedule) -> Iterator[_Row]:
    for name, rate in list(schedule.rates.items())[:_SHOWN]:
        share = f"{rate:.2%}".replace(".00%", "%")
        yield "random", name, f"{share} of them", _tests(Play(name))
    if schedule.rates:
        yield "", f"drawn with seed {schedule.seed}, for each run", "", ""


def _steps(schedule: Schedule) -> Iterator[_Row]:
    for number, step in enumerate(schedule.steps[:_SHOWN], 1):
        yield (
            f"step {number}",
            _answer(step.play),
            _times(step.times),
            _tests(step.play),
        )
    yield from _more(len(schedule.steps), "steps")


def _more(count: int, what: str) -> Iterator[_Row]:
    if count > _SHOWN:
        yield "...", f"and {count - _SHOWN:,} more {what}", "", ""


def _times(times: int | None) -> str:
    if times is None:
        return "for ever"
    return "once" if times == 1 else f"{times:,} times"


def _tests(play: Play) -> str:
    return f"tests {play.entry.rule}" if play.entry else ""


def _answer(play: Play) -> str:
    if play.entry is None:
        return _said(play.said)
    numbers = [f"{name} {value:,}" for name, value in play.numbers.items()]
    given = f" ({', '.join(numbers)})" if numbers else ""
    broken = f" of {_said(play.reply)}" if play.reply is not None else ""
    return _cut(f"{play.fault}{given}{broken}")


def _said(reply: Reply) -> str:
    words = [_block(block) for block in reply.blocks[:_SHOWN]]
    natural = attrs.evolve(reply, stop_reason=Reply().stop_reason).stop
    stop = (
        f" (stop reason {_cut(reply.stop or 'null')})" if reply.stop != natural else ""
    )
    return _cut(" + ".join(words) or "nothing", _LONGEST - len(stop)) + stop


def _block(block: Text | Thinking | ToolUse | Compaction) -> str:
    match block:
        case Text(text):
            return _quoted(text)
        case Thinking(text):
            return f"thinking {_quoted(text)}"
        case Compaction(text):
            return f"compaction {_quoted(text)}"
        case ToolUse(name, given):
            return f"call {_cut(name) or 'a tool'}{_given(given)}"


def _given(given: Mapping[str, object] | None) -> str:
    return "" if given is None else f" {as_json(given).decode()[:_LONGEST]}"


def _when(pattern: Pattern) -> str:
    plain = attrs.asdict(Pattern())
    words = [
        f"{name} {_worded(value)}"
        for name, value in attrs.asdict(pattern).items()
        if value != plain[name]
    ]
    return ", ".join(words) or "any request"


def _worded(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return _cut(str(value))


def _quoted(text: str) -> str:
    return f'"{_cut(text, _LONGEST - 8)}"'


def _cut(text: str, most: int = _LONGEST) -> str:
    """Return a text on one printable line."""
    line = " ".join(text[: 2 * most].split())
    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)
    return line if len(line) <= most else line[: max(0, most - 3)] + "..."


def _aligned(rows: list[_Row]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    widths[1] = max(len(row[1]) for row in rows if row[2])  # others may be longer
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield f"{_GAP}{_GAP.join((*cells, row[3]))}".rstrip()
