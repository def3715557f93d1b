"""A whole case for the live loop, as a value that is checked as soon as it is made.

It holds all that a run needs besides the machine and a workspace, and what is to come
of it. It reads no file, writes none, and runs nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import attrs

from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.settings import resolve
from unspiral.engine.errors import BadDeclaration, BadValue, UnknownName, suggestion
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.live.budgets import BUDGETS, Budgets
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.ports import HookPoint
from unspiral.engine.live.rules import Rules
from unspiral.engine.live.ruling import Mode
from unspiral.engine.scenarios.paths import clash, problem_of
from unspiral.engine.toml.fields import shorten
from unspiral.machines.agent_loop import AGENT_LOOP

__all__ = ["MAX_FILES", "MAX_HOOKS", "Expected", "Scenario", "ScenarioHook", "Wanted"]

MAX_FILES = 200  #: of a project
MAX_HOOKS = 20  #: of a scenario
_LONGEST_TASK = 20_000  # characters
_LONGEST_LINE = 200
_MAX_WORDS = 100  # of the command of a hook
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)

#: a point, and the words of a command that is run in the workspace, by no shell
ScenarioHook: TypeAlias = tuple[HookPoint, tuple[str, ...]]


@attrs.frozen
class Wanted:
    """How a file is to be in the end.

    Attributes:
        how: "exact": it is the one text; "contains": it holds each of the texts;
            "absent": there is no such file.
        texts: of it.
    """

    how: Literal["exact", "contains", "absent"]
    texts: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        fits = {
            "exact": len(self.texts) == 1,
            "contains": bool(self.texts) and all(self.texts),
            "absent": not self.texts,
        }
        if not fits[self.how]:
            needs = {"exact": "one text", "contains": "texts that are not empty"}
            raise BadDeclaration(self.how, f"it needs {needs.get(self.how, 'no text')}")


@attrs.frozen
class Expected:
    """What is to come of a run.

    Attributes:
        terminal: in which it ends.
        files: how files of the project are then, by their paths.
    """

    terminal: str = "completed"
    files: Mapping[str, Wanted] = attrs.field(factory=dict[str, Wanted])

    def __attrs_post_init__(self) -> None:
        known = tuple(each.name for each in AGENT_LOOP.terminals)
        if self.terminal not in known:
            problem = f"no terminal {self.terminal[:60]!r}"
            meant = suggestion(self.terminal, known)
            raise BadDeclaration("terminal", f"{problem}{meant}")
        _check_paths("expected files", self.files)


@attrs.frozen
class Scenario:
    """A case.

    Attributes:
        name: of it, in small letters.
        task: the prompt.
        schedule: what the scripted model answers, and the faults that it meets.
        about: in one line, what it shows.
        files: the texts of the project, by their paths.
        edition: of the machine; "": as usual.
        limits: of the machine, that differ from the edition.
        budgets: what may be spent, by the names of `Budgets`.
        window: tokens that the loop believes its model can take; None: as usual. What
            the model really takes, the schedule says.
        fallback: whether another model takes over when the first is overloaded.
        mode: of the gate.
        rules: of the gate.
        hooks: points with commands.
        expected: what is to come of it.
    """

    name: str
    task: str
    schedule: Schedule
    about: str = ""
    files: Mapping[str, str] = attrs.field(factory=dict[str, str])
    edition: str = ""
    limits: Mapping[str, LimitValue] = attrs.field(factory=dict[str, LimitValue])
    budgets: Mapping[str, float] = attrs.field(factory=dict[str, float])
    window: int | None = None
    fallback: bool = True
    mode: Mode = "default"
    rules: Rules = attrs.field(factory=Rules)
    hooks: tuple[ScenarioHook, ...] = ()
    expected: Expected = attrs.field(factory=Expected)

    def __attrs_post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            problem = "it must be small letters, digits, '-' and '_', a letter first"
            raise BadDeclaration("name", problem)
        _check_task(self.task)
        _check_about(self.about)
        _check_files(self.files)
        _check_loop(self.edition, self.limits)
        _check_budgets(self.budgets)
        if self.window is not None:
            _rephrased("window", partial(Window.scaled, self.window))
        if self.mode not in get_args(Mode):
            known = get_args(Mode)
            problem = f"no mode {self.mode!r}{suggestion(self.mode, known)}"
            raise BadDeclaration("mode", problem)
        if len(self.hooks) > MAX_HOOKS:
            problem = f"{len(self.hooks):,} hooks; at most {MAX_HOOKS} can be"
            raise BadDeclaration("hooks", problem)
        for hook in self.hooks:
            _check_hook(hook)


def _check_task(task: str) -> None:
    if not task.strip():
        raise BadDeclaration("task", "it is empty")
    if len(task) > _LONGEST_TASK:
        raise BadDeclaration("task", f"it has more than {_LONGEST_TASK:,} characters")
    _check_text("task", task)


def _check_about(about: str) -> None:
    if len(about) > _LONGEST_LINE:
        raise BadDeclaration("about", f"it has more than {_LONGEST_LINE} characters")
    if "\n" in about or "\t" in about:
        raise BadDeclaration("about", "it must be one line")
    _check_text("about", about)


def _check_text(place: str, text: str) -> None:
    """Refuse what a terminal would not show as it is."""
    for char in text:
        if char not in "\n\t" and unicodedata.category(char) in _UNSEEN:
            problem = f"it holds a character that cannot be seen (U+{ord(char):04X})"
            raise BadDeclaration(place, problem)


def _check_files(files: Mapping[str, str]) -> None:
    _check_paths("files", files)
    for path, text in files.items():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise BadDeclaration(f"file {path!r}", "its text is no Unicode") from None


def _check_paths(what: str, paths: Iterable[str]) -> None:
    paths = tuple(paths)
    if len(paths) > MAX_FILES:
        raise BadDeclaration(what, f"{len(paths):,} files; at most {MAX_FILES} can be")
    for path in paths:
        if problem := problem_of(path):
            raise BadDeclaration(f"path {shorten(ascii(path), 100)}", problem)
    if both := clash(paths):
        one, other = (shorten(ascii(each), 100) for each in both)
        raise BadDeclaration(what, f"{one} and {other} cannot both be files")


def _check_loop(edition: str, limits: Mapping[str, LimitValue]) -> None:
    _rephrased("edition", partial(resolve, AGENT_LOOP, edition or None))
    for name, value in limits.items():
        _rephrased("limits", partial(resolve, AGENT_LOOP, None, {name: value}))


def _check_budgets(budgets: Mapping[str, float]) -> None:
    for name, value in budgets.items():
        if name not in BUDGETS:
            problem = f"no budget {name[:60]!r}{suggestion(name, BUDGETS)}"
            raise BadDeclaration("budgets", problem)
        if name != "seconds" and value != int(value):
            raise BadDeclaration("budgets", f"{name!r} must be a whole number")
        given: dict[str, Any] = {name: value}
        _rephrased("budgets", partial(Budgets, **given))


def _check_hook(hook: ScenarioHook) -> None:
    point, words = hook
    points = get_args(HookPoint)
    if point not in points:
        problem = f"no point {point[:60]!r}{suggestion(point, points)}"
        raise BadDeclaration("point", problem)
    if not words or not words[0]:
        raise BadDeclaration("command", "it names no program")
    if len(words) > _MAX_WORDS:
        raise BadDeclaration("command", f"it has more than {_MAX_WORDS} words")
    if any("\0" in word for word in words):
        raise BadDeclaration("command", "it holds a NUL")


def _rephrased(place: str, make: Callable[[], object]) -> None:
    """Make a value; what its class refuses is a fault of this place."""
    try:
        make()
    except (BadValue, UnknownName) as error:
        raise BadDeclaration(place, str(error)) from None
