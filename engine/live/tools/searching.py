"""What a search finds: a program of its own, so that it can be ended at any moment.

Patterns come from a model. One for which the `re` of Python needs for ever, or a tree
without end, then costs a time-out and no more; that all of Python's syntax can be used
is worth a process. It is started by `search` with the workspace as an open folder, one
JSON object on its input, and writes one JSON value a line as it finds them.
"""

import fnmatch
import json
import os
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache

import attrs

from unspiral.engine.live.tools.problems import PathRefused
from unspiral.engine.live.tools.workspace import Found, Workspace

__all__ = ["Order", "Pattern", "expanded", "search"]

_MOST_FORMS = 64  # of a pattern with braces
_BEGINNING = 8_192  # bytes in which a NUL says that a file is no text
_MEMORY = 2 << 30  # bytes


@attrs.frozen
class Order:
    """What is to be searched.

    Attributes:
        path: a folder, or a file.
        glob: which files of it; "": all.
        regex: what is searched for in them; "": they themselves.
        ignore_case: whether upper and lower case are one to `regex`.
        files_only: files that hold it are wanted, not lines.
        most: finds.
        longest: characters of a line that are shown.
        largest: bytes of a file that is read.
    """

    path: str
    glob: str
    regex: str
    ignore_case: bool
    files_only: bool
    most: int
    longest: int
    largest: int


@attrs.frozen
class Pattern:
    """A pattern for paths: `*` and `?` stop at a `/`, `**` is any number of folders.

    Attributes:
        parts: its parts.
        anywhere: whether it is for the last parts of a path.
    """

    parts: tuple[str, ...]
    anywhere: bool = False

    def matches(self, path: Sequence[str]) -> bool:
        """Tell whether it matches a path, given as its parts."""
        pattern = ("**", *self.parts) if self.anywhere else self.parts
        length = len(path)

        @cache
        def fits(i: int, j: int) -> bool:
            if i == len(pattern):
                return j == length
            if pattern[i] == "**":
                return fits(i + 1, j) or (j < length and fits(i, j + 1))
            if j == length or not fnmatch.fnmatchcase(path[j], pattern[i]):
                return False
            return fits(i + 1, j + 1)

        return fits(0, 0)


def expanded(pattern: str) -> tuple[str, ...]:
    """Return the forms of a pattern with braces: `{a,b}` is `a` or `b`.

    Those that would be too many are not expanded.
    """
    forms = [pattern]
    whole: list[str] = []
    while forms:
        form = forms.pop()
        match = re.search(r"\{([^{}]*,[^{}]*)\}", form)
        if match is None or len(forms) + len(whole) > _MOST_FORMS:
            whole.append(form)
            continue
        start, end = form[: match.start()], form[match.end() :]
        forms += [start + each + end for each in match[1].split(",")]
    return tuple(sorted(set(whole)))


def patterns(glob: str, *, anywhere: bool) -> tuple[Pattern, ...]:
    """Read a pattern for paths.

    Args:
        glob: as text.
        anywhere: whether one without a `/` means the name in every folder.
    """
    return tuple(
        Pattern(
            tuple(part for part in form.split("/") if part not in {"", "."}),
            anywhere=anywhere and "/" not in form,
        )
        for form in expanded(glob)
    )


def search(workspace: Workspace, order: Order) -> Iterator[object]:
    """Yield what is found: paths, or `[path, line, text]`; last, what to tell of it.

    Raises:
        PathRefused: the path may not be used.
        re.error: the regular expression is none.
    """
    regex = re.compile(order.regex, re.IGNORECASE if order.ignore_case else 0)
    count = not_read = 0
    for found in _files(workspace, order):
        try:
            for each in _finds(regex, found, workspace, order):
                if count == order.most:
                    yield {"more": True, "not_read": not_read}
                    return
                count += 1
                yield each
        except _NotReadError:
            not_read += 1
    yield {"more": False, "not_read": not_read}


class _NotReadError(Exception):
    """A file is no text, or too large, or cannot be opened."""


def _files(workspace: Workspace, order: Order) -> Iterator[Found]:
    if not workspace.is_folder(order.path):
        parts = workspace.parts(order.path)
        with workspace.folder("/".join(parts[:-1]) or ".") as folder:
            yield Found("/".join(parts), folder, parts[-1])
        return
    wanted = patterns(order.glob, anywhere=bool(order.regex)) if order.glob else ()
    depth = len(workspace.parts(order.path))
    for found in workspace.walk(order.path):
        below = found.path.split("/")[depth:]
        if not wanted or any(each.matches(below) for each in wanted):
            yield found


def _finds(
    regex: re.Pattern[str], found: Found, workspace: Workspace, order: Order
) -> Iterator[object]:
    if not order.regex:
        yield found.path
        return
    for number, line in _lines(found, workspace, order.largest):
        match = regex.search(line)
        if match and order.files_only:
            yield found.path
            return
        if match:
            yield [found.path, number, _around(line, match.start(), order.longest)]


def _lines(
    found: Found, workspace: Workspace, largest: int
) -> Iterator[tuple[int, str]]:
    try:
        fd = workspace.open_in(found.folder, found.name, found.path)
        with os.fdopen(fd, "rb") as file:
            data = file.read(largest + 1)
    except (PathRefused, OSError):
        raise _NotReadError from None
    if len(data) > largest or b"\0" in data[:_BEGINNING]:
        raise _NotReadError
    for number, raw in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        if data:
            yield number, raw.decode("utf-8", "replace").removesuffix("\r")


def _around(line: str, at: int, longest: int) -> str:
    """Return a line, or what is around a place in it."""
    if len(line) <= longest:
        return line
    start = max(0, min(at - longest // 4, len(line) - longest))
    before = "... " if start else ""
    after = " ..." if start + longest < len(line) else ""
    return before + line[start : start + longest] + after


def main() -> None:
    """Search as told on the input; arguments: the open folder, `exact`, seconds."""
    folder, exact, seconds = map(int, sys.argv[1:])
    with suppress(ValueError, OSError):  # in case nobody is left to end it
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    order = Order(**json.loads(sys.stdin.buffer.read()))
    try:
        for each in search(Workspace.opened(folder, exact=bool(exact)), order):
            sys.stdout.write(json.dumps(each) + "\n")
            sys.stdout.flush()
    except re.error as error:
        _tell(f"`pattern` is no regular expression of Python: {error}")
    except (OverflowError, RecursionError, MemoryError):
        _tell("the pattern is too large")
    except PathRefused as error:
        _tell(str(error))


def _tell(problem: str) -> None:
    sys.stdout.write("\n" + json.dumps({"problem": problem}) + "\n")


if __name__ == "__main__":
    main()
