"""Context shaping: the four light stages that each request passes, in fixed order.

Each feeds the next. None calls the model, and none may fail: a stage that is switched
off, or finds nothing to do, passes the history on as it is.
"""

from unspiral.engine.core.declare import Event, Law, Limit, Machine, Phase, Terminal
from unspiral.machines.notation import on

__all__ = ["SHAPING"]

# fmt: off
_ROWS = (
    on("result_budget", "within",    "snip"),
    on("result_budget", "replaced",  "snip", doc="Large tool results become stubs."),
    on("snip",          "kept",      "microcompact"),
    on("snip",          "snipped",   "microcompact"),
    on("microcompact",  "kept",      "collapse"),
    on("microcompact",  "cleared",   "collapse"),
    on("collapse",      "kept",      "shaped"),
    on("collapse",      "projected", "shaped", doc="The stored history is unchanged."),
)
# fmt: on

SHAPING = Machine(
    name="shaping",
    doc="From the stored history to the list of messages that is sent.",
    source="spec B.2",
    phases=(
        Phase(
            "result_budget",
            events=("within", "replaced"),
            doc="Tool results over their budget are stored aside. First, since the "
            "later stages know results by their id only.",
        ),
        Phase(
            "snip",
            events=(Event("kept"), Event("snipped", "history_snip")),
            doc="Old messages are removed.",
        ),
        Phase(
            "microcompact",
            events=(Event("kept"), Event("cleared", "microcompact_on")),
            doc="The text of old tool results is cleared.",
        ),
        Phase(
            "collapse",
            events=(Event("kept"), Event("projected", "context_collapse")),
            doc="Old parts are shown as their summaries.",
        ),
    ),
    terminals=(Terminal("shaped", doc="The messages are ready to be measured."),),
    transitions=_ROWS,
    limits=(
        Limit(
            "history_snip",
            default=True,
            source="spec B.2",
            doc="Old messages may be removed.",
        ),
        Limit(
            "microcompact_on",
            default=True,
            source="spec E.2",
            doc="Old tool results may be cleared.",
        ),
        Limit(
            "context_collapse",
            default=True,
            source="spec B.2",
            doc="Old parts are folded away, and staged folds can be drained.",
        ),
    ),
    laws=(
        Law(
            "stages_in_order",
            "precedence",
            what="phase == 'collapse'",
            other="phase == 'microcompact'",
            doc="Collapse sees what microcompact left.",
            source="law 53",
        ),
        Law(
            "each_stage_once",
            "bounded",
            what="phase == 'snip'",
            at_most="1",
            source="law 53",
        ),
    ),
)
