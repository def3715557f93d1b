"""A plain loop is compared with the machine that it is believed to be."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.test_your_own_agent import BLOCK
from tests.fuzz.loops import SOUND
from unspiral.engine.errors import BadValue
from unspiral.engine.fuzz import compare, differential

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-your-own-loop.md"
Ask = Callable[[str], str]


def adapter(  # noqa: PLR0913 - each is a way to depart
    *,
    most: int = 2,
    turns_most: int = 3,
    renews: bool = True,
    gives_up: str = "gave_up",
    after: str = "act",
    fails: bool = False,
) -> Callable[[Ask], str]:
    """The sound machine of `loops` as plain Python, with ways to depart from it."""

    def loop(ask: Ask) -> str:
        tries = turns = 0
        while True:
            event = ask("call")
            if event == "answer":
                return "completed"
            if event == "fail":
                if tries == most:
                    return gives_up
                tries += 1
                continue
            if fails and turns == 1:
                raise ZeroDivisionError
            if ask(after) == "nothing":
                return "completed"
            if turns == turns_most:
                return "gave_up"
            turns += 1
            tries = 0 if renews else tries

    return loop


def test_a_loop_that_does_what_the_machine_says_never_departs() -> None:
    assert differential(SOUND, adapter(), examples=300) is None


@pytest.mark.parametrize(
    ("loop", "kind", "expected", "found", "events"),
    [
        (adapter(most=1), "ends", "call", "gave_up", "fail fail"),
        (adapter(most=3), "goes on", "gave_up", "call", "fail fail fail"),
        (adapter(gives_up="lost"), "end", "gave_up", "lost", "fail fail fail"),
        (adapter(after="call"), "asks", "act", "call", "use"),
        (
            adapter(renews=False),
            "ends",
            "call",
            "gave_up",
            "fail use done fail fail",
        ),
        (
            adapter(turns_most=4),
            "goes on",
            "gave_up",
            "call",
            "use done use done use done use done",
        ),
        (
            adapter(fails=True),
            "crash",
            "act",
            "ZeroDivisionError: ",
            "use done use",
        ),
    ],
)
def test_a_departure_is_found_and_shrunk_to_the_shortest(
    loop: Callable[[Ask], str], kind: str, expected: str, found: str, events: str
) -> None:
    departure = differential(SOUND, loop, examples=300)

    assert departure is not None
    assert (departure.kind, departure.expected, departure.found) == (
        kind,
        expected,
        found,
    )
    assert len(departure.events) == len(events.split())
    assert compare(SOUND, loop, departure.events) == departure
    assert str(departure).startswith(f"after {' '.join(departure.events)}: the machine")


def test_a_run_that_is_cut_is_no_departure() -> None:
    assert compare(SOUND, adapter(most=1), ["fail"]) is None
    assert compare(SOUND, adapter(most=1), ["fail", "fail"]) is not None


def test_what_the_loop_makes_of_a_departure_does_not_hide_it() -> None:
    def stubborn(ask: Ask) -> str:
        try:
            return ask("act")
        except BaseException as error:
            raise ValueError from error

    def patient(ask: Ask) -> str:
        while True:
            with contextlib.suppress(Exception):
                ask("act")

    departure = compare(SOUND, stubborn, ["use"])

    assert compare(SOUND, patient, ["use"]) == departure

    assert departure is not None
    assert (departure.kind, departure.found) == ("asks", "act")


def test_less_than_one_example_is_refused() -> None:
    with pytest.raises(BadValue, match="1 or more"):
        differential(SOUND, adapter(), examples=0)


def test_the_adapter_of_the_page_is_as_short_as_it_says() -> None:
    blocks = [block for _, block in BLOCK.findall(PAGE.read_text("utf-8"))]
    (text,) = [block for block in blocks if block.startswith("def adapter")]

    assert len(text.splitlines()) <= 20
