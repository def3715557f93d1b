"""The tools of a run: the built-in ones and those of users, as one `ports.Tools`.

A tool is a function, async or plain, with a JSON schema of its input; the fields of the
input are its arguments. Whatever goes wrong in it is a result that the model can read.
Who may call what, and when, is not decided here.
"""

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, cast

import attrs

from unspiral.engine.errors import BadValue, UnspiralError, suggestion
from unspiral.engine.live.ports import ToolOutcome, ToolSpec
from unspiral.engine.live.tools.schema import Checker, fields_of, needed_of
from unspiral.engine.live.tools.texts import bounded, sendable
from unspiral.engine.live.tools.threads import in_thread
from unspiral.engine.live.untyped import copied

__all__ = ["MOST", "PLAIN", "Safety", "Tool", "Toolbox", "Traits", "tool"]

MOST = 400_000  #: characters of a result; of a longer one the middle is left out
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the API takes
_LONGEST_ERROR = 2_000

#: whether a call may run beside others, or how its input tells that
Safety: TypeAlias = bool | Callable[[Mapping[str, object]], bool]
Function: TypeAlias = Callable[..., object]


@attrs.frozen
class Traits:
    """What the executor must know of a tool.

    Attributes:
        runs_shell: it runs commands of a shell; if it fails, siblings are cancelled.
        interruptible: a new word of the user may cancel it.
        seconds: that a call may take; None: as long as the executor allows.
    """

    runs_shell: bool = False
    interruptible: bool = False
    seconds: float | None = None


PLAIN = Traits()  #: of a tool of which nothing is known


@attrs.frozen
class Tool:
    """A tool.

    Attributes:
        spec: what the model is told of it.
        run: what is called, with the fields of the input as its arguments; returns a
            text, a `ToolOutcome`, None or a value that has a form in JSON. A plain
            function runs in a thread; when its time is out it is left to itself.
        safe: whether calls may run beside others.
        traits: what else the executor must know.
    """

    spec: ToolSpec
    run: Function
    safe: Safety = False
    traits: Traits = PLAIN


def tool(
    schema: Mapping[str, object],
    *,
    name: str = "",
    description: str = "",
    safe: Safety = False,
    traits: Traits = PLAIN,
) -> Callable[[Function], Tool]:
    """Make a tool of a function.

    Args:
        schema: of its input. Fields that it does not name are refused, unless it says
            something of `additionalProperties`.
        name: of the tool; "": that of the function.
        description: for the model; "": the function's docstring.
        safe: whether calls may run beside others.
        traits: what else the executor must know.
    """
    closed = {"type": "object", "additionalProperties": False, **schema}

    def made(function: Function) -> Tool:
        called = name or getattr(function, "__name__", "")
        told = description or inspect.getdoc(function) or ""
        return Tool(ToolSpec(called, told, closed), function, safe, traits)

    return made


class Toolbox:
    """Tools by name; implements `ports.Tools`.

    Args:
        tools: in the order in which the model is told of them.

    Raises:
        BadValue: a name that is taken or that the API does not take, or a schema that
            is none, or does not fit the function.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._checkers: dict[str, Checker] = {}
        for each in tools:
            self.add(each)

    def add(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            BadValue: its name is taken or not one that the API takes, or its schema is
                none, or does not fit the function.
        """
        name = tool.spec.name
        if not _NAME.fullmatch(name):
            raise BadValue("the name of a tool", name, "1 to 64 of A-Z a-z 0-9 _ -")
        if name in self._tools:
            raise BadValue("the name of a tool", name, "one that is not taken")
        checker = Checker(name, tool.spec.schema)
        _require_fit(tool)
        self._tools[name], self._checkers[name] = tool, checker

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is offered."""
        return tuple(each.spec for each in self._tools.values())

    def traits(self, name: str) -> Traits:
        """Return what the executor must know of a tool; also of one that is not."""
        found = self._tools.get(name)
        return PLAIN if found is None else found.traits

    def safe(self, name: str, given: Mapping[str, object], /) -> bool:
        """Tell whether this call may run beside others; False if in doubt."""
        found = self._tools.get(name)
        if found is None or self.problem(name, given):
            return False
        if not callable(found.safe):
            return found.safe is True
        try:
            return found.safe(_owned(given)) is True
        except Exception:  # noqa: BLE001 - not ours; in doubt it is not safe
            return False

    def problem(self, name: str, given: Mapping[str, object], /) -> str:
        """Return what is wrong with a call, and how to call the tool; "" if nothing."""
        checker = self._checkers.get(name)
        if checker is None:
            meant = suggestion(name[:100], self._tools)
            return sendable(f"There is no tool {name[:100]!r}{meant}")
        return checker.problem(given)

    async def run(self, name: str, given: Mapping[str, object], /) -> ToolOutcome:
        """Run a tool. Never raises but for cancellation."""
        problem = self.problem(name, given)
        if problem:
            return ToolOutcome(problem, error=True)
        try:
            said = await _called(self._tools[name].run, _owned(given))
        except UnspiralError as error:
            return _failed(str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool is not ours
            return _failed(f"{type(error).__name__}: {_text_of(error)}")
        return _outcome(said)


def _owned(given: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", copied(dict(given)))


async def _called(run: Function, given: Mapping[str, object]) -> object:
    target = cast("object", getattr(run, "__call__", run))  # noqa: B004 - to look at
    if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(target):
        said = run(**given)
    else:
        said = await in_thread(run, **given)
    if inspect.isawaitable(said):
        return await cast("Awaitable[object]", said)
    return said


def _outcome(said: object) -> ToolOutcome:
    if isinstance(said, ToolOutcome):
        return attrs.evolve(said, text=_fit(said.text), stop=_fit(said.stop))
    if said is None:
        return ToolOutcome("")
    if isinstance(said, str):
        return ToolOutcome(_fit(said))
    try:
        return ToolOutcome(_fit(json.dumps(said, ensure_ascii=False)))
    except (ValueError, TypeError, RecursionError):
        return _failed(f"the tool returned a {type(said).__name__}, which is no JSON")


def _failed(text: str) -> ToolOutcome:
    return ToolOutcome(bounded(sendable(text), _LONGEST_ERROR), error=True)


def _fit(text: object) -> str:
    return sendable(bounded(text if isinstance(text, str) else repr(text), MOST))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a tool's error is not ours either
        return "(its text cannot be had)"


def _require_fit(tool: Tool) -> None:
    """Refuse a function that cannot take what its schema lets through."""
    try:
        parameters = inspect.signature(tool.run).parameters.values()
    except (ValueError, TypeError):  # some builtins do not tell
        return
    what = f"the schema of tool {tool.spec.name!r}"
    named = {each.name for each in parameters if each.kind in _BY_NAME}
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    needed = needed_of(tool.spec.schema)
    fields = fields_of(tool.spec.schema.get("properties"))
    missing = sorted(set(fields) - named)
    if missing and not takes_all:
        raise BadValue(what, missing[0], f"the function's parameters: {sorted(named)}")
    for each in parameters:
        given = each.name in needed or each.default is not inspect.Parameter.empty
        if each.kind not in _VARIABLE and not (given and each.kind in _BY_NAME):
            raise BadValue(what, each.name, "required: the function needs it")


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
