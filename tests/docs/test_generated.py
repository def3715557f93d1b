"""What the documentation shows of the machines is what they are now."""

import pytest

from docs.generate import FILES, GENERATED


@pytest.mark.parametrize("name", FILES)
def test_a_generated_file_is_what_would_be_written_now(name: str) -> None:
    assert (GENERATED / name).read_bytes() == FILES[name]()


def test_nothing_else_stands_among_the_generated_files() -> None:
    found = {
        path.relative_to(GENERATED).as_posix()
        for path in GENERATED.rglob("*")
        if path.is_file()
    }

    assert found == set(FILES)
