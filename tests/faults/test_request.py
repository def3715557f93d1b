"""Reading a request: its run, its tokens, and nothing that makes the reader fail."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from tests.faults.asking import HEADERS, READ, assistant, called, incoming, result, user
from unspiral.engine.faults.request import Incoming, read_request
from unspiral.engine.faults.tokens import of_json, of_request, of_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
WORDS = st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result", "x"])
BLOCKS = st.dictionaries(
    st.sampled_from(["type", "text", "id", "tool_use_id", "name", "input", "content"]),
    JSON | WORDS,
)
MESSAGES = st.dictionaries(
    st.sampled_from(["role", "content"]), WORDS | st.lists(BLOCKS | JSON) | JSON
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "model": JSON,
        "max_tokens": JSON,
        "stream": JSON,
        "system": JSON,
        "tools": st.lists(BLOCKS | JSON, max_size=3) | JSON,
        "messages": st.lists(MESSAGES | JSON, max_size=4) | JSON,
        "thread": JSON,
    },
)


@given(body=JSON | BODIES, target=st.text(max_size=40), method=st.sampled_from("GP"))
@example(body={"messages": [{"role": []}]}, target="//[", method="G")
@example(body={"tools": [{"name": {}}]}, target="/run/../v1/messages", method="P")
def test_nothing_that_a_client_sends_makes_reading_fail(
    body: object, target: str, method: str
) -> None:
    data = json.dumps(body).encode()
    verb = {"G": "GET", "P": "POST"}[method]

    for where in ("/v1/messages", target):
        request = read_request(Incoming(verb, where, HEADERS, data, len(data)))
        assert request.tokens >= 0
        assert len(request.hashes) == len(request.messages)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_json_are_a_problem_and_not_a_failure(data: bytes) -> None:
    request = read_request(Incoming("POST", "/v1/messages", HEADERS, data, len(data)))

    assert request.problem is not None


def test_the_key_is_dropped() -> None:
    headers = {"x-api-key": "sk-secret", "anthropic-version": "2023-06-01"}

    request = read_request(incoming(headers=headers))

    assert request.key == "x-api-key"
    assert "sk-secret" not in repr(request)


def test_a_run_is_a_plain_name_and_nothing_else() -> None:
    def run(target: str, key: str = "k") -> str:
        headers = {**HEADERS, "x-api-key": key}
        return read_request(incoming(target=target, headers=headers)).run

    assert run("/run/a.b-1/v1/messages") == "a.b-1"
    assert run("/runs/two/v1/messages") == "two"
    assert run("/v1/messages", "run-key") == "key"
    assert run("/run/path/v1/messages", "run-key") == "path"
    for odd in ("/run/../v1/messages", "/run/%2e%2e/v1/messages", "/run//v1/messages"):
        assert run(odd) == "main"
    assert run("/run/" + "x" * 65 + "/v1/messages") == "main"


def test_the_hash_of_a_body_does_not_depend_on_blanks_or_the_order_of_keys() -> None:
    one = b'{"model": "m", "max_tokens": 1}'
    two = b'{"max_tokens":1,"model":"m"}'
    three = b'{"max_tokens":2,"model":"m"}'

    hashes = [
        read_request(Incoming("POST", "/v1/messages", HEADERS, body, 1)).hash
        for body in (one, two, three)
    ]

    assert hashes[0] == hashes[1] != hashes[2]


def test_tokens_are_counted_by_the_documented_rule() -> None:
    image = {"type": "image", "source": {"data": "x" * 9_999}}
    body = {
        "system": "x" * 9,
        "tools": [READ],
        "messages": [
            user("y" * 8),
            assistant(called()),
            result(),
            {"role": "user", "content": [image, {"type": "document"}]},
        ],
    }

    counted = of_request(body)

    frames = 4 * 4
    assert of_text("x" * 9) == 3
    assert of_json({}) == 1
    assert counted == (
        3 + 10 + of_json(READ) + frames + 2 + (4 + 1) + (4 + 1) + 1_600 + 2_000
    )


@given(st.text(), st.text())
def test_more_text_never_has_fewer_tokens(one: str, two: str) -> None:
    assert max(of_text(one), of_text(two)) <= of_text(one + two)
    assert of_text(one + two) <= of_text(one) + of_text(two)
