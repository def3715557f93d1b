"""An agent loop with published state counts, declared in our language.

Twelve phases and fourteen memories of a query loop, small enough to be explored in
full by any checker. Its counts at three sizes were obtained with SPIN, TLC, NuSMV,
Rumur, Storm and others, so that counts, worst cases and speed can be compared.

    size   max_turns  window  max_stop_blocks      states     transitions
    tiny           2       2                1     205,843       1,196,924
    S             10       4                3   4,225,718      24,778,302
    M             50      10                3  45,340,044     266,770,332

A transition is a (state, row) pair over the events available there. Every terminal
forgets all memory, as it does in the other tools' models, so there is one state a
terminal.
"""

from typing import Literal

from unspiral.engine.core.declare import (
    REASONS,
    Choice,
    Counter,
    Event,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)

__all__ = ["SIZES", "reference_loop"]

Ablation = Literal["hook", "collapse", "react"]

SIZES = {"tiny": (2, 2, 1), "S": (10, 4, 3), "M": (50, 10, 3)}
_CALL = {"model_calls": 1}
_FORGET = {
    "turn": "1",
    "recoveries": "0",
    "escalated": "False",
    "reacted": "False",
    "last": "'none'",
    "stop_hook_active": "False",
    "stop_blocks": "0",
    "compact_failures": "0",
    "fallback": "False",
    "continuations": "0",
    "context": "1",
}
_END = "; ".join(f"{name} = {value}" for name, value in _FORGET.items())
_TERMINALS = (
    Terminal("completed"),
    Terminal("blocking_limit", "limit"),
    Terminal("model_error", "error"),
    Terminal("repeated_529", "error"),
    Terminal("prompt_too_long", "error"),
    Terminal("image_error", "error"),
    Terminal("aborted_streaming", "abort"),
    Terminal("stop_hook_prevented", "hook"),
    Terminal("stop_hook_cap", "limit"),
    Terminal("aborted_tools", "abort"),
    Terminal("hook_stopped", "hook"),
    Terminal("max_turns", "limit"),
)


def _grow(levels: int) -> str:
    return f"; context = min(context + {levels}, window)" if levels else ""


def _api_attempt() -> Machine:
    """Return the attempts of one request: retries, and one fallback model."""
    again = "attempts += 1; overloads = 0"

    def retried(event: str) -> tuple[Transition, Transition]:
        more = "attempts < max_retries"
        return (
            Transition("attempt", "attempt", event, more, again),
            Transition("attempt", "failed", event, "otherwise"),
        )

    last = "attempts < max_retries and overloads < max_overloads - 1"
    spare = "attempts < max_retries and not fallback"
    return Machine(
        name="reference_attempt",
        phases=(
            Phase(
                "attempt",
                events=("ok", "r429", "r529", "r401", "lost", "fatal", "abort"),
                cost=_CALL,
            ),
        ),
        terminals=(
            Terminal("answered"),
            Terminal("failed", "error"),
            Terminal("overloaded", "error"),
            Terminal("aborted", "abort"),
        ),
        transitions=(
            Transition("attempt", "answered", "ok"),
            *retried("r429"),
            Transition(
                "attempt", "attempt", "r529", last, "attempts += 1; overloads += 1"
            ),
            Transition(
                "attempt",
                "attempt",
                "r529",
                spare,
                "attempts = 0; overloads = 0; fallback = True",
            ),
            Transition("attempt", "overloaded", "r529", "attempts < max_retries"),
            Transition("attempt", "failed", "r529", "otherwise"),
            *retried("r401"),
            *retried("lost"),
            Transition("attempt", "failed", "fatal"),
            Transition("attempt", "aborted", "abort"),
        ),
        memory=(
            Counter("attempts", high="max_retries"),
            Counter("overloads", high="max_overloads - 1"),
            Flag("fallback", shared=True),
        ),
        limits=(Limit("max_retries", 10), Limit("max_overloads", 3)),
    )


def _phases(drop: Ablation | None) -> tuple[Phase, ...]:
    low, high = "context < compact_at", "context >= compact_at"
    tries = f"{high} and compact_failures < max_compact_failures"
    room = "stop_blocks < max_stop_blocks" if drop != "hook" else ""
    drain = "last != 'drained'" if drop != "collapse" else ""
    recover = "escalated and recoveries < max_recoveries"
    more = "continuations < max_continuations"
    again = "turn < max_turns"
    blocks = [Event("block_flat", room), Event("block_grown", room)]
    if room:
        blocks.append(Event("block_once_more", "stop_blocks >= max_stop_blocks"))
    react = (
        Event("compacted", "not reacted"),
        Event("failed", "not reacted"),
        Event("given_up", "reacted"),
    )
    return (
        Phase(
            "shape",
            events=(
                Event("fits", low),
                Event("compacted", tries),
                Event("failed", tries),
                Event("broken", f"{high} and compact_failures >= max_compact_failures"),
            ),
        ),
        Phase("limit"),
        Phase("call_model", runs=_api_attempt()),
        Phase(
            "diagnose",
            events=("tools", "text", "too_long", "media", "cut_off", "abort"),
        ),
        Phase("drain", events=(Event("freed", drain), Event("nothing"))),
        Phase("react", events=react),
        Phase("media", events=react),
        Phase(
            "cut_off",
            events=(
                Event("escalate", "not escalated"),
                Event("resume_flat", recover),
                Event("resume_grown", recover),
                Event("exhausted", "escalated and recoveries >= max_recoveries"),
            ),
        ),
        Phase("stop_hooks", events=(Event("accept"), *blocks, Event("prevent"))),
        Phase(
            "budget",
            events=(Event("go_on_flat", more), Event("go_on_grown", more), "done"),
        ),
        Phase(
            "run_tools",
            events=(
                Event("abort"),
                Event("hook_stop"),
                Event("spent", "turn >= max_turns"),
                *(Event(f"next_{levels}", again) for levels in range(3)),
            ),
        ),
    )


def _end(source: str, target: str, event: str = "", guard: str = "") -> Transition:
    return Transition(source, target, event, guard, _END)


def _on(source: str, event: str, reason: str, action: str) -> Transition:
    last = f"{action}; last = '{reason}'" if action else f"last = '{reason}'"
    return Transition(source, "shape", event, action=last, reason=reason)


def _compacting(source: str, end: str) -> tuple[Transition, ...]:
    action = "reacted = True; context = 1; last = 'reacted_to'"
    ok = Transition(
        source, "shape", "compacted", "", action, reason="reacted_to", cost=_CALL
    )
    failed = Transition(source, end, "failed", action=_END, cost=_CALL)
    return ok, failed, _end(source, end, "given_up")


def _rows(drop: Ablation | None) -> tuple[Transition, ...]:
    count = "stop_blocks += 1; " if drop != "hook" else ""
    clear = "; reacted = False" if drop == "react" else ""
    blocked = f"{count}stop_hook_active = True; recoveries = 0{clear}"
    once_more = [_end("stop_hooks", "stop_hook_cap", "block_once_more")]
    fresh = "recoveries = 0; reacted = False"
    return (
        Transition("shape", "limit", "fits"),
        Transition(
            "shape",
            "limit",
            "compacted",
            "",
            "context = 1; compact_failures = 0",
            cost=_CALL,
        ),
        Transition("shape", "limit", "failed", "", "compact_failures += 1", cost=_CALL),
        Transition("shape", "limit", "broken"),
        _end("limit", "blocking_limit", "", "context >= window"),
        Transition("limit", "call_model", "", "otherwise"),
        Transition("call_model", "diagnose", "answered"),
        _end("call_model", "model_error", "failed"),
        _end("call_model", "repeated_529", "overloaded"),
        _end("call_model", "aborted_streaming", "aborted"),
        Transition("diagnose", "run_tools", "tools"),
        Transition("diagnose", "stop_hooks", "text"),
        Transition("diagnose", "drain", "too_long"),
        Transition("diagnose", "media", "media"),
        Transition("diagnose", "cut_off", "cut_off"),
        _end("diagnose", "aborted_streaming", "abort"),
        _on("drain", "freed", "drained", "context = max(context - 1, 0)"),
        Transition("drain", "react", "nothing"),
        *_compacting("react", "prompt_too_long"),
        *_compacting("media", "image_error"),
        _on("cut_off", "escalate", "escalated_to", "escalated = True"),
        _on("cut_off", "resume_flat", "resumed", "recoveries += 1"),
        _on("cut_off", "resume_grown", "resumed", f"recoveries += 1{_grow(1)}"),
        _end("cut_off", "completed", "exhausted"),
        Transition("stop_hooks", "budget", "accept"),
        _on("stop_hooks", "block_flat", "blocked", blocked),
        _on("stop_hooks", "block_grown", "blocked", f"{blocked}{_grow(1)}"),
        *(once_more if drop != "hook" else []),
        _end("stop_hooks", "stop_hook_prevented", "prevent"),
        _on("budget", "go_on_flat", "went_on", f"continuations += 1; {fresh}"),
        _on(
            "budget", "go_on_grown", "went_on", f"continuations += 1; {fresh}{_grow(1)}"
        ),
        _end("budget", "completed", "done"),
        _end("run_tools", "aborted_tools", "abort"),
        _end("run_tools", "hook_stopped", "hook_stop"),
        _end("run_tools", "max_turns", "spent"),
        *(
            Transition(
                "run_tools",
                "shape",
                f"next_{levels}",
                action=f"turn += 1; {fresh}; last = 'next_turn'{_grow(levels)}",
                reason="next_turn",
                progress=True,
            )
            for levels in range(3)
        ),
    )


def reference_loop(  # the letters are those of the published sizes
    T: int = 10,  # noqa: N803 - same
    K: int = 4,  # noqa: N803 - same
    HB: int = 3,  # noqa: N803 - same
    drop: Ablation | None = None,
) -> Machine:
    """Return the loop at one size.

    Args:
        T: the most turns of a run.
        K: the levels of context; the window is full at K.
        HB: how many stop hooks may block.
        drop: the guard that is left out: the counting of hook blocks, "not drained
            twice in a row", or (by resetting it on a block) the reactive flag.
    """
    return Machine(
        name="reference_loop",
        phases=_phases(drop),
        terminals=_TERMINALS,
        transitions=_rows(drop),
        memory=(
            Counter("turn", high="max_turns", low=1),
            Counter("recoveries", high="max_recoveries"),
            Flag("escalated"),
            Flag("reacted"),
            Choice("last", REASONS),
            Flag("stop_hook_active"),
            Counter("stop_blocks", high="max_stop_blocks"),
            Counter("compact_failures", high="max_compact_failures"),
            Flag("fallback"),
            Counter("continuations", high="max_continuations"),
            Counter("context", high="window", initial=1),
        ),
        limits=(
            Limit("max_turns", T),
            Limit("window", K),
            Limit("compact_at", 3 * K // 4),
            Limit("max_stop_blocks", HB),
            Limit("max_recoveries", 3),
            Limit("max_continuations", 3),
            Limit("max_compact_failures", 3),
        ),
    )
