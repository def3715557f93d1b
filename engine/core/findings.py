"""What can be found in a declaration without running it: the kinds and their words.

One kind a code. `validate` looks for them; this module only says what each means, how
grave it is and how it is mended, so that reports and docs print the same words.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal as OneOf

import attrs

__all__ = ["FINDINGS", "Finding", "Kind", "gravity"]


@attrs.frozen
class Kind:
    """One kind of finding.

    Attributes:
        meaning: what is wrong, in one sentence.
        remedy: what is done about it as a rule.
        severity: an error is a fault of the machine; a warning points at a likely one.
        forbids: whether a machine with such a finding cannot be compiled.
    """

    meaning: str
    remedy: str
    severity: OneOf["error", "warning"] = "error"
    forbids: bool = False


FINDINGS: Mapping[str, Kind] = MappingProxyType(
    {
        "too_large": Kind(
            "Machines are nested too deeply or too often to be looked through.",
            "nest fewer machines",
            forbids=True,
        ),
        "unknown_name": Kind(
            "A name or value that is not declared is used.",
            "use the declared name, or declare this one",
            forbids=True,
        ),
        "bad_text": Kind(
            "A guard, action or formula is not in the language, or its types differ.",
            "write it in the language of guards and actions",
            forbids=True,
        ),
        "bad_value": Kind(
            "A limit, a start value or a part of a declaration is not allowed.",
            "give an allowed value",
            forbids=True,
        ),
        "misplaced_event": Kind(
            "A row of an acting phase lacks an event, or a deciding one names events.",
            "name an event exactly where the phase is answered",
            forbids=True,
        ),
        "reason_without_row": Kind(
            "A continue reason is named that no row has.",
            "use the reason of a row, or give a row this reason",
            forbids=True,
        ),
        "not_total": Kind(
            "A phase and event (or a deciding phase) has no row for some memory.",
            "add a row with the guard `otherwise`",
        ),
        "overlap": Kind(
            "Guards may hold together and no order is declared.",
            "make the last one `otherwise`, or make the guards disjoint",
        ),
        "no_exit": Kind(
            "A phase is reached from which no terminal can be reached.",
            "add a row that leads to a terminal",
        ),
        "unreachable_phase": Kind(
            "No run reaches a phase, whatever the limits.",
            "add a row that leads to it, or remove it",
        ),
        "unreachable_terminal": Kind(
            "No run ends in a terminal, whatever the limits.",
            "add a row that leads to it, or remove it",
        ),
        "never_taken": Kind(
            "A row can never be taken, whatever the limits.",
            "reorder the alternatives, mend the guard, or remove the row",
        ),
        "reason_never_given": Kind(
            "A continue reason belongs only to rows that can never be taken.",
            "mend its row, or remove the reason",
        ),
        "no_reason": Kind(
            "A row returns to the initial phase and does not say why.",
            "give the row a reason",
        ),
        "no_raise": Kind(
            "A row that is declared to raise a limit does not raise it.",
            "guard the row by `lower < higher`, or mend the limits",
        ),
        "unbudgeted": Kind(
            "A recovery spends nothing that its own cycle does not give back.",
            "spend a counter that only progress gives back",
            "warning",
        ),
        "equality": Kind(
            "A counter is compared with == against a limit, and may jump over it.",
            "compare with < or >=",
            "warning",
        ),
        "unread_limit": Kind(
            "Nothing reads a limit.", "use it in a guard, or remove it", "warning"
        ),
        "unread_memory": Kind(
            "Nothing reads a memory.", "use it in a guard, or remove it", "warning"
        ),
    }
)
_GRAVITY = {code: rank for rank, code in enumerate(FINDINGS)}


@attrs.frozen
class Finding:
    """Something that is wrong, or likely wrong, with a machine.

    Attributes:
        code: its kind, a key of `FINDINGS`.
        machine: the name of the machine that was judged.
        place: where in it; of a nested machine with the name of the phase before it,
            as in the compiled table.
        problem: what is wrong.
        cause: why it is so.
        fix: what to do.
        nearest: the declared name that was probably meant, or "".
    """

    code: str
    machine: str
    place: str
    problem: str
    cause: str
    fix: str
    nearest: str = ""

    @property
    def severity(self) -> OneOf["error", "warning"]:
        """Return how grave it is."""
        return FINDINGS[self.code].severity

    @property
    def forbids(self) -> bool:
        """Tell whether a machine with it cannot be compiled."""
        return FINDINGS[self.code].forbids

    def __str__(self) -> str:
        meant = f" (did you mean {self.nearest!r}?)" if self.nearest else ""
        head = f"{self.severity} {self.code}: {self.machine}, {self.place}"
        return f"{head}: {self.problem}{meant}\n    {self.cause}; {self.fix}"


def gravity(finding: Finding) -> int:
    """Return the rank of a finding, 0 for the gravest."""
    return _GRAVITY[finding.code]
