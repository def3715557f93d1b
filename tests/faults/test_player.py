"""What is answered when: the order of the decisions, runs, the window, the journal."""

import json

import pytest

from tests.faults.asking import (
    HEADERS,
    READ,
    Played,
    assistant,
    body_of,
    called,
    incoming,
    result,
    user,
)
from unspiral.engine.faults.journal import Answered, Asked, Began, Ended, Noise, Outaged
from unspiral.engine.faults.player import MAX_RUNS
from unspiral.engine.faults.reply import Reply, Text
from unspiral.engine.faults.request import Incoming
from unspiral.engine.faults.schedule import (
    Context,
    Pattern,
    Play,
    Rule,
    call,
    fail,
    say,
)

SIDE = incoming(tools=[])


def test_steps_are_taken_one_after_the_other_and_then_comes_what_is_left() -> None:
    played = Played(call("read"), fail("overloaded", 2), say("Well."))

    names = [played.ask(incoming(stream=False)) for _ in range(6)]

    assert [each.answer.name for each in names] == [
        "reply",
        "overloaded",
        "overloaded",
        "reply",
        "reply",
        "reply",
    ]
    assert [each.why for each in names] == [
        "step 1",
        "step 2 (1 of 2)",
        "step 2 (2 of 2)",
        "step 3",
        "then",
        "then",
    ]
    assert b"Done." in body_of(names[-1])


def test_a_step_for_ever_never_ends() -> None:
    played = Played(fail("stall", None))

    assert {played.ask().answer.name for _ in range(50)} == {"stall"}


def test_a_side_request_takes_no_step() -> None:
    played = Played(fail("overloaded"), side=Play(reply=Reply((Text("A title"),))))

    assert played.names(SIDE, incoming(), SIDE) == ["side", "overloaded", "side"]


def test_without_a_side_answer_a_side_request_takes_a_step() -> None:
    played = Played(fail("overloaded"), side=None)

    assert played.names(SIDE, SIDE) == ["overloaded", "reply"]


def test_a_rule_comes_before_side_answers_and_steps_and_takes_no_step() -> None:
    rule = Rule(Pattern(model="claude-haiku-*"), Play("server_error"), times=1)
    played = Played(fail("overloaded"), rules=(rule,))
    haiku = incoming(model="claude-haiku-5-5")

    assert played.names(haiku, haiku, haiku) == ["server_error", "overloaded", "reply"]


def test_a_rule_that_is_used_up_goes_on_with_what_comes_then() -> None:
    rule = Rule(Pattern(), Play("overloaded"), times=2, then=Play("server_error"))
    played = Played(rules=(rule,))

    assert played.names(*[incoming()] * 4) == [
        "overloaded",
        "overloaded",
        "server_error",
        "server_error",
    ]


def test_progress_is_a_new_result_or_new_words_and_nothing_else() -> None:
    played = Played()
    first = [user(), assistant(called("t1")), result("t1")]
    second = [*first, assistant(called("t2")), result("t2")]

    counts = [
        played.ask(incoming(*messages)).asked.since_progress
        for messages in (
            [user()],
            [user()],
            first,
            first,
            [*first, assistant({"type": "text", "text": "so"})],
            second,
            [*second, user("And now?")],
        )
    ]

    assert counts == [1, 2, 1, 2, 3, 1, 1]


def test_a_pattern_can_ask_for_the_nth_request_since_progress() -> None:
    rule = Rule(Pattern(since_progress=3), Play("prompt_too_long"))
    played = Played(rules=(rule,))

    assert played.names(*[incoming()] * 4) == [
        "reply",
        "reply",
        "prompt_too_long",
        "prompt_too_long",
    ]


@pytest.mark.parametrize(
    ("pattern", "request_that_matches", "another"),
    [
        (Pattern(has_tools=True), incoming(), SIDE),
        (Pattern(has_tools=False), SIDE, incoming()),
        (Pattern(tool="read"), incoming(), incoming(tools=[{**READ, "name": "x"}])),
        (Pattern(stream=False), incoming(stream=False), incoming()),
        (Pattern(min_tokens=300), incoming(user("x" * 2_000)), incoming()),
        (Pattern(max_tokens=300), incoming(), incoming(user("x" * 2_000))),
        (Pattern(min_messages=2), incoming(user(), user()), incoming()),
        (Pattern(text="magic"), incoming(user("the magic word")), incoming()),
    ],
)
def test_a_pattern_takes_what_it_means_and_nothing_else(
    pattern: Pattern, request_that_matches: Incoming, another: Incoming
) -> None:
    played = Played(rules=(Rule(pattern, Play("conflict")),))

    names = played.names(request_that_matches, another)

    assert names[0] == "conflict"
    assert names[1] != "conflict"


def test_patterns_count_requests_and_know_repeated_ones() -> None:
    played = Played(
        rules=(
            Rule(Pattern(nth=1), Play("server_error")),
            Rule(Pattern(every=3), Play("unavailable")),
            Rule(Pattern(repeated=True), Play("conflict")),
        )
    )
    asked = [incoming(user(text)) for text in ("a", "b", "c", "b", "d", "e")]

    assert played.names(*asked) == [
        "server_error",
        "reply",
        "unavailable",
        "conflict",
        "reply",
        "unavailable",
    ]


def test_random_faults_depend_on_the_seed_and_the_run_alone() -> None:
    def draws(seed: int, run: str, others: int) -> list[str]:
        played = Played(rates={"overloaded": 0.3, "stall": 0.2}, seed=seed)
        for number in range(others):
            played.ask(incoming(target=f"/run/other{number}/v1/messages"))
        here = incoming(target=f"/run/{run}/v1/messages")
        return played.names(*[here] * 60)

    assert draws(1, "a", 0) == draws(1, "a", 5)
    assert draws(1, "a", 0) != draws(2, "a", 0)
    assert draws(1, "a", 0) != draws(1, "b", 0)
    assert set(draws(1, "a", 0)) == {"overloaded", "stall", "reply"}


def test_a_rate_of_one_always_comes_and_takes_no_step() -> None:
    played = Played(say("Well."), rates={"overloaded": 1.0})

    assert set(played.names(*[incoming()] * 20)) == {"overloaded"}


def test_runs_are_told_apart_by_path_and_by_key() -> None:
    played = Played(fail("overloaded"), say("Well."))
    keyed = incoming(headers={**HEADERS, "x-api-key": "run-b"})
    bearer = {"authorization": "Bearer run-c", "anthropic-version": "2026-10-21"}

    asked = [
        played.ask(incoming()),
        played.ask(incoming(target="/run/a/v1/messages?beta=true")),
        played.ask(keyed),
        played.ask(incoming(headers=bearer)),
        played.ask(keyed),
    ]

    assert [each.asked.run for each in asked] == ["main", "a", "b", "c", "b"]
    assert [each.answer.name for each in asked] == ["overloaded"] * 4 + ["reply"]
    assert [each.asked.beta for each in asked] == [False, True, False, False, False]
    assert asked[3].asked.key == "bearer"


def test_more_runs_than_anybody_keeps_apart_end_up_in_one() -> None:
    played = Played()
    for number in range(MAX_RUNS + 5):
        played.ask(incoming(target=f"/run/r{number}/v1/models"))

    last = played.ask(incoming(target="/run/one-more/v1/messages"))

    assert last.asked.run == "main"


def test_a_prompt_longer_than_the_window_is_refused_and_takes_no_step() -> None:
    played = Played(fail("overloaded"), context=Context(window=300))

    long = played.ask(incoming(user("x" * 2_000)))

    assert long.answer.name == "refused"
    assert long.answer.status == 400
    tokens = long.asked.tokens
    message = f"prompt is too long: {tokens} tokens > 300 maximum"
    assert json.loads(body_of(long))["error"]["message"] == message
    assert played.ask().answer.name == "overloaded"


def test_counting_tokens_says_what_the_window_is_measured_by() -> None:
    played = Played()
    counted = played.ask(incoming(target="/v1/messages/count_tokens"))

    asked = played.ask(incoming())

    assert json.loads(body_of(counted)) == {"input_tokens": asked.asked.tokens}
    assert asked.answer.usage.input == asked.asked.tokens


def test_a_reply_is_cut_at_max_tokens_and_at_the_window() -> None:
    played = Played(say("word " * 100, None), context=Context(window=200))

    short = json.loads(body_of(played.ask(incoming(stream=False, max_tokens=3))))
    padding = user("x" * 4 * (200 - 65 - played.ask().asked.tokens + 5))
    late = json.loads(body_of(played.ask(incoming(padding, stream=False))))

    assert short["stop_reason"] == "max_tokens"
    assert short["content"] == [{"type": "text", "text": "word word wo"}]
    assert short["usage"]["output_tokens"] == 3
    assert late["stop_reason"] == "model_context_window_exceeded"
    assert late["usage"]["input_tokens"] + late["usage"]["output_tokens"] == 200


def test_overflow_as_an_error_refuses_input_and_max_tokens_over_the_window() -> None:
    played = Played(context=Context(window=1_010, overflow="error"))

    refused = played.ask(incoming(max_tokens=1_000))

    assert b"exceed context limit" in body_of(refused)
    assert played.ask(incoming(max_tokens=900)).answer.name == "reply"


def test_a_broken_history_is_refused_unless_the_schedule_is_lenient() -> None:
    broken = incoming(user(), assistant(called("t1")), user("and?"))

    assert Played().names(broken) == ["refused"]
    assert Played(strict=False).names(broken) == ["reply"]


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (incoming(headers={}), 401, "x-api-key header is required"),
        (incoming(headers={"x-api-key": "k"}), 400, "header is required"),
        (
            incoming(headers={"x-api-key": "k", "anthropic-version": "1999"}),
            400,
            "2023-06-01 and 2026-10-21 are",
        ),
        (incoming(target="/v2/nothing"), 404, "Not found: /v2/nothing"),
        (Incoming("GET", "/v1/messages", HEADERS, b"", 0), 405, "GET is not allowed"),
        (Incoming("POST", "/v1/messages", HEADERS, b"{", 1), 400, "not valid JSON"),
        (Incoming("POST", "/v1/messages", HEADERS, b"[]", 2), 400, "a JSON object"),
        (Incoming("POST", "/v1/messages", HEADERS, b"\xff", 1), 400, "not valid JSON"),
        (Incoming("POST", "/v1/messages", HEADERS, b"[" * 9_999, 9), 400, "valid JSON"),
        (
            Incoming(
                "POST", "/v1/messages", HEADERS, b'{"a":' * 300 + b"1" + b"}" * 300, 9
            ),
            400,
            "levels deep",
        ),
        (Incoming("POST", "/v1/messages", HEADERS, None, 10**8), 413, "maximum size"),
        (incoming(model=None), 400, "model: Field required"),
        (incoming(max_tokens=None), 400, "max_tokens: Field required"),
        (incoming(max_tokens=0), 400, "at least 1"),
        (incoming(messages=[]), 400, "at least one message"),
        (incoming(messages="x"), 400, "at least one message"),
        (incoming({"role": "system", "content": "x"}), 400, "messages.0.role"),
        (incoming({"role": "user"}), 400, "messages.0.content"),
        (incoming(thread={"type": "create"}), 400, "threads are not supported"),
    ],
)
def test_a_request_that_is_at_fault_is_refused_as_the_api_does(
    request_: Incoming, status: int, message: str
) -> None:
    played = Played(fail("overloaded"))

    refused = played.ask(request_)

    assert refused.answer.name == "refused"
    assert refused.answer.status == status
    assert message in json.loads(body_of(refused))["error"]["message"]
    assert played.ask().answer.name == "overloaded"


def test_models_are_listed_and_a_single_one_is_found_or_not() -> None:
    def get(target: str) -> dict[str, object]:
        asked = Incoming("GET", target, HEADERS, b"", 0)
        body: dict[str, object] = json.loads(body_of(Played().ask(asked)))
        return body

    assert get("/v1/models")["has_more"] is False
    assert get("/v1/models/claude-opus-5-5?beta=true")["id"] == "claude-opus-5-5"
    assert get("/v1/models/claude-1")["type"] == "error"


def test_a_rule_can_fail_the_counting_of_tokens() -> None:
    rule = Rule(Pattern(endpoint="count_tokens"), Play("overloaded"), times=1)
    played = Played(rules=(rule,))
    count = incoming(target="/v1/messages/count_tokens")

    assert played.names(count, count) == ["overloaded", "count_tokens"]


def test_a_closed_port_is_a_step_that_takes_time_and_no_request() -> None:
    played = Played(say("One."), fail("connection_refused", seconds=5), say("Two."))
    player = played.player

    assert player.closed_for(0) == 0
    played.ask()
    assert player.closed_for(1) == 5
    assert player.closed_for(4) == 2
    assert player.closed_for(6) == 0
    assert b"Two." in body_of(played.ask(incoming(stream=False)))
    assert Outaged(1, 5, "main") in played.journal.records


def test_the_journal_tells_everything_in_order_and_no_secret() -> None:
    played = Played(call("read"), fail("overloaded"))
    first = [user("my secret plan"), assistant(called("t1")), result("t1")]

    played.ask(incoming(*first[:1]))
    played.ask(incoming(*first))
    played.ask(incoming(*first))
    left = played.player.receive(incoming(), 3.5)
    played.player.hear("garbage", 3.75)
    played.player.stop(4)
    records = played.journal.records

    assert [type(each) for each in records] == [
        Began,
        *[Asked, Answered] * 3,
        Asked,
        Noise,
        Answered,
        Ended,
    ]
    assert "secret" not in str(records)
    asked = [each for each in records if isinstance(each, Asked)]
    assert [each.shape for each in asked] == ["u:t", *["u:t a:u u:r"] * 2, "u:t"]
    assert [each.kept for each in asked] == [0, 1, 3, 0]
    assert [each.same_as for each in asked] == [None, None, 2, None]
    assert [each.results for each in asked] == [0, 1, 0, 0]
    answered = [each for each in records if isinstance(each, Answered)]
    assert [each.left for each in answered] == ["kept"] * 3 + ["stopped"]
    assert [each.usage.output > 0 for each in answered] == [True, False, True, True]
    played.player.finish(left, 9, 5, "kept")
    assert records[-1] == Ended(4, 4)


def test_noise_without_end_does_not_fill_the_journal() -> None:
    played = Played()
    for number in range(5_000):
        played.player.hear("garbage", number)

    played.player.stop(6_000)

    noise = [each for each in played.journal.records if isinstance(each, Noise)]
    assert len(noise) == 1_001
    assert sum(each.count for each in noise) == 5_000


def test_a_reply_names_tools_that_are_offered_with_inputs_that_fit() -> None:
    other = {**READ, "name": "other", "input_schema": {"type": "object"}}
    played = Played(fail("parallel_tool_use"), fail("wrong_input_types"))
    tools = [READ, other]

    good = json.loads(body_of(played.ask(incoming(stream=False, tools=tools))))
    bad = json.loads(body_of(played.ask(incoming(stream=False, tools=tools))))

    calls = [each for each in good["content"] if each["type"] == "tool_use"]
    assert [each["name"] for each in calls] == ["read", "other", "read"]
    assert [each["input"] for each in calls] == [
        {"path": "README.md"},
        {},
        {"path": "README.md"},
    ]
    assert len({each["id"] for each in calls}) == 3
    assert not isinstance(bad["content"][0]["input"]["path"], str)
