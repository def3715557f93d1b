"""What a line for the shell would run, as far as can be told by reading it; pure.

Only a plain part of the language is read: words, quotes, escapes, the separators of
commands, assignments before a command, redirections and comments. Whatever else it may
hold (a substitution, a variable, a loop, a function, a here-document, a brace, strange
characters) makes it unclear, and what is unclear is for a person. So a mistake of this
reader must be one of not understanding; it never guesses, and it runs nothing.
"""

import re
import unicodedata
from collections.abc import Iterator

import attrs

__all__ = [
    "LONGEST",
    "Command",
    "Line",
    "Redirect",
    "Word",
    "is_long",
    "is_short",
    "loosely",
    "read_line",
]

LONGEST = 20_000  #: characters of a line that is still read

_OPERATOR = re.compile(
    r"(?:[0-9]*(?:<<|<>|<&|>&|>>|>\||<|>)|&>>|&>|&&|\|\||\|&|;;|[;&|\n])"
)
_NEWLINE = "\n"
_SEPARATORS = frozenset({"&&", "||", "|", "|&", ";", "&", "\n"})
_STREAM = re.compile(r"[0-9]+|-")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)
_LITERAL_DOLLAR = frozenset('" |/)')  # what may follow a `$` that stands for itself
_WORDS = (
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then "
    "time until while"
)
_RESERVED = frozenset(_WORDS.split())
_STRANGE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_ROUGH = re.compile(r"[^$=,\s]+")


@attrs.frozen
class Word:
    """A word of a command, with its quotes taken off.

    Attributes:
        text: what the command gets.
        globs: whether the shell may put names of files in its place.
        home: whether it begins with a `~` that the shell replaces.
        assigns: whether it is an assignment, if it stands before a command.
    """

    text: str
    globs: bool = False
    home: bool = False
    assigns: bool = False


@attrs.frozen
class Redirect:
    """A redirection.

    Attributes:
        operator: such as `>` or `2>>`.
        target: a file, or the number of a stream.
    """

    operator: str
    target: Word

    @property
    def harmless(self) -> bool:
        """Whether it touches no file but /dev/null."""
        if self.operator.endswith((">&", "<&")):
            return bool(_STREAM.fullmatch(self.target.text))
        return self.target == Word("/dev/null")

    @property
    def reads(self) -> bool:
        """Whether it only reads."""
        return self.operator.lstrip("0123456789") == "<"


@attrs.frozen
class Command:
    """One command of a line.

    Attributes:
        words: its name and arguments.
        assigns: the assignments before it.
        redirects: its redirections.
    """

    words: tuple[Word, ...]
    assigns: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Its name and arguments as texts."""
        return tuple(word.text for word in self.words)

    @property
    def name(self) -> str:
        """The file name of what is run, or "" if nothing is."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""


@attrs.frozen
class Line:
    """What a line holds.

    Attributes:
        commands: all of them, if it could be read.
        unclear: what could not be understood, for people; or "".
    """

    commands: tuple[Command, ...] = ()
    unclear: str = ""


class _Unclear(Exception):
    """Something that is not understood. Its text is for people."""


def read_line(text: str) -> Line:
    """Read a line, or several; never fails."""
    strange = _strange(text)
    if strange:
        return Line(unclear=strange)
    try:
        return Line(tuple(_commands(text)))
    except _Unclear as unclear:
        return Line(unclear=str(unclear))


def loosely(text: str) -> Iterator[str]:
    """Yield every run of words of a text that might hold a command, joined by spaces.

    For rules that forbid: quotes and escapes are dropped, and everything that could
    separate commands does.

    Args:
        text: any text, of which `LONGEST` characters are looked at.
    """
    plain = re.sub(r"\\\n|['\"\\]", "", text[:LONGEST])
    for piece in re.split(r"[;&|\n(){}`<>]+", plain):
        words = _ROUGH.findall(piece)
        if words:
            yield " ".join(words)


def is_long(text: str, *options: str) -> bool:
    """Tell whether a word is one of these long options, shortened or not."""
    name = text.partition("=")[0]
    return len(name) > len("--") and any(each.startswith(name) for each in options)


def is_short(text: str, letters: str) -> bool:
    """Tell whether a word is a cluster of short options with one of these letters."""
    cluster = text[:1] == "-" and text[:2] != "--"
    return cluster and any(letter in letters for letter in text)


def _strange(text: str) -> str:
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    for each in text:
        plain = " " <= each <= "~" or each in "\n\t"
        if not plain and (each.isascii() or unicodedata.category(each) in _STRANGE):
            return f"it holds the character U+{ord(each):04X}"
    return ""


def _commands(text: str) -> Iterator[Command]:
    words: list[Word] = []
    redirects: list[Redirect] = []
    tokens = _tokens(text)
    needed = False  # a command must follow
    for token in tokens:
        if isinstance(token, Word):
            words.append(token)
        elif token in _SEPARATORS:
            if words or redirects:
                yield _command(words, redirects)
            elif token != _NEWLINE:
                raise _Unclear("a command is missing")
            words, redirects = [], []
            needed = token in {"&&", "||", "|", "|&"} or (needed and token == _NEWLINE)
        else:
            target = next(tokens, None)
            if not isinstance(target, Word):
                raise _Unclear("a redirection has no target")
            redirects.append(Redirect(token, target))
        needed = needed and not words and not redirects
    if needed:
        raise _Unclear("a command is missing")
    if words or redirects:
        yield _command(words, redirects)


def _command(words: list[Word], redirects: list[Redirect]) -> Command:
    count = 0
    while count < len(words) and words[count].assigns:
        count += 1
    run = tuple(words[count:])
    if run:
        first = run[0]
        if first.text in _RESERVED:
            raise _Unclear(f"the word {first.text!r} begins more than a command")
        if first.globs or first.home or not first.text or not first.text.isascii():
            raise _Unclear("the name of a command is not plain")
    assigns = tuple(word.text for word in words[:count])
    return Command(run, assigns, tuple(redirects))


def _tokens(text: str) -> Iterator[Word | str]:
    """Yield words and operators; an operator is a text."""
    at = 0
    while at < len(text):
        if text[at] in " \t":
            at += 1
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif match := _OPERATOR.match(text, at):
            operator = match.group()
            if operator.endswith("<<"):
                raise _Unclear("a here-document")
            if operator == ";;":
                raise _Unclear("a case")
            at = match.end()
            yield operator
        else:
            word, at = _Scan(text, at).word()
            yield word


@attrs.define
class _Scan:
    """Reads one word.

    Attributes:
        text: of the line.
        at: where in it.
    """

    text: str
    at: int
    _chars: list[str] = attrs.field(factory=list[str], init=False)
    _globs: bool = attrs.field(default=False, init=False)
    _home: bool = attrs.field(default=False, init=False)

    def word(self) -> tuple[Word, int]:
        """Return the word, and where it ends."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;&|<>":
            self._piece(start)
        raw = self.text[start : self.at]
        if raw != "{}" and re.search(r"[{}]", _unquoted(raw)):
            raise _Unclear("a brace")
        assigns = _ASSIGNMENT.match(raw) is not None
        word = Word("".join(self._chars), self._globs, self._home, assigns)
        return word, self.at

    def _piece(self, start: int) -> None:
        char = self.text[self.at]
        if char == "'":
            end = self._closing("'")
            self._chars.append(self.text[self.at + 1 : end])
            self.at = end + 1
        elif char == '"':
            self._double()
        elif char == "\\":
            self._chars.append(self._escaped())
            self.at += 2
        elif char in "$`":
            raise _Unclear("a variable or a substitution")
        elif char in "()":
            raise _Unclear("a subshell, a group or a function")
        else:
            self._globs = self._globs or char in "*?["
            if char == "~":
                begins = self.at == start or self.text[self.at - 1] in "=:"
                self._home = self._home or begins
            self._chars.append(char)
            self.at += 1

    def _closing(self, quote: str) -> int:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise _Unclear("a quote is not closed")
        return end

    def _escaped(self) -> str:
        after = self.text[self.at + 1 : self.at + 2]
        if after in {"", "\n"}:
            raise _Unclear("a line goes on in the next one")
        return after

    def _double(self) -> None:
        self.at += 1
        while True:
            char = self.text[self.at : self.at + 1]
            after = self.text[self.at + 1 : self.at + 2]
            if not char:
                raise _Unclear("a quote is not closed")
            if char == '"':
                self.at += 1
                return
            if char == "`" or (char == "$" and after not in _LITERAL_DOLLAR):
                raise _Unclear("a variable or a substitution")
            if char == "\\":
                after = self._escaped()
                self._chars.append(after if after in '$`"\\' else "\\" + after)
                self.at += 2
            else:
                self._chars.append(char)
                self.at += 1


def _unquoted(raw: str) -> str:
    """Return a word with what is quoted or escaped taken out."""
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", "", raw)
