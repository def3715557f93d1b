"""The tools `glob` and `grep`; another process searches, see `searching`."""

import json
import sys
from collections.abc import Mapping
from typing import cast

import attrs

from unspiral.engine.live.ports import Clock, ToolSpec
from unspiral.engine.live.tools.problems import PathRefused, ToolProblem
from unspiral.engine.live.tools.process import Program, Ran, run_program
from unspiral.engine.live.tools.registry import Tool, Traits
from unspiral.engine.live.tools.searching import Order
from unspiral.engine.live.tools.texts import sendable
from unspiral.engine.live.tools.workspace import Workspace

__all__ = ["Finds", "Searcher", "read_found", "search_tools"]

MOST_PATHS = 1_000  #: that `glob` returns
MOST_LINES = 300  #: that `grep` returns
_LONGEST_LINE = 400  # characters of one of them
_LARGEST = 20_000_000  # bytes of a file that is searched
_LONGEST_PATTERN = 4_000  # characters
_MOST = 8_000_000  # bytes that the other process writes; more than it does
_PROGRAM = "unspiral.engine.live.tools.searching"


@attrs.frozen
class Searcher:
    """Searches for files, and in them.

    Attributes:
        workspace: where.
        environment: of the process that searches; without secrets.
        clock: for the time-outs.
        seconds: that a search may take.
    """

    workspace: Workspace
    environment: Mapping[str, str]
    clock: Clock
    seconds: float = 20.0

    async def glob(self, pattern: str, path: str = ".") -> str:
        """Return the paths of files, in order.

        Raises:
            PathRefused: the folder may not be used.
            ToolProblem: the pattern is none.
        """
        below = self._below(pattern, path)
        found = await self._search(
            Order(path, below, "", False, False, MOST_PATHS, _LONGEST_LINE, _LARGEST)  # noqa: FBT003 - fields of one value
        )
        paths = [str(each) for each in found.finds]
        return found.told(paths, "no file has such a path", f"{MOST_PATHS:,} paths")

    async def grep(
        self,
        pattern: str,
        path: str = ".",
        glob: str = "",
        *,
        ignore_case: bool = False,
        files_only: bool = False,
    ) -> str:
        """Return the lines that a regular expression is found in.

        Raises:
            PathRefused: the folder or file may not be used.
            ToolProblem: the expression is none, or takes too long.
        """
        below = self._below(glob, path) if glob else ""
        found = await self._search(
            Order(
                path,
                below,
                pattern,
                ignore_case,
                files_only,
                MOST_LINES,
                _LONGEST_LINE,
                _LARGEST,
            )
        )
        lines = [_line(each) for each in found.finds]
        most = f"{MOST_LINES:,} {'files' if files_only else 'lines'}"
        return found.told(lines, "it is found nowhere", most)

    def _below(self, pattern: str, path: str) -> str:
        """Return a pattern for paths as it goes on from a folder."""
        if ".." in pattern.split("/") or "\0" in pattern:
            instead = "patterns go on from the folder, as 'src/**/*.py'"
            raise PathRefused(pattern, "'..' and NUL mean nothing here", instead)
        if not pattern.startswith("/"):
            return pattern
        start = f"{self.workspace.root.rstrip('/')}/"
        if path not in {".", "", self.workspace.root} or not pattern.startswith(start):
            instead = "patterns go on from the folder, as 'src/**/*.py'"
            raise PathRefused(pattern, "it begins outside the folder", instead)
        return pattern.removeprefix(start)

    async def _search(self, order: Order) -> "Finds":
        parts = self.workspace.parts(order.path)  # absolute ones are for us to read
        order = attrs.evolve(order, path="/".join(parts) or ".")
        fd = self.workspace.fd
        numbers = (fd, int(self.workspace.exact), int(self.seconds) + 5)
        program = Program(
            (sys.executable, "-I", "-m", _PROGRAM, *map(str, numbers)),
            "/",
            self.environment,
            self.seconds,
            _MOST,
            json.dumps(attrs.asdict(order)).encode(),
            (fd,),
            errors=False,
        )
        try:
            ran = await run_program(program, self.clock)
        except (OSError, ValueError) as error:
            raise ToolProblem(f"the search cannot be run: {error}") from None
        return read_found(ran, self.seconds)


@attrs.frozen
class Finds:
    """What a search has found.

    Attributes:
        finds: in order.
        more: why there may be more, or "".
        not_read: files that could not be looked into.
    """

    finds: tuple[object, ...]
    more: str
    not_read: int

    def told(self, lines: list[str], nothing: str, most: str) -> str:
        """Return it as a text."""
        ends: list[str] = []
        if not lines:
            ends.append(f"[{nothing}]")
        if self.more:
            ends.append(f"[{self.more.format(most)}]")
        if self.not_read:
            ends.append(f"[{self.not_read:,} files are no text, or too large]")
        return sendable("\n".join((*lines, *ends)))


def read_found(ran: Ran, seconds: float) -> Finds:
    """Read what the other process has written, whole or not."""
    finds: list[object] = []
    more, not_read, ended = "", 0, False
    for line in (ran.head + ran.tail).splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # it was ended in the middle of a line
        if not isinstance(value, dict):
            finds.append(value)
            continue
        said = cast("Mapping[str, object]", value)
        if "problem" in said:
            raise ToolProblem(str(said["problem"]))
        ended = True
        more = "there are more than these {}: search for less" if said["more"] else ""
        not_read = int(str(said["not_read"]))
    if not ended:
        how = f"longer than {seconds:g} s" if ran.status is None else "too much memory"
        more = f"the search took {how} and was ended: search for less"
        if not finds:
            raise ToolProblem(more)
    return Finds(tuple(finds), more, not_read)


def _line(find: object) -> str:
    if not isinstance(find, list):
        return str(find)
    path, number, text = cast("list[object]", find)
    return f"{path}:{number}:{text}"


# -- as tools --------------------------------------------------------------------------


def search_tools(
    workspace: Workspace, environment: Mapping[str, str], clock: Clock
) -> tuple[Tool, ...]:
    """Return the tools `glob` and `grep`.

    Args:
        workspace: where to search.
        environment: of the process that searches; without secrets.
        clock: for the time-outs.
    """
    searcher = Searcher(workspace, environment, clock)
    traits = Traits(interruptible=True)
    pattern = {"type": "string", "minLength": 1, "maxLength": _LONGEST_PATTERN}
    path = {"type": "string", "description": "the folder to search; '.' unless given"}
    glob = ToolSpec(
        "glob",
        "List the files whose path matches a pattern, such as `**/*.{py,toml}`.",
        _schema({"pattern": pattern, "path": path}),
    )
    grep = ToolSpec(
        "grep",
        "Search the lines of files for a regular expression of Python.",
        _schema(
            {
                "pattern": pattern,
                "path": path,
                "glob": {
                    "type": "string",
                    "maxLength": _LONGEST_PATTERN,
                    "description": "only in files with such a path",
                },
                "ignore_case": {"type": "boolean"},
                "files_only": {
                    "type": "boolean",
                    "description": "list the files, not the lines",
                },
            }
        ),
    )
    return (
        Tool(glob, searcher.glob, safe=True, traits=traits),
        Tool(grep, searcher.grep, safe=True, traits=traits),
    )


def _schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": ["pattern"],
        "additionalProperties": False,
    }
