"""Every error that unspiral raises on purpose. It knows nothing else of ours.

The tree, with who must act::

    UnspiralError
    ├── DeclarationError        whoever wrote the machine or schedule must act
    │   ├── ExpressionError     a guard, action or limit text that cannot be read
    │   ├── InvalidMachine      findings that forbid to compile it
    │   └── SourceError         a file that somebody wrote, and cannot be loaded
    │       ├── MachineFileError    a machine
    │       ├── ScenarioError       a scenario
    │       └── ScheduleError       a schedule, which may also have no form as a file
    ├── UsageError              whoever called us must act
    │   ├── UnknownName         a machine, edition, limit ... that is not there
    │   ├── BadValue            a value outside what is allowed
    │   ├── MissingTool         an optional program or library that is not installed
    │   ├── FileProblem         a file that cannot be read or written
    │   ├── CannotListen        an address that a server cannot have
    │   ├── CannotImport        a Python module that should hold a machine
    │   ├── SessionBusy         a session that another process has open
    │   └── NoCredential        a model that is to be asked without a key
    ├── RunError                whoever answers the phases must act
    │   ├── IllegalEvent        an event that the phase does not offer now
    │   ├── StuckError          no alternative of the machine applies
    │   ├── OutOfRange          an action leaves the domain of a counter
    │   ├── EndlessDecision     the machine decides without end
    │   ├── Deadlock            a phase offers no event
    │   ├── NothingWillHappen   in virtual time, everything waits for ever
    │   └── ScriptError         a script that does not fit the run
    └── RecordError             whoever supplied a recorded file must act
        ├── TraceError          a trace or snapshot of another machine, or malformed
        ├── CertificateError    a certificate that does not hold
        ├── JournalError        a journal of requests that cannot be read
        └── SessionError        a session that cannot be read

Each class builds its message from typed fields: a test reads the fields, a person
the text, and no raise site holds prose.
"""

import attrs

from unspiral.engine.error_base import UnspiralError, nearest, suggestion
from unspiral.engine.run_errors import (
    CertificateError,
    Deadlock,
    EndlessDecision,
    IllegalEvent,
    JournalError,
    NothingWillHappen,
    OutOfRange,
    RecordError,
    RunError,
    ScriptError,
    SessionError,
    StuckError,
    TraceError,
)

__all__ = [
    "BadDeclaration",
    "BadValue",
    "CannotImport",
    "CannotListen",
    "CertificateError",
    "Deadlock",
    "DeclarationError",
    "EndlessDecision",
    "ExpressionError",
    "FileProblem",
    "IllegalEvent",
    "InvalidMachine",
    "JournalError",
    "MachineFileError",
    "MissingTool",
    "NoCredential",
    "NothingWillHappen",
    "OutOfRange",
    "RecordError",
    "RunError",
    "ScenarioError",
    "ScheduleError",
    "ScriptError",
    "SessionBusy",
    "SessionError",
    "StuckError",
    "ToolFailed",
    "TraceError",
    "UnknownName",
    "UnspiralError",
    "UsageError",
    "nearest",
    "suggestion",
]

_LONGEST = 100  # characters that a message repeats of what it was given


class DeclarationError(UnspiralError):
    """A machine or a schedule is declared wrongly."""


@attrs.define(str=False)
class BadDeclaration(DeclarationError):
    """A value of a declaration is not what it must be.

    Attributes:
        place: what is declared, such as "limit 'max_turns'".
        problem: what is wrong with it.
        fix: what to write instead, or "".
    """

    place: str
    problem: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" + (f"; {self.fix}" if self.fix else "")


@attrs.define(str=False)
class ExpressionError(DeclarationError):
    """A guard, action or limit expression cannot be read or has a wrong type.

    Attributes:
        place: where the text stands, such as "query_loop, row drain:committed, guard".
        text: the whole expression.
        column: where in the text the problem begins, counted from 0.
        problem: what is wrong.
        hint: the nearest name or what is allowed, or "".
    """

    place: str
    text: str
    column: int
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        head = f"{self.place}: " if self.place else ""
        start = max(0, self.column - 40)
        shown = self.text[start : start + 80].replace("\n", " ")
        caret = " " * (self.column - start) + "^"
        return f"{head}{self.problem}{self.hint}\n    {shown}\n    {caret}"


@attrs.define(str=False)
class InvalidMachine(DeclarationError):
    """A machine has findings that forbid to compile it.

    Attributes:
        machine: its name.
        findings: what was found, as printable values, the gravest first.
    """

    machine: str
    findings: tuple[object, ...]

    def __str__(self) -> str:
        lines = "\n".join(f"  {finding}" for finding in self.findings)
        return f"machine {self.machine!r} cannot be compiled:\n{lines}"


@attrs.define(str=False)
class SourceError(DeclarationError):
    """A file that somebody wrote cannot be loaded.

    Attributes:
        path: the file.
        place: the key or row in it, such as "transitions[3].guard", or "".
        problem: what is wrong.
        line: its line in the file counted from 1, or 0 if it is not known.
    """

    path: str
    place: str
    problem: str
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.place + ': ' if self.place else ''}{self.problem}"


class MachineFileError(SourceError):
    """A machine file cannot be loaded."""


class ScheduleError(SourceError):
    """A schedule file cannot be loaded, or a schedule has no form as a file."""


class ScenarioError(SourceError):
    """A scenario file cannot be loaded."""


class UsageError(UnspiralError):
    """unspiral was asked for something that it cannot do."""


@attrs.define(str=False)
class UnknownName(UsageError):
    """A name that is not there.

    Attributes:
        kind: what it should name ("edition", "limit", "machine", ...).
        name: the name.
        known: the names that are there.
        within: the machine or file in which they were looked up, or "".
    """

    kind: str
    name: str
    known: tuple[str, ...] = ()
    within: str = ""

    def __str__(self) -> str:
        where = f" in {self.within}" if self.within else ""
        shown = (
            self.name if len(self.name) <= _LONGEST else self.name[:_LONGEST] + "..."
        )
        return f"no {self.kind} {shown!r}{where}{suggestion(self.name, self.known)}"


@attrs.define(str=False)
class BadValue(UsageError):
    """A value that is not allowed.

    Attributes:
        what: what was set, such as "limit 'max_turns'".
        value: the value as given.
        allowed: what would be allowed.
    """

    what: str
    value: str
    allowed: str

    def __str__(self) -> str:
        shown = (
            self.value if len(self.value) <= _LONGEST else self.value[:_LONGEST] + "..."
        )
        return f"{self.what} cannot be {shown!r}: it must be {self.allowed}"


@attrs.define(str=False)
class MissingTool(UsageError):
    """A program or library that is needed for this and is not installed.

    Attributes:
        purpose: what it is needed for.
        tool: its name.
        install: how to get it.
    """

    purpose: str
    tool: str
    install: str

    def __str__(self) -> str:
        return f"{self.purpose} needs {self.tool}, which is not here; {self.install}"


@attrs.define(str=False)
class FileProblem(UsageError):
    """A file that cannot be read or written.

    Attributes:
        path: the file.
        doing: what was tried: "read" or "written".
        problem: why it failed.
    """

    path: str
    doing: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be {self.doing}: {self.problem}"


@attrs.define(str=False)
class CannotImport(UsageError):
    """A Python module that should hold a machine cannot be imported.

    Attributes:
        module: its name.
        problem: what happened on import.
    """

    module: str
    problem: str

    def __str__(self) -> str:
        return f"module {self.module!r} cannot be imported: {self.problem}"


@attrs.define(str=False)
class CannotListen(UsageError):
    """A server cannot listen at an address.

    Attributes:
        host: the host as given.
        port: the port as given.
        problem: why not.
    """

    host: str
    port: int
    problem: str

    def __str__(self) -> str:
        return f"cannot listen at {self.host[:_LONGEST]}:{self.port}: {self.problem}"


@attrs.define(str=False)
class ToolFailed(UsageError):
    """A program that we run gives up.

    Attributes:
        tool: the program.
        problem: what it says.
    """

    tool: str
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.tool} failed: {self.problem[:300].strip() or 'it does not say why'}"
        )


@attrs.define(str=False)
class SessionBusy(UsageError):
    """A session that is open already: one process at a time writes to it.

    Attributes:
        path: the session.
        pid: of the process that has it, or 0 if it has not said so yet.
    """

    path: str
    pid: int

    def __str__(self) -> str:
        who = f"process {self.pid}" if self.pid else "another process"
        return (
            f"{self.path} is in use by {who}: "
            "wait for its end, or begin another session"
        )


@attrs.define(str=False)
class NoCredential(UsageError):
    """There is nothing to tell a model's API who asks.

    Attributes:
        problem: why what was given or found is of no use, or "". Never the key itself.
    """

    problem: str = ""

    def __str__(self) -> str:
        why = f" ({self.problem[:300]})" if self.problem else ""
        return (
            f"there is no credential for the model's API{why}: set ANTHROPIC_API_KEY, "
            "or another credential that the anthropic SDK accepts"
        )
