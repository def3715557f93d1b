"""What a failed request is, as a fact: from its status, words and headers, or its line.

Only facts are named here; whether anything is tried again is the table's business. The
words of errors are matched where the API has no other way to say it (a 400 for a prompt
that is too long is told from others by its text alone); what they say is of others and
may be hostile, so that it is only looked at, and only its beginning. Pure: the wall
clock is an argument, and no library of HTTP is known.
"""

import datetime as dt
import email.utils
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import attrs

__all__ = ["Failure", "Finding", "Line", "classify", "of_line", "wait_hint"]

_OK, _BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN = 200, 400, 401, 403
_TOO_LARGE, _TOO_MANY, _SERVER, _OVERLOADED = 413, 429, 500, 529
_PASSING = frozenset({408, 409})  # besides those of the server
_LOOKED_AT = 4_000  # characters of a text

#: the status that an error has by its type, where the status was lost: an error within
#: a stream comes with 200 (SPEC M)
_STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "conflict_error": 409,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)

_TOO_LONG = re.compile(
    r"(?:prompt|input|request|conversation) is too long"
    r"|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context"
    r"|maximum context length"
    r"|too many (?:total text bytes|input tokens)"
    r"|request exceeds the maximum size"
)
_OVER_WINDOW = re.compile(
    r"exceed context limit: (\d{1,12}) \+ (\d{1,12}) > (\d{1,12})"
)
_OVER_MODEL = re.compile(
    r"max_tokens: (\d{1,12}) > (\d{1,12}), which is the maximum allowed"
)
_MEDIA = re.compile(
    r"\.(?:image|document)\."
    r"|\bimages? (?:dimensions )?exceed"
    r"|could not process (?:the )?(?:image|pdf|document)"
    r"|\bpdf (?:pages|specified|cannot|is)\b"
    r"|\bimage does not match\b"
)
_REVOKED = re.compile(r"\b(?:token|credential)\b.{0,40}\b(?:revoked|expired)\b")
_SPENT = re.compile(r"(?:spend_limit_reached|billing_unavailable|billing_error)\Z")
_SPENT_TEXT = "reached your specified api usage limits"

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{0,15})?", re.ASCII)


@attrs.frozen
class Failure:
    """An error that a server has told.

    Attributes:
        status: the HTTP status; 200 if it came within a stream; None if there was none.
        type: the category that its body names, or "".
        code: the stable code that its body names, or "".
        text: what it says.
        headers: of the response, by names in small letters.
    """

    status: int | None = None
    type: str = ""
    code: str = ""
    text: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str])


@attrs.frozen
class Finding:
    """What a failure is.

    Attributes:
        fact: as an event of a request.
        wait: seconds that the server asks to wait, or None.
        room: output tokens that would fit, for "output_overflow", or None.
    """

    fact: str
    wait: float | None = None
    room: int | None = None


#: What happened to a line, if no server has told an error:
#: "lost": it was refused, reset, or closed too early.
#: "silent": nothing came in time.
#: "malformed": something came that is no answer.
#: "hopeless": it will fail again in the same way: a certificate, an address.
#: "locked": there are no credentials to be had.
#: "strange": anything else.
Line: TypeAlias = Literal[
    "lost", "silent", "malformed", "hopeless", "locked", "strange"
]


def of_line(line: Line, *, streamed: bool, begun: bool) -> str:
    """Return the fact of what happened to a line.

    Args:
        line: what happened.
        streamed: whether a stream was asked for.
        begun: whether an answer had begun to come on it.
    """
    match line:
        case "lost" | "silent":
            return "stream_died" if streamed and begun else "connection_lost"
        case "malformed":  # of a whole body: what a server or a proxy should not say
            return "stream_died" if streamed else "server_error"
        case "hopeless":
            return "permanent"
        case "locked":
            return "unauthorized"
        case "strange":
            return "exception"


def classify(failure: Failure, now: float) -> Finding:
    """Return what an error is.

    What can be mended is looked for first; of the rest, the server's word on retrying
    decides before the status does.

    Args:
        failure: the error.
        now: seconds since 1970, for a hint that is a date.
    """
    text = failure.text[:_LOOKED_AT].lower()
    status = _status(failure, text)
    mendable = _mendable(status, failure, text)
    if mendable is not None:
        return mendable
    fact = _fact(status, failure, text)
    if fact == "permanent":
        return Finding(fact)
    return Finding(fact, wait_hint(failure.headers, now))


def _status(failure: Failure, text: str) -> int:
    """Return the status that an error should have."""
    told = failure.status
    if told is not None and _BAD_REQUEST <= told < _SERVER:
        return told
    # The words of an overload are heard beside 200 and 5xx only: an error of the
    # request may repeat words of the request.
    if failure.type == "overloaded_error" or "overloaded_error" in text:
        return _OVERLOADED
    if told is not None and told >= _SERVER:
        return told
    return _STATUS.get(failure.type, _SERVER)


def _mendable(status: int, failure: Failure, text: str) -> Finding | None:
    """Return what something can be done about but to ask again, if it is that."""
    if status == _UNAUTHORIZED or (status == _FORBIDDEN and _REVOKED.search(text)):
        return Finding("unauthorized")
    if status == _TOO_LARGE or failure.code == "request_body_too_large_after_decoding":
        return Finding("prompt_too_long")
    return _of_request(failure.code, text) if status == _BAD_REQUEST else None


def _of_request(code: str, text: str) -> Finding | None:
    """Return what is wrong with a request, if that can be mended."""
    room = _room(text)
    if room is not None and room > 0:
        return Finding("output_overflow", room=room)
    # If not one token fits, a smaller answer is no way out.
    if room is not None or _TOO_LONG.search(text):
        return Finding("prompt_too_long")
    media = code == "image_dimensions_too_large" or _MEDIA.search(text)
    return Finding("media_rejected") if media else None


def _room(text: str) -> int | None:
    if over := _OVER_WINDOW.search(text):
        return int(over[3]) - int(over[1])
    if over := _OVER_MODEL.search(text):
        return int(over[2])
    return None


def _fact(status: int, failure: Failure, text: str) -> str:
    spent = _SPENT.search(failure.code) or _SPENT.search(failure.type)
    if spent or _SPENT_TEXT in text:
        return "permanent"
    word = failure.headers.get("x-should-retry", "").strip().lower()
    if word == "false":
        return "permanent"
    if status == _TOO_MANY:
        return "rate_limited"
    if status == _OVERLOADED:
        return "overloaded"
    passing = status >= _SERVER or status in _PASSING or word == "true"
    return "server_error" if passing else "permanent"


def wait_hint(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait; None if it does not, or raves.

    Args:
        headers: of the response, by names in small letters.
        now: seconds since 1970.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(milliseconds / 1_000, 0.0)
    told = headers.get("retry-after", "")
    seconds = _number(told)
    if seconds is None:
        date = _date(told)
        seconds = None if date is None else date - now
    return None if seconds is None else max(seconds, 0.0)


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def _date(text: str) -> float | None:
    """Return a date of HTTP as seconds since 1970."""
    try:
        date = email.utils.parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=dt.UTC)
        return date.timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
