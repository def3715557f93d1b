"""Strategies for what a Messages API answers: replies of the model, and faults.

The values are those of `engine.faults`: put them into a `Schedule`, and let a fault
server or transport play it to any client. They shrink to an empty reply,
and to a fault with its default numbers.
"""

from collections.abc import Collection, Sequence

from hypothesis import strategies as st

from unspiral.engine.errors import UnknownName
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.fault import GROUPS, Fault, Parameter
from unspiral.engine.faults.plans import Number
from unspiral.engine.faults.reply import Block, Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.schedule import Play

__all__ = ["faults", "replies"]

_STOPS = ("end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn")
_MOST_SECONDS = 600.0  # of a number that is drawn, beside its default


def replies(
    *, tools: Sequence[str] = ("",), max_calls: int = 2
) -> st.SearchStrategy[Reply]:
    """Return a strategy for well-formed replies of the model.

    A reply has thinking or not, text or not, and some calls; with a call it stops for
    that, or is cut by `max_tokens`. It may be empty.

    Args:
        tools: the names that are called; "" stands for a tool that the request offers.
        max_calls: of one reply; 0: none calls a tool.
    """
    texts = st.sampled_from(("Done.", "", "I will look.\nIt may take a while.", "é☃"))
    thinking = st.lists(st.builds(Thinking, st.just("Hm.")), max_size=1)
    said = st.lists(st.builds(Text, texts.filter(bool)), max_size=2)
    names = st.sampled_from(tuple(tools) or ("",))
    calls = st.lists(st.builds(ToolUse, names), max_size=max_calls)

    def made(
        before: list[Thinking], text: list[Text], called: list[ToolUse], stop: str
    ) -> Reply:
        blocks: tuple[Block, ...] = (*before, *text, *called)
        if called:
            stop = "max_tokens" if stop == "max_tokens" else "tool_use"
        sequence = "STOP" if stop == "stop_sequence" else None
        return Reply(blocks, stop, sequence)

    return st.builds(made, thinking, said, calls, st.sampled_from(_STOPS))


def faults(
    names: Collection[str] | None = None, *, group: str | None = None
) -> st.SearchStrategy[Play]:
    """Return a strategy for faults, ready to be played.

    Args:
        names: only these; all of the catalogue unless given.
        group: only those of this group, such as "status".

    Raises:
        UnknownName: no such fault or group.
    """
    for name in names or ():
        if name not in CATALOGUE:
            raise UnknownName("fault", name, tuple(CATALOGUE))
    if group is not None and group not in GROUPS:
        raise UnknownName("group of faults", group, tuple(GROUPS))
    chosen = [
        fault
        for name, fault in CATALOGUE.items()
        if (names is None or name in names) and group in {None, fault.group}
    ]
    return st.one_of(*map(_played, chosen)) if chosen else st.nothing()


def _played(fault: Fault) -> st.SearchStrategy[Play]:
    numbers = {name: _number(each) for name, each in fault.parameters.items()}
    drawn = st.fixed_dictionaries({}, optional=numbers)
    return st.builds(Play, st.just(fault.name), st.none(), drawn)


def _number(parameter: Parameter) -> st.SearchStrategy[Number]:
    high = max(parameter.low, min(parameter.high, _MOST_SECONDS))
    if parameter.whole:
        return st.integers(int(parameter.low), int(high))
    return st.floats(float(parameter.low), float(high), allow_nan=False)
