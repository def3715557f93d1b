"""A run on a terminal: the machine, where it stands, what is used up, what was said.

It is told events and renders when asked; the width and height are those of the console
that prints it. A narrow or low one gets less, never something broken. Colours only
repeat what the text says. How often it is drawn is not known here: see `live_screen`.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import attrs
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as Grid
from rich.text import Text

from unspiral.engine.core.step import initial_snapshot, memory_of
from unspiral.engine.core.table import Table
from unspiral.engine.live.events import (
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Said,
    Status,
    Waiting,
)
from unspiral.engine.report.lines import Line, clean
from unspiral.engine.report.live_lines import LiveLines, spent_text
from unspiral.engine.report.live_meters import Meter, bar, meters

__all__ = ["LiveView"]

_WIDE, _HIGH = 64, 18  # columns and rows from which all is shown
_BAR_LEAST, _BAR_MOST = 8, 30  # columns of a bar
_BARS_FROM = 48  # columns from which there are bars
_LINES = 12  # of text, at the most
_LINES_LEAST = 3
_KEPT = 50  # lines of text
_REASONS = 6  # that are shown
_TAIL = 4_000  # characters of what is being said
_INDENT = 2  # columns before what is wrapped
_WORD = 60  # characters of what is being done

_STYLES: Mapping[str, str] = {
    "": "",
    "head": "bold",
    "good": "green",
    "bad": "red",
    "open": "yellow",
    "dim": "dim",
}
_DIM = Style(dim=True)
_BLOCKS, _ASCII = ("\u2588", "\u2591", "\u2502"), ("#", "-", "|")


@attrs.define
class LiveView:
    """Shows a run.

    Attributes:
        table: of the run.
        lines: tells events as lines, which are shown below.
    """

    table: Table
    lines: LiveLines = attrs.field(factory=LiveLines)
    _phase: str = attrs.field(init=False)
    _memory: Mapping[str, object] = attrs.field(init=False)
    _facts: Mapping[str, int | str] = attrs.field(
        factory=dict[str, int | str], init=False
    )
    _reasons: "deque[tuple[str, int]]" = attrs.field(
        factory=lambda: deque[tuple[str, int]](maxlen=_REASONS), init=False
    )
    _doing: str = attrs.field(default="", init=False)
    _told: "deque[Line]" = attrs.field(
        factory=lambda: deque[Line](maxlen=_KEPT), init=False
    )

    def __attrs_post_init__(self) -> None:
        start = initial_snapshot(self.table)
        self._phase, self._memory = start.phase, memory_of(self.table, start)

    def see(self, event: LiveEvent) -> None:
        """Take an event."""
        self._told.extend(self.lines.see(event))
        match event:
            case Decided():
                after = event.step.after
                self._phase, self._memory = after.phase, memory_of(self.table, after)
                self._facts = event.facts or self._facts
                self._doing = ""
            case Continued():
                self._remember(event.reason)
            case Waiting():
                self._doing = f"waits {event.seconds:,.1f} s: {event.why}"
            case Status():
                self._doing = event.word or ""
            case Said():
                self._doing = "thinks" if event.kind == "thinking" else "answers"
            case Ended():
                self._phase, self._doing = event.terminal, ""
            case _:
                pass

    def render(self) -> RenderableType:
        """Return a picture of this moment; later events do not change it."""
        said = self.lines.said[-_TAIL:]
        return _Picture(
            phases=_groups(self.table),
            phase=self._phase,
            head=self._head(),
            reasons=tuple(self._reasons),
            meters=tuple(meters(self._facts, self._memory, self.table.limits)),
            told=(*self._told, *self.lines.texts(said)),
        )

    def _remember(self, reason: str) -> None:
        if self._reasons and self._reasons[-1][0] == reason:
            self._reasons[-1] = (reason, self._reasons[-1][1] + 1)
        else:
            self._reasons.append((reason, 1))

    def _head(self) -> tuple[Text, ...]:
        """Return what is told on the first two lines."""
        edition = f" {self.table.edition}" if self.table.edition else ""
        ends = self._phase in self.table.terminals
        stands = f"ended: {self._phase}" if ends else f"at {self._phase}"
        doing = clean(self.lines.redaction.text(self._doing), _WORD)
        role = "" if not ends else "good" if self._phase == "completed" else "bad"
        first = Text.assemble(
            (clean(f"{self.table.machine.name}{edition}", _WORD), "bold"),
            "  ",
            (clean(stands, _WORD), f"bold {_STYLES[role]}".strip()),
            f"  {doing}" if doing else "",
        )
        return first, Text(spent_text(self._facts) or "nothing spent yet", "dim")


@attrs.frozen
class _Picture:
    """A moment of a run, drawn as wide and high as the console is."""

    phases: Mapping[str, Sequence[str]]
    phase: str
    head: tuple[Text, ...]
    reasons: tuple[tuple[str, int], ...]
    meters: tuple[Meter, ...]
    told: tuple[Line, ...]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        width, height = options.max_width, options.height or options.size.height
        flowing = options.update(height=None)
        letters = _ASCII if options.ascii_only else _BLOCKS
        whole = width >= _WIDE and height >= _HIGH
        parts: list[RenderableType] = [_one_line(each) for each in self.head]
        parts += [self._map()] if whole else []
        parts += [self._reasons_line(), self._meters(width, letters)]
        above = console.render_lines(Group(*parts), flowing, pad=False)
        above = above[: max(height - _LINES_LEAST - 1, 1)]
        room = max(min(_LINES, height - len(above) - 2), 0)
        rule = [Segment(("-" if options.ascii_only else "\u2500") * width, _DIM)]
        below = self._last(room, console, flowing)
        for row in [*above, rule, *below]:
            yield from row
            yield Segment.line()

    def _map(self) -> Grid:
        """Return the phases by their groups, with the one where it stands marked."""
        grid = Grid.grid(padding=(0, 1))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column()
        for group, names in self.phases.items():
            here = Text()
            for name in names:
                stands = name == self.phase.partition(".")[0]
                here.append(f"[{name}]" if stands else f" {name} ", _here(stands))
            grid.add_row(group, here)
        return grid

    def _reasons_line(self) -> Text:
        told = [f"{name} x{n}" if n > 1 else name for name, n in self.reasons]
        shown = ", ".join(reversed(told)) or "has not gone round yet"
        return _one_line(Text.assemble(("went on: ", "dim"), clean(shown)))

    def _meters(self, width: int, letters: Sequence[str]) -> Grid:
        grid = Grid.grid(padding=(0, 1))
        labels = max((len(each.name) for each in self.meters), default=0)
        grid.add_column(no_wrap=True, style="dim", min_width=labels)
        columns = 3 if width >= _BARS_FROM else 2
        for _ in range(columns - 1):
            grid.add_column(no_wrap=True, overflow="crop")
        texts = max((len(each.text) for each in self.meters), default=0)
        room = min(max(width - labels - texts - 4, _BAR_LEAST), _BAR_MOST)
        for each in self.meters:
            drawn = Text(bar(each, room, letters), _STYLES[each.state])
            cells = (each.name, drawn, each.text)
            grid.add_row(*(cells if columns == len(cells) else (each.name, each.text)))
        return grid

    def _last(
        self, room: int, console: Console, options: ConsoleOptions
    ) -> list[list[Segment]]:
        """Return the last rows of text; there are always as many."""
        if not room:
            return []
        told = self.told[-room:]
        texts = [
            row for line in told for row in _rows(line, console, options.max_width)
        ]
        rows = console.render_lines(Group(*texts[-room:]), options, pad=False)
        return [*rows, *([] for _ in range(room - len(rows)))]


def _groups(table: Table) -> Mapping[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for phase in table.machine.phases:
        groups.setdefault(clean(phase.group or "phases", _WORD), []).append(
            clean(phase.name, _WORD)
        )
    return groups


def _here(stands: bool) -> str:  # noqa: FBT001 - a verdict
    return "bold reverse" if stands else ""


def _one_line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "crop"
    return text


def _rows(line: Line, console: Console, width: int) -> Iterator[Text]:
    """Wrap a line; what follows its first row stands indented, as texts of others."""
    indent = min(max(line.indent, _INDENT), width - 1)
    wrapped = Text(line.text, _STYLES[line.role]).wrap(console, width - indent)
    for number, row in enumerate(wrapped):
        shift = indent if number else min(line.indent, indent)
        yield Text.assemble(" " * shift, row, no_wrap=True, overflow="crop")
