"""The catalogue on the command line."""

import json
import re
from collections.abc import Callable

import pytest
from click.testing import Result

from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.schedule import Play
from unspiral.engine.faults.schedule_file import schedule_from_toml

Invoke = Callable[..., Result]


def test_the_list_has_every_fault_once(invoke: Invoke) -> None:
    lines = invoke("faults").stdout.splitlines()
    names = [line.split()[0] for line in lines if re.match(r"  \w", line)]

    assert names == list(CATALOGUE)


def test_the_list_is_json_too(invoke: Invoke) -> None:
    told = json.loads(invoke("faults", "--json").stdout)

    assert [each["name"] for each in told] == list(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_fault_is_told_in_full(invoke: Invoke, name: str) -> None:
    text = " ".join(invoke("faults", name).stdout.split())
    fault = CATALOGUE[name]
    docs = [each.doc for each in fault.parameters.values()]

    for said in (fault.group, fault.description, fault.rule, fault.expect, *docs):
        assert " ".join(said.split()) in text


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_to_be_written_in_a_schedule_can_be_read(
    invoke: Invoke, name: str
) -> None:
    _, example = invoke("faults", name).stdout.split("in a schedule:\n")
    (step,) = schedule_from_toml(example).steps

    assert step.play.fault == name
    assert step.play.all_numbers == Play(name).all_numbers
    assert (step.play.reply is None) == CATALOGUE[name].speaks


def test_a_fault_is_json_too(invoke: Invoke) -> None:
    told = json.loads(invoke("faults", "rate_limited", "--json").stdout)

    assert told["parameters"]["seconds"]["high"] == 10**9
    assert not told["takes_reply"]


def test_a_mistyped_fault_gets_the_nearest(invoke: Invoke) -> None:
    result = invoke("faults", "overloded")

    assert result.exit_code == 2
    assert "did you mean 'overloaded'?" in result.stderr
    assert result.stdout == ""
