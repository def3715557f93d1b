"""From the tables of a file to a scenario: which keys there are, and where they stand.

A scenario file is a schedule file with more in it, so the keys of a schedule are read
by the reader of schedules. Types are judged by `Fields`, values by the classes of the
scenario; whatever these refuse is told with the key at which it stands.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar, get_args

from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.settings import limit_from_text
from unspiral.engine.errors import BadDeclaration, BadValue, UnknownName
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.schedule_reader import KEYS, schedule_in
from unspiral.engine.live.ports import HookPoint
from unspiral.engine.live.rules import Rule, Rules
from unspiral.engine.live.ruling import Mode
from unspiral.engine.scenarios.paths import clash
from unspiral.engine.scenarios.scenario import (
    Expected,
    Scenario,
    ScenarioHook,
    Wanted,
)
from unspiral.engine.toml.fields import Fields
from unspiral.machines.agent_loop import AGENT_LOOP

__all__ = ["read_scenario"]

_Made = TypeVar("_Made")

_OWN = ("about", "task", "files", "loop", "permission", "hook", "expect")
_POINTS: tuple[HookPoint, ...] = get_args(HookPoint)
_MODES: tuple[Mode, ...] = get_args(Mode)
_LIMITS = {limit.name: limit for limit in AGENT_LOOP.all_limits}
_HOW = "a text, { contains = ... }, or false"


def read_scenario(fields: Fields) -> Scenario:
    """Return the scenario of a file.

    Raises:
        Exception: what the fields were given to make of a problem and its place.
    """
    fields.allow(*_OWN, *KEYS)
    fields.need("name", "task")
    name, task = fields.text("name"), fields.text("task")
    about = fields.text("about")
    nothing = Schedule()
    _make(fields, partial(Scenario, name, "task", nothing), "name")
    _make(fields, partial(Scenario, "name", task, nothing), "task")
    _make(fields, partial(Scenario, "name", "task", nothing, about), "about")
    loop, permission = fields.inner("loop"), fields.inner("permission")
    loop.allow("edition", "limits", "budgets", "window", "fallback")
    permission.allow("mode", "allow", "ask", "deny")
    return Scenario(
        name=name,
        task=task,
        schedule=schedule_in(fields),
        about=about,
        files=_files(fields),
        edition=_edition(loop),
        limits=_limits(loop),
        budgets=_budgets(loop),
        window=_window(loop),
        fallback=loop.flag("fallback", default=True),
        mode=permission.word("mode", _MODES, "default"),
        rules=_rules(permission),
        hooks=_hooks(fields),
        expected=_expected(fields.inner("expect")),
    )


def _make(fields: Fields, build: Callable[[], _Made], *keys: str | int) -> _Made:
    """Build a value; what its class refuses is a fault of this place of the file."""
    try:
        return build()
    except (BadValue, UnknownName) as error:
        fields.fail(str(error), *keys)
    except BadDeclaration as error:
        fields.fail(error.problem, *keys)


def _probe(**given: object) -> Callable[[], Scenario]:
    """Return a maker of a scenario of which only these parts can be wrong."""
    make: Callable[..., Scenario] = Scenario
    return partial(make, "name", "task", Schedule(), **given)


# -- the project -----------------------------------------------------------------------


def _files(fields: Fields) -> dict[str, str]:
    inner = fields.inner("files")
    files: dict[str, str] = {}
    for path in inner.table:
        files[path] = inner.text(path)
        _make(inner, _probe(files={path: files[path]}), path)
    _make(inner, _probe(files=files), *_second(files))
    return files


def _second(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the key at which it is told that two paths clash; none: at their table."""
    both = clash(paths)
    return () if both is None else both[1:]


# -- the loop --------------------------------------------------------------------------


def _edition(loop: Fields) -> str:
    edition = loop.text("edition")
    _make(loop, _probe(edition=edition), "edition")
    return edition


def _limits(loop: Fields) -> dict[str, LimitValue]:
    inner = loop.inner("limits")
    return {name: _limit(inner, name) for name in inner.table}


def _limit(fields: Fields, name: str) -> LimitValue:
    """Read a limit; a text may be what a limit of words has, or "unlimited"."""
    value = fields.table[name]
    if isinstance(value, str):
        if name not in _LIMITS:
            known = tuple(_LIMITS)
            fields.fail(str(UnknownName("limit", name, known)), name)
        return _make(fields, partial(limit_from_text, _LIMITS[name], value), name)
    given = fields.flag(name) if isinstance(value, bool) else fields.number(name)
    _make(fields, _probe(limits={name: given}), name)
    return given


def _budgets(loop: Fields) -> dict[str, float]:
    inner = loop.inner("budgets")
    budgets: dict[str, float] = {}
    for name in inner.table:
        seconds = name == "seconds"
        budgets[name] = inner.real(name) if seconds else inner.number(name)
        _make(inner, _probe(budgets={name: budgets[name]}), name)
    return budgets


def _window(loop: Fields) -> int | None:
    if not loop.has("window"):
        return None
    window = loop.number("window")
    _make(loop, _probe(window=window), "window")
    return window


# -- what may run, and what is asked ---------------------------------------------------


def _rules(permission: Fields) -> Rules:
    for key in ("allow", "ask", "deny"):
        for number, text in enumerate(permission.texts(key), 1):
            _make(permission, partial(Rule.parse, text), key, number)
    return Rules.parse(*(permission.texts(key) for key in ("allow", "ask", "deny")))


def _hooks(fields: Fields) -> tuple[ScenarioHook, ...]:
    hooks = tuple(_hook(row) for row in fields.rows("hook"))
    _make(fields, _probe(hooks=hooks), "hook")
    return hooks


def _hook(row: Fields) -> ScenarioHook:
    row.allow("point", "command")
    row.need("point", "command")
    hook = row.word("point", _POINTS), row.texts("command")
    _make(row, _probe(hooks=(hook,)), "command")
    return hook


# -- what is to come of it -------------------------------------------------------------


def _expected(fields: Fields) -> Expected:
    fields.allow("terminal", "files")
    terminal = fields.text("terminal", Expected().terminal)
    _make(fields, partial(Expected, terminal), "terminal")
    inner = fields.inner("files")
    files: dict[str, Wanted] = {}
    for path in inner.table:
        files[path] = _wanted(inner, path)
        _make(inner, partial(Expected, terminal, {path: files[path]}), path)
    return _make(inner, partial(Expected, terminal, files), *_second(files))


def _wanted(fields: Fields, path: str) -> Wanted:
    match fields.table[path]:
        case str(text):
            return Wanted("exact", (text,))
        case False:
            return Wanted("absent")
        case dict():
            inner = fields.inner(path)
            inner.allow("contains")
            inner.need("contains")
            one = isinstance(inner.table["contains"], str)
            texts = (inner.text("contains"),) if one else inner.texts("contains")
            return _make(inner, partial(Wanted, "contains", texts), "contains")
        case value:
            fields.wrong(value, _HOW, path)
