"""Broken and hostile machine files: each ends in one clear error, and nothing else.

The files are made here, for many are too big or too odd to be kept.
"""

import itertools
import os
import stat
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from unspiral import machines
from unspiral.engine.cli.machine_files import load_machine, save_machine
from unspiral.engine.core.declare import Limit, Machine, Phase, Terminal, Transition
from unspiral.engine.core.files import machine_to_toml
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.errors import FileProblem, MachineFileError, UnspiralError

SOUND = """\
name = "retry"
[limits]
most = 3
[memory]
tries = "0..most"
[phases]
call = ["ok", "fail"]
[terminals]
done = "done"
gave_up = "limit"
[[transitions]]
source = "call"
event = "ok"
target = "done"
[[transitions]]
source = "call"
event = "fail"
guard = "tries < most"
target = "call"
action = "tries += 1"
reason = "again"
[[transitions]]
source = "call"
event = "fail"
guard = "otherwise"
target = "gave_up"
"""


def but(old: str, new: str) -> str:
    """Return the sound file with one thing changed."""
    assert old in SOUND
    return SOUND.replace(old, new, 1)


def guard(text: str) -> str:
    return but('"tries < most"', f'"{text}"')


def chain(length: int, last: str) -> str:
    """Return a file of machines, each run by the one before."""
    names = [*(f"m{i}" for i in range(length + 1)), last]
    tables = [
        f'[machines.{name}]\nphases.p = {{ runs = "{after}" }}'
        for name, after in itertools.pairwise(names)
    ]
    return 'name = "top"\n[phases]\np = { runs = "m0" }\n' + "\n".join(tables)


def doubling(levels: int) -> str:
    """Return a small file that is flattened to 2**levels machines."""
    tables = [
        f'[machines.m{i}]\nphases.p = {{ runs = "m{i + 1}" }}\n'
        f'phases.q = {{ runs = "m{i + 1}" }}\nterminals.e = "done"\n'
        f'transitions = [{{ source = "p", event = "e", target = "q" }}, '
        f'{{ source = "q", event = "e", target = "e" }}]'
        for i in range(levels)
    ]
    last = (
        f'[machines.m{levels}]\nphases.p = ["a"]\nterminals.e = "done"\n'
        'transitions = [{ source = "p", event = "a", target = "e" }]'
    )
    first = 'name = "top"\nphases.p = { runs = "m0" }\nterminals.e = "done"\n'
    first += 'transitions = [{ source = "p", event = "e", target = "e" }]\n'
    return first + "\n".join([*tables, last])


ROW = '[[transitions]]\nsource = "call"\nevent = "ok"\ntarget = "done"\n'
BIG = "x" * 100_000

# A file, and a part of what must be said of it.
BROKEN: dict[str, tuple[str | bytes, str]] = {
    # no TOML
    "empty": ("", "'name' is missing"),
    "only a comment": ("# nothing", "'name' is missing"),
    "two equals signs": (but("most = 3", "most = = 3"), "no valid TOML"),
    "no end of a string": (but('"retry"', '"retry'), "no valid TOML"),
    "no end of a table name": (but("[limits]", "[limits"), "no valid TOML"),
    "a key twice": (but("most = 3", "most = 3\nmost = 4"), "no valid TOML"),
    "a table twice": (SOUND + "[limits]\n", "no valid TOML"),
    "a list that is a table too": (SOUND + "[transitions]\n", "no valid TOML"),
    "JSON": ('{"name": "retry"}', "no valid TOML"),
    "YAML": ("name: retry\nphases:\n  - call\n", "no valid TOML"),
    "a program": ("\x7fELF\x02\x01\x01\x00\x00", "no valid TOML"),
    "null bytes": (but("retry", "re\x00try"), "no valid TOML"),
    "only null bytes": (b"\x00" * 5_000, "no valid TOML"),
    "a byte order mark": ("\ufeff" + SOUND, "byte order mark"),
    "UTF-16": (SOUND.encode("utf-16"), "no UTF-8"),
    "Latin-1": (but("retry", "r\xe9try").encode("latin-1"), "no UTF-8"),
    "half a surrogate": (but('"retry"', '"\\ud800"'), "no valid TOML"),
    # too much of it
    "ten megabytes of junk": (os.urandom(1_000) * 10_000, "longer than 1,000,000"),
    "ten megabytes of comment": (b"#" * 10_000_000, "longer than 1,000,000"),
    "lists in lists": (f"a = {'[' * 100_000}{']' * 100_000}", "nested too deeply"),
    "tables in tables": (f"a = {'{a=' * 100_000}1", "nested too deeply"),
    "a key of many parts": (f"{'a.' * 400_000}a = 1", "too many parts"),
    "a table of many parts": (f"[{'a.' * 400_000}a]", "too many parts"),
    "a key of many quoted parts": ("'a' . " * 100_000 + "a = 1", "too many parts"),
    "a key of many letters": (f"{'a' * 900_000} = 1", "unknown key 'aaa"),
    "ten thousand rows": (SOUND + ROW * 10_000, "at most 2,000"),
    "ten thousand limits": (
        but("most = 3", "\n".join(f"l{i} = 1" for i in range(10_000))),
        "at most 2,000",
    ),
    "ten thousand events": (
        but('"ok", ', ", ".join(f'"e{i}"' for i in range(10_000)) + ", "),
        "at most 2,000",
    ),
    # wrong keys and types
    "an unknown part": (but("[memory]", "[memmory]"), "did you mean 'memory'"),
    "no phase": ('name = "a"', "'phases' is missing"),
    "an empty table of phases": ('name = "a"\n[phases]', "it has no phase"),
    "a name that is a number": (but('"retry"', "7"), "must be a string"),
    "a name with a new line": (but('"retry"', '"a\\nb"'), "is no name"),
    "a name with markup": (but('"retry"', '"<b>[red]a[/]</b>"'), "is no name"),
    "a name of 100,000 characters": (but('"retry"', f'"{BIG}"'), "is no name"),
    "a phase with a new line": (but("call = ", '"a\\nb" = '), "is no name"),
    "a phase that is a word of Python": (but("call = ", "while = "), "word of Python"),
    "a row of 100,000 characters": (
        but('reason = "again"', f'name = "{BIG}"'),
        "at most 200",
    ),
    "NaN": (but("most = 3", "most = nan"), "nan"),
    "infinity": (but("most = 3", "most = inf"), "inf"),
    "a number with a point": (but("most = 3", "most = 3.0"), "with a point"),
    "a date": (but("most = 3", "most = 2024-02-29"), "a date"),
    "a date that is none": (but("most = 3", "most = 2024-02-30"), ""),
    "a number of 20 digits": (but("most = 3", f"most = 1{'0' * 20}"), "1,000,000,000"),
    "a number of 5,000 digits": (but("most = 3", f"most = {'9' * 5_000}"), "number"),
    "a number of 800,000 hexadecimal digits": (
        but("most = 3", f"most = 0x{'f' * 800_000}"),
        "a greater number",
    ),
    "a negative limit": (but("most = 3", "most = -1"), "0 to 1,000,000,000"),
    "an end of an unknown kind": (but('"limit"', '"limits"'), "did you mean 'limit'"),
    "rows that are one table": (
        SOUND.partition("[[transitions]]")[0] + "[transitions]\nsource = 'call'",
        "must be a list",
    ),
    "phases that are a list": ('name = "a"\nphases = ["call"]', "must be a table"),
    "costs that are texts": (
        but('reason = "again"', 'cost = { model_calls = "1" }'),
        "a whole number",
    ),
    "a memory that is a number": (but('"0..most"', "3"), "a counter"),
    "a counter without an end": (but('"0..most"', '"0.."'), "low..high"),
    # what cannot be compiled
    "an unknown limit": (but("0..most", "0..mots"), "did you mean 'most'"),
    "an unknown memory": (guard("tires < most"), "did you mean 'tries'"),
    "an unknown target": (but('"gave_up"\n', '"gave_in"\n'), "did you mean 'gave_up'"),
    "an unknown event": (but('event = "ok"', 'event = "okay"'), "did you mean 'ok'"),
    "a guard that is a number": (guard("tries + 1"), "true or false"),
    "a guard with a call": (guard("__import__('os').system('true')"), "language"),
    "a guard with a new line": (guard("tries <\\nmost"), "syntax"),
    "a guard of 900,000 characters": (guard("tries < most or " * 56_000), "at most"),
    "a guard in 900 brackets": (guard("(" * 900 + "True" + ")" * 900), ""),
    "a guard of 900 nots": (guard("not " * 480 + "True"), ""),
    "a guard of 900 minus signs": (guard("0 < " + "-" * 1_900 + "1"), ""),
    "a guard with a huge number": (guard(f"tries < 1{'0' * 1_000}"), "number"),
    "an action that is none": (but("tries += 1", "tries ++ 1"), ""),
    "an action on a limit": (but("tries += 1", "most = 4"), "limits never change"),
    "an unknown first phase": (
        but('name = "retry"', 'name = "retry"\ninitial = "cal"'),
        "did you mean 'call'",
    ),
    "two rows of one name": (
        but('reason = "again"', "name = 'a'") + "name = 'a'\n",
        "declared twice",
    ),
    "an edition of an unknown limit": (
        SOUND + "[editions.new]\nlimits = { mots = 1 }",
        "did you mean 'most'",
    ),
    "an edition with a wrong value": (
        SOUND + '[editions.new]\nlimits = { most = "many" }',
        "many",
    ),
    # machines inside
    "a machine inside itself": (
        'name = "a"\nphases.b = { runs = "a" }',
        "one of its own",
    ),
    "a circle of one": (
        'name = "a"\nphases.b = { runs = "c" }\nmachines.c.phases.d = { runs = "c" }',
        "in a circle: c -> c",
    ),
    "a circle of fifty": (chain(50, "m0"), "in a circle"),
    "a circle that nothing runs": (
        SOUND + '[machines.c]\nphases.d = { runs = "c" }',
        "in a circle",
    ),
    "an unknown machine": (
        'name = "a"\nphases.b = { runs = "turnstiel" }',
        "did you mean 'turnstile'",
    ),
    "machines in an inner machine": (
        'name = "a"\n[phases]\nb = []\n[machines.c]\nphases.d = []\nmachines.e = {}',
        "unknown key 'machines'",
    ),
    "a thousand machines": (chain(1_000, "turnstile"), "at most 100"),
    "ninety machines, each in the next": (chain(90, "turnstile"), ""),
    "twenty-five doublings": (doubling(25), "too many machines"),
    "memory that nobody lends": (
        """
        name = "a"
        phases.b = { runs = "c" }
        [machines.c]
        memory.e = { counter = "0..1", shared = true }
        phases.d = []
        """,
        "shares",
    ),
}


def refused(path: Path | str) -> MachineFileError:
    """Load a file that must be refused with one short error."""
    with pytest.raises(UnspiralError) as caught:
        load_machine(path)

    assert isinstance(caught.value, MachineFileError)
    assert 20 < len(str(caught.value)) < 1_000
    assert str(caught.value).startswith(caught.value.path)
    return caught.value


def test_the_file_that_is_broken_here_is_sound_itself(tmp_path: Path) -> None:
    path = tmp_path / "sound.toml"
    path.write_text(SOUND, "utf-8")

    assert load_machine(path).name == "retry"


@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_ends_in_one_clear_error(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    path = tmp_path / "machine.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    assert said in str(refused(path))


NO_FILES: dict[str, Callable[[Path], Path | str]] = {
    "a missing file": lambda folder: folder / "missing.toml",
    "a folder": lambda folder: folder,
    "an endless device": lambda _: Path("/dev/zero"),
    "a link to itself": lambda folder: linked(folder / "link.toml"),
    "a pipe that nobody writes to": lambda folder: piped(folder / "pipe.toml"),
    "a name with a null byte": lambda folder: f"{folder}/a\x00.toml",
    "a name of 100,000 characters": lambda folder: f"{folder}/{BIG}.toml",
    "the empty name": lambda _: "",
}


def linked(path: Path) -> Path:
    path.symlink_to(path)
    return path


def piped(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.mark.skipif(os.name == "nt", reason="devices and pipes are of another kind")
@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_file_ends_in_one_clear_error(
    tmp_path: Path, make: Callable[[Path], Path | str]
) -> None:
    assert refused(make(tmp_path)).place == ""


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything"
)
def test_an_unreadable_file_ends_in_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "secret.toml"
    path.write_text(SOUND, "utf-8")
    path.chmod(0)

    assert "permission denied" in str(refused(path))


# -- saving ----------------------------------------------------------------------------


def test_what_is_saved_can_be_loaded(tmp_path: Path) -> None:
    for name in machines.names():
        machine = machines.load(name)
        save_machine(machine, tmp_path / f"{name}.toml")

        assert load_machine(tmp_path / f"{name}.toml") == machine


def test_a_phase_of_a_file_may_be_run_by_a_shipped_machine(tmp_path: Path) -> None:
    path = tmp_path / "outer.toml"
    path.write_text(
        """
        name = "outer"
        phases.door = { runs = "turnstile" }
        terminals.end = "done"
        transitions = [
            { source = "door", event = "closed", target = "end" },
            { source = "door", event = "alarm", target = "end" },
        ]
        """,
        "utf-8",
    )

    assert load_machine(path).phases[0].runs == machines.load("turnstile")


def small(**changes: object) -> Machine:
    row = Transition("only", "end", **changes)  # type: ignore[arg-type]  # wrong ones, too
    return Machine("small", [Phase("only")], [Terminal("end")], [row])


def nested(levels: int) -> Machine:
    machine = small()
    for _ in range(levels):
        machine = Machine("outer", [Phase("run", runs=machine)], [], [])
    return machine


UNWRITABLE = {
    "two thousand machines, each in the next": nested(2_000),
    "two hundred machines, each in the next": nested(200),
    "a text that is no UTF-8": small(doc="\ud800"),
    "a number that no file may hold": attrs.evolve(
        small(), limits=[Limit("n", 10**20)]
    ),
    "a name of a row that is too long": small(name=BIG),
    "a number of 5,000 digits": attrs.evolve(small(), limits=[Limit("n", 10**5_000)]),
}


@pytest.mark.parametrize("machine", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_no_file_gives_back_is_not_written(
    tmp_path: Path, machine: Machine
) -> None:
    path = tmp_path / "small.toml"
    path.write_text("as it was", "utf-8")

    with pytest.raises(FileProblem, match="cannot be written"):
        save_machine(machine, path)

    assert path.read_text("utf-8") == "as it was"
    assert [each.name for each in tmp_path.iterdir()] == ["small.toml"]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(FileProblem, match="cannot be written"):
        save_machine(small(), tmp_path / "folder")
    with pytest.raises(FileProblem, match="cannot be written"):
        save_machine(small(), tmp_path / "nowhere" / "small.toml")

    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(os.name == "nt", reason="rights are of another kind")
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text("old", "utf-8")
    path.chmod(0o640)

    save_machine(small(), path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_text("utf-8") == machine_to_toml(small())


def test_an_unlimited_limit_is_loaded_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(but("most = 3", 'most = "UNLIMITED"'), "utf-8")

    assert load_machine(path).limits == (Limit("most", UNLIMITED),)
