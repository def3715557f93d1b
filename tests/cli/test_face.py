"""`import unspiral` gives what people need, and costs nothing."""

import subprocess
import sys

import pytest

import unspiral


@pytest.mark.parametrize("name", unspiral.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(unspiral, name) is not None
    assert name in dir(unspiral)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(unspiral, "nothing")  # noqa: B009 - a checker would refuse the dot


def test_the_import_loads_no_library(variables: dict[str, str]) -> None:
    code = (
        "import sys; before = set(sys.modules); import unspiral\n"
        "print(sorted(n for n in set(sys.modules) - before if '.' not in n))"
    )

    result = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    loaded = result.stdout
    assert "unspiral" in loaded
    assert [n for n in ("attrs", "numpy", "click", "rich") if n in loaded] == []
