"""How a failure of a fuzzer is met again: by a command, and by a test of pytest."""

import json
import keyword
import re
import shlex
import textwrap

import attrs

from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import Table
from unspiral.engine.fuzz.finding import Finding

__all__ = ["Origin", "pytest_source"]


@attrs.frozen
class Origin:
    """How the machine was named on the command line, so that it can be named again.

    Attributes:
        text: the argument MACHINE.
        edition: the option, or None.
        settings: the texts of `--set`.
        limits: the same as values.
        assumptions: the names.
    """

    text: str
    edition: str | None = None
    settings: tuple[str, ...] = ()
    limits: tuple[tuple[str, LimitValue], ...] = ()
    assumptions: tuple[str, ...] = ()

    def command(self, *more: str) -> str:
        """Return a command about the same machine at the same limits."""
        parts = ["unspiral", "fuzz", self.text]
        parts += ["--edition", self.edition] if self.edition else []
        for value in self.settings:
            parts += ["--set", value]
        for value in self.assumptions:
            parts += ["--assume", value]
        return shlex.join([*parts, *more])


def pytest_source(table: Table, origin: Origin, finding: Finding) -> str:
    """Return a test for pytest that fails as long as the failure is there."""
    imports, machine = _named(origin.text)
    arguments = [machine, repr(origin.edition or table.edition or None)]
    if origin.limits:
        known = ", ".join(f"{name!r}: {_value(value)}" for name, value in origin.limits)
        arguments.append(f"{{{known}}}")
        if any(value is UNLIMITED for _, value in origin.limits):
            imports.append("from unspiral import UNLIMITED")
    if origin.assumptions:
        arguments.append(f"assumptions={origin.assumptions!r}")
    failure = finding.failure
    name = _identifier(f"{table.machine.name}_{failure.kind}_{failure.subject}")
    events = textwrap.fill(
        json.dumps(" ".join(finding.events)),
        width=76,
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    events = events.replace("\n        ", ' "\n        "')
    lines = [
        "from unspiral import compile_table",
        "from unspiral.engine.fuzz import failures_of",
        *imports,
        "",
        "",
        f"def test_{name}():",
        f"    table = compile_table({', '.join(arguments)})",
        "    events = (",
        f"        {events}",
        "    )",
        "    assert failures_of(table, events.split()) == ()",
    ]
    return "\n".join(lines) + "\n"


def _named(text: str) -> tuple[list[str], str]:
    """Return what a test imports for the machine, and how it names it."""
    if text.lower().endswith(".toml"):
        return ["from unspiral import load_machine"], f"load_machine({text!r})"
    module, colon, name = text.partition(":")
    if colon:
        first = name.partition(".")[0]
        return [f"from {module} import {first}"], name
    return ["from unspiral.machines import load"], f"load({text!r})"


def _value(value: LimitValue) -> str:
    return "UNLIMITED" if value is UNLIMITED else repr(value)


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_").lower()[:70].rstrip("_")
    return f"{name}_" if keyword.iskeyword(name) else name
