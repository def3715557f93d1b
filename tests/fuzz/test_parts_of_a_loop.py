"""Replies, faults, hooks and tools at random can be used as they are, and shrink."""

import asyncio
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from unspiral.engine.core.findings import FINDINGS
from unspiral.engine.core.validate import validate
from unspiral.engine.errors import UnknownName
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.faults.reply import Reply, Text
from unspiral.engine.faults.schedule import Play, Schedule, Step
from unspiral.engine.faults.transport import FaultTransport
from unspiral.engine.fuzz import faults, ill_formed, machines, replies
from unspiral.engine.fuzz.live import hooks, tools
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.ports import HookCall, HookWord
from unspiral.engine.live.tools.registry import Tool, Toolbox

SOME = settings(max_examples=40, deadline=None, derandomize=True, database=None)
DRAWN = sorted(FINDINGS.keys() - {"too_large"})


@pytest.mark.parametrize("kind", DRAWN)
def test_an_ill_formed_machine_has_the_finding_that_was_asked_for(kind: str) -> None:
    @settings(SOME, max_examples=8)
    @given(ill_formed(kind))
    def check(machine: Any) -> None:
        assert kind in {finding.code for finding in validate(machine)}

    check()


@SOME
@given(ill_formed())
def test_any_ill_formed_machine_has_a_finding(machine: Any) -> None:
    assert validate(machine)


@SOME
@given(machines(nested=False, max_phases=3))
def test_a_well_formed_machine_can_be_compiled(machine: Any) -> None:
    assert not [finding for finding in validate(machine) if finding.forbids]


def test_a_kind_that_is_not_drawn_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'overlap'"):
        ill_formed("overlaps")


def asked(play: Play) -> object:
    """What the SDK makes of an answer, in virtual time."""

    async def ask() -> object:
        schedule = Schedule((Step(play),), side=None)
        transport = httpx2.AsyncClient(transport=FaultTransport(schedule))
        client = anthropic.AsyncAnthropic(
            api_key="x",
            base_url="http://faults.invalid",
            http_client=transport,
            max_retries=0,
            timeout=700,
        )
        try:
            return await client.messages.create(
                model="claude-sonnet-5-5",
                max_tokens=100,
                messages=[{"role": "user", "content": "Go on."}],
                tools=[{"name": "act", "input_schema": {"type": "object"}}],
            )
        except Exception as error:  # noqa: BLE001 - the SDK raises what it likes
            return error
        finally:
            await client.close()

    return run_virtual(ask())


@SOME
@given(replies())
def test_a_reply_arrives_as_it_was_drawn(reply: Reply) -> None:
    message = asked(Play(reply=reply))

    assert isinstance(message, anthropic.types.Message)
    assert message.stop_reason == reply.stop
    assert len(message.content) == len(reply.blocks)


@SOME
@given(faults())
def test_every_fault_that_is_drawn_can_be_played(play: Play) -> None:
    assert play.fault in CATALOGUE
    assert asked(play) is not None


def is_text(block: object) -> bool:
    return isinstance(block, Text)


def test_replies_and_faults_shrink_to_the_plainest() -> None:
    assert find(replies(), lambda _: True, settings=SOME).blocks == ()
    spoken = find(replies(), lambda r: any(map(is_text, r.blocks)), settings=SOME)
    assert spoken.blocks == (Text("Done."),)
    assert dict(find(faults(), lambda _: True, settings=SOME).numbers) == {}


def test_faults_can_be_chosen_by_name_and_by_group() -> None:
    found: set[str] = set()

    @SOME
    @given(faults(group="status") | faults(["overloaded"]))
    def collect(play: Play) -> None:
        found.add(play.fault)

    collect()

    assert {CATALOGUE[name].group for name in found} == {"status"}
    with pytest.raises(UnknownName, match="no group of faults 'statu'"):
        faults(group="statu")
    with pytest.raises(UnknownName, match="did you mean 'overloaded'"):
        faults(["overload"])


@SOME
@given(st.lists(hooks(), max_size=3))
def test_hooks_say_words_and_fall_silent(drawn: list[Hook]) -> None:
    async def words() -> list[HookWord]:
        all_hooks = HookList(tuple(drawn))
        call = HookCall("Stop", {})
        return [await all_hooks.call(call) for _ in range(6)]

    said = asyncio.run(words())

    assert said[-1] == HookWord()


@SOME
@given(tools("act"))
def test_a_tool_never_raises_and_answers_in_the_end(drawn: Tool) -> None:
    async def called() -> list[str]:
        box = Toolbox([drawn])
        return [(await box.run("act", {"text": "x"})).text for _ in range(6)]

    assert asyncio.run(called())[-1] == "done"


def test_tools_and_hooks_shrink_to_the_plainest() -> None:
    plain = find(tools(), lambda _: True, settings=SOME)
    hook = find(hooks(), lambda _: True, settings=SOME)

    assert (plain.safe, plain.traits.runs_shell) == (False, False)
    assert tuple(hook.points) == ("Stop",)
