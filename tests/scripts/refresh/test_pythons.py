from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.refresh.index import IndexFile
from scripts.refresh.pythons import spans

pytest.importorskip("pip", reason="the refresh scripts read the index as pip is configured for it")


def rows(*names: str) -> list[tuple[str, str, str | None]]:
    """The rows of these files: Python, first and last release."""
    found = spans("numpy", [IndexFile(name, "u") for name in names], ("numpy-wheels",))
    return [(str(row.python), str(row.first), str(row.last) if row.last else None) for row in found]


def wheel(release: str, python: int, platform: str = "manylinux_2_17_x86_64") -> str:
    return f"numpy-{release}-cp3{python}-cp3{python}-{platform}.whl"


def test_a_python_ends_with_its_last_release_unless_that_is_the_newest() -> None:
    found = rows(wheel("1.19.5", 6), wheel("1.11.3", 6), wheel("1.19.5", 9), wheel("2.0.2", 9))
    assert found == [("3.6", "1.11.3", "1.19.5"), ("3.9", "1.19.5", None)]


def test_a_post_release_counts_as_its_release() -> None:
    assert rows(wheel("0.22.2.post1", 6), wheel("0.23.0", 7)) == [("3.6", "0.22.2", "0.22.2"), ("3.7", "0.23.0", None)]


@pytest.mark.parametrize(
    "name",
    [
        wheel("2.5.0rc1", 12),
        wheel("2.5.0", 12, "win_amd64"),
        wheel("2.5.0", 12, "macosx_14_0_arm64"),
        wheel("2.5.0", 12, "manylinux_2_28_aarch64"),
        "numpy-2.5.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
        "numpy-2.5.0.tar.gz",
    ],
)
def test_what_no_interpreter_on_linux_installs_by_default_is_left_out(name: str) -> None:
    assert rows(name) == []


@given(files=st.sets(st.tuples(st.integers(6, 14), st.integers(0, 30)), min_size=1))
def test_every_wheel_is_within_its_row(files: set[tuple[int, int]]) -> None:
    found = spans("numpy", [IndexFile(wheel(f"1.{minor}.0", python), "u") for python, minor in files], ())
    by_python = {str(row.python): row for row in found}
    for python, minor in files:
        row = by_python[f"3.{python}"]
        assert row.first[:2] <= (1, minor) <= (row.last or row.first._replace(minor=99))[:2]
