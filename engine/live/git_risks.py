"""What makes a call of git one that a person must see before it runs; pure.

Work that is not committed, and history that others have, cannot be had back; settings
can make git run anything.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from unspiral.engine.live.commands import Word, is_long, is_short

__all__ = ["DELETES", "LATER", "OTHER_PROGRAM", "git_risk"]

DELETES = "it deletes many files"
LATER = "it changes what later commands mean"
OTHER_PROGRAM = "it runs another program or code that it is given"
_HISTORY = "it throws away work or history"


def git_risk(words: Sequence[Word]) -> str:
    """Return why a person must see a call of git with these arguments, or ""."""
    texts = [word.text for word in words]
    while texts and texts[0] in {"--no-pager", "-P", "--version", "--help"}:
        del texts[0]
    if not texts:
        return ""
    if texts[0].startswith("-"):
        return OTHER_PROGRAM  # other settings, such as a pager that is a command
    test = _TESTS.get(texts[0])
    if test is None:
        return ""
    return _RISK.get(texts[0], _HISTORY) if test(texts[1:]) else ""


def _any(letters: str, *longs: str, words: str = "") -> Callable[[list[str]], bool]:
    others = frozenset(words.split())
    return lambda texts: any(
        is_short(text, letters) or is_long(text, *longs) or text in others
        for text in texts
    )


def _push(texts: list[str]) -> bool:
    force = _any("fd", "--force-with-lease", "--force-if-includes", "--mirror")
    more = _any("", "--delete", "--prune")
    return force(texts) or more(texts) or any(t.startswith(("+", ":")) for t in texts)


def _config(texts: list[str]) -> bool:
    return texts[:1] not in (["--get"], ["--list"], ["-l"], ["list"], ["get"])


_TESTS: Mapping[str, Callable[[list[str]], bool]] = MappingProxyType(
    {
        "bisect": _any("", words="run"),
        "branch": _any("dDfMC", "--delete", "--force"),
        "checkout": _any("fB", "--force", "--ours", "--theirs", words=". --"),
        "clean": lambda _: True,
        "config": _config,
        "difftool": lambda _: True,
        "filter-branch": lambda _: True,
        "filter-repo": lambda _: True,
        "gc": _any("", "--prune"),
        "grep": _any("O"),
        "prune": lambda _: True,
        "push": _push,
        "rebase": _any("x"),
        "reflog": _any("", words="expire delete"),
        "reset": _any("", "--hard", "--merge", "--keep"),
        "restore": lambda _: True,
        "rm": lambda _: True,
        "send-email": lambda _: True,
        "stash": _any("", words="drop clear"),
        "submodule": _any("", words="foreach"),
        "switch": _any("fC", "--force", "--discard-changes", "--force-create"),
        "tag": _any("df", "--delete", "--force"),
        "update-ref": lambda _: True,
        "worktree": _any("", words="remove"),
    }
)
_RISK: Mapping[str, str] = MappingProxyType(
    {
        "bisect": OTHER_PROGRAM,
        "config": LATER,
        "difftool": OTHER_PROGRAM,
        "grep": OTHER_PROGRAM,
        "rebase": OTHER_PROGRAM,
        "rm": DELETES,
        "send-email": OTHER_PROGRAM,
        "submodule": OTHER_PROGRAM,
    }
)
