"""What an error is: by its status, words and headers, or by what befell a line."""

import email.utils
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.live.classify import (
    Failure,
    Finding,
    Line,
    classify,
    of_line,
    wait_hint,
)
from unspiral.machines.api_attempt import API_ATTEMPT

NOW = 1_796_000_000.0
EVENTS = {each.name for each in API_ATTEMPT.phases[0].events}

LIMIT = "input length and `max_tokens` exceed context limit: {} + {} > {}, decrease"


def fact(
    status: int | None,
    text: str = "",
    *,
    type_: str = "",
    code: str = "",
    headers: Mapping[str, str] | None = None,
) -> str:
    return classify(Failure(status, type_, code, text, headers or {}), NOW).fact


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 214512 tokens > 200000 maximum",
        "Prompt is too long",
        "Input is too long for requested model.",
        "messages: too many total text bytes: 9100000 > 9000000",
        "This model's maximum context length is 200000 tokens",
        "The request exceeds the model's maximum context",
    ],
)
def test_a_400_that_says_so_in_any_of_its_forms_is_a_prompt_too_long(text: str) -> None:
    assert fact(400, text, headers={"x-should-retry": "false"}) == "prompt_too_long"


@pytest.mark.parametrize("status", [413, 200])
def test_too_many_bytes_are_a_prompt_too_long(status: int) -> None:
    assert fact(status, "Too large", type_="request_too_large") == "prompt_too_long"


def test_the_room_that_is_left_for_an_answer_is_told() -> None:
    text = LIMIT.format(188_240, 21_333, 200_000)

    assert classify(Failure(400, text=text), NOW) == Finding(
        "output_overflow", room=11_760
    )


@pytest.mark.parametrize("tokens", [200_000, 200_001])
def test_if_no_token_fits_the_prompt_is_too_long(tokens: int) -> None:
    assert fact(400, LIMIT.format(tokens, 8_000, 200_000)) == "prompt_too_long"


def test_more_output_than_a_model_can_give_is_an_overflow_too() -> None:
    text = (
        "max_tokens: 64000 > 32000, which is the maximum allowed number of output "
        "tokens for claude-opus-4-1"
    )

    assert classify(Failure(400, text=text), NOW) == Finding(
        "output_overflow", room=32_000
    )


@pytest.mark.parametrize(
    "text",
    [
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6 > 5",
        "At least one of the image dimensions exceed max allowed size",
        "Could not process image",
        "A maximum of 100 PDF pages may be provided.",
        "The PDF specified was not valid.",
        "messages.2.content.0.document.source: Could not process PDF",
    ],
)
def test_media_that_is_refused_is_told_from_other_400s(text: str) -> None:
    assert fact(400, text) == "media_rejected"


def test_media_that_is_refused_is_known_by_its_code() -> None:
    assert fact(400, "Resize it", code="image_dimensions_too_large") == "media_rejected"


@pytest.mark.parametrize(
    ("status", "type_", "expected"),
    [
        (400, "invalid_request_error", "permanent"),
        (401, "authentication_error", "unauthorized"),
        (402, "billing_error", "permanent"),
        (403, "permission_error", "permanent"),
        (404, "not_found_error", "permanent"),
        (408, "timeout_error", "server_error"),
        (409, "conflict_error", "server_error"),
        (422, "", "permanent"),
        (429, "rate_limit_error", "rate_limited"),
        (500, "api_error", "server_error"),
        (502, "", "server_error"),
        (504, "timeout_error", "server_error"),
        (529, "overloaded_error", "overloaded"),
        (None, "", "server_error"),
    ],
)
def test_without_further_words_the_status_decides(
    status: int | None, type_: str, expected: str
) -> None:
    assert fact(status, "Something", type_=type_) == expected


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("overloaded_error", "overloaded"),
        ("api_error", "server_error"),
        ("rate_limit_error", "rate_limited"),
        ("timeout_error", "server_error"),
        ("authentication_error", "unauthorized"),
        ("invalid_request_error", "permanent"),
        ("never_heard_of_error", "server_error"),
        ("", "server_error"),
    ],
)
def test_within_a_stream_the_type_stands_for_the_status(
    type_: str, expected: str
) -> None:
    assert fact(200, "Something", type_=type_) == expected


def test_an_overload_is_heard_where_its_status_was_lost() -> None:
    text = '{"type":"error","error":{"type":"overloaded_error"}}'

    assert fact(500, text) == "overloaded"
    assert fact(None, text) == "overloaded"


def test_a_request_that_speaks_of_an_overload_is_none() -> None:
    assert fact(400, "tools.0: 'overloaded_error' is no name") == "permanent"


@pytest.mark.parametrize(
    "text",
    ["OAuth token has been revoked", "The OAuth token is expired."],
)
def test_a_403_for_a_token_is_about_credentials(text: str) -> None:
    assert fact(403, text) == "unauthorized"


@pytest.mark.parametrize("status", [400, 408, 409, 429, 500, 529])
def test_whoever_says_not_to_retry_is_heard(status: int) -> None:
    assert fact(status, headers={"x-should-retry": "false"}) == "permanent"


@pytest.mark.parametrize("status", [400, 404, 500])
def test_whoever_says_to_retry_is_heard(status: int) -> None:
    assert fact(status, headers={"x-should-retry": " TRUE"}) == "server_error"


@pytest.mark.parametrize(
    "failure",
    [
        Failure(429, "rate_limit_error", "enforced_spend_limit_reached"),
        Failure(429, "billing_error"),
        Failure(429, text="You have reached your specified API usage limits. You will"),
        Failure(400, text="Your credit balance is too low", headers={}),
    ],
)
def test_what_no_wait_of_minutes_cures_is_permanent(failure: Failure) -> None:
    assert classify(failure, NOW) == Finding("permanent")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 0.25 "}, 0.25),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "later", "retry-after": "9"}, 9),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "86400"}, 86_400),
        ({"retry-after": email.utils.formatdate(NOW + 90, usegmt=True)}, 90),
        ({"retry-after": email.utils.formatdate(NOW - 90, usegmt=True)}, 0),
        ({"retry-after": "Sun, 06 Nov 2094 08:49:37 -0000"}, 2_143_871_777),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Sun, 99 Nov 9999999999 08:49:37 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_hint_to_wait_is_understood_or_not_heard(
    headers: Mapping[str, str], seconds: float | None
) -> None:
    assert wait_hint(headers, NOW) == seconds
    assert classify(Failure(429, headers=headers), NOW).wait == seconds
    assert classify(Failure(400, headers=headers), NOW).wait is None


LINES: tuple[Line, ...] = (
    "lost",
    "silent",
    "malformed",
    "hopeless",
    "locked",
    "strange",
)


@pytest.mark.parametrize(
    ("line", "streamed", "begun", "expected"),
    [
        ("lost", True, False, "connection_lost"),
        ("lost", True, True, "stream_died"),
        ("lost", False, False, "connection_lost"),
        ("silent", True, False, "connection_lost"),
        ("silent", True, True, "stream_died"),
        ("malformed", True, False, "stream_died"),
        ("malformed", False, False, "server_error"),
        ("hopeless", True, False, "permanent"),
        ("locked", True, False, "unauthorized"),
        ("strange", True, True, "exception"),
    ],
)
def test_what_happened_to_a_line_is_a_fact(
    line: Line, *, streamed: bool, begun: bool, expected: str
) -> None:
    assert of_line(line, streamed=streamed, begun=begun) == expected


@given(
    st.none() | st.integers(-1, 700),
    st.text() | st.sampled_from(["api_error", "rate_limit_error", "request_too_large"]),
    st.text(),
    st.text() | st.from_regex(r"exceed context limit: \d+ \+ \d+ > \d+"),
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-should-retry"]),
        st.text() | st.sampled_from(["true", "false", "-1", "Mon, 1 Jan"]),
    ),
)
def test_whatever_an_error_says_it_is_an_event_of_the_machine(
    status: int | None, type_: str, code: str, text: str, headers: Mapping[str, str]
) -> None:
    finding = classify(Failure(status, type_, code, text, headers), NOW)

    assert finding.fact in EVENTS
    assert finding.wait is None or finding.wait >= 0
    assert (finding.fact == "output_overflow") == (finding.room is not None)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_whatever_happened_to_a_line_is_an_event_of_the_machine(
    line: Line, *, streamed: bool, begun: bool
) -> None:
    assert of_line(line, streamed=streamed, begun=begun) in EVENTS
