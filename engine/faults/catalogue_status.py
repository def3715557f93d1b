"""The catalogue, group "status": the API answers with an error.

Statuses, kinds and messages are those of the API's public documentation (SPEC M);
parameters stand in braces.
"""

from unspiral.engine.faults.fault import Fault, Parameter
from unspiral.engine.faults.plans import Refusal

__all__ = ["STATUS"]

_INVALID = "invalid_request_error"
_SECONDS = Parameter(1, 0, 10**9, "seconds to wait, as the header says", whole=True)
_TOKENS = {
    "tokens": Parameter(
        214_512, 1, 10**9, "tokens that the prompt is said to have", whole=True
    ),
    "limit": Parameter(
        200_000, 1, 10**9, "tokens that are said to be allowed", whole=True
    ),
}
_NO_RETRY = "Not retried: the same request would fail again."
_BACK_OFF = "Retried after a back-off that grows; given up after a bounded number."


def _limited(
    name: str, description: str, expect: str, headers: dict[str, str], **more: Parameter
) -> Fault:
    return Fault(
        name,
        "status",
        description,
        "wait policy: the server's hint is a lower bound, and capped",
        expect,
        Refusal(
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit",
            tuple(headers.items()),
        ),
        more,
    )


STATUS = (
    Fault(
        "prompt_too_long",
        "status",
        "400: the prompt is too long; the message tells both token counts.",
        "compaction or draining, once or a bounded number of times",
        "Shrinks the context and asks again; never sends the same prompt twice.",
        Refusal(400, _INVALID, "prompt is too long: {tokens} tokens > {limit} maximum"),
        _TOKENS,
    ),
    Fault(
        "prompt_too_long_uncounted",
        "status",
        "400: the prompt is too long; the message has no numbers.",
        "compaction when the gap is not known",
        "Shrinks the context by a share, and asks again.",
        Refusal(400, _INVALID, "Prompt is too long"),
    ),
    Fault(
        "output_over_window",
        "status",
        "400: input and max_tokens together exceed the context window.",
        "a smaller max_tokens for this request",
        "Asks again with max_tokens that fit, a bounded number of times.",
        Refusal(
            400,
            _INVALID,
            "input length and `max_tokens` exceed context limit: {tokens} + {asked} > "
            "{limit}, decrease input length or `max_tokens` and try again",
        ),
        {
            "tokens": Parameter(
                188_240, 1, 10**9, "tokens of the input, as told", whole=True
            ),
            "asked": Parameter(21_333, 1, 10**9, "max_tokens, as told", whole=True),
            "limit": _TOKENS["limit"],
        },
    ),
    Fault(
        "unpaired_tool_use",
        "status",
        "400: a tool call of the history has no result.",
        "repair of the history before the next request",
        "Repairs the history, or ends; a repeated send bricks the conversation.",
        Refusal(
            400,
            _INVALID,
            "messages.1: `tool_use` ids were found without `tool_result` blocks "
            "immediately after: toolu_01A. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message.",
        ),
    ),
    Fault(
        "image_too_large",
        "status",
        "400: an image of the history is too large.",
        "stripping media",
        "Removes or shrinks the image; the next turns must not send it again.",
        Refusal(
            400,
            _INVALID,
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: "
            "6291456 bytes > 5242880 bytes",
        ),
    ),
    Fault(
        "billing",
        "status",
        "400: the credit balance is too low.",
        "classification of errors: not every 400 is about the request",
        f"{_NO_RETRY} The user is told to pay.",
        Refusal(
            400,
            _INVALID,
            "Your credit balance is too low to access the Anthropic API. Please go to "
            "Plans & Billing to upgrade or purchase credits.",
        ),
    ),
    Fault(
        "payment_required",
        "status",
        "402: a billing error.",
        "classification of errors",
        f"{_NO_RETRY} The user is told to pay.",
        Refusal(402, "billing_error", "There is an issue with your billing"),
    ),
    Fault(
        "bad_key",
        "status",
        "401: the key is not valid.",
        "refresh of credentials, once",
        "Refreshes what can be refreshed once, then ends and says so.",
        Refusal(401, "authentication_error", "invalid x-api-key"),
    ),
    Fault(
        "token_revoked",
        "status",
        "403: the OAuth token has been revoked.",
        "refresh of credentials, once",
        "Refreshes what can be refreshed once, then ends and says so.",
        Refusal(403, "permission_error", "OAuth token has been revoked"),
    ),
    Fault(
        "unknown_model",
        "status",
        "404: there is no such model.",
        "fallback to another model, once",
        f"{_NO_RETRY} Another model may be asked.",
        Refusal(404, "not_found_error", "model: no-such-model"),
    ),
    Fault(
        "request_timeout",
        "status",
        "408: the server gave up waiting for the request.",
        "bounded retry with back-off",
        _BACK_OFF,
        Refusal(408, "timeout_error", "Request timed out"),
    ),
    Fault(
        "conflict",
        "status",
        "409: the resource was changed meanwhile.",
        "bounded retry with back-off",
        _BACK_OFF,
        Refusal(409, "conflict_error", "Conflict"),
    ),
    Fault(
        "request_too_large",
        "status",
        "413: the request has too many bytes (not: too many tokens).",
        "shrinking by bytes: media and tool results first",
        f"{_NO_RETRY} A smaller one may be sent.",
        Refusal(413, "request_too_large", "Request exceeds the maximum size"),
    ),
    _limited(
        "rate_limited",
        "429: too many requests; `retry-after` in seconds.",
        "Waits at least as long as told, then asks again.",
        {"retry-after": "{seconds}"},
        seconds=_SECONDS,
    ),
    _limited(
        "rate_limited_ms",
        "429: too many requests; `retry-after-ms` in milliseconds.",
        "Waits at least as long as told, then asks again.",
        {"retry-after-ms": "{milliseconds}"},
        milliseconds=Parameter(250, 0, 10**12, "milliseconds to wait", whole=True),
    ),
    _limited(
        "rate_limited_date",
        "429: too many requests; `retry-after` is a date.",
        "Waits until the date, then asks again.",
        {"retry-after": "{date}"},
        seconds=Parameter(2, 0, 10**6, "seconds from now to the date"),
    ),
    _limited(
        "rate_limited_silent",
        "429: too many requests; no `retry-after`.",
        "Backs off by itself, then asks again.",
        {},
    ),
    _limited(
        "rate_limited_absurd",
        "429: too many requests; `retry-after` is longer than anybody waits.",
        "Caps the wait: ends, or tells the user until when it waits.",
        {"retry-after": "{seconds}"},
        seconds=Parameter(
            86_400, 0, 10**9, "seconds to wait, as the header says", whole=True
        ),
    ),
    _limited(
        "rate_limited_nonsense",
        "429: too many requests; `retry-after` is no number and no date.",
        "Ignores the header and backs off by itself.",
        {"retry-after": "soon"},
    ),
    Fault(
        "quota_spent",
        "status",
        "429: the spending limit of the month is reached; no `retry-after`.",
        "classification of errors: a 429 that no wait of minutes cures",
        "Gives up within its bound, and says that the quota is spent.",
        Refusal(
            429,
            "rate_limit_error",
            "You have reached your specified API usage limits. You will regain access "
            "on 2027-01-01 at 00:00 UTC.",
            (("x-should-retry", "false"),),
        ),
    ),
    Fault(
        "server_error",
        "status",
        "500: an internal error.",
        "bounded retry with back-off",
        _BACK_OFF,
        Refusal(500, "api_error", "Internal server error"),
    ),
    Fault(
        "bad_gateway_html",
        "status",
        "502 of a proxy: an HTML page instead of JSON.",
        "reading errors without trusting their body",
        f"{_BACK_OFF} The page is not shown as an answer.",
        Refusal(
            502,
            page="<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n"
            "<center><h1>502 Bad Gateway</h1></center>\n</body>\n</html>\n",
        ),
    ),
    Fault(
        "unavailable",
        "status",
        "503: the service is not available.",
        "bounded retry with back-off",
        _BACK_OFF,
        Refusal(503, "api_error", "Service unavailable"),
    ),
    Fault(
        "gateway_timeout",
        "status",
        "504: a request took too long inside the API.",
        "bounded retry with back-off",
        _BACK_OFF,
        Refusal(504, "timeout_error", "Request timed out"),
    ),
    Fault(
        "overloaded",
        "status",
        "529: the API is overloaded.",
        "bounded retry, then fallback after a number of consecutive ones",
        f"{_BACK_OFF} Background requests give up at once.",
        Refusal(529, "overloaded_error", "Overloaded"),
    ),
    Fault(
        "overloaded_no_retry",
        "status",
        "529 with `x-should-retry: false`.",
        "the server's word on retrying is heard",
        "Not retried.",
        Refusal(529, "overloaded_error", "Overloaded", (("x-should-retry", "false"),)),
    ),
    Fault(
        "invalid_but_retry",
        "status",
        "400 with `x-should-retry: true`.",
        "the server's word on retrying is heard, and still bounded",
        "Retried, a bounded number of times.",
        Refusal(400, _INVALID, "Try again", (("x-should-retry", "true"),)),
    ),
    Fault(
        "threads_refused",
        "status",
        "400: message threads are not supported (`thread_unsupported_request`).",
        "fallback from threads to sending the whole history",
        "Sends the history again without a thread.",
        Refusal(
            400,
            _INVALID,
            "thread: message threads are not supported here",
            details={
                "error_code": "thread_unsupported_request",
                "unsupported": ["thread"],
            },
        ),
    ),
)
