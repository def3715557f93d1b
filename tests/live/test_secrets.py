"""Secrets: none is written, what is written stays readable, and pairs stay pairs."""

import base64
import json
import random
import re
import string
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import call, histories
from unspiral.engine.errors import BadValue
from unspiral.engine.live.fixed import Based, Fixed
from unspiral.engine.live.hook_commands import filtered
from unspiral.engine.live.message import History
from unspiral.engine.live.secrets import Redaction, is_secret_name
from unspiral.engine.live.session_events import message_to_plain

ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "plain-looking-value-1",
    "MY_SECRET": 'quo"ted\\and spaced 42',
    "DEPLOY_TOKEN": "abc$def/ghi+jkl=",
    "DATABASE_URL": "postgres://app:correct-horse@db/main",
    "DB_PASSWORD": "password",
    "SHORT_KEY": "abc",
    "SSH_AUTH_SOCK": "/run/agent.socket",
    "HOME": "/home/somebody",
}
SECRETS = ("plain-looking-value-1", 'quo"ted\\and spaced 42', "abc$def/ghi+jkl=")
REDACTION = Redaction.of(ENVIRONMENT)

letters = random.Random(7)  # noqa: S311 - made up
made_up = "".join(letters.choices(string.ascii_letters + string.digits, k=100))
upper = "".join(letters.choices(string.ascii_uppercase + string.digits, k=16))

PRIVATE = (
    f"-----BEGIN RSA PRIVATE KEY-----\n{made_up}\n{made_up}\n"
    "-----END RSA PRIVATE KEY-----"
)
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{made_up[:43]}"

#: a secret in its surroundings, the secret, and what it is taken for
KEYS: list[tuple[str, str, str]] = [
    ("key: {}.", f"sk-ant-api03-{made_up[:40]}", "anthropic key"),
    ("OPENAI={}", f"sk-proj-{made_up[:40]}", "api key"),
    ('{{"text":"a\\n{}"}}', f"sk-{made_up[:48]}", "api key"),
    ("stripe {}", f"sk_live_{made_up[:24]}", "api key"),
    ("google {}", f"AIza{made_up[:35]}", "api key"),
    ("slack {}", "xoxb-123456789012-abcdefABCDEF", "slack token"),
    ("{}", f"ghp_{made_up[:36]}", "github token"),
    ("{}", f"github_pat_{made_up[:22]}_{made_up[:59]}", "github token"),
    ("https://{}@github.com/a/b", f"gho_{made_up[:36]}", "github token"),
    ("{}", f"glpat-{made_up[:20]}", "gitlab token"),
    ("id {}", f"AKIA{upper}", "aws key"),
    ("id {}", f"ASIA{upper}", "aws key"),
    ("aws_secret_access_key = {}", f"{made_up[:38]}/+", "aws key"),
    ('"SecretAccessKey": "{}"', made_up[:40], "aws key"),
    ('"SessionToken": "{}"', made_up + "==", "aws key"),
    ("{} and more", JWT, "jwt"),
    ("Authorization: {}\r\nHost: x", f"Bearer {made_up[:20]}", "header"),
    ("authorization: {}", "Basic dXNlcjpwdw==", "header"),
    ("curl -H 'X-Api-Key: {}' url", made_up[:32], "header"),
    ('{{"Authorization": "{}"}}', f"token {made_up[:12]}", "header"),
    ("with Bearer {} in prose", made_up[:30], "token"),
    ("postgres://app:{}@db/main", "hunter2", "password"),
    ("https://u:{}@host", "p@ss:w0rd", "password"),
    ("x {} y", PRIVATE, "private key"),
    ("     1\t{}", PRIVATE.replace("\n", "\n     2\t"), "private key"),
    ("{}", json.dumps(PRIVATE)[1:-1], "private key"),
]


@pytest.mark.parametrize(("around", "secret", "kind"), KEYS)
def test_a_secret_is_hidden_by_its_form(around: str, secret: str, kind: str) -> None:
    text = around.format(secret)

    redacted = Redaction().text(text)

    assert redacted == around.format(f"[redacted: {kind}]")


@pytest.mark.parametrize(
    "text",
    [
        "The token bucket holds 10 tokens; bearer bonds; a secret_key is needed.",
        "authorization: required",
        "https://example.com:8080/a?b=c#d and user@example.com",
        "sk-learn and task-force-is-a-long-name-without-a-key",
        "eyJust.a.word",
        "AKIAshort",
        "git log -- https://host/path:12 me@host",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "password",
        "/run/agent.socket /home/somebody abc",
        "",
    ],
)
def test_what_only_speaks_of_secrets_is_left_as_it_is(text: str) -> None:
    assert REDACTION.text(text) == text


def test_a_key_that_is_cut_off_is_hidden_as_far_as_it_goes() -> None:
    text = f"a\n-----BEGIN PRIVATE KEY-----\n{made_up}\n\n(output was cut)"

    assert Redaction().text(text) == "a\n[redacted: private key](output was cut)"


def test_the_mention_of_a_private_key_hides_nothing_far_away() -> None:
    mention = "-----BEGIN PRIVATE KEY----- is how it begins; "
    end = "-----END PRIVATE KEY----- is how it ends"

    redacted = Redaction().text(mention + "word, " * 4_000 + end)

    assert redacted.count("word, ") == 4_000


# -- the environment -------------------------------------------------------------------


def in_json(secret: str) -> str:
    return json.dumps({"value": secret})


def in_url(secret: str) -> str:
    return f"https://host/?q={quote(secret, safe='')}&x=1"


def in_base64(secret: str) -> str:
    return base64.b64encode(f"{secret}\n".encode()).decode("ascii")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("way", [str, in_json, in_url, in_base64])
def test_a_value_of_the_environment_is_hidden_however_it_is_written(
    secret: str, way: Callable[[str], str]
) -> None:
    written = way(secret)

    redacted = REDACTION.text(f"before {written} after")

    assert "[redacted: environment]" in redacted
    assert secret not in redacted
    assert written not in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


def test_a_password_in_an_address_of_the_environment_is_hidden_by_itself() -> None:
    assert REDACTION.text("is it correct-horse?") == "is it [redacted: environment]?"


def test_the_lines_of_a_long_secret_are_hidden_one_by_one() -> None:
    redaction = Redaction.of({"TLS_KEY": f"first line of the key\n{made_up}\nend"})

    assert redaction.text(f"2: {made_up}") == "2: [redacted: environment]"


def test_the_values_are_not_shown() -> None:
    assert repr(REDACTION) == "Redaction()"


@given(st.text("ABCDEKOTNPSRUHIW_", max_size=12))
def test_names_of_secrets_are_those_that_commands_do_not_see(name: str) -> None:
    assert is_secret_name(name) is (name not in filtered({name: "x"}))


# -- laws ------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *SECRETS,
        *(secret for _, secret, _ in KEYS),
        *(around.partition("{}")[0] for around, _, _ in KEYS),
        "eyJ",
        "sk-",
        "sk-ant-",
        "://",
        "@",
        ":",
        ".",
        " ",
        "\n",
        "[redacted: jwt]",
        "[redacted: ",
        "redacted",
        "]",
        "-----END PRIVATE KEY-----",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


@given(TEXTS)
def test_what_is_redacted_is_not_changed_again(text: str) -> None:
    redacted = REDACTION.text(text)

    assert REDACTION.text(redacted) == redacted


@given(TEXTS, TEXTS, st.sampled_from(SECRETS))
def test_no_value_of_the_environment_is_left(
    before: str, after: str, secret: str
) -> None:
    assert secret not in REDACTION.text(before + secret + after)


@given(st.text(), st.text())
def test_marks_that_stand_in_a_text_do_not_matter(before: str, after: str) -> None:
    text = f"{before}[redacted: redacted]{after}"

    assert Redaction.of({"A_KEY": "redacted"}).text(text) == text


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ",
        "eyJaaaaaaaaa.",
        "sk-",
        "sk-ant-",
        "://",
        "://a:",
        "://a:b@",
        "AKIA",
        "secret_key=",
        "authorization:",
        "authorization: bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "[redacted: jwt]",
        "plain-looking-value-",
        "\\",
        " ",
        "a",
    ],
)
def test_a_long_hostile_text_is_read_to_its_end(unit: str) -> None:
    secret = f"sk-ant-api03-{made_up[:40]}"

    redacted = REDACTION.text(f"{unit * (300_000 // len(unit))} {secret}")

    assert secret not in redacted
    assert made_up[:40] not in redacted


# -- values ----------------------------------------------------------------------------


@given(histories())
def test_a_history_without_secrets_is_kept_byte_for_byte(history: History) -> None:
    plain = [message_to_plain(each) for each in history]

    assert json.dumps(Redaction().value(plain)) == json.dumps(plain)


def test_ids_stay_apart_and_pair_when_a_secret_is_in_them() -> None:
    ids = [f"ghp_{made_up[:36]}", f"ghp_{made_up[1:37]}", "toolu_1"]
    calls = [call(each) for each in ids]
    results = [{"type": "tool_result", "tool_use_id": each} for each in ids]

    kept = json.loads(json.dumps(Redaction().value([calls, results])))

    has = [each["id"] for each in kept[0]]
    assert [each["tool_use_id"] for each in kept[1]] == has
    assert len(set(has)) == 3
    assert has[2] == "toolu_1"
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in has)
    assert made_up[1:36] not in str(kept)


def test_signed_thinking_with_a_secret_is_left_out_whole() -> None:
    signed = {"type": "thinking", "thinking": "it is {}", "signature": "abc"}
    told = {**signed, "thinking": f"it is sk-ant-{made_up[:30]}"}

    assert Redaction().value([signed, told]) == [signed]


def test_names_of_fields_are_hidden_and_none_gets_lost() -> None:
    one, two = f"sk-ant-{made_up[:30]}", f"sk-ant-{made_up[1:31]}"

    kept = Redaction().value({one: 1, two: 2, "[redacted: anthropic key] 2": 3})

    assert isinstance(kept, dict)
    assert sorted(kept.values(), key=str) == [1, 2, 3]
    assert made_up[1:30] not in str(kept)


@pytest.mark.parametrize("value", [b"x", {1: 2}, {"a": {"b": object()}}, [{1, 2}]])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(BadValue):
        Redaction().value(value)


def test_a_value_that_is_nested_without_end_is_refused() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(BadValue):
        Redaction().value(value)


def test_a_secret_in_fixed_fields_is_hidden_each_time() -> None:
    secret = "sk-ant-" + "a" * 30
    redaction = Redaction()
    base = Fixed({"row": secret, "asked": [[secret]]})

    for number in range(3):
        kept = redaction.fields(Based(base, {"n": number, "text": secret}))

        mark = "[redacted: anthropic key]"
        assert kept == {"row": mark, "asked": [[mark]], "n": number, "text": mark}


def test_a_long_text_is_hidden_however_often_it_comes() -> None:
    texts = [f"{'x' * 300} sk-ant-{'a' * 30} {n}" for n in range(50)]
    redaction = Redaction()

    for text in [*texts, *texts, texts[-1]]:
        assert "sk-ant" not in redaction.text(text)
        assert redaction.text(text).endswith(f" {text.split()[-1]}")
