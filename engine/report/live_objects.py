"""An event of a run as plain values for JSON, one object an event.

A history is told by its length: what is new in it was told by the events before.
Secrets are taken out of each event by itself. One that is cut in two by the pieces of a
streamed answer (`said`) is not found, so a log is better made without those: `answered`
has the whole of it.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Refused,
    Said,
    Shown,
    Status,
    Tombstone,
    ToolsRan,
    Waiting,
    Warned,
)
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.session_events import message_to_plain

__all__ = ["event_to_plain"]

Plain = dict[str, object]

_DIGITS = 6  # of a second: microseconds


def event_to_plain(event: LiveEvent, redaction: Redaction | None = None) -> Plain:
    """Return an event as plain JSON; `event` says which it is.

    Args:
        event: what happened.
        redaction: what is taken out.
    """
    name, fields = _KINDS[type(event)]
    try:
        plain = (redaction or Redaction()).fields(fields(event))
        json.dumps(plain, allow_nan=False)  # the input of a call may be anything
    except (BadValue, ValueError, TypeError, RecursionError):
        return {"event": name, "problem": "it holds what JSON does not"}
    return {"event": name, **plain}


def _all(event: object) -> Plain:
    return attrs.asdict(cast("Any", event), recurse=False)


def _message(event: Answered | ToolsRan) -> Plain:
    return {"message": message_to_plain(event.message)}


def _decided(event: Decided) -> Plain:
    step = event.step
    return {
        "phase": step.before.phase,
        "answer": step.event,
        "row": step.row.name,
        "reason": step.row.reason or None,
        "target": step.row.target,
        "refused": [
            {"row": row.name, "target": row.target, "guard": row.guard_text}
            for row in step.row.earlier
        ],
        "seconds": round(event.seconds, _DIGITS),
        "facts": dict(event.facts),
    }


def _continued(event: Continued) -> Plain:
    return {
        "reason": event.reason,
        "messages": len(event.history),
        "phase": event.snapshot.phase,
    }


def _ended(event: Ended) -> Plain:
    return {
        "terminal": event.terminal,
        "text": event.text,
        "messages": len(event.history),
    }


_KINDS: Mapping[type, tuple[str, Callable[[Any], Plain]]] = {
    Said: ("said", _all),
    Tombstone: ("tombstone", _all),
    Answered: ("answered", _message),
    Calling: ("calling", _all),
    Called: ("called", _all),
    ToolsRan: ("tools_ran", _message),
    Waiting: ("waiting", _all),
    Status: ("status", _all),
    Warned: ("warned", _all),
    Refused: ("refused", _all),
    Shown: ("shown", _all),
    Decided: ("decided", _decided),
    Continued: ("continued", _continued),
    Ended: ("ended", _ended),
}
