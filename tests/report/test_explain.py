"""A word of a machine is explained from the declaration alone."""

import json
from collections.abc import Callable

import pytest

from unspiral.engine.core.declare import Machine, Phase, Terminal, Transition
from unspiral.engine.report.explain import (
    explain_finding,
    explain_word,
    explanation_lines,
    explanation_object,
    words,
)
from unspiral.engine.report.lines import plain


def told(machine: Machine, word: str) -> str:
    return plain(explanation_lines(explain_word(machine, word)), width=200)


def nesting(inner: Machine) -> Machine:
    return Machine(
        name="outer",
        phases=(Phase("start", events=("go",)), Phase("work", runs=inner)),
        terminals=(Terminal("end"),),
        transitions=(
            Transition("start", "work", "go"),
            Transition("work", "end", "done"),
            Transition("work", "end", "spent"),
        ),
    )


@pytest.mark.parametrize(
    ("word", "heads"),
    [
        ("blocked", "blocked: machine"),
        ("stop_hook_blocking", "stop_hook_blocking: reason of blocked"),
        ("cap", "cap: limit of blocked"),
        ("hook", "hook: phase of blocked"),
        ("spent", "spent: terminal of blocked"),
        ("blocks", "blocks: memory of blocked"),
        ("block", "block: event of blocked"),
        ("short", "short: edition of blocked"),
        ("hooks_accept", "hooks_accept: assumption of blocked"),
        ("starts", "starts: law of blocked"),
        ("decide#1", "decide#1: row of blocked"),
    ],
)
def test_every_kind_of_word_is_explained(
    blocked: Machine, word: str, heads: str
) -> None:
    assert told(blocked, word).startswith(heads + "\n")


def test_a_reason_names_its_rows_and_layer(blocked: Machine) -> None:
    text = told(blocked, "stop_hook_blocking")

    assert "layer: hooks" in text
    assert "decide otherwise -> shape" in text


def test_a_limit_tells_unit_source_editions_and_who_is_bounded(
    blocked: Machine,
) -> None:
    text = told(blocked, "cap")

    assert "default: 8" in text
    assert "unit: blocks" in text
    assert "source: official hooks reference" in text
    assert "editions: published 8, short 2" in text
    assert "bounds: blocks" in text
    assert "min(blocks + 1, cap)" in text


def test_a_reading_tells_why_its_default_was_chosen(blocked: Machine) -> None:
    assert "reading: the sources are silent" in told(blocked, "kept")


def test_an_unknown_word_is_explained_by_nothing(blocked: Machine) -> None:
    assert explain_word(blocked, "nowhere") == []


def test_words_of_inner_machines_are_found_too(blocked: Machine) -> None:
    outer = nesting(blocked)

    assert words(outer)["stop_hook_blocking"] == "reason"
    assert "reason of blocked" in told(outer, "stop_hook_blocking")


def test_the_name_of_an_inner_phase_in_a_counterexample_is_found(
    blocked: Machine,
) -> None:
    assert "hook: phase of blocked" in told(nesting(blocked), "work.hook")


def test_the_code_of_a_finding_is_explained() -> None:
    text = plain(explanation_lines([explain_finding("unknown_name")]))

    assert text.startswith("unknown_name: finding\n  meaning: A name")
    assert "severity: error and the machine cannot be compiled" in text


def test_an_explanation_is_json_too(blocked: Machine) -> None:
    (explained,) = explain_word(blocked, "cap")

    plain_object = json.loads(json.dumps(explanation_object(explained)))

    assert plain_object["kind"] == "limit"
    assert plain_object["facts"]["unit"] == "blocks"


def test_hostile_text_is_escaped(blocked_with: Callable[[str], Machine]) -> None:
    machine = blocked_with("\x1b[31m")

    text = told(machine, "cap") + told(machine, "hooks_accept")

    assert "\x1b" not in text
    assert "\\x1b[31m" in text
