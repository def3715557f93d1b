"""What looks like a secret whatever it is for: keys, tokens, passwords by their form.

Each form has words without which it cannot be there; they are looked for first, since
nearly every text has none. No pattern goes back over what it has passed: lengths are
bounded, or the pattern takes all that it looked at, so that time is linear.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import attrs

__all__ = ["Span", "forms_in"]


class Span(NamedTuple):
    """A secret in a text.

    Attributes:
        start: its first character.
        end: the character after it.
        kind: what it is.
    """

    start: int
    end: int
    kind: str


@attrs.frozen
class _Form:
    """A form.

    Attributes:
        kind: what it is.
        words: one of them is in every text with such a secret, in small letters.
        pattern: where it is; the group `secret`, if it took part, is what is hidden.
    """

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]

    def spans(self, text: str) -> Iterator[Span]:
        for match in self.pattern.finditer(text):
            start, end = match.span("secret")
            if start >= 0:
                yield Span(start, end, self.kind)


def _form(kind: str, words: str, pattern: str) -> _Form:
    return _Form(kind, tuple(words.split()), re.compile(pattern))


_BEGINS = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"  # also after a line end as JSON has it
_IS = r"""\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?"""

_FORMS = (
    _form("anthropic key", "sk-ant-", r"(?P<secret>sk-ant-[A-Za-z0-9_-]{8,})"),
    _form("api key", "sk-", _BEGINS + r"(?P<secret>sk-[A-Za-z0-9_-]{20,})"),
    _form(
        "api key",
        "sk_live_ sk_test_ rk_live_ rk_test_",
        r"(?P<secret>[sr]k_(?:live|test)_[A-Za-z0-9]{16,})",
    ),
    _form("api key", "aiza", r"(?P<secret>AIza[A-Za-z0-9_-]{35})"),
    _form("slack token", "xox", r"(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{10,})"),
    _form(
        "github token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?P<secret>(?:gh[oprsu]|github_pat)_[A-Za-z0-9_]{20,})",
    ),
    _form("gitlab token", "glpat-", r"(?P<secret>glpat-[A-Za-z0-9_-]{16,})"),
    _form("aws key", "akia asia", r"(?P<secret>A[KS]IA[A-Z0-9]{16})"),
    _form(
        "aws key",
        "secret",
        rf"(?i:secret_?(?:access_?)?key){_IS}(?P<secret>[A-Za-z0-9/+]{{30,}}=*)",
    ),
    _form(
        "aws key",
        "session",
        rf"(?i:session_?token){_IS}(?P<secret>[A-Za-z0-9/+]{{40,}}=*)",
    ),
    # A word that begins as one is passed over whole, so that it is looked at once.
    _form(
        "jwt",
        "eyj",
        r"(?P<secret>eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)|"
        r"eyJ[A-Za-z0-9_-]*",
    ),
    _form(
        "header",
        "authorization api-key auth-token",
        rf"(?i:authorization|api-key|auth-token){_IS}"
        r"(?P<secret>(?i:(?:bearer|basic|token|apikey|negotiate)\s{1,3})"
        r"""[^\s"'\\]+|[^\s"'\\]{16,})""",
    ),
    _form("token", "bearer", r"(?i:bearer)\s{1,3}(?P<secret>[A-Za-z0-9._~+/-]{20,}=*)"),
    _form(
        "password",
        "://",
        r"""://[^\s/:@"'<>\\]{0,100}:(?P<secret>[^\s/"'<>\\]{1,300})@""",
    ),
)

# -- private keys: a block may be very long, or cut off --------------------------------

_FURTHEST = 20_000  # characters from the beginning of a key to its end
_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[A-Za-z0-9+/=\s\\]*")


def _private_keys(text: str) -> Iterator[Span]:
    begun: re.Match[str] | None = None
    for edge in _EDGE.finditer(text):
        if edge[1] == "END":
            if begun and edge.end() - begun.start() <= _FURTHEST:
                yield Span(begun.start(), edge.end(), "private key")
                begun = None
            continue
        if begun:
            yield _unended(text, begun)
        begun = edge
    if begun:
        yield _unended(text, begun)


def _unended(text: str, begun: re.Match[str]) -> Span:
    body = _BODY.match(text, begun.end())
    end = body.end() if body else begun.end()
    return Span(begun.start(), end, "private key")


_ALL: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[Span]]], ...] = (
    (("private key",), _private_keys),
    *((form.words, form.spans) for form in _FORMS),
)

_ANY = re.compile("|".join(sorted({re.escape(w) for words, _ in _ALL for w in words})))


def forms_in(text: str) -> Iterator[Span]:
    """Yield what looks like a secret, form by form; spans may overlap."""
    small = text.lower()
    if _ANY.search(small) is None:  # as most texts
        return
    for words, spans in _ALL:
        if any(word in small for word in words):
            yield from spans(text)
