"""A nested machine of the size that people draw, and a small one."""

import pytest

from unspiral.engine.core.declare import (
    REASONS,
    Choice,
    Counter,
    Edition,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED

_ATTEMPT = Machine(
    name="attempt",
    phases=(
        Phase(
            "send",
            events=("reply", "truncated", "overloaded", "too_long", "fatal", "abort"),
            cost={"model_calls": 1},
            doc="One request to the model.",
        ),
        Phase("decide_retry", doc="May the request be sent again?"),
        Phase("back_off", events=("waited", "abort")),
    ),
    terminals=(
        Terminal("replied"),
        Terminal("cut_short", kind="limit"),
        Terminal("overflowed", kind="error"),
        Terminal("failed", kind="error"),
        Terminal("aborted", kind="abort"),
    ),
    memory=(Counter("attempts", high="max_attempts"),),
    limits=(Limit("max_attempts", 10, unit="attempts"),),
    transitions=(
        Transition("send", "replied", "reply"),
        Transition("send", "cut_short", "truncated"),
        Transition("send", "decide_retry", "overloaded"),
        Transition("send", "overflowed", "too_long"),
        Transition("send", "failed", "fatal"),
        Transition("send", "aborted", "abort"),
        Transition(
            "decide_retry",
            "back_off",
            guard="attempts < max_attempts",
            action="attempts += 1",
            layer="api",
        ),
        Transition("decide_retry", "failed", guard="otherwise"),
        Transition("back_off", "send", "waited", reason="retry", layer="api"),
        Transition("back_off", "aborted", "abort"),
    ),
)

_LOOP = Machine(
    name="loop",
    phases=(
        Phase("start_turn", group="shape"),
        Phase("shrink", events=("fits", "tight"), group="shape"),
        Phase(
            "compact",
            events=("shorter", "same", "failed"),
            group="shape",
            cost={"compactions": 1},
            doc="Summarise the history.",
            source="official hooks reference",
        ),
        Phase("call_model", runs=_ATTEMPT),
        Phase("diagnose", group="recovery"),
        Phase("drain", events=("committed", "nothing"), group="recovery"),
        Phase("compact_reactively", events=("shorter", "failed"), group="recovery"),
        Phase("judge_cut", group="recovery"),
        Phase("after_reply", events=("tools", "text")),
        Phase("run_tools", events=("done", "abort", "hook_stop"), group="tools"),
        Phase("turn_over", group="tools"),
        Phase("ask_hooks", events=("accept", "block", "prevent"), group="end"),
        Phase("ask_budget", events=("more", "enough"), group="end"),
    ),
    terminals=(
        Terminal("completed", doc="The model has said all."),
        Terminal("max_turns", kind="limit"),
        Terminal("too_many_blocks", kind="limit"),
        Terminal("prompt_too_long", kind="error"),
        Terminal("model_error", kind="error"),
        Terminal("aborted_streaming", kind="abort"),
        Terminal("aborted_tools", kind="abort"),
        Terminal("hook_stopped", kind="hook"),
        Terminal("stop_hook_prevented", kind="hook"),
    ),
    memory=(
        Counter("turn", high="max_turns", low=1),
        Counter("recoveries", high="max_output_recoveries"),
        Counter("blocks", high="max_stop_blocks"),
        Counter("compact_failures", high="max_compact_failures"),
        Flag("reactive_tried"),
        Flag("escalated"),
        Choice("last", values=REASONS),
    ),
    limits=(
        Limit("max_turns", UNLIMITED, unit="turns"),
        Limit("max_output_recoveries", 3, unit="recoveries"),
        Limit("max_stop_blocks", 8, unit="blocks"),
        Limit("max_compact_failures", 3, unit="failures"),
        Limit("folding", default=True),
    ),
    editions=(Edition("published"), Edition("plain", {"folding": False})),
    transitions=(
        Transition("start_turn", "shrink"),
        Transition("shrink", "call_model", "fits"),
        Transition(
            "shrink",
            "compact",
            "tight",
            guard="compact_failures < max_compact_failures",
        ),
        Transition("shrink", "call_model", "tight", guard="otherwise"),
        Transition("compact", "call_model", "shorter", action="compact_failures = 0"),
        Transition("compact", "call_model", "same"),
        Transition("compact", "call_model", "failed", action="compact_failures += 1"),
        Transition("call_model", "after_reply", "replied"),
        Transition("call_model", "judge_cut", "cut_short"),
        Transition("call_model", "diagnose", "overflowed"),
        Transition("call_model", "model_error", "failed"),
        Transition("call_model", "aborted_streaming", "aborted"),
        Transition(
            "diagnose",
            "drain",
            guard="folding and last != 'collapse_drain_retry'",
            doc="Never twice in a row.",
        ),
        Transition("diagnose", "compact_reactively", guard="not reactive_tried"),
        Transition("diagnose", "prompt_too_long", guard="otherwise"),
        Transition(
            "drain",
            "start_turn",
            "committed",
            action="last = 'collapse_drain_retry'; recoveries = 0; escalated = False",
            reason="collapse_drain_retry",
            layer="context",
        ),
        Transition(
            "drain", "compact_reactively", "nothing", guard="not reactive_tried"
        ),
        Transition("drain", "prompt_too_long", "nothing", guard="otherwise"),
        Transition(
            "compact_reactively",
            "start_turn",
            "shorter",
            action="reactive_tried = True; last = 'reactive_compact_retry'",
            reason="reactive_compact_retry",
            layer="context",
        ),
        Transition("compact_reactively", "prompt_too_long", "failed"),
        Transition(
            "judge_cut",
            "start_turn",
            guard="not escalated and recoveries == 0 and last != 'stop_hook_blocking'",
            action="escalated = True; last = 'max_output_tokens_escalate'",
            reason="max_output_tokens_escalate",
            layer="output",
        ),
        Transition(
            "judge_cut",
            "start_turn",
            guard="recoveries < max_output_recoveries",
            action="recoveries += 1; last = 'max_output_tokens_recovery'",
            reason="max_output_tokens_recovery",
            layer="output",
        ),
        Transition("judge_cut", "ask_hooks", guard="otherwise"),
        Transition("after_reply", "run_tools", "tools"),
        Transition("after_reply", "ask_hooks", "text"),
        Transition("run_tools", "turn_over", "done"),
        Transition("run_tools", "aborted_tools", "abort"),
        Transition("run_tools", "hook_stopped", "hook_stop"),
        Transition(
            "turn_over",
            "start_turn",
            guard="turn < max_turns",
            action=(
                "turn += 1; recoveries = 0; reactive_tried = False; blocks = 0; "
                "escalated = False; last = 'next_turn'"
            ),
            reason="next_turn",
            progress=True,
        ),
        Transition("turn_over", "max_turns", guard="otherwise"),
        Transition("ask_hooks", "ask_budget", "accept"),
        Transition(
            "ask_hooks",
            "start_turn",
            "block",
            guard="blocks < max_stop_blocks",
            action="blocks += 1; recoveries = 0; last = 'stop_hook_blocking'",
            reason="stop_hook_blocking",
            layer="hooks",
        ),
        Transition("ask_hooks", "too_many_blocks", "block", guard="otherwise"),
        Transition("ask_hooks", "stop_hook_prevented", "prevent"),
        Transition(
            "ask_budget",
            "start_turn",
            "more",
            action="reactive_tried = False; last = 'token_budget_continuation'",
            reason="token_budget_continuation",
            layer="budget",
        ),
        Transition("ask_budget", "completed", "enough"),
    ),
)

_GATE = Machine(
    name="gate",
    phases=(Phase("locked", events=("coin", "push")), Phase("open", events=("push",))),
    terminals=(Terminal("jammed", kind="error"),),
    transitions=(
        Transition("locked", "open", "coin"),
        Transition("locked", "jammed", "push", guard="pushes == max_pushes"),
        Transition("locked", "locked", "push", guard="otherwise", action="pushes += 1"),
        Transition("open", "locked", "push", action="pushes = 0", progress=True),
    ),
    memory=(Counter("pushes", high="max_pushes"),),
    limits=(Limit("max_pushes", 3, unit="pushes"),),
)


#: Texts that break out of DOT, HTML, XML, Mermaid, Markdown or a terminal, if anything
#: lets them.
_HOSTILE = (
    '"]; evil [label="x',
    '"; } digraph { evil -> x; "',
    "</TD></TR></TABLE>> evil [label=<x",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<foreignObject><body onload=alert(1)/></foreignObject>",
    "]]><script>alert(1)</script><![CDATA[",
    "--><script>alert(1)</script><!--",
    "-- > evil <!-- ",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)",
    "&quot; onload=&quot;alert(1)",
    "' onmouseover='alert(1)",
    '" onclick="alert(1)',
    "javascript:alert(1)",
    '<a href="javascript:alert(1)">x</a>',
    "\\N \\G \\E \\L \\T \\H",
    "\\",
    '\\"',
    '\\\\"',
    "line\nbreak",
    "carriage\rreturn",
    "tab\there",
    "null\x00byte",
    "bell\x07 escape\x1b[31mred\x1b[0m",
    "\x9b31m C1",
    "\u202eevil right to left",
    "\ud800 lone surrogate",
    "\ufffe noncharacter",
    "emoji \N{PILE OF POO} and \N{ROMAN NUMERAL THREE}",
    "%% comment",
    "%%{init: {'securityLevel': 'loose'}}%%",
    "s0 --> s1 : evil",
    "state evil { [*] --> s0 }",
    "; note right of s0 : evil",
    "end note",
    "`code` **bold** _it_ [x](javascript:alert(1)) ![x](y)",
    "| a | b |",
    "$x^2$ {{ 7 * 7 }} ${7*7} #{7*7} #35; #lt;",
    "[bold red]rich[/bold red] :smile: [link=file:///x]y[/link]",
    "x" * 5_000,
    "",
)


@pytest.fixture(params=_HOSTILE, ids=[f"text{i}" for i in range(len(_HOSTILE))])
def hostile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def loop() -> Machine:
    return _LOOP


@pytest.fixture
def gate() -> Machine:
    return _GATE
