"""The gate: may this call run? It asks where it must, and keeps a record.

What is forbidden, allowed or to be asked, `ruling` says. Where nobody can be asked, and
where asking goes wrong in any way, the answer is no.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypeAlias

import attrs

from unspiral.engine.live.ports import Ruling
from unspiral.engine.live.rules import Rules
from unspiral.engine.live.ruling import (
    OTHER,
    TOOLS,
    By,
    Case,
    Mode,
    ToolKind,
    Verdict,
    rule_on,
)
from unspiral.engine.live.straying import strays

__all__ = ["Asker", "Audited", "Gate", "Question"]


@attrs.frozen
class Question:
    """What a person is asked.

    Attributes:
        tool: its name.
        given: its input; hostile, so show it with care.
        why: the question comes up.
    """

    tool: str
    given: Mapping[str, object]
    why: str


#: asks a person; True is yes, anything else no
Asker: TypeAlias = Callable[[Question], Awaitable[bool]]


@attrs.frozen
class Audited:
    """A ruling that was made; it holds nothing of what was asked for.

    Attributes:
        tool: its name.
        digest: SHA-256 of its input as canonical JSON.
        ruling: "allow" or "deny".
        why: in words.
        by: who ruled.
    """

    tool: str
    digest: str
    ruling: Literal["allow", "deny"]
    why: str
    by: By

    def plain(self) -> dict[str, str]:
        """Return it as plain JSON."""
        return {
            "tool": self.tool,
            "digest": self.digest,
            "ruling": self.ruling,
            "why": self.why,
            "by": self.by,
        }


@attrs.define
class Gate:
    """Rules on calls; implements `ports.Permission`.

    Attributes:
        workspace: the absolute path of the folder that is worked in.
        rules: of the user.
        mode: of the run.
        ask: asks a person; None: nobody is there.
        tools: what each tool can do.
        audit: every ruling, in order.
    """

    workspace: str
    rules: Rules = attrs.field(factory=Rules)
    mode: Mode = "default"
    ask: Asker | None = None
    tools: Mapping[str, ToolKind] = TOOLS
    audit: list[Audited] = attrs.field(factory=list[Audited], init=False)

    async def rule(
        self, name: str, given: Mapping[str, object], hook: Ruling | None, /
    ) -> tuple[bool, str]:
        """Decide, deny first; return whether it may run, and why or why not."""
        digest = _digest(given)
        kind = self.tools.get(name, OTHER)
        case = Case(name, kind, given, self.rules, self.mode, hook, self.workspace)
        verdict = rule_on(case)
        if verdict.ruling == "allow" and strays(case.line, self.workspace):
            verdict = Verdict("ask", "it leaves the workspace by a link", "risk")
        if verdict.ruling == "ask":
            verdict = await self._asked(Question(name, given, verdict.why))
            if _digest(given) != digest:
                verdict = Verdict("deny", "its input changed while asking", "nobody")
        ruling: Literal["allow", "deny"] = (
            "allow" if verdict.ruling == "allow" else "deny"
        )
        self.audit.append(Audited(name, digest, ruling, verdict.why, verdict.by))
        return ruling == "allow", verdict.why

    async def _asked(self, question: Question) -> Verdict:
        why = question.why
        if self.ask is None:
            return Verdict("deny", f"{why}; nobody can be asked", "nobody")
        try:
            answer: object = await self.ask(question)
        except Exception:  # noqa: BLE001 - an asker is not ours
            return Verdict("deny", f"{why}; asking failed", "nobody")
        if answer is True:
            return Verdict("allow", f"{why}; it was allowed", "person")
        return Verdict("deny", f"{why}; it was refused", "person")


def _digest(given: Mapping[str, object]) -> str:
    try:
        text = json.dumps(dict(given), sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(given))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
