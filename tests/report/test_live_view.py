"""The view of a run: as wide as the terminal, never more, and drawn in good time."""

import io
from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from tests.live.running import Bench, Script, calls, refused, said
from tests.live.sessions import START, TABLE
from tests.live.test_record import run_of
from unspiral.engine.core.step import Step, step
from unspiral.engine.core.table import compile_table
from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Said,
    Shown,
    Status,
    Tombstone,
    Waiting,
    Warned,
)
from unspiral.engine.live.message import Message
from unspiral.engine.live.ports import Delta
from unspiral.engine.report.live_meters import Meter, bar, meters
from unspiral.engine.report.live_screen import Screen, on_terminal
from unspiral.engine.report.live_view import LiveView
from unspiral.machines.turnstile import TURNSTILE

HOSTILE = "\x1b[2Jred\x07 \u202eright \x9b31m\r\0 [red]x[/red]"
FACTS = {
    "tokens": 61_000,
    "threshold": 167_000,
    "window": 200_000,
    "spent.turns": 1,
    "spent.model_calls": 2,
    "spent.tokens": 45_000,
    "budget.tokens": 100_000,
    "spent.micro_dollars": 123_000,
    "budget.micro_dollars": 2_000_000,
    "spent.seconds": 12,
}
WIDE = """\
query_loop hardened  at call_model.request  answers
1 turn, 2 model calls, 45,000 tokens, $0.1230, 12.0 s
context   shape  autocompact  preflight
model    [call_model] read_reply
decision  diagnose  drain  reactive_gate  compact_reactively  stop_hooks
         token_budget
tools     run_tools
went on: stop_hook_blocking, next_turn x2
context       #######-------------|--- 61,000 of 200,000, compacted at 167,000
turns                                  3
recovery      ###--------------------- 1 of 8
tokens budget ###########------------- 45,000 of 100,000
money budget  #----------------------- $0.1230 of $2.00
{rule}
goes on: next_turn
goes on: next_turn
goes on: stop_hook_blocking
calls bash command=pytest -q
  I will look at the parser.
"""
NARROW = """\
query_loop hardened  at call_model.reque
1 turn, 2 model calls, 45,000 tokens, $0
went on: stop_hook_blocking, next_turn x
context       61,000 of 200,000, compact
turns         3
recovery      1 of 8
tokens budget 45,000 of 100,000
money budget  $0.1230 of $2.00
----------------------------------------
calls bash command=pytest -q
  I will look at the parser.
"""


def taken(phase: str, **memory: int) -> Step:
    """A step that leads to a phase with some memory."""
    values = list(START.memory)
    for name, value in memory.items():
        values[TABLE.positions[name]] = value
    first = step(TABLE, START, TABLE.events[START.phase][0])
    return first._replace(after=first.after._replace(phase=phase, memory=tuple(values)))


def shown(
    view: LiveView, width: int = 80, height: int = 24, encoding: str = "utf-8"
) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, record=True, width=width, height=height)
    console.print(view.render())
    lines = console.export_text().splitlines()
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def seen(*events: LiveEvent) -> LiveView:
    view = LiveView(TABLE)
    for each in events:
        view.see(each)
    return view


@pytest.fixture
def view() -> LiveView:
    return seen(
        Continued("next_turn", (), START),
        Continued("next_turn", (), START),
        Continued("stop_hook_blocking", (), START),
        Decided(taken("call_model.request", turn=3, recovery_spent=1), 0.1, FACTS),
        Calling("c1", "bash", {"command": "pytest -q"}),
        Said("text", "I will look ", 1),
        Said("text", "at the parser.", 1),
    )


# -- the picture -----------------------------------------------------------------------


def test_a_wide_terminal_shows_machine_meters_and_text(view: LiveView) -> None:
    drawn = shown(view).translate(str.maketrans("\u2588\u2591\u2502", "#-|"))

    assert drawn == WIDE.replace("{rule}", "\u2500" * 80)


def test_a_narrow_one_in_ascii_shows_no_map_and_no_bars(view: LiveView) -> None:
    assert shown(view, 40, 12, "ascii") == NARROW


@given(st.integers(1, 130), st.integers(1, 50))
def test_no_size_breaks_it(width: int, height: int) -> None:
    text = "word " * 300 + "\u4e2d" * 300
    view = seen(
        Decided(taken("run_tools", turn=2), 0.1, FACTS),
        Calling("c", "bash", {"command": text}),
        Answered(Message("assistant", ({"type": "text", "text": text},), "answer")),
    )
    console = Console(file=io.StringIO(), width=width, height=height)

    lines = console.render_lines(view.render(), console.options, pad=False)

    assert max(sum(part.cell_length for part in line) for line in lines) <= width
    assert len(lines) <= max(height - 1, 2)


def test_its_height_does_not_change_with_its_text(view: LiveView) -> None:
    console = Console(file=io.StringIO(), width=80, height=24)
    before = len(console.render_lines(view.render()))

    for number in range(40):
        view.see(Warned(f"number {number}"))

    assert len(console.render_lines(view.render())) == before


def test_it_begins_where_the_machine_begins() -> None:
    text = shown(seen())

    assert "at shape.result_budget" in text
    assert "[shape]" in text
    assert "has not gone round yet" in text


def test_the_end_is_told_and_no_phase_is_marked(view: LiveView) -> None:
    view.see(Ended("max_turns", (), "", START))

    text = shown(view)

    assert "ended: max_turns" in text
    assert "[" not in text


@pytest.mark.parametrize(
    ("event", "doing"),
    [
        (Waiting(3.0, "overloaded"), "waits 3.0 s: overloaded"),
        (Status("compacting"), "compacting"),
        (Said("thinking", "hm", 1), "thinks"),
    ],
)
def test_what_is_being_done_stands_in_the_head_until_the_next_decision(
    view: LiveView, event: LiveEvent, doing: str
) -> None:
    view.see(event)
    assert doing in shown(view).splitlines()[0]

    view.see(Decided(taken("read_reply"), 0.1, FACTS))
    assert doing not in shown(view).splitlines()[0]


def test_what_is_withdrawn_is_seen_no_more(view: LiveView) -> None:
    view.see(Tombstone(1))

    assert "parser" not in shown(view)


def test_a_picture_is_not_changed_by_later_events(view: LiveView) -> None:
    console = Console(file=io.StringIO(), width=80, height=24)
    picture = view.render()
    before = console.render_lines(picture)

    view.see(Ended("completed", (), "", START))

    assert console.render_lines(picture) == before


def test_only_the_last_reasons_are_kept() -> None:
    events = [Continued(f"reason_{n}", (), START) for n in range(20)]

    line = shown(seen(*events), width=130).splitlines()[6]

    assert line.startswith("went on: reason_19, reason_18")
    assert "reason_13" not in line


def test_no_row_of_a_wrapped_text_can_pass_for_a_line_of_ours() -> None:
    drawn = (
        shown(seen(Warned("x" * number + " ended: completed")))
        for number in range(40, 80)
    )

    rows = [row for text in drawn for row in text.splitlines() if "ended: " in row]

    assert "  ended: completed" in rows
    assert [row for row in rows if row.startswith("ended")] == []


def test_a_machine_without_groups_is_shown_too() -> None:
    text = shown(LiveView(compile_table(TURNSTILE)))

    assert "turnstile" in text
    assert "phases" in text


def test_a_real_run_is_shown_at_every_step() -> None:
    _, steps = run_of([0, 1, 2, 3])
    view = LiveView(TABLE)
    for each in steps:
        view.see(Decided(each, 0.1, FACTS))

        assert each.after.phase in shown(view)


def test_an_agent_is_shown_at_every_event() -> None:
    model = Script(
        [
            calls("look", "change", "nothing", id_="a1"),
            refused("overloaded", "529"),
            refused("prompt_too_long"),
            said("Half", stop="max_tokens", id_="a2"),
            said("It is done.", id_="a3"),
        ],
        deltas=[Delta("thinking", "hm"), Delta("text", "Ha"), Delta("text", "lf")],
    )
    ran = Bench(model).run()
    view = LiveView(ran.agent.table)
    for each in ran.events:
        view.see(each)

        assert len(shown(view).splitlines()) <= 23
    assert f"ended: {ran.end}" in shown(view)


@pytest.mark.parametrize("colour", [True, False])
def test_nothing_hostile_reaches_the_terminal(colour: bool) -> None:
    view = seen(
        Said("text", HOSTILE, 1),
        Calling(HOSTILE, HOSTILE, {HOSTILE: HOSTILE}),
        Called(HOSTILE, HOSTILE, HOSTILE, error=True),
        Warned(HOSTILE),
        Shown(HOSTILE),
        Continued(HOSTILE, (), START),
        Decided(taken("run_tools"), 0.1, {"tokens": HOSTILE}),
        Waiting(1, HOSTILE),
    )
    file = io.StringIO()
    Console(file=file, width=100, height=40, force_terminal=colour).print(view.render())

    text = file.getvalue()

    assert "[2Jred" in text
    assert "[red]x[/red]" in text
    bad = "\x07\x00\r\u202e\x9b"
    assert [char for char in text if char in bad] == []
    assert "\x1b[2J" not in text
    assert ("\x1b" in text) is colour


# -- meters ----------------------------------------------------------------------------

COUNTS = st.floats(0, 1e9)


@given(COUNTS, st.floats(1, 1e9), st.none() | COUNTS, st.integers(3, 60))
def test_a_bar_is_full_only_at_the_end_and_empty_only_at_nothing(
    used: float, whole: float, mark: float | None, width: int
) -> None:
    cells = bar(Meter("x", used, whole, None, ""), width)
    marked = bar(Meter("x", used, whole, mark, ""), width)

    assert len(cells) == len(marked) == width
    assert (cells == "#" * width) is (used >= whole)
    assert (cells == "-" * width) is (used == 0)
    assert marked.count("|") == int(mark is not None and 0 < mark < whole)


def test_what_has_no_end_has_no_bar() -> None:
    assert bar(Meter("turns", 3, None, None, "3"), 20) == ""


@pytest.mark.parametrize(
    ("used", "mark", "state"),
    [
        (0, None, "good"),
        (89, None, "good"),
        (90, None, "open"),
        (100, None, "bad"),
        (40, 50, "good"),
        (50, 50, "open"),
    ],
)
def test_a_meter_warns_at_its_mark_or_near_its_end(
    used: float, mark: float | None, state: str
) -> None:
    assert Meter("x", used, 100, mark, "").state == state


def test_only_what_is_known_has_a_meter() -> None:
    facts = {"spent.tokens": 5, "spent.turns": 1, "budget.turns": 4}

    found = meters(facts, {"turn": 2, "other": 9}, {"max_turns": 20})

    assert [(each.name, each.text) for each in found] == [
        ("turns", "2 of 20"),
        ("turns budget", "1 of 4"),
    ]


# -- when it is drawn ------------------------------------------------------------------


@attrs.define
class Hand:
    """A clock and its timers, moved by hand."""

    time: float = 0.0
    timers: list["Alarm"] = attrs.field(factory=list["Alarm"])

    def now(self) -> float:
        return self.time

    def later(self, delay: float, callback: Callable[[], None]) -> "Alarm":
        self.timers.append(Alarm(self.time + delay, callback))
        return self.timers[-1]

    def to(self, time: float) -> None:
        for each in [each for each in self.timers if each.at <= time]:
            self.time = each.at
            if not each.cancelled:
                each.callback()
            self.timers.remove(each)
        self.time = time


@attrs.define
class Alarm:
    at: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@attrs.define
class Drawn:
    hand: Hand = attrs.field(factory=Hand)
    times: list[float] = attrs.field(factory=list[float])
    view: LiveView = attrs.field(factory=lambda: LiveView(TABLE))

    def screen(self) -> Screen:
        return Screen(self.view, self.show, self.hand.now, self.hand.later)

    def show(self, _: RenderableType) -> None:
        self.times.append(self.hand.time)


def test_a_storm_of_events_is_drawn_ten_times_a_second() -> None:
    drawn = Drawn()
    screen = drawn.screen()

    for number in range(2_000):  # one each millisecond
        drawn.hand.to(number / 1_000)
        screen.see(Said("text", "x", 1))
    drawn.hand.to(3)

    gaps = [b - a for a, b in zip(drawn.times, drawn.times[1:], strict=False)]
    assert 19 <= len(drawn.times) <= 21
    assert min(gaps) > 0.099


def test_the_last_of_a_storm_is_drawn_though_nothing_follows() -> None:
    drawn = Drawn()
    screen = drawn.screen()
    screen.see(Warned("one"))
    screen.see(Warned("two"))
    assert drawn.times == [0]

    drawn.hand.to(60)

    assert drawn.times == [0, 0.1]


def test_the_end_is_drawn_at_once_and_nothing_after_it() -> None:
    drawn = Drawn()
    screen = drawn.screen()
    screen.see(Warned("one"))
    screen.see(Warned("two"))
    screen.see(Ended("completed", (), "", START))
    screen.close()

    drawn.hand.to(60)

    assert drawn.times == [0, 0]


def test_what_is_not_drawn_yet_is_drawn_when_it_is_closed() -> None:
    drawn = Drawn()
    screen = drawn.screen()
    screen.see(Warned("one"))
    screen.see(Warned("two"))
    screen.close()
    drawn.hand.to(60)

    assert drawn.times == [0, 0]


def test_nothing_is_drawn_where_nothing_happens() -> None:
    drawn = Drawn()
    drawn.screen().close()

    drawn.hand.to(60)

    assert drawn.times == []


@pytest.mark.parametrize("no_colour", [True, False])
def test_on_a_terminal_the_picture_stays_and_no_color_is_heard(
    no_colour: bool, view: LiveView
) -> None:
    file, hand = io.StringIO(), Hand()
    environment = {"NO_COLOR": "1"} if no_colour else {}
    console = Console(
        file=file,
        width=80,
        height=24,
        force_terminal=True,
        color_system="standard",
        _environ={"TERM": "xterm", **environment},
    )

    with on_terminal(view, hand.now, hand.later, console) as screen:
        screen.see(Ended("completed", (), "", START))

    text = file.getvalue()
    assert "ended: completed" in text
    assert ("\x1b[32m" in text) is not no_colour
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor
