"""One model request: retries, back-off, credentials, and the switch to another model.

The inner loop of an agent. "Should this request be retried?" is decided here; "should
the task go on?" belongs to the query loop, which sees only the terminals. Nothing in
here is progress, so whatever is not counted is a death spiral: with `persistent` on,
rate limits and overloads are retried without end, and the check says so.
"""

from unspiral.engine.core.declare import (
    Counter,
    Edition,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.machines.notation import on

__all__ = ["API_ATTEMPT"]

_AGAIN = "attempts < max_retries"
_COUNT = "attempts += 1; overloads = 0"

# fmt: off
_ROWS = (
    # ---- the model answers, or refuses what the query loop may mend
    on("request", "answered",        "answered"),
    on("request", "prompt_too_long", "prompt_too_long"),
    on("request", "media_rejected",  "media_rejected"),

    # ---- 429: too many requests
    on("request", "rate_limited",    "backoff",   "persistent", "overloads = 0",
       name="rate_limited_for_ever",
       doc="Unattended runs do not count 429s.", cite="spec D.8"),
    on("request", "rate_limited",    "backoff",   _AGAIN, _COUNT),
    on("request", "rate_limited",    "api_error", "otherwise"),

    # ---- 529: overloaded; three in a row lead to the other model
    on("request", "overloaded",      "api_error",
       "(not foreground or query_source == 'session_memory') and not persistent",
       name="overloaded_in_background",
       doc="Nobody waits for background work, and each retry amplifies the overload.",
       cite="spec D.3"),
    on("request", "overloaded",      "request",
       "overloads + 1 >= max_overloads and fallback_model and not on_fallback",
       "on_fallback = True; attempts = 0; overloads = 0", "model_fallback_retry",
       name="switch_model", layer="model",
       doc="The other model starts with fresh attempts, in the same iteration.",
       cite="spec D.6"),
    on("request", "overloaded",      "backoff",   "persistent",
       "overloads = min(overloads + 1, max_overloads)",
       name="overloaded_for_ever",
       doc="Unattended runs do not count 529s.", cite="spec D.8"),
    on("request", "overloaded",      "repeated_529", "overloads + 1 >= max_overloads",
       cite="spec D.3"),
    on("request", "overloaded",      "backoff",   _AGAIN,
       "attempts += 1; overloads += 1"),
    on("request", "overloaded",      "api_error", "otherwise"),

    # ---- what passes by itself: 408, 409, 5xx, a lost connection, a silent stream
    on("request", "server_error",    "backoff",   _AGAIN, _COUNT),
    on("request", "server_error",    "api_error", "otherwise"),
    on("request", "connection_lost", "backoff",   _AGAIN, _COUNT),
    on("request", "connection_lost", "api_error", "otherwise"),
    on("request", "stream_died",     "request",   _AGAIN, _COUNT, "api_retry",
       doc="Repeated without streaming at once; the model stays.", cite="spec D.5"),
    on("request", "stream_died",     "api_error", "otherwise"),
    on("request", "permanent_as_transient", "backoff",   _AGAIN, _COUNT,
       doc="A moderated prompt as 500, a spent quota as 429: retried in vain."),
    on("request", "permanent_as_transient", "api_error", "otherwise"),

    # ---- what needs a change before it is repeated
    on("request", "unauthorized",    "refresh",   _AGAIN, _COUNT),
    on("request", "unauthorized",    "api_error", "otherwise"),
    on("request", "output_overflow", "request",   _AGAIN, _COUNT, "api_retry",
       doc="Input and max_tokens exceed the window: repeated with fewer max_tokens.",
       cite="spec D.4"),
    on("request", "output_overflow", "api_error", "otherwise"),

    # ---- what ends the request
    on("request", "permanent",       "api_error"),
    on("request", "transient_as_permanent", "api_error",
       doc="A passing fault with the status of a lasting one: given up too early."),
    on("request", "exception",       "model_error"),
    on("request", "image_exception", "image_error"),
    on("request", "aborted",         "aborted"),

    # ---- between two attempts
    on("backoff", "waited",          "request", reason="api_retry"),
    on("backoff", "aborted",         "aborted"),
    on("refresh", "refreshed",       "request", reason="api_retry"),
    on("refresh", "refused",         "api_error"),
    on("refresh", "aborted",         "aborted"),
)
# fmt: on

#: what ends a request at once, and how it is told
_ENDS = {
    "answered": "answered",
    "prompt_too_long": "prompt_too_long",
    "media_rejected": "media_rejected",
    "permanent": "api_error",
    "transient_as_permanent": "api_error",
    "refused": "api_error",
    "exception": "model_error",
    "image_exception": "image_error",
}
_PASSING = (
    "rate_limited",
    "server_error",
    "connection_lost",
    "stream_died",
    "permanent_as_transient",
    "unauthorized",
    "output_overflow",
)

API_ATTEMPT = Machine(
    name="api_attempt",
    doc="One model request until an answer, a refusal, or the end of patience.",
    source="spec D",
    phases=(
        Phase(
            "request",
            events=tuple(
                dict.fromkeys(r.event for r in _ROWS if r.source == "request")
            ),
            cost={"model_calls": 1},
            group="attempt",
            doc="One attempt is sent and its stream read to the end.",
        ),
        Phase(
            "backoff",
            events=("waited", "aborted"),
            group="attempt",
            doc="Wait: 0.5 s doubled up to 32 s with jitter, or what the server says.",
            source="spec D.2",
        ),
        Phase(
            "refresh",
            events=("refreshed", "refused", "aborted"),
            group="attempt",
            doc="Credentials are renewed and the client is rebuilt.",
            source="spec D.4",
        ),
    ),
    terminals=(
        Terminal("answered", doc="A complete response, whatever it says."),
        Terminal("prompt_too_long", "error", doc="The prompt exceeds the window."),
        Terminal("media_rejected", "error", doc="An image or document is too large."),
        Terminal("api_error", "error", doc="It becomes an API-error message."),
        Terminal("repeated_529", "error", doc="Overloaded, and no other model left."),
        Terminal("model_error", "error", doc="An unexpected exception."),
        Terminal("image_error", "error", doc="An image could not be resized."),
        Terminal("aborted", "abort", doc="The user stopped the request."),
    ),
    transitions=_ROWS,
    memory=(
        Counter(
            "attempts",
            high="max_retries",
            unit="retries",
            doc="Retries of this request on the present model.",
        ),
        Counter(
            "overloads",
            high="max_overloads",
            doc="Consecutive 529s; any other outcome resets it.",
            source="spec D.3",
        ),
        Flag(
            "on_fallback",
            shared=True,
            doc="The other model has taken over, for the rest of the run.",
            source="spec D.6",
        ),
    ),
    limits=(
        Limit(
            "max_retries",
            10,
            unit="retries",
            source="spec D.2: analyses agree, official error reference",
            doc="Retries of one request on one model: 11 attempts.",
            values=(0, 1, 10),
        ),
        Limit(
            "max_overloads",
            3,
            unit="consecutive 529s",
            source="spec D.3",
            doc="After so many 529s in a row the other model takes over.",
            values=(1, 3, UNLIMITED),
        ),
        Limit(
            "fallback_model",
            default=True,
            source="spec D.3",
            doc="Whether another model is configured.",
        ),
        Limit(
            "persistent",
            default=False,
            source="spec D.8",
            doc="Unattended: 429 and 529 are retried without limit.",
        ),
        Limit(
            "foreground",
            default=True,
            source="spec D.3",
            doc="Whether somebody waits for the answer.",
        ),
        Limit(
            "query_source",
            "main",
            values=("main", "compact", "session_memory", "collapse"),
            source="spec D.3, E.3",
            doc="Who asks: the conversation, or one of its own side tasks.",
        ),
    ),
    laws=(
        Law(
            "attempts_per_model",
            "bounded",
            what="phase == 'request' and not on_fallback",
            at_most="max_retries + 1",
            doc="At most max_retries + 1 attempts on the first model.",
            source="law 65",
        ),
        Law(
            "attempts_on_fallback",
            "bounded",
            what="phase == 'request' and on_fallback",
            at_most="max_retries + 1",
            doc="And as many on the other.",
            source="law 65",
        ),
        Law(
            "background_overload_is_not_retried",
            "absence",
            what="event == 'overloaded' and target in ('request', 'backoff') and "
            "not foreground and not persistent",
            doc="A background request gives up at the first 529.",
            source="law 66",
        ),
        Law(
            "fallback_after_consecutive_overloads",
            "absence",
            what="reason == 'model_fallback_retry' and "
            "(event != 'overloaded' or overloads + 1 < max_overloads)",
            doc="The model is switched only after max_overloads 529s in a row.",
            source="law 67",
        ),
        Law(
            "other_outcomes_reset_overloads",
            "absence",
            what="phase == 'request' and event != 'overloaded' and "
            "target in ('request', 'backoff', 'refresh') and after.overloads > 0",
            doc="Only 529s in a row count.",
            source="law 67",
        ),
        Law(
            "one_switch_of_model",
            "bounded",
            what="reason == 'model_fallback_retry'",
            at_most="1",
            doc="The other model is never left again.",
            source="spec D.6",
        ),
        Law(
            "abort_ends_the_request",
            "absence",
            what="event == 'aborted' and target != 'aborted'",
            doc="Nothing is sent after an abort.",
            source="law 14",
        ),
        Law(
            "the_end_is_what_came",
            "absence",
            what=" or ".join(
                f"event == '{event}' and target != '{end}'"
                for event, end in _ENDS.items()
            ),
            doc="What no repetition mends ends the request, and is told as it was.",
            source="spec D.1, D.9",
        ),
        Law(
            "what_passes_is_repeated",
            "absence",
            what=f"event in {_PASSING} and attempts < max_retries and "
            "target == 'api_error'",
            doc="No fault that may pass ends the request while attempts are left.",
            source="spec D.1, property P9",
        ),
        Law(
            "overloads_end_where_they_are_counted",
            "absence",
            what="event == 'overloaded' and ("
            "target == 'repeated_529' and overloads + 1 < max_overloads or "
            "target == 'backoff' and overloads + 1 >= max_overloads and "
            "not persistent or target == 'api_error' and foreground and "
            "query_source != 'session_memory' and overloads + 1 >= max_overloads)",
            doc="Neither sooner nor later, where somebody waits.",
            source="spec D.3",
        ),
        Law(
            "an_attempt_is_no_progress",
            "absence",
            what="progress",
            doc="Nothing in here does the work of the user.",
            source="guard G11",
        ),
    ),
    editions=(
        Edition("normal", doc="Attended: every retry is counted."),
        Edition(
            "persistent", {"persistent": True}, doc="Unattended: see `persistent`."
        ),
    ),
)
