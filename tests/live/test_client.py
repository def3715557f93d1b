"""What comes of one request, through the real SDK: for every fault, streamed and whole.

The table says the fact entry by entry, after what the catalogue expects of a client.
"""

import asyncio
import gc
import itertools
import json
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.lib.credentials import AccessToken

from unspiral.engine.errors import BadValue, NoCredential
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.clock import START, run_virtual
from unspiral.engine.faults.reply import Reply, Text, ToolUse
from unspiral.engine.faults.schedule import Schedule, fail, say
from unspiral.engine.faults.server import FaultServer
from unspiral.engine.faults.transport import FaultTransport
from unspiral.engine.faults.wire import Said, message_events
from unspiral.engine.live.client import AnthropicModel, make_model
from unspiral.engine.live.message import text_of, user_text
from unspiral.engine.live.ports import Ask, Delta, LoopClock, Outcome, Piece, ToolSpec
from unspiral.engine.live.watchdog import Patience
from unspiral.machines.api_attempt import API_ATTEMPT

KEY = "sk-ant-api03-not-a-real-key-0123456789"
PATIENCE = Patience(idle=20, total=60, whole=40)
READ = ToolSpec(
    "read",
    "Read a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)

#: the fact of each entry: streamed, and whole where that differs. What concerns events
#: alone cannot befall a whole body, which is answered then.
TABLE: Mapping[str, tuple[str, str]] = {
    # "Shrinks the context"
    "prompt_too_long": ("prompt_too_long", ""),
    "prompt_too_long_uncounted": ("prompt_too_long", ""),
    "request_too_large": ("prompt_too_long", ""),
    # "Asks again with max_tokens that fit"
    "output_over_window": ("output_overflow", ""),
    # "Removes or shrinks the image"
    "image_too_large": ("media_rejected", ""),
    # "Repairs the history, or ends"; "Not retried"
    "unpaired_tool_use": ("permanent", ""),
    "billing": ("permanent", ""),
    "payment_required": ("permanent", ""),
    "unknown_model": ("permanent", ""),
    "quota_spent": ("permanent", ""),
    "overloaded_no_retry": ("permanent", ""),
    "threads_refused": ("permanent", ""),
    # "Refreshes what can be refreshed once, then ends and says so"
    "bad_key": ("unauthorized", ""),
    "token_revoked": ("unauthorized", ""),
    # "Retried after a back-off that grows; given up after a bounded number"
    "request_timeout": ("server_error", ""),
    "conflict": ("server_error", ""),
    "server_error": ("server_error", ""),
    "bad_gateway_html": ("server_error", ""),
    "unavailable": ("server_error", ""),
    "gateway_timeout": ("server_error", ""),
    "invalid_but_retry": ("server_error", ""),
    "overloaded": ("overloaded", ""),
    # "Waits at least as long as told, then asks again"
    "rate_limited": ("rate_limited", ""),
    "rate_limited_ms": ("rate_limited", ""),
    "rate_limited_date": ("rate_limited", ""),
    "rate_limited_silent": ("rate_limited", ""),
    "rate_limited_absurd": ("rate_limited", ""),
    "rate_limited_nonsense": ("rate_limited", ""),
    # "Retried with the bound of connection errors": nothing of an answer had come
    "connection_refused": ("connection_lost", ""),
    "reset_before_response": ("connection_lost", ""),
    "closed_before_response": ("connection_lost", ""),
    "garbage_response": ("connection_lost", ""),
    "reset_after_headers": ("connection_lost", ""),
    "no_response": ("connection_lost", ""),
    # "The partial answer is taken back, and asked again or ended"
    "reset_after_first_event": ("stream_died", "connection_lost"),
    "reset_mid_stream": ("stream_died", "connection_lost"),
    "closed_mid_stream": ("stream_died", "connection_lost"),
    "reset_inside_tool_json": ("stream_died", "connection_lost"),
    "stall": ("stream_died", "connection_lost"),
    "stall_with_pings": ("stream_died", "connection_lost"),
    "ended_mid_stream": ("stream_died", "server_error"),
    "ended_without_message_stop": ("stream_died", "server_error"),
    "ended_inside_tool_json": ("stream_died", "server_error"),
    # "Taken as the overload that it is"
    "error_event_first": ("overloaded", "answered"),
    "error_event_mid_stream": ("overloaded", "answered"),
    # "The answer is refused as malformed; asked again a bounded number of times"
    "empty_stream": ("stream_died", "server_error"),
    "invalid_json_line": ("stream_died", "server_error"),
    "bad_utf8": ("stream_died", "server_error"),
    "longer_than_declared": ("stream_died", "server_error"),
    "shorter_than_declared": ("stream_died", "connection_lost"),
    "json_instead_of_stream": ("stream_died", "answered"),
    "unnamed_events": ("stream_died", "answered"),
    "duplicate_message_start": ("stream_died", "answered"),
    "missing_message_start": ("stream_died", "answered"),
    "misordered_events": ("stream_died", "answered"),
    "delta_for_unknown_block": ("stream_died", "answered"),
    # "The answer does not count as complete"
    "null_stop_reason": ("stream_died", "server_error"),
    # "The event is passed over, the answer is taken"
    "unknown_event": ("answered", ""),
    "huge_event": ("answered", ""),
    "slow_drip": ("answered", ""),
    # "The call is not run": a call with a bad input
    "malformed_tool_json": ("answered", ""),
    "truncated_tool_json": ("answered", ""),
    "tool_json_is_no_object": ("answered", ""),
    "max_tokens_in_tool_json": ("answered", ""),
    "duplicate_tool_ids": ("answered", ""),
    # well-formed replies, whatever they say: the table decides
    "end_turn": ("answered", ""),
    "tool_use": ("answered", ""),
    "parallel_tool_use": ("answered", ""),
    "thinking": ("answered", ""),
    "thinking_then_tool_use": ("answered", ""),
    "stop_sequence": ("answered", ""),
    "max_tokens_in_text": ("answered", ""),
    "max_tokens_in_thinking": ("answered", ""),
    "pause_turn": ("answered", ""),
    "refusal": ("answered", ""),
    "context_window_exceeded": ("answered", ""),
    "server_compaction": ("answered", ""),
    "unknown_stop_reason": ("answered", ""),
    "empty_answer": ("answered", ""),
    "whitespace_answer": ("answered", ""),
    "tool_use_with_end_turn": ("answered", ""),
    "stop_tool_use_without_call": ("answered", ""),
    "unknown_tool": ("answered", ""),
    "wrong_input_types": ("answered", ""),
    "empty_tool_input": ("answered", ""),
}
#: bad calls: streamed, and whole, where an input is parsed before it is sent
BAD_CALLS: Mapping[str, tuple[int, int]] = {
    "malformed_tool_json": (1, 0),
    "truncated_tool_json": (1, 0),
    "tool_json_is_no_object": (1, 0),
    "max_tokens_in_tool_json": (1, 1),
    "duplicate_tool_ids": (1, 1),
}
CASES = [(name, stream) for name in CATALOGUE for stream in (True, False)]
WAYS = pytest.mark.parametrize("stream", [True, False])


def ask(*, stream: bool = True, **more: Any) -> Ask:
    messages = (user_text("What does the file say?"),)
    given: dict[str, Any] = {"system": "Be brief.", "tools": (READ,), **more}
    return Ask("claude-sonnet-5-5", messages, max_tokens=64_000, stream=stream, **given)


def model_of(transport: httpx2.AsyncBaseTransport, **more: Any) -> AnthropicModel:
    given: dict[str, Any] = {"key": KEY, "base_url": "http://faults.invalid", **more}
    return make_model(transport=transport, patience=PATIENCE, **given)


def attempt(
    transport: httpx2.AsyncBaseTransport,
    *,
    stream: bool = True,
    tell: Callable[[Piece], None] = lambda _: None,
    **more: Any,
) -> tuple[Outcome, float]:
    """Ask once in virtual time; return what came of it, and how long it took."""

    async def main() -> tuple[Outcome, float]:
        model = model_of(transport, **more)
        outcome = await model.attempt(ask(stream=stream), tell)
        took = asyncio.get_running_loop().time() - START
        await model.aclose()
        await nothing_runs()
        return outcome, took

    return run_virtual(main())


async def nothing_runs() -> None:
    # Generators of the SDK that were left early are ended by the loop, in its own turn.
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def play(name: str, **more: Any) -> tuple[Outcome, float, FaultTransport]:
    seconds = {"seconds": 60} if name == "connection_refused" else {}
    transport = FaultTransport(Schedule((fail(name, **seconds),)))
    outcome, took = attempt(transport, **more)
    return outcome, took, transport


# -- every fault -----------------------------------------------------------------------


def test_the_table_has_every_entry_and_no_other() -> None:
    assert set(TABLE) == set(CATALOGUE)


def test_every_fact_is_an_event_of_the_machine() -> None:
    events = {each.name for each in API_ATTEMPT.phases[0].events}

    assert {fact for facts in TABLE.values() for fact in facts if fact} <= events


@pytest.mark.parametrize(("name", "stream"), CASES)
def test_each_fault_is_the_fact_that_the_table_says(name: str, *, stream: bool) -> None:
    outcome, _, transport = play(name, stream=stream)
    streamed, whole = TABLE[name]
    bad = BAD_CALLS.get(name, (0, 0))

    assert outcome.fact == (streamed if stream else whole or streamed), outcome.text
    assert len(outcome.bad_calls) == bad[0 if stream else 1]
    assert (outcome.message is not None) == (outcome.fact == "answered")
    assert bool(outcome.text) == (outcome.message is None or name == "refusal")
    assert len(transport.journal.exchanges) == (name != "connection_refused")
    assert not any(each.asked.broken for each in transport.journal.exchanges)


@WAYS
def test_an_answer_is_whole_and_charged(*, stream: bool) -> None:
    outcome, _, _ = play("thinking_then_tool_use", stream=stream)
    message = outcome.message

    assert message is not None
    assert message.content[0] == {
        "type": "thinking",
        "thinking": "I must read the file.",
        "signature": "c2lnbmVkIGJ5IG5vYm9keQ==",
    }
    assert message.content[1]["input"] == {"path": "README.md"}
    assert outcome.stop == "tool_use"
    assert (outcome.input_tokens, outcome.output_tokens) == (73, 13)
    assert message.tokens == 86


def test_what_is_streamed_is_told_piece_by_piece() -> None:
    pieces: list[Piece] = []
    play("thinking", tell=pieces.append)

    told = [each for each in pieces if isinstance(each, Delta)]
    assert [each.kind for each in told] == ["thinking", "thinking", "text", "text"]
    assert "".join(each.text for each in told[2:]) == "The file says that all is well."


def test_what_is_not_streamed_is_not_told() -> None:
    told: list[Piece] = []
    play("thinking", stream=False, tell=told.append)

    assert told == []


def test_a_stream_that_broke_off_has_cost_its_input() -> None:
    outcome, _, _ = play("reset_mid_stream")

    assert (outcome.input_tokens, outcome.output_tokens) == (73, 1)


@WAYS
def test_the_room_and_the_wait_are_told(*, stream: bool) -> None:
    assert play("output_over_window", stream=stream)[0].room == 11_760
    assert play("rate_limited", stream=stream)[0].wait == 1
    assert play("rate_limited_ms", stream=stream)[0].wait == 0.25
    assert play("rate_limited_absurd", stream=stream)[0].wait == 86_400
    assert play("rate_limited_nonsense", stream=stream)[0].wait is None
    past = play("rate_limited_date", stream=stream, wall=lambda: 1e12)[0]
    assert past.wait == 0


@pytest.mark.parametrize("name", ["stall", "stall_with_pings", "no_response"])
def test_silence_is_noticed_after_the_idle_time_pings_or_not(name: str) -> None:
    assert play(name)[1] == pytest.approx(PATIENCE.idle)


@pytest.mark.parametrize("name", ["stall", "no_response"])
def test_a_whole_answer_has_its_own_time(name: str) -> None:
    assert play(name, stream=False)[1] == pytest.approx(PATIENCE.whole)


def test_a_slow_answer_lives_as_long_as_something_comes() -> None:
    transport = FaultTransport(Schedule((fail("slow_drip", seconds=2, bytes=64),)))
    outcome, took = attempt(transport)

    assert outcome.fact == "answered"
    assert took > PATIENCE.idle


@WAYS
@pytest.mark.parametrize("name", ["no_response", "stall", "slow_drip"])
def test_a_cancelled_attempt_leaves_its_connection_and_no_task(
    name: str, *, stream: bool
) -> None:
    more = {"seconds": 3} if name == "slow_drip" else {}
    transport = FaultTransport(Schedule((fail(name, **more),)))

    async def main() -> None:
        model = model_of(transport)
        task = asyncio.ensure_future(model.attempt(ask(stream=stream), lambda _: None))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await nothing_runs()
        (exchange,) = transport.journal.exchanges
        assert exchange.answered is not None
        assert exchange.answered.left == "gone"
        await model.aclose()

    run_virtual(main())


def test_two_attempts_of_one_model_may_run_at_once() -> None:
    transport = FaultTransport(Schedule((fail("stall"), say("Here I am."))))

    async def main() -> list[Outcome]:
        model = model_of(transport)
        both = (model.attempt(ask(), lambda _: None) for _ in range(2))
        return list(await asyncio.gather(*both))

    assert [each.fact for each in run_virtual(main())] == ["stream_died", "answered"]


@pytest.mark.parametrize("name", ["tool_use", "reset_mid_stream", "overloaded"])
@WAYS
def test_over_a_socket_the_facts_are_the_same(name: str, *, stream: bool) -> None:
    async def main() -> Outcome:
        async with FaultServer(Schedule((fail(name),))) as server:
            model = make_model(KEY, base_url=server.url, patience=PATIENCE)
            outcome = await model.attempt(ask(stream=stream), lambda _: None)
            await model.aclose()
        return outcome

    outcome = asyncio.run(main())
    over_transport, _, _ = play(name, stream=stream)
    assert outcome.fact == over_transport.fact
    assert outcome.input_tokens == over_transport.input_tokens
    assert outcome.message == over_transport.message


# -- what else can happen --------------------------------------------------------------


class Raises(httpx2.AsyncBaseTransport):
    """A transport that does what it is told."""

    def __init__(self, act: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.act = act

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        return self.act(request)


def raising(error: BaseException) -> Raises:
    def act(request: httpx2.Request) -> httpx2.Response:
        del request
        raise error

    return Raises(act)


class Stream(httpx2.AsyncByteStream):
    """A body that is sent, and then does what it is told."""

    def __init__(
        self, data: bytes, then: BaseException | float = 0, again: bytes = b""
    ) -> None:
        self.data = data
        self.then = then
        self.again = again
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data
        if isinstance(self.then, BaseException):
            raise self.then
        while self.again:
            await asyncio.sleep(9)
            yield self.again
        await asyncio.sleep(self.then)

    async def aclose(self) -> None:
        self.closed = True


def sending(body: Stream, **headers: str) -> Raises:
    head = {"content-type": "text/event-stream", **headers}
    return Raises(lambda _: httpx2.Response(200, headers=head, stream=body))


def stream_of(reply: Reply, *, without: int = 0) -> bytes:
    events = message_events(Said(reply, "msg_1", "claude-sonnet-5-5", 7, 5))
    return b"".join(each.to_bytes() for each in events[: len(events) - without])


TALK = Reply((Text("All is well."),))
GOOD = stream_of(TALK)
DELTA = message_events(Said(TALK, "msg_1", "claude-sonnet-5-5", 7, 5))[2].to_bytes()


class OddError(Exception):
    pass


@WAYS
@pytest.mark.parametrize(
    ("error", "fact"),
    [
        (httpx2.ReadError(""), "connection_lost"),
        (httpx2.ConnectTimeout("slow"), "connection_lost"),
        (httpx2.UnsupportedProtocol("gopher"), "permanent"),
        (httpx2.LocalProtocolError("Illegal header value b'x'"), "permanent"),
        (httpx2.LocalProtocolError("Too little data"), "connection_lost"),
        (httpx2.InvalidURL("no"), "permanent"),
        (ConnectionResetError("reset"), "connection_lost"),
        (asyncio.CancelledError(), "connection_lost"),
    ],
)
def test_what_a_transport_raises_is_an_outcome(
    error: BaseException, fact: str, *, stream: bool
) -> None:
    assert attempt(raising(error), stream=stream)[0].fact == fact


@WAYS
@pytest.mark.parametrize(
    "error", [OddError("odd"), RecursionError("deep"), MemoryError(), KeyError("x")]
)
def test_nothing_that_is_raised_comes_through(
    error: Exception, *, stream: bool
) -> None:
    outcome, _ = attempt(raising(error), stream=stream)

    assert outcome.fact in {"exception", "connection_lost"}
    assert type(error).__name__ in outcome.text


@pytest.mark.parametrize(
    ("error", "fact"),
    [
        (httpx2.ReadError("reset"), "stream_died"),
        (httpx2.DecodingError("no gzip"), "stream_died"),
        (ValueError("odd"), "stream_died"),
        (IndexError("odd"), "stream_died"),
        (AssertionError(), "stream_died"),
        (RecursionError("deep"), "stream_died"),
        (OddError("odd"), "exception"),
    ],
)
def test_what_is_raised_in_the_middle_of_a_stream_is_an_outcome(
    error: Exception, fact: str
) -> None:
    body = Stream(GOOD[: len(GOOD) // 2], error)
    outcome, _ = attempt(sending(body))

    assert outcome.fact == fact
    assert type(error).__name__ in outcome.text
    assert body.closed


def test_a_certificate_that_does_not_hold_is_not_tried_again() -> None:
    error = httpx2.ConnectError("certificate verify failed")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")

    assert attempt(raising(error))[0].fact == "permanent"


def test_an_answer_whose_connection_is_not_closed_is_taken_soon() -> None:
    body = Stream(GOOD, 1_000)
    outcome, took = attempt(sending(body))

    assert outcome.fact == "answered"
    assert outcome.message is not None
    assert text_of(outcome.message) == "All is well."
    assert took <= 5
    assert body.closed


def test_an_answer_that_comes_for_ever_ends_at_the_deadline() -> None:
    body = Stream(stream_of(TALK, without=3), again=DELTA)
    outcome, took = attempt(sending(body))

    assert outcome.fact == "stream_died"
    assert took == pytest.approx(PATIENCE.total)
    assert body.closed


def test_a_stream_is_left_as_soon_as_it_is_malformed() -> None:
    body = Stream(GOOD + GOOD, 1_000)
    outcome, took = attempt(sending(body))

    assert outcome.fact == "stream_died"
    assert took == 0
    assert body.closed


def test_events_that_are_no_objects_are_malformed() -> None:
    for data in (b"[1]", b"3", b'{"type":7}', b'"x"'):
        body = Stream(b"event: message_start\ndata: " + data + b"\n\n")

        assert attempt(sending(body))[0].fact == "stream_died"


def test_whoever_is_told_and_fails_is_an_outcome_too() -> None:
    def tell(piece: Piece) -> None:
        raise BrokenPipeError(repr(piece))

    outcome, _, _ = play("end_turn", tell=tell)

    assert outcome.fact == "exception"
    assert "BrokenPipeError" in outcome.text


def test_an_error_page_is_not_shown() -> None:
    outcome, _, _ = play("bad_gateway_html")

    assert (outcome.text, outcome.status) == ("HTTP 502", 502)


def test_what_cannot_be_said_in_json_is_an_outcome() -> None:
    async def main() -> Outcome:
        model = model_of(FaultTransport(Schedule()))
        message = user_text("half: \ud83d")
        return await model.attempt(Ask("m", (message,), stream=False), lambda _: None)

    assert run_virtual(main()).fact == "exception"


def test_an_error_that_says_very_much_is_cut() -> None:
    page = httpx2.Response(
        400, json={"type": "error", "error": {"type": "x", "message": "y" * 10**6}}
    )

    assert len(attempt(Raises(lambda _: page))[0].text) == 2_000


# -- credentials -----------------------------------------------------------------------


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without any credential."""
    for name in [each for each in os.environ if each.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return monkeypatch


@pytest.mark.usefixtures("nothing")
def test_without_any_credential_there_is_no_model() -> None:
    with pytest.raises(NoCredential, match="set ANTHROPIC_API_KEY"):
        make_model()


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("key", ["", "  \n", lambda: ""])
def test_an_empty_key_is_none(key: str | Callable[[], str]) -> None:
    with pytest.raises(NoCredential):
        make_model(key)


@pytest.mark.parametrize("key", [f"{KEY}\nx: y", f"{KEY}\u2026"])
def test_a_key_that_no_header_can_have_is_said_without_it(
    nothing: pytest.MonkeyPatch, key: str
) -> None:
    nothing.setenv("ANTHROPIC_AUTH_TOKEN", key)
    for given in (key, None):
        with pytest.raises(NoCredential, match="no header can have") as caught:
            make_model(given)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_AUTH_TOKEN", KEY),
        ("ANTHROPIC_CUSTOM_HEADERS", f"x-api-key: {KEY}"),
    ],
)
def test_a_credential_of_the_environment_is_found_and_sent(
    nothing: pytest.MonkeyPatch, name: str, value: str
) -> None:
    nothing.setenv(name, value)
    seen: list[httpx2.Headers] = []

    def act(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers)
        return httpx2.Response(500)

    attempt(Raises(act), key=None, base_url="https://faults.invalid")
    sent = seen[0].get("authorization", "") + seen[0].get("x-api-key", "")

    assert KEY in sent


def test_a_profile_that_is_not_there_is_no_credential(
    nothing: pytest.MonkeyPatch,
) -> None:
    nothing.setenv("ANTHROPIC_PROFILE", "nowhere")

    with pytest.raises(NoCredential):
        make_model()


def test_an_address_that_is_none_is_said() -> None:
    with pytest.raises(BadValue, match="base_url"):
        make_model(KEY, base_url="http://host:port")


def test_the_key_is_in_no_outcome_and_no_repr() -> None:
    echo = httpx2.Response(
        401,
        json={
            "type": "error",
            "error": {"type": "authentication_error", "message": f"bad key {KEY}"},
        },
    )
    outcome, _ = attempt(Raises(lambda _: echo))

    assert "bad key" in outcome.text
    assert KEY not in repr(outcome)
    assert KEY not in repr(make_model(KEY))
    odd, _ = attempt(raising(OddError(f"headers: {KEY!r}")))
    assert KEY not in repr(odd)


def test_a_key_that_was_given_cannot_be_renewed() -> None:
    assert run_virtual(make_model(KEY).refresh()) is False


def test_a_key_that_is_fetched_is_fetched_again_and_sent() -> None:
    keys = iter(["first-key-0123456789", "second-key-0123456789"])
    seen: list[str] = []

    def act(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["authorization"])
        return httpx2.Response(401)

    async def main() -> bool:
        model = model_of(Raises(act), key=lambda: next(keys))
        await model.attempt(ask(), lambda _: None)
        renewed = await model.refresh()
        await model.attempt(ask(), lambda _: None)
        return renewed

    assert run_virtual(main()) is True
    assert seen == ["Bearer first-key-0123456789", "Bearer second-key-0123456789"]


def test_the_same_key_again_is_no_new_one() -> None:
    assert (
        run_virtual(model_of(FaultTransport(Schedule()), key=lambda: KEY).refresh())
        is False
    )


def test_a_key_that_can_no_longer_be_fetched_is_none() -> None:
    keys = iter([KEY])

    assert run_virtual(make_model(lambda: next(keys)).refresh()) is False


def of_provider(
    transport: httpx2.AsyncBaseTransport, provider: Callable[..., AccessToken]
) -> AnthropicModel:
    client = anthropic.AsyncAnthropic(
        credentials=provider,
        base_url="https://faults.invalid",
        max_retries=0,
        http_client=anthropic.DefaultAsyncHttpxClient(transport=transport),
    )
    return AnthropicModel(client, patience=PATIENCE, clock=LoopClock())


def test_a_provider_of_tokens_is_asked_for_another() -> None:
    tokens = (AccessToken(token=f"token-{n}") for n in itertools.count())
    seen: list[str] = []

    def act(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["authorization"])
        return httpx2.Response(401)

    def provide(*, force_refresh: bool = False) -> AccessToken:
        del force_refresh
        return next(tokens)

    async def main() -> bool:
        model = of_provider(Raises(act), provide)
        for _ in range(2):
            await model.attempt(ask(), lambda _: None)
        renewed = await model.refresh()
        await model.attempt(ask(), lambda _: None)
        return renewed

    assert run_virtual(main()) is True
    assert seen == ["Bearer token-0", "Bearer token-0", "Bearer token-1"]


def test_a_provider_without_a_token_is_an_outcome() -> None:
    def provide(*, force_refresh: bool = False) -> AccessToken:
        raise anthropic.CredentialsError(f"nothing to log in with ({force_refresh})")

    async def main() -> Outcome:
        model = of_provider(FaultTransport(Schedule()), provide)
        return await model.attempt(ask(), lambda _: None)

    outcome = run_virtual(main())
    assert outcome.fact == "unauthorized"
    assert "nothing to log in with" in outcome.text


# -- what is sent ----------------------------------------------------------------------


def sent(**more: Any) -> tuple[httpx2.Headers, dict[str, Any]]:
    seen: list[tuple[httpx2.Headers, dict[str, Any]]] = []

    def act(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.headers, json.loads(request.content)))
        return httpx2.Response(500)

    attempt(Raises(act), **more)
    return seen[0]


def test_a_great_output_limit_is_sent_without_a_stream_too() -> None:
    _, body = sent(stream=False)

    assert body["max_tokens"] == 64_000
    assert "stream" not in body
    assert sent()[1]["stream"] is True


def test_the_server_clears_old_results_only_if_it_may() -> None:
    headers, body = sent(server_context=True)

    assert headers["anthropic-beta"] == "context-management-2025-06-27"
    assert body["context_management"] == {
        "edits": [{"type": "clear_tool_uses_20250919"}]
    }
    headers, body = sent()
    assert "anthropic-beta" not in headers
    assert "context_management" not in body


def test_an_answer_of_a_context_that_was_edited_is_an_answer() -> None:
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919"}]}
    reply = Reply((Text("All is well."), ToolUse("read", {"path": "a"}, "toolu_1")))
    text = stream_of(reply).decode()
    told = f'"context_management":{json.dumps(edits)},"usage"'
    body = Stream(text.replace('"usage":{"output', told + ':{"output').encode())
    outcome, _ = attempt(sending(body), server_context=True)

    assert outcome.fact == "answered"
    assert outcome.bad_calls == {}


def test_nothing_is_left_behind_that_warns_when_it_is_collected() -> None:
    play("reset_mid_stream")
    play("duplicate_message_start")
    gc.collect()  # a warning is an error
