"""How rows of the shipped machines are written: source, event, guard -> target, action.

Declarations read from left to right as people say them; `Transition` takes its target
second. Nothing else is here.
"""

from collections.abc import Mapping

from unspiral.engine.core.declare import Transition

__all__ = ["on", "when"]


def on(  # noqa: PLR0913, PLR0917 - the columns of a row
    source: str,
    event: str,
    target: str,
    guard: str = "",
    action: str = "",
    reason: str = "",
    *,
    name: str = "",
    progress: bool = False,
    cost: Mapping[str, int] | None = None,
    layer: str = "",
    doc: str = "",
    cite: str = "",
) -> Transition:
    """Return a row of an acting phase: `source` is answered `event`."""
    return Transition(
        source,
        target,
        event,
        guard,
        action,
        reason,
        progress=progress,
        cost=cost or {},
        layer=layer,
        name=name,
        doc=doc,
        cite=cite,
    )


def when(  # noqa: PLR0913 - the columns of a row
    source: str,
    guard: str,
    target: str,
    action: str = "",
    reason: str = "",
    *,
    name: str = "",
    raises: tuple[str, ...] = (),
    layer: str = "",
    doc: str = "",
    cite: str = "",
) -> Transition:
    """Return a row of a deciding phase: in `source`, if `guard` holds."""
    return Transition(
        source,
        target,
        "",
        guard,
        action,
        reason,
        raises=raises,
        layer=layer,
        name=name,
        doc=doc,
        cite=cite,
    )
