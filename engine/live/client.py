"""The one door to the anthropic SDK: one request, one outcome, whatever happens.

The SDK finds the credential, speaks HTTP and cuts the stream into events; its retries
are off, and none of its own readings of an answer is used: it passes incomplete answers
and repairs broken inputs. Events are read by `reading`, errors named by `classify`.
Nothing is repeated here: where an outcome leads is the table's business. The key is
neither stored nor told.
"""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping

import anthropic
import attrs
import httpx2

from unspiral.engine.errors import BadValue, NoCredential
from unspiral.engine.live.body import CONTEXT_BETA, body_of
from unspiral.engine.live.classify import (
    Failure,
    Finding,
    Line,
    classify,
    of_line,
)
from unspiral.engine.live.ports import Ask, Clock, LoopClock, Outcome, Piece
from unspiral.engine.live.reading import Reader, is_payload, read_body
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.watchdog import Patience, Watchdog, guarded

__all__ = ["AnthropicModel", "make_model"]

_PATH = "/v1/messages"
_CONNECT = 15.0  # seconds until a connection stands
_TEXT = 2_000  # characters of an error that are kept
#: what the SDK raises on a stream that it cannot read
_UNREADABLE = (ValueError, AssertionError, IndexError, RecursionError)
#: what happened, by what was raised; the first that fits
_LINES: tuple[tuple[tuple[type[Exception], ...], Line], ...] = (
    ((ssl.SSLCertVerificationError,), "hopeless"),
    ((httpx2.UnsupportedProtocol, httpx2.InvalidURL), "hopeless"),
    ((httpx2.TooManyRedirects,), "hopeless"),
    ((httpx2.DecodingError,), "malformed"),
    ((httpx2.TimeoutException, anthropic.APITimeoutError), "silent"),
    ((httpx2.HTTPError, anthropic.APIConnectionError, OSError), "lost"),
)

_SAID: Mapping[Line, str] = {
    "lost": "The connection was lost",
    "silent": "The server was silent",
    "malformed": "The answer is malformed",
    "hopeless": "The request cannot be sent",
    "locked": "No credential was to be had",
    "strange": "The request failed unexpectedly",
}

Tell = Callable[[Piece], None]


@attrs.define
class _Try:
    """One attempt while it is made.

    Attributes:
        ask: what is asked.
        dog: watches it.
        reader: reads the answer.
        connected: whether a response has come.
    """

    ask: Ask
    dog: Watchdog
    reader: Reader = attrs.field(factory=Reader)
    connected: bool = False


class _TellError(Exception):
    """Whoever was told of a piece of the answer has failed."""


class AnthropicModel:
    """Asks the Messages API. Make one with `make_model`.

    Args:
        client: without retries of its own.
        patience: for how long answers are waited for.
        clock: for the waits.
        wall: seconds since 1970, for hints that are dates.
        key: gives a new key, or None.
        cached: whether the server is asked to keep what it has read.
        server_context: whether the server may clear old results of tools.
    """

    def __init__(  # noqa: PLR0913 - each is named
        self,
        client: anthropic.AsyncAnthropic,
        *,
        patience: Patience,
        clock: Clock,
        wall: Callable[[], float] = time.time,
        key: Callable[[], str] | None = None,
        cached: bool = True,
        server_context: bool = False,
    ) -> None:
        self._client = client
        self._patience = patience
        self._clock = clock
        self._wall = wall
        self._key = key
        self._cached = cached
        self._server_context = server_context

    async def attempt(self, ask: Ask, tell: Tell) -> Outcome:
        """Send one request once, and read its answer strictly to the end.

        Never raises but for cancellation, upon which the connection is closed.
        """
        streamed = ask.stream
        longest = self._patience.longest(streamed=streamed)
        idle = self._patience.idle if streamed else longest
        this = _Try(ask, Watchdog(self._clock, idle, longest))
        outcome = await guarded(self._perform(this, tell), this.dog)
        if isinstance(outcome, Outcome):
            return outcome
        if this.reader.complete:  # only the end of the connection did not come
            return self._read(this)
        return self._of_line("silent", this, outcome)

    async def refresh(self) -> bool:
        """Take another key, or another token; return whether there is one."""
        if self._key is not None:
            key = await asyncio.to_thread(_fetched, self._key)
            renewed = bool(key) and key != self._client.api_key
            self._client.api_key = key or self._client.api_key
            return renewed
        provider = self._client.credentials
        if provider is None:
            return False
        # The copy has no token yet, and the same connections.
        self._client = self._client.copy(credentials=provider)
        return True

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    # -- one attempt -------------------------------------------------------------------

    async def _perform(self, this: _Try, tell: Tell) -> Outcome:
        try:
            await (self._stream(this, tell) if this.ask.stream else self._whole(this))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is an outcome
            return self._raised(error, this)
        return self._read(this)

    async def _stream(self, this: _Try, tell: Tell) -> None:
        stream = await self._client.post(
            _PATH,
            cast_to=object,  # events as they came
            body=self._body(this.ask),
            options=self._options(this.ask),
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
        this.connected = True
        try:
            async for event in stream:
                piece = this.reader.feed(event)
                if is_payload(event):
                    this.dog.feed()
                    this.dog.nearly = this.reader.complete
                if piece is not None:
                    _tell(tell, piece)
                if this.reader.problem:
                    return
        finally:
            with contextlib.suppress(httpx2.HTTPError):
                await stream.close()

    async def _whole(self, this: _Try) -> None:
        response = await self._client.post(
            _PATH,
            cast_to=httpx2.Response,
            body=self._body(this.ask),
            options=self._options(this.ask),
        )
        this.connected = True
        this.reader = read_body(json.loads(response.content))

    def _body(self, ask: Ask) -> dict[str, object]:
        return body_of(ask, cached=self._cached, server_context=self._server_context)

    def _options(self, ask: Ask) -> anthropic.RequestOptions:
        # The watchdog comes first; this also lifts the SDK's bound on `max_tokens`.
        longest = 2 * self._patience.longest(streamed=ask.stream)
        return {
            "max_retries": 0,
            "timeout": httpx2.Timeout(longest, connect=min(_CONNECT, longest)),
            "headers": {"anthropic-beta": CONTEXT_BETA} if self._server_context else {},
        }

    # -- outcomes ----------------------------------------------------------------------

    def _read(self, this: _Try) -> Outcome:
        """Return what was read, now that nothing more comes."""
        found = this.reader.answer()
        if isinstance(found, str):
            text = f"{_SAID['malformed']} ({found})."
            return self._of_line("malformed", this, text)
        return attrs.evolve(
            _charged(this, "answered"),
            message=found.message,
            stop=found.stop,
            bad_calls=found.bad_calls,
            text=self._clean(found.why and f"{found.stop}: {found.why}"),
        )

    def _of_line(self, line: Line, this: _Try, text: str) -> Outcome:
        streamed, begun = this.ask.stream, this.reader.begun
        fact = of_line(line, streamed=streamed, begun=begun)
        return attrs.evolve(_charged(this, fact), text=self._clean(text))

    def _raised(self, error: Exception, this: _Try) -> Outcome:
        if isinstance(error, anthropic.APIStatusError):
            return self._refused(error, this)
        line = _line_of(error, this)
        return self._of_line(line, this, f"{_SAID[line]} ({_told(error)}).")

    def _refused(self, error: anthropic.APIStatusError, this: _Try) -> Outcome:
        kind, said = str(error.type or ""), error.api_message
        failure = Failure(
            error.status_code,
            kind,
            error.error_code or "",
            said if isinstance(said, str) else "",
            {k.lower(): v for k, v in error.response.headers.items()},
        )
        finding: Finding = classify(failure, self._wall())
        told = ": ".join(each for each in (kind, failure.text) if each)
        return attrs.evolve(
            _charged(this, finding.fact),
            wait=finding.wait,
            room=finding.room,
            text=self._clean(f"HTTP {error.status_code} {told}".strip()),
            status=error.status_code,
        )

    def _clean(self, text: str) -> str:
        """Return a text of others without our credential, and not too much of it."""
        if not text:
            return ""
        client = self._client
        secrets = {
            "ANTHROPIC_API_KEY": client.api_key or "",
            "ANTHROPIC_AUTH_TOKEN": client.auth_token or "",
        }
        return Redaction.of(secrets).text(text[: 2 * _TEXT])[:_TEXT]


def _charged(this: _Try, fact: str) -> Outcome:
    """Return an outcome with what it has cost, also if it broke off."""
    charge = this.reader.charge
    return Outcome(
        fact,
        input_tokens=charge.input,
        output_tokens=charge.output,
        cached_tokens=charge.cached,
        written_tokens=charge.written,
    )


def _tell(tell: Tell, piece: Piece) -> None:
    try:
        tell(piece)
    except Exception as error:
        raise _TellError(f"{type(error).__name__}: {error}") from error


def _fetched(key: Callable[[], str]) -> str:
    """Return a key, or "". What raises in a thread may hang whoever waits for it."""
    try:
        return key().strip()
    except Exception:  # noqa: BLE001 - it is the user's, and may do anything
        return ""


def _line_of(error: Exception, this: _Try) -> Line:
    """Return what happened to the line, by what was raised and what that came of."""
    if isinstance(error, _TellError):
        return "strange"
    causes = list(_causes(error))
    for kinds, line in _LINES:
        if any(isinstance(each, kinds) for each in causes):
            illegal = any("Illegal header" in str(each) for each in causes)
            return "hopeless" if illegal else line
    if isinstance(error, anthropic.AnthropicError):
        return "strange" if isinstance(error, anthropic.APIError) else "locked"
    return (
        "malformed" if this.connected and isinstance(error, _UNREADABLE) else "strange"
    )


def _told(error: Exception) -> str:
    """Return an exception in words; what the SDK has wrapped says more than it does."""
    said = error.__cause__ or error
    name, text = type(said).__name__, str(said)
    return f"{name}: {text}" if text else name


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it came of."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


# -- making one ------------------------------------------------------------------------


def make_model(  # noqa: PLR0913 - each is named
    key: str | Callable[[], str] | None = None,
    *,
    base_url: str | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    patience: Patience | None = None,
    clock: Clock | None = None,
    wall: Callable[[], float] = time.time,
    cached: bool = True,
    server_context: bool = False,
) -> AnthropicModel:
    """Return a model that asks the Messages API through the SDK.

    Args:
        key: the key, or what gives one each time it is asked; None: the SDK looks for a
            credential in the environment and in profiles.
        base_url: of the API; None: as the SDK finds it.
        transport: answers requests instead of the network.
        patience: for how long answers are waited for.
        clock: for the waits; None: that of the running loop.
        wall: seconds since 1970, for hints that are dates.
        cached: whether the server is asked to keep what it has read.
        server_context: whether the server may clear old results of tools (a beta).

    Raises:
        NoCredential: the SDK would send none.
        BadValue: `base_url` is no address.
    """
    known = key() if callable(key) else key
    if known is not None and not known.strip():
        raise NoCredential("the key is empty")
    http = None
    if transport is not None:
        http = anthropic.DefaultAsyncHttpxClient(transport=transport)
    try:
        client = anthropic.AsyncAnthropic(
            api_key=None if known is None else known.strip(),
            base_url=base_url,
            http_client=http,
            max_retries=0,
        )
    except httpx2.InvalidURL as error:
        raise BadValue("base_url", str(base_url), "an address") from error
    except (anthropic.AnthropicError, ValueError, OSError) as error:
        raise NoCredential(str(error)) from error
    if not _has_credential(client):
        raise NoCredential
    for told in (client.api_key or "", client.auth_token or ""):
        if not (told.isascii() and told.isprintable()):
            raise NoCredential("the key has a character that no header can have")
    return AnthropicModel(
        client,
        patience=patience or Patience(),
        clock=clock or LoopClock(),
        wall=wall,
        key=key if callable(key) else None,
        cached=cached,
        server_context=server_context,
    )


def _has_credential(client: anthropic.AsyncAnthropic) -> bool:
    headers: Mapping[str, object] = client.default_headers
    given = {name.lower() for name, value in headers.items() if isinstance(value, str)}
    return client.credentials is not None or bool(
        given & {"authorization", "x-api-key"}
    )
