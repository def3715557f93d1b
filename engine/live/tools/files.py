"""The tools `read`, `write` and `edit`, on plain files of a workspace."""

import os
from collections.abc import Mapping, Sequence
from typing import BinaryIO

import attrs

from unspiral.engine.live.ports import ToolSpec
from unspiral.engine.live.tools.problems import PathRefused, ToolProblem
from unspiral.engine.live.tools.registry import Tool, Traits
from unspiral.engine.live.tools.texts import decoded
from unspiral.engine.live.tools.workspace import Workspace

__all__ = ["Files", "file_tools"]

MOST_LINES = 2_000  #: of one call of `read`
MOST_READ = 100_000  #: bytes of them
LARGEST = 10_000_000  #: bytes of a file that can be written or edited
_SCANNED = 200_000_000  # bytes that are passed over to come to a line
_LONGEST_LINE = 4_000  # bytes of a line that are shown
_BEGINNING = 8_192  # bytes in which a NUL says that a file is no text
_NAMED = 5  # lines that a message names


@attrs.frozen
class Files:
    """Reads and writes files.

    Attributes:
        workspace: where they are.
    """

    workspace: Workspace

    def read(self, path: str, offset: int = 1, limit: int = MOST_LINES) -> str:
        """Return lines of a file, each with its number.

        Raises:
            PathRefused: there is no such file that may be used.
            ToolProblem: it is no text, or has no such lines.
        """
        with os.fdopen(self.workspace.open(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if b"\0" in file.peek(_BEGINNING)[:_BEGINNING]:
                raise ToolProblem(f"{path} is no text: {size:,} bytes with a NUL")
            lines = _Lines(int(offset), int(limit))
            while lines.wants_more():
                line = file.readline(_LONGEST_LINE + 1)
                if not line:
                    break
                left_out = 0
                if len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
                    left_out = _rest_of_line(file) + 1
                lines.take(line, left_out)
            more = bool(file.peek(1))
        return lines.told(path, more=more)

    def write(self, path: str, content: str) -> str:
        """Write a whole file.

        Raises:
            PathRefused: there may be no such file, or it cannot be written.
            ToolProblem: the content is no text, or too long.
        """
        data = _bytes_of(content)
        new = self.workspace.write(path, data)
        return f"{'Made' if new else 'Replaced'} {path}: {len(data):,} bytes."

    def edit(self, path: str, old: str, new: str, *, all: bool = False) -> str:  # noqa: A002 - the name that the model knows
        """Replace a text in a file by another.

        Raises:
            PathRefused: there is no such file, or it cannot be written.
            ToolProblem: the text is not there, or more than once.
        """
        if old == new:
            raise ToolProblem("`old` and `new` are the same: there is nothing to do")
        content = self.workspace.read(path, LARGEST)
        try:
            text = content.data.decode("utf-8")
        except UnicodeDecodeError:
            raise PathRefused(
                path, "it is not UTF-8", "an edit would spoil it"
            ) from None
        count = text.count(old)
        if count == 0:
            raise ToolProblem(f"`old` is not in {path}{_why_not(text, old)}")
        if count > 1 and not all:
            raise ToolProblem(
                f"`old` is in {path} {count} times, in {_places(text, old)}: give more "
                "of the text around it, or set `all`"
            )
        data = _bytes_of(text.replace(old, new))
        self.workspace.write(path, data, content.stamp)
        return f"Replaced {count} in {path}, in {_places(text, old)}."


@attrs.define
class _Lines:
    """Gathers the lines that are asked for.

    Attributes:
        first: the number of the first one.
        most: how many.
    """

    first: int
    most: int
    number: int = 0  # of the last line that was met
    passed: int = 0  # bytes
    size: int = 0  # bytes that are gathered
    kept: list[bytes] = attrs.field(factory=list[bytes])

    def wants_more(self) -> bool:
        room = self.size < MOST_READ and self.passed < _SCANNED
        return room and len(self.kept) < self.most

    def take(self, line: bytes, left_out: int) -> None:
        self.number += 1
        self.passed += len(line) + left_out
        if self.number >= self.first:
            shown = line.removesuffix(b"\n")[:_LONGEST_LINE]
            if left_out:
                shown += b"[%d bytes of this line are left out]" % left_out
            self.kept.append(shown)
            self.size += len(shown) + 1

    def told(self, path: str, *, more: bool) -> str:
        """Return what was asked for, with the numbers of the lines."""
        if not self.kept:
            if self.number == 0:
                return f"[{path} is empty]"
            what = f"only {self.number:,} lines were looked through" if more else ""
            raise ToolProblem(
                f"{path} has no line {self.first:,}: "
                f"{what or f'it has {self.number:,}'}"
            )
        text = decoded(b"\n".join(self.kept))
        note = ""
        if text.startswith("[not UTF-8"):
            note, _, text = text.partition("\n")
        numbered = (
            f"{number:6}\t{line}"
            for number, line in enumerate(text.split("\n"), self.first)
        )
        end = f"[there is more: go on with offset {self.number + 1}]" if more else ""
        return "\n".join(part for part in (note, "\n".join(numbered), end) if part)


def _rest_of_line(file: BinaryIO) -> int:
    """Pass over what is left of a line; return its length."""
    count = 0
    while piece := file.readline(1 << 20):
        count += len(piece.removesuffix(b"\n"))
        if piece.endswith(b"\n"):
            break
    return count


def _bytes_of(text: str) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolProblem(
            "the text holds half of a surrogate pair, which no file in UTF-8 can hold"
        ) from None
    if len(data) > LARGEST:
        raise ToolProblem(f"the file would have more than {LARGEST:,} bytes")
    return data


def _why_not(text: str, old: str) -> str:
    """Say what is nearly there, if that can be told."""
    if "\r\n" in text and "\r\n" not in old and old in text.replace("\r\n", "\n"):
        return ": its lines end with CR LF, so write '\\r\\n' at the ends of lines"
    lines = [line.strip() for line in old.strip().splitlines()]
    first = lines[0] if lines else ""
    found = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if first and line.strip() == first
    ]
    if found:
        return f": something like it begins in {_named(found)}; mind the spaces"
    return "; read the file, and give the text exactly as it is there"


def _places(text: str, old: str) -> str:
    found: list[int] = []
    at = text.find(old)
    line, seen = 1, 0
    while at >= 0 and len(found) <= _NAMED:
        line += text.count("\n", seen, at)
        seen = at
        found.append(line)
        at = text.find(old, at + len(old))
    return _named(found)


def _named(lines: Sequence[int]) -> str:
    named = ", ".join(f"{each:,}" for each in lines[:_NAMED])
    more = ", ..." if len(lines) > _NAMED else ""
    return f"line{'s' if len(lines) > 1 else ''} {named}{more}"


# -- as tools --------------------------------------------------------------------------


def file_tools(workspace: Workspace) -> tuple[Tool, ...]:
    """Return the tools `read`, `write` and `edit`."""
    files = Files(workspace)
    return (
        Tool(
            _spec(
                "read",
                f"Read lines of a text file, with their numbers: {MOST_LINES:,} unless "
                "told otherwise.",
                {
                    "path": _PATH,
                    "offset": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": 10**9,
                        "description": "the number of the first line",
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MOST_LINES,
                        "description": "how many lines",
                    },
                },
                "path",
            ),
            files.read,
            safe=True,
            traits=Traits(interruptible=True),
        ),
        Tool(
            _spec(
                "write",
                "Write a whole file; one that is there is replaced, folders are made.",
                {"path": _PATH, "content": {"type": "string"}},
                "path",
                "content",
            ),
            files.write,
        ),
        Tool(
            _spec(
                "edit",
                "Replace a text in a file by another. The text must be there exactly, "
                "and once, unless `all` is set.",
                {
                    "path": _PATH,
                    "old": {"type": "string", "minLength": 1},
                    "new": {"type": "string"},
                    "all": {"type": "boolean", "description": "replace each of them"},
                },
                "path",
                "old",
                "new",
            ),
            files.edit,
        ),
    )


_PATH: Mapping[str, object] = {
    "type": "string",
    "description": "of the file, relative to the workspace",
}


def _spec(
    name: str, told: str, properties: Mapping[str, object], *required: str
) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, told, schema)
