"""Ablations of the query loop: what becomes of it without one of its guards.

Each is data: in a field of a row, a text is replaced by another. They are told by the
sources (spec K14, K15), or take one gate from `hardened`. Not every one spirals alone;
which smallest sets do is for the check to say.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal as OneOf

import attrs

from unspiral.engine.core.declare import Machine
from unspiral.engine.errors import BadDeclaration, UnknownName

__all__ = ["ABLATIONS", "GATES", "Ablation", "Edit", "ablate"]

_GATE = "recovery_spent < recovery_budget"
_CHARGE = "; recovery_spent += 1"


@attrs.frozen
class Edit:
    """One change of a row.

    Attributes:
        row: the name of the row.
        field: the field that is changed.
        old: the text in it that goes.
        new: the text that comes instead.
    """

    row: str
    field: OneOf["guard", "action", "target"]
    old: str
    new: str = ""


@attrs.frozen
class Ablation:
    """One guard taken away.

    Attributes:
        doc: what is taken away, and what the story is.
        edits: the changes.
        source: who tells of it.
    """

    doc: str
    edits: tuple[Edit, ...]
    source: str = ""


def _ungated(doc: str, gate: str, *charged: str) -> Ablation:
    """Take the gate from one row, and the charge from the rows that it lets through."""
    alone = gate in {"nudge", "next_turn_unproductive"}
    text = _GATE if alone else f" and {_GATE}"
    charges = (Edit(row, "action", _CHARGE) for row in charged or (gate,))
    return Ablation(doc, (Edit(gate, "guard", text), *charges), "guard G02")


#: One for each gate of `hardened`.
GATES: Mapping[str, Ablation] = MappingProxyType(
    {
        "ungated_drain": _ungated("Drains are free.", "may_drain", "drain:committed"),
        "ungated_reactive": _ungated(
            "Reactive compactions are free.",
            "may_compact",
            "compact_reactively:compacted",
            "compact_reactively:compacted_no_gain",
        ),
        "ungated_escalate": _ungated("Escalations are free.", "escalate"),
        "ungated_resume": _ungated("Resumed truncations are free.", "resume"),
        "ungated_block": _ungated("Blocks of stop hooks are free.", "block"),
        "ungated_nudge": _ungated("Nudges of the token budget are free.", "nudge"),
        "ungated_next_turn": _ungated(
            "Turns of tools that do nothing are free.", "next_turn_unproductive"
        ),
    }
)

ABLATIONS: Mapping[str, Ablation] = MappingProxyType(
    {
        "hooks_on_api_error": Ablation(
            "Stop hooks judge an API error: error, block, retry, error.",
            (
                Edit("told_as_error", "target", "api_error", "stop_hooks"),
                Edit("told_as_completed", "target", "completed", "stop_hooks"),
            ),
            "spec K15",
        ),
        "hooks_on_prompt_too_long": Ablation(
            "Stop hooks judge a prompt that stays too long.",
            (Edit("prompt_stays_too_long", "target", "prompt_too_long", "stop_hooks"),),
            "spec K15",
        ),
        "no_last_guard": Ablation(
            "A drain may follow a drain.",
            (Edit("may_drain", "guard", "last != 'collapse_drain_retry' and "),),
            "spec I.23",
        ),
        "no_reactive_flag": Ablation(
            "Reactive compaction is tried whenever the prompt is too long.",
            (
                Edit("may_compact", "guard", " and not reactive_tried"),
                Edit(
                    "compact_reactively:failed",
                    "target",
                    "reactive_gate",
                    "prompt_too_long",
                ),
            ),
            "spec I.25",
        ),
        "uncapped_output_recovery": Ablation(
            "A truncated answer is resumed as often as it is truncated.",
            (
                Edit(
                    "resume",
                    "guard",
                    "output_recoveries < max_output_recoveries and ",
                ),
                Edit(
                    "resume",
                    "action",
                    "output_recoveries += 1",
                    "output_recoveries = "
                    "min(output_recoveries + 1, max_output_recoveries)",
                ),
            ),
            "spec I.22",
        ),
        "reactive_reset_on_block": Ablation(
            "A block of a stop hook allows another reactive compaction.",
            (
                Edit(
                    "block",
                    "action",
                    "stop_hook_active = True",
                    "stop_hook_active = True; reactive_tried = False",
                ),
            ),
            "spec K14",
        ),
        **GATES,
    }
)


def ablate(machine: Machine, names: Iterable[str]) -> Machine:
    """Return the query loop with the named ablations.

    Raises:
        UnknownName: no such ablation, or the machine lacks the row.
        BadDeclaration: the row no longer reads as the ablation expects.
    """
    for name in dict.fromkeys(names):
        if name not in ABLATIONS:
            raise UnknownName("ablation", name, tuple(ABLATIONS))
        for edit in ABLATIONS[name].edits:
            machine = _edited(machine, edit, name)
    return machine


def _edited(machine: Machine, edit: Edit, name: str) -> Machine:
    text: str = getattr(machine.row(edit.row), edit.field)
    if edit.old not in text:
        place = f"machine {machine.name!r}, row {edit.row}, {edit.field}"
        raise BadDeclaration(place, f"ablation {name!r} does not find {edit.old!r}")
    return machine.amend(edit.row, **{edit.field: text.replace(edit.old, edit.new)})
