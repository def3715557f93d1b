"""The catalogue, groups "connection" and "pace": what can happen to the bytes."""

from unspiral.engine.faults.acts import Close, End, Reset
from unspiral.engine.faults.fault import CALL, Fault, Parameter
from unspiral.engine.faults.plans import Breaks, Outage, Place, Slows

__all__ = ["CONNECTION", "PACE"]

_BEFORE = "retry of a connection error before any output was seen"
_WITHIN = "discarding a partial answer (tombstones), then retry or ending"
_SILENT = "demanding `message_stop` before an answer counts as one"
_RETRIED = "Retried with the bound of connection errors."
_DISCARDED = (
    "The partial answer is taken back, and asked again or ended; no tool is run twice."
)


def _breaks(  # noqa: PLR0913, PLR0917 - the columns of a table
    name: str,
    description: str,
    rule: str,
    expect: str,
    place: Place,
    ending: End | Close | Reset,
) -> Fault:
    plan = Breaks(place, ending)
    if place == "tool_json":
        return Fault(name, "connection", description, rule, expect, plan, reply=CALL)
    return Fault(name, "connection", description, rule, expect, plan)


CONNECTION = (
    Fault(
        "connection_refused",
        "connection",
        "The port is closed for some seconds: nobody is listening.",
        "bounded retry of a connection error",
        "Retried with a back-off; given up after a bounded number.",
        Outage(),
        {"seconds": Parameter(2, 0.001, 86_400, "seconds that the port is closed")},
    ),
    _breaks(
        "reset_before_response",
        "The connection is reset (RST) when the request has arrived.",
        _BEFORE,
        _RETRIED,
        "before",
        Reset(),
    ),
    _breaks(
        "closed_before_response",
        "The connection is closed (FIN) when the request has arrived.",
        _BEFORE,
        _RETRIED,
        "before",
        Close(),
    ),
    Fault(
        "garbage_response",
        "connection",
        "Bytes come that are no HTTP.",
        _BEFORE,
        _RETRIED,
        Breaks("before", Close(), b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n"),
    ),
    _breaks(
        "reset_after_headers",
        "The connection is reset when only the headers have come.",
        _WITHIN,
        _DISCARDED,
        "head",
        Reset(),
    ),
    _breaks(
        "reset_after_first_event",
        "The connection is reset after `message_start`.",
        _WITHIN,
        _DISCARDED,
        "first_event",
        Reset(),
    ),
    _breaks(
        "reset_mid_stream",
        "The connection is reset in the middle of a text.",
        _WITHIN,
        _DISCARDED,
        "middle",
        Reset(),
    ),
    _breaks(
        "closed_mid_stream",
        "The connection is closed in the middle of a text, without the last chunk.",
        _WITHIN,
        _DISCARDED,
        "middle",
        Close(),
    ),
    _breaks(
        "ended_mid_stream",
        "The response ends in good order in the middle of a text.",
        _SILENT,
        _DISCARDED,
        "middle",
        End(),
    ),
    _breaks(
        "ended_without_message_stop",
        "Only `message_stop` is missing.",
        _SILENT,
        "The answer does not count as complete.",
        "message_stop",
        End(),
    ),
    _breaks(
        "ended_inside_tool_json",
        "The response ends in good order inside the input of a tool call.",
        _SILENT,
        "The call is not run, neither with an empty nor with a partial input.",
        "tool_json",
        End(),
    ),
    _breaks(
        "reset_inside_tool_json",
        "The connection is reset inside the input of a tool call.",
        _WITHIN,
        _DISCARDED,
        "tool_json",
        Reset(),
    ),
)

PACE = (
    Fault(
        "no_response",
        "pace",
        "The request is taken, and nothing comes back.",
        "a time-out for the response",
        "Given up after the time-out, and retried a bounded number of times.",
        Slows("no_response"),
    ),
    Fault(
        "slow_drip",
        "pace",
        "The answer comes whole, a few bytes at a time.",
        "a watchdog that is fed by payload, and does not kill slow answers",
        "The answer is taken.",
        Slows("drip"),
        {
            "seconds": Parameter(0.01, 0, 3_600, "seconds between two pieces"),
            "bytes": Parameter(64, 1, 10**6, "bytes of a piece", whole=True),
        },
    ),
    Fault(
        "stall",
        "pace",
        "After the first delta nothing more comes.",
        "an idle watchdog on the stream",
        f"Noticed after the idle time. {_DISCARDED}",
        Slows("silence"),
    ),
    Fault(
        "stall_with_pings",
        "pace",
        "After the first delta only pings come, for ever.",
        "an idle watchdog that is fed by payload alone, and a total deadline",
        f"Noticed after the idle time, although bytes come. {_DISCARDED}",
        Slows("pings"),
        {"seconds": Parameter(0.1, 0.001, 3_600, "seconds between two pings")},
    ),
)
