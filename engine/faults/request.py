"""A request as it came in, and what of it the schedule and the journal look at.

Reading never fails: whatever is wrong with a request is told in `problem`, in the words
in which the API would refuse it. The API key itself is dropped here: only its kind, and
the run that it may name, go on.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, cast
from urllib.parse import unquote, urlsplit

import attrs

from unspiral.engine.faults.tokens import of_request

__all__ = [
    "API_VERSIONS",
    "MAIN",
    "MAX_BODY",
    "MAX_MESSAGES",
    "MAX_VALUES",
    "Endpoint",
    "Incoming",
    "Problem",
    "Request",
    "read_request",
]

MAX_MESSAGES = 100_000  #: the API takes no more in one request
MAX_VALUES = 500_000  #: of JSON in a body: each costs memory and time, however small
MAX_BODY = 32 * 1024 * 1024  #: bytes; the API answers 413 beyond (SPEC M)
API_VERSIONS = ("2023-06-01", "2026-10-21")  #: of the header `anthropic-version`
MAIN = "main"  #: the run of a request that names none

Endpoint: TypeAlias = Literal["messages", "count_tokens", "models", "unknown"]

_DEEPEST = 200  # levels: far below where Python's own recursion ends
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_RUN = re.compile(r"/runs?/([A-Za-z0-9][\w.-]{0,63})(?=/)")
_KEY = re.compile(r"run-([A-Za-z0-9][\w.-]{0,63})")
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_PATHS: tuple[tuple[str, str, Endpoint], ...] = (
    ("POST", "/v1/messages", "messages"),
    ("POST", "/v1/messages/count_tokens", "count_tokens"),
    ("GET", "/v1/models", "models"),
)


@attrs.frozen
class Incoming:
    """A request as it came over the wire.

    Attributes:
        method: such as "POST".
        target: path and query.
        headers: by lower-case name; of a repeated one the last.
        body: the bytes, or None if there were more than MAX_BODY.
        size: how many bytes there were.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | bytearray | None
    size: int


@attrs.frozen
class Problem:
    """Why the API refuses a request: the error that it answers.

    Attributes:
        status: the HTTP status.
        kind: the `type` of the error.
        message: what it says.
        details: its machine-readable part, or None.
    """

    status: int
    kind: str
    message: str
    details: Mapping[str, object] | None = None


@attrs.frozen
class Request:
    """What of a request the schedule and the journal look at.

    Attributes:
        endpoint: what was asked for.
        run: the name of the run, from the path `/run/NAME/v1/...`, or from a key of the
            form `run-NAME`; else "main".
        path: as asked for, without query and run.
        beta: the query says `beta=true`.
        version: the header `anthropic-version`, or "".
        key: how it was signed: "x-api-key", "bearer" or "".
        model: the model asked for, or "".
        stream: whether a stream was asked for.
        max_tokens: the most output tokens, or None.
        messages: the history, as sent.
        tools: the names of the tools offered.
        schemas: their input schemas by name.
        tokens: input tokens, as the estimator counts them.
        size: bytes of the body.
        hashes: one a message; where a cache may break does not matter.
        hash: of the body as a JSON value: the order of keys and blanks do not matter.
        problem: why the API would refuse it whatever the schedule says, or None.
    """

    endpoint: Endpoint
    run: str
    path: str
    beta: bool
    version: str
    key: str
    model: str
    stream: bool
    max_tokens: int | None
    messages: tuple[Mapping[str, object], ...]
    tools: tuple[str, ...]
    schemas: Mapping[str, Mapping[str, object]]
    tokens: int
    size: int
    hashes: tuple[str, ...]
    hash: str
    problem: Problem | None


def read_request(incoming: Incoming) -> Request:
    """Read a request. Nothing that a client sends makes this fail."""
    headers = incoming.headers
    key, named = _key(headers)
    path, run, beta = _target(incoming.target)
    endpoint = _endpoint(incoming.method, path)
    body, wrong = _body(incoming, endpoint)
    messages = tuple(_objects(body.get("messages")))
    tools = tuple(_objects(body.get("tools")))
    version = headers.get("anthropic-version", "")
    problem = (
        _unsigned(key, version)
        or _unknown(incoming.method, path, endpoint)
        or wrong
        or _malformed(body, endpoint)
    )
    limit = body.get("max_tokens")
    return Request(
        endpoint=endpoint,
        run=run or named or MAIN,
        path=path[:200],
        beta=beta,
        version=version[:40],
        key=key,
        model=_text(body.get("model"))[:200],
        stream=body.get("stream") is True,
        max_tokens=limit if type(limit) is int else None,
        messages=messages,
        tools=tuple(_text(tool.get("name"))[:200] for tool in tools),
        schemas={
            _text(tool.get("name")): _object(tool.get("input_schema")) for tool in tools
        },
        tokens=of_request(body),
        size=incoming.size,
        hashes=tuple(_hash(_said(message)) for message in messages),
        hash=_hash(body) if body else "",
        problem=problem,
    )


def _key(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return how a request is signed, and the run that the key names."""
    key = headers.get("x-api-key", "")
    kind = "x-api-key" if key else ""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if not key and scheme.lower() == "bearer" and token:
        kind, key = "bearer", token.strip()
    found = _KEY.fullmatch(key)
    return kind, found[1] if found else ""


def _target(target: str) -> tuple[str, str, bool]:
    try:
        parts = urlsplit(target)
    except ValueError:
        return target, "", False
    path, run = unquote(parts.path), ""
    if found := _RUN.match(path):
        run, path = found[1], path[found.end() :]
    return path.rstrip("/") or "/", run, "beta=true" in parts.query.split("&")


def _endpoint(method: str, path: str) -> Endpoint:
    if path.startswith("/v1/models/") and method == "GET":
        return "models"
    for asked, known, name in _PATHS:
        if (asked, known) == (method, path):
            return name
    return "unknown"


def _body(
    incoming: Incoming, endpoint: Endpoint
) -> tuple[Mapping[str, object], Problem | None]:
    if endpoint not in ("messages", "count_tokens"):
        return {}, None
    if incoming.body is None:
        said = "Request exceeds the maximum size"
        return {}, Problem(413, "request_too_large", said)
    value, said = _parsed(incoming.body)
    if said:
        return {}, Problem(400, "invalid_request_error", said)
    return value, None


def _parsed(body: bytes | bytearray) -> tuple[Mapping[str, object], str]:
    """Return the object that a body holds, and what is wrong with it."""
    try:
        text = body.decode("utf-8-sig")
        if _values(text) > MAX_VALUES:
            return {}, f"The request body has more than {MAX_VALUES:,} values"
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}, "The request body is not valid JSON"
    if _depth(value) > _DEEPEST:
        return {}, f"The request body is nested more than {_DEEPEST} levels deep"
    if not isinstance(value, dict):
        return {}, "The request body must be a JSON object"
    found = cast("dict[str, object]", value)
    messages = found.get("messages")
    if (
        isinstance(messages, list)
        and len(cast("list[object]", messages)) > MAX_MESSAGES
    ):
        return {}, f"messages: at most {MAX_MESSAGES:,} are allowed"
    return found, ""


def _values(text: str) -> int:
    """Return how many values a JSON text has at most, before it is parsed.

    Each is the first of a list or an object, or comes after a comma.
    """
    if sum(map(text.count, ",[{")) > MAX_VALUES:  # most may stand in strings
        text = _STRING.sub("", text)
    return 1 + sum(map(text.count, ",[{"))


def _depth(value: object) -> int:
    """Return how deeply lists and objects are nested, but no more than is asked."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (
                cast("dict[str, object]", each).values()
                if isinstance(each, dict)
                else cast("list[object]", each)
            )
        ]
    return depth


def _unsigned(key: str, version: str) -> Problem | None:
    if not key:
        said = "x-api-key header is required"
        return Problem(401, "authentication_error", said)
    if not version:
        said = "anthropic-version: header is required"
        return Problem(400, "invalid_request_error", said)
    if version not in API_VERSIONS:
        known = " and ".join(API_VERSIONS)
        said = f"anthropic-version: {version[:40]!r} is not known here; {known} are"
        return Problem(400, "invalid_request_error", said)
    return None


def _unknown(method: str, path: str, endpoint: Endpoint) -> Problem | None:
    if endpoint != "unknown":
        return None
    if any(path == known for _, known, _ in _PATHS):
        return Problem(405, "invalid_request_error", f"{method} is not allowed here")
    return Problem(404, "not_found_error", f"Not found: {path[:200]}")


def _malformed(body: Mapping[str, object], endpoint: Endpoint) -> Problem | None:
    """Return the first thing that the API would not take, of what matters here."""
    if endpoint not in ("messages", "count_tokens"):
        return None
    messages = body.get("messages")
    limit = body.get("max_tokens")
    if not isinstance(body.get("model"), str):
        said = "model: Field required"
    elif endpoint == "messages" and limit is None:
        said = "max_tokens: Field required"
    elif endpoint == "messages" and (type(limit) is not int or limit < 1):
        said = "max_tokens: Input should be a whole number of at least 1"
    elif not isinstance(messages, list) or not messages:
        said = "messages: at least one message is required"
    else:
        said = _bad_message(cast("list[object]", messages))
    if said:
        return Problem(400, "invalid_request_error", said)
    return _threaded(body)


def _threaded(body: Mapping[str, object]) -> Problem | None:
    """Refuse message threads, which are not kept here; runners then send the history.

    What runners of the SDK look for is the code in the details (SDK.md, 2.14).
    """
    unsupported = [name for name in ("thread", "previous_message_id") if name in body]
    if not unsupported:
        return None
    return Problem(
        400,
        "invalid_request_error",
        "thread: message threads are not supported here",
        {"error_code": "thread_unsupported_request", "unsupported": unsupported},
    )


def _bad_message(messages: list[object]) -> str:
    for number, message in enumerate(messages):
        fields = _object(message)
        if fields.get("role") not in ("user", "assistant"):
            return f"messages.{number}.role: Input should be 'user' or 'assistant'"
        if not isinstance(fields.get("content"), str | list):
            return f"messages.{number}.content: Field required"
    return ""


def _objects(value: object) -> Iterable[Mapping[str, object]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return (_object(item) for item in items)


def _object(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _said(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return a message without marks for the cache, which move from turn to turn."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content}]}
    blocks = [
        {name: value for name, value in block.items() if name != "cache_control"}
        for block in _objects(content)
    ]
    return {**message, "content": blocks}


def _hash(value: object) -> str:
    return hashlib.sha256(_encode(value).encode()).hexdigest()[:16]
