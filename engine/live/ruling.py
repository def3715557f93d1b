"""What is to be done with a call of a tool, as far as rules can tell; pure.

The order, of which no later step undoes an earlier one: a hook or a rule denies; the
mode only reads; a person must see it (a risk, something unclear, a rule, a hook); a
rule allows; a hook allows; the mode allows; else a person is asked.

Paths are texts here. What a link leads to, and what changes between the question and
the deed, is for whoever opens the file.
"""

import functools
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import attrs

from unspiral.engine.live.command_risks import in_git, leaves, risk_of
from unspiral.engine.live.commands import Line, read_line
from unspiral.engine.live.ports import Ruling
from unspiral.engine.live.rules import (
    Rule,
    Rules,
    allows_command,
    allows_path,
    names_command,
    names_path,
)

__all__ = ["OTHER", "TOOLS", "By", "Case", "Mode", "ToolKind", "Verdict", "rule_on"]

#: "plan" only reads; "accept_edits" edits files of the workspace too; "bypass" lets
#: everything run that is neither forbidden nor for a person to see
Mode: TypeAlias = Literal["default", "accept_edits", "plan", "bypass"]

#: who ruled; "nobody": a person should have been asked, and none could be
By: TypeAlias = Literal["hook", "rule", "mode", "risk", "person", "nobody"]

_LONGEST_PATH = 4_096  # characters


@attrs.frozen
class ToolKind:
    """What a tool can do.

    Attributes:
        does: "read" and "edit": to files of the workspace; "run": a command of the
            shell; "other": not known, so it is asked for.
        fields: the keys of its input that hold a path, or the command.
        needed: whether the first of them must be there.
    """

    does: Literal["read", "edit", "run", "other"]
    fields: tuple[str, ...] = ()
    needed: bool = True


OTHER = ToolKind("other")  #: a tool that is not known

#: the built-in tools
TOOLS: Mapping[str, ToolKind] = MappingProxyType(
    {
        "read": ToolKind("read", ("path",)),
        "glob": ToolKind("read", ("path", "pattern"), needed=False),
        "grep": ToolKind("read", ("path", "glob"), needed=False),
        "write": ToolKind("edit", ("path",)),
        "edit": ToolKind("edit", ("path",)),
        "bash": ToolKind("run", ("command",)),
    }
)


@attrs.frozen
class Verdict:
    """What is to be done with a call.

    Attributes:
        ruling: run it, do not, or ask a person.
        why: in words, with nothing of the input in it.
        by: who says so.
    """

    ruling: Ruling
    why: str
    by: By


def _line_of(case: "Case") -> Line:
    runs = case.kind.does == "run" and not case.malformed
    return read_line(case.texts[0]) if runs else Line()


@attrs.frozen
class Case:
    """A call, and all that counts for it.

    Attributes:
        tool: its name.
        kind: what the tool can do.
        given: its input.
        rules: of the user.
        mode: of the run.
        hook: what hooks say of it, if they say anything.
        workspace: the absolute path of the folder that is worked in.
        line: the command as it was read, or an empty line.
    """

    tool: str
    kind: ToolKind
    given: Mapping[str, object]
    rules: Rules
    mode: Mode
    hook: Ruling | None
    workspace: str
    line: Line = attrs.field(
        init=False, default=attrs.Factory(_line_of, takes_self=True)
    )

    @property
    def texts(self) -> tuple[str, ...]:
        """The command, or the paths."""
        values = (self.given.get(field) for field in self.kind.fields)
        return tuple(value for value in values if isinstance(value, str))

    @property
    def malformed(self) -> bool:
        """Whether a field that is needed, or is there, is no text."""
        values = [self.given.get(field) for field in self.kind.fields]
        missing = self.kind.needed and values[:1] == [None]
        return missing or any(not isinstance(value, str | None) for value in values)


def rule_on(case: Case) -> Verdict:
    """Rule on a call, without asking anybody."""
    return (
        _denied(case)
        or _to_be_seen(case)
        or _allowed(case)
        or Verdict("ask", "no rule allows it", "mode")
    )


def _denied(case: Case) -> Verdict | None:
    if case.hook == "deny":
        return Verdict("deny", "a hook forbids it", "hook")
    for rule in case.rules.deny:
        if _names(rule, case):
            return Verdict("deny", f"the rule {rule} forbids it", "rule")
    if case.mode == "plan" and case.kind.does != "read":
        return Verdict("deny", "this mode only reads", "mode")
    return None


def _to_be_seen(case: Case) -> Verdict | None:
    risk = next(_risks(case), "")
    if risk:
        return Verdict("ask", risk, "risk")
    for rule in case.rules.ask:
        if _names(rule, case):
            return Verdict("ask", f"the rule {rule} asks", "rule")
    return Verdict("ask", "a hook asks", "hook") if case.hook == "ask" else None


def _allowed(case: Case) -> Verdict | None:
    rule = _allowing(case)
    if rule is not None:
        return Verdict("allow", f"the rule {rule} allows it", "rule")
    if case.hook == "allow":
        return Verdict("allow", "a hook allows it", "hook")
    edits = case.kind.does == "edit" and case.mode == "accept_edits"
    if case.mode == "bypass" or case.kind.does == "read" or edits:
        return Verdict("allow", f"the mode {case.mode} allows it", "mode")
    return None


# -- what a call means -----------------------------------------------------------------


def _risks(case: Case) -> Iterator[str]:
    if case.malformed:
        yield "its input is not understood"
    elif case.line.unclear:
        yield f"the command is not understood: {case.line.unclear}"
    elif case.kind.does == "run":
        risks = (risk_of(each, case.workspace) for each in case.line.commands)
        yield from filter(None, risks)
    else:
        for path in case.texts:
            yield from _risks_of_path(path, case)


def _risks_of_path(path: str, case: Case) -> Iterator[str]:
    if len(path) > _LONGEST_PATH or any(_strange(each) for each in path):
        yield "a path is not understood"
    if leaves(path, case.workspace):
        yield "it leaves the workspace"
    if case.kind.does != "read" and in_git(unicodedata.normalize("NFKC", path)):
        yield "it touches the inside of .git"


def _strange(char: str) -> bool:
    return char == "\\" or unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _names(rule: Rule, case: Case) -> bool:
    """Tell whether a rule that forbids or asks may mean a call."""
    if not rule.may_be_for(case.tool):
        return False
    if rule.pattern is None or case.malformed or not case.kind.fields:
        return True
    if case.kind.does == "run":
        return names_command(rule.pattern, case.texts[0], case.line)
    forms = {form for text in case.texts or (".",) for form in _forms(text, case)}
    return any(names_path(rule.pattern, form) for form in forms)


def _allowing(case: Case) -> Rule | None:
    """Return a rule that surely covers a call; of several, that of the last part."""
    rules = [rule for rule in case.rules.allow if rule.is_for(case.tool)]
    whole = next((rule for rule in rules if rule.pattern is None), None)
    if whole is not None:
        return whole
    found: Rule | None = None
    for covers in _parts(case):
        found = next((rule for rule in rules if covers(rule.pattern or "")), None)
        if found is None:
            return None
    return found


def _parts(case: Case) -> Iterator[Callable[[str], bool]]:
    """Yield, for each part of a call, what tells whether a pattern covers it."""
    if case.kind.does == "run":
        for command in case.line.commands:
            yield functools.partial(allows_command, command=command)
    else:
        for text in case.texts:
            path = _inside(text, case.workspace)
            yield functools.partial(allows_path, path=path)


def _inside(path: str, workspace: str) -> str:
    """Return a path as it begins in the workspace, without `.` and empty parts."""
    whole = path.startswith("/")
    parts = [each for each in path.split("/") if each not in {"", "."}]
    root = [each for each in workspace.split("/") if each]
    if whole and parts[: len(root)] == root:
        return "/".join(parts[len(root) :]) or "."
    return ("/" if whole else "") + "/".join(parts) or "."


def _forms(path: str, case: Case) -> set[str]:
    """Return the ways in which a rule that forbids might name a path."""
    short = path[:_LONGEST_PATH]
    clean = "".join(each for each in short if not _strange(each))
    forms: set[str] = set()
    for text in (short, clean, unicodedata.normalize("NFKC", clean)):
        inside = _inside(text, case.workspace)
        kept: list[str] = []
        for part in inside.split("/"):
            if part == "..":
                del kept[-1:]
            else:
                kept.append(part)
        forms |= {text, inside, "/".join(kept)}
    return forms
