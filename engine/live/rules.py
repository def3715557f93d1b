"""Rules on tools, as texts such as `bash(git status*)` or `write(src/**)`; pure.

When in doubt, a rule that forbids matches, and one that allows does not: the first is
read loosely (any command of a line, any ending, any case of letters), the second
strictly (whole words, every command of a line, nothing else on it).

In a pattern for a shell command, `*` stands for anything; at the end of a pattern and
of a word it begins a new word, so that `git status*` allows `git status -s`, not
`git status-all`. In one for a path `*` stops at a `/`, and `**` does not.
"""

import re
import shlex
from collections.abc import Iterable

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.command_risks import carries, risk_of
from unspiral.engine.live.commands import LONGEST, Command, Line, loosely

__all__ = [
    "Rule",
    "Rules",
    "allows_command",
    "allows_path",
    "names_command",
    "names_path",
]

_RULE = re.compile(r"([A-Za-z0-9_.-]+|\*)(?:\((.+)\))?", re.DOTALL)


@attrs.frozen
class Rule:
    """A rule: a tool, and what of it.

    Attributes:
        tool: its name; `*`: every tool.
        pattern: which calls of it; None: all.
    """

    tool: str
    pattern: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Read a rule.

        Raises:
            BadValue: it is none.
        """
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise BadValue("a rule", text, "`tool` or `tool(pattern)`")
        return cls(match[1], match[2])

    def is_for(self, tool: str) -> bool:
        """Tell whether it is about a tool, exactly named."""
        return self.tool in {"*", tool}

    def may_be_for(self, tool: str) -> bool:
        """Tell whether it is about a tool, in any case of letters."""
        return self.tool == "*" or self.tool.casefold() == tool.casefold()

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


@attrs.frozen
class Rules:
    """The rules of a run.

    Attributes:
        allow: what may run without a question.
        ask: what a person must see.
        deny: what never runs.
    """

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    @classmethod
    def parse(
        cls,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
    ) -> "Rules":
        """Read rules.

        Raises:
            BadValue: one of them is none.
        """
        return cls(
            *(tuple(Rule.parse(text) for text in texts) for texts in (allow, ask, deny))
        )


# -- commands --------------------------------------------------------------------------


def allows_command(pattern: str, command: Command) -> bool:
    """Tell whether a pattern surely covers a command, with all that it does.

    Assignments and files that are written are covered by no pattern.
    """
    if command.assigns or not command.words:
        return False
    if not all(each.harmless or each.reads for each in command.redirects):
        return False
    text = shlex.join(command.texts)
    word = pattern[:-1]
    if pattern.endswith("*") and word[-1:].isalnum():
        return _glob(word, text) or _glob(word + " *", text)
    return _glob(pattern, text)


def names_command(pattern: str, text: str, line: Line) -> bool:
    """Tell whether a pattern may mean some command of a line.

    Args:
        pattern: of a rule that forbids or asks.
        text: the line as it was given.
        line: as it was read.
    """
    if len(text) > LONGEST:
        return True
    folded = pattern.casefold()
    if line.unclear:
        return _names_loosely(folded, text)
    return any(_names_one(folded, command) for command in line.commands)


def _names_one(pattern: str, command: Command) -> bool:
    """Look at a command; if it may run another one, at every word that it may be."""
    texts = command.texts
    if not texts:
        return False
    forms = (texts, (command.name, *texts[1:]))
    joins = {join(form).casefold() for form in forms for join in (" ".join, shlex.join)}
    if any(_glob(pattern, text) for text in joins):
        return True
    runs = carries(command) or risk_of(command, "/") != ""
    return runs and _names_loosely(pattern, " ".join(texts))


def _names_loosely(pattern: str, text: str) -> bool:
    """Look for a pattern from every word on, and from every `/` in one."""
    first = pattern.partition("*")[0]
    for run in loosely(text.casefold()):
        for found in re.finditer(r"(?:^|(?<=[ /]))", run):
            if not run.startswith(first, found.start()):
                continue
            if _glob(pattern, run, found.start()):
                return True
            if "*" in pattern:
                break  # what is missing here is missing further on as well
    return False


def _glob(pattern: str, text: str, at: int = 0) -> bool:
    """Match a text from a place on; in the pattern only `*` means something."""
    first, *others = pattern.split("*")
    if not others:
        return len(text) - at == len(pattern) and text.endswith(pattern)
    if not text.startswith(first, at):
        return False
    at += len(first)
    for piece in others[:-1]:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(text) - at >= len(others[-1]) and text.endswith(others[-1])


# -- paths -----------------------------------------------------------------------------


def allows_path(pattern: str, path: str) -> bool:
    """Tell whether a pattern covers a path, both beginning in the workspace."""
    return _path_regex(pattern).fullmatch(path) is not None


def names_path(pattern: str, path: str) -> bool:
    """Tell whether a pattern of a rule that forbids or asks may mean a path.

    In any case of letters; a pattern without a `/` means the name in every folder; one
    that means a folder means what is in it.
    """
    regex = _path_regex(pattern.removeprefix("./").casefold())
    parts = path.casefold().split("/")
    heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    names = parts if "/" not in pattern else []
    return any(regex.fullmatch(each) for each in (*heads, *names))


def _path_regex(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    text = "".join(meanings.get(each) or re.escape(each) for each in pieces)
    return re.compile(text, re.DOTALL)
