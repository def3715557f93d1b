"""Kill -9 anywhere, and go on: as if nothing had happened, but for the call in flight.

`python -m tests.live.kill_campaign` kills as often as one likes.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.live.histories import answer, call
from tests.live.kill_laws import cut_short, wrong
from tests.live.kill_story import TASK, Story
from tests.live.killing import Leg, Told, leg_of, told
from tests.live.running import Bench, Script, calls, said
from tests.live.sessions import START, TABLE
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.faults.pairing import Pairing
from unspiral.engine.live.events import LiveEvent, Warned
from unspiral.engine.live.message import user_text
from unspiral.engine.live.restoring import Call, restore
from unspiral.engine.live.session import MemoryStore, Session
from unspiral.engine.live.session_events import CALL, RESULT, STATE, Event, Keeper
from unspiral.engine.live.tools.registry import tool
from unspiral.engine.live.untyped import fields_of

KILLS = 4  # of each story


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_that_is_killed_anywhere_comes_to_the_same_end(
    tmp_path: Path, seed: int
) -> None:
    story = told(tmp_path, seed, KILLS)

    assert wrong(story) == []
    assert story.kills


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return a story that nobody killed."""
    return told(tmp_path_factory.mktemp("whole"), 0, 0)


def test_without_a_kill_nothing_is_uncertain(whole: Told) -> None:
    assert (len(whole.legs), whole.kills, cut_short(whole)) == (1, 0, frozenset())
    assert wrong(whole) == []


# -- killed at a certain place ---------------------------------------------------------


def cut(folder: Path, whole: Told, length: int) -> Leg:
    """Go on with a session of which only the first events were kept."""
    (folder / "sessions").mkdir()
    path = folder / "sessions" / "cut.session"
    Session.imported(path, whole.legs[-1].events[:length]).close()
    return leg_of(folder, Story(), ["--resume", "cut", "--permission", "bypass"])


def test_one_that_was_killed_before_its_first_word_does_its_task(
    tmp_path: Path, whole: Told
) -> None:
    leg = cut(tmp_path, whole, 1)

    assert (leg.code, leg.complaint) == (0, "")
    history = leg.events[2].value["messages"]
    assert history == whole.legs[0].events[2].value["messages"]
    assert TASK in str(history)


def test_a_call_that_was_running_is_told_and_not_run_again(
    tmp_path: Path, whole: Told
) -> None:
    events = whole.legs[-1].events
    place = next(n for n, event in enumerate(events, 1) if event.kind == CALL)

    leg = cut(tmp_path, whole, place)

    assert leg.code == 0
    warned = [each["text"] for each in leg.said if each["event"] == "warned"]
    assert [text.split()[2] for text in warned] == [events[place - 1].value["id"]]
    begun = [event.value["id"] for event in leg.events if event.kind == CALL]
    assert len(begun) == len(set(begun))


def test_a_run_that_has_ended_is_not_gone_on_with(tmp_path: Path, whole: Told) -> None:
    leg = cut(tmp_path, whole, len(whole.legs[-1].events))

    assert (leg.code, leg.said, leg.exchanges) == (2, (), ())
    assert leg.complaint.endswith("the last run has ended\n")
    assert leg.events == whole.legs[-1].events


@attrs.define
class Disk:
    """A store that remembers how much of it would be there after a kill."""

    memory: MemoryStore = attrs.field(factory=MemoryStore)
    lengths: list[int] = attrs.field(factory=lambda: [1])

    def append(self, kind: str, value: Mapping[str, object]) -> None:
        self.memory.append(kind, value)
        self.lengths.append(len(self.memory.events()))

    def note(self, kind: str, value: Mapping[str, object]) -> None:
        self.memory.note(kind, value)


def test_no_kill_parts_a_run_from_the_prompt_that_it_begins_with() -> None:
    disk = Disk()

    Bench(Script([said()]), store=disk).run()

    events = disk.memory.events()
    for kept in (restore(events[:length]) for length in disk.lengths):
        assert bool(kept.history) is (kept.machine is not None or bool(kept.terminal))
    assert len(disk.lengths) > len({"begin", "prompt", "answer"})


def test_what_is_uncertain_is_kept_as_such_until_it_has_been_told() -> None:
    store = MemoryStore()
    keeper = Keeper(store, TABLE)
    keeper.began(START)
    keeper.appended([user_text("Do it."), answer(call("a"))])
    keeper.calling(call("a"))
    bench = Bench(Script([said()]), store=store, restored=store.restored())

    async def killed_when_told() -> tuple[LiveEvent, tuple[Call, ...]]:
        events = bench.agent().run()
        first = await anext(events)
        kept = store.restored().in_flight
        await events.aclose()
        return first, kept

    first, kept = run_virtual(killed_when_told())

    assert isinstance(first, Warned)
    assert [each.id for each in kept] == ["a"]


def test_a_call_is_spent_before_it_runs() -> None:
    store, spent = MemoryStore(), list[object]()

    @tool({"properties": {}}, safe=False)
    async def look_at_the_books() -> str:
        """Look at what is spent."""
        spent.append(fields_of(store.restored().ledgers["spent"])["tool_calls"])
        return "Seen."

    script = Script([calls("look_at_the_books", id_=f"m{n}") for n in (1, 2)])
    script.outcomes = [*script.outcomes, said()]
    Bench(script, tools=[look_at_the_books], store=store).run()

    assert spent == [1, 2]


# -- the laws see ----------------------------------------------------------------------


def changed(story: Told, number: int, **fields: object) -> Told:
    """Return a story of which one event of the session is another one."""
    leg = story.legs[-1]
    events = list(leg.events)
    value = {**events[number].value, **fields}
    events[number] = attrs.evolve(events[number], value=value)
    return with_leg(story, events=tuple(events))


def with_leg(story: Told, **fields: Any) -> Told:
    """Return a story of which the process has come to something else."""
    return attrs.evolve(story, legs=(attrs.evolve(story.legs[-1], **fields),))


def last(story: Told, kind: str, field: str) -> tuple[int, Event]:
    """Return the last event of a kind that has a field, and its place."""
    events = list(enumerate(story.legs[-1].events))
    return next(each for each in reversed(events) if has(each[1], kind, field))


def with_spent(story: Told, **spent: int) -> Told:
    """Return a story that has spent something else at its end."""
    number, event = last(story, STATE, "ledgers")
    ledgers = fields_of(event.value["ledgers"])
    changed_ = {**fields_of(ledgers["spent"]), **spent}
    return changed(story, number, ledgers={**ledgers, "spent": changed_})


def has(event: Event, kind: str, field: str) -> bool:
    return event.kind == kind and field in event.value


def a_lost_event(story: Told) -> Told:
    events = story.legs[-1].events
    return with_leg(story, events=(*events[:9], *events[10:]))


def a_lost_end(story: Told) -> Told:
    return with_leg(story, events=story.legs[-1].events[:-1])


def another_result(story: Told) -> Told:
    number, event = last(story, RESULT, "block")
    block = {**fields_of(event.value["block"]), "content": "another"}
    return changed(story, number, block=block)


def a_ledger_that_went_back(story: Told) -> Told:
    return with_spent(story, turns=0)


def calls_that_are_not_counted(story: Told) -> Told:
    return with_spent(story, tool_calls=1)


def an_effect_too_many(story: Told) -> Told:
    return _logged(story, "b1\nb2\nb3\nb4\nb5\nb6\nb7\nb8\nb9\nb9\n")


def an_effect_too_few(story: Told) -> Told:
    return _logged(story, "b1\nb2\nb3\nb4\nb5\nb6\nb7\nb8\n")


def an_effect_of_nobody(story: Told) -> Told:
    return _logged(story, "b1\nb2\nb3\nb4\nb5\nb6\nb7\nb8\nb9\nc1\n")


def _logged(story: Told, text: str) -> Told:
    folder = story.folder.with_name("changed")
    folder.mkdir(exist_ok=True)
    for path in story.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "log.txt").write_text(text, "utf-8")
    return attrs.evolve(story, folder=folder)


def a_broken_request(story: Told) -> Told:
    exchanges = list(story.legs[-1].exchanges)
    broken = (Pairing("call_without_result", 1, "b1"),)
    asked = attrs.evolve(exchanges[-1].asked, broken=broken)
    exchanges[-1] = attrs.evolve(exchanges[-1], asked=asked)
    return with_leg(story, exchanges=tuple(exchanges))


def requests_that_are_not_counted(story: Told) -> Told:
    return with_leg(story, exchanges=story.legs[-1].exchanges * 2)


def a_call_that_is_not_kept(story: Told) -> Told:
    told_of = {"event": "calling", "id": "b99"}
    return with_leg(story, said=(told_of, *story.legs[-1].said))


def a_result_that_is_not_kept(story: Told) -> Told:
    told_of = {"event": "called", "id": "b99"}
    return with_leg(story, said=(told_of, *story.legs[-1].said))


def a_warning_for_nothing(story: Told) -> Told:
    warned = {"event": "warned", "text": "The call b1 of 'bash' was running"}
    return with_leg(story, said=(warned, *story.legs[-1].said))


def a_complaint(story: Told) -> Told:
    return with_leg(story, complaint="Traceback")


def another_code(story: Told) -> Told:
    return with_leg(story, code=1)


@pytest.mark.parametrize(
    "plant",
    [
        a_lost_event,
        a_lost_end,
        another_result,
        a_ledger_that_went_back,
        calls_that_are_not_counted,
        an_effect_too_many,
        an_effect_too_few,
        an_effect_of_nobody,
        a_broken_request,
        requests_that_are_not_counted,
        a_call_that_is_not_kept,
        a_result_that_is_not_kept,
        a_warning_for_nothing,
        a_complaint,
        another_code,
    ],
)
def test_no_law_is_blind(whole: Told, plant: Callable[[Told], Told]) -> None:
    assert wrong(plant(whole))
