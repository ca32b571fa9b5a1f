from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.derive.wheel_tags import is_accepted
from scripts.refresh.index import IndexFile
from scripts.refresh.tags import oldest, spans, tags_of
from tests.plan.samples import torch

pytest.importorskip("pip", reason="the refresh scripts read the index as pip is configured for it")


@pytest.mark.parametrize(
    ("platforms", "found"),
    [
        ("manylinux_2_28_x86_64", {"manylinux_2_28"}),
        ("manylinux_2_17_x86_64.manylinux2014_x86_64", {"manylinux_2_17"}),
        ("manylinux1_x86_64", {"manylinux_2_5"}),
        ("musllinux_1_2_x86_64", {"musllinux_1_2"}),
        ("linux_x86_64", set()),
        ("manylinux_2_28_aarch64", set()),
        ("win_amd64", set()),
    ],
)
def test_tags_for_a_machine(platforms: str, found: set[str]) -> None:
    assert tags_of(f"a-1.0-cp312-cp312-{platforms}.whl", "x86_64") == found


def test_a_row_for_each_release_whose_tags_differ() -> None:
    def file(release: str, platform: str) -> IndexFile:
        return IndexFile(f"torch-{release}-cp312-cp312-{platform}.whl", "u")

    rows = [torch(release) for release in ("2.5.0", "2.6.0", "2.7.0")]
    files = [
        file("2.5.0", "manylinux1_x86_64"),
        file("2.6.0", "manylinux1_x86_64"),
        file("2.7.0", "manylinux_2_28_x86_64"),
        file("2.7.0", "manylinux_2_31_x86_64"),
        file("2.8.0", "manylinux_2_34_x86_64"),
    ]
    found = [(row.platform, str(row.release), row.tags) for row in spans(files, rows)]
    assert found == [("linux_x86_64", "2.5.0", ("manylinux_2_5",)), ("linux_x86_64", "2.7.0", ("manylinux_2_28",))]


GLIBCS = st.sets(st.integers(5, 60), min_size=1)


@given(needed=GLIBCS, installed=st.integers(5, 60))
def test_a_wheel_suits_every_glibc_from_its_oldest_tag_on_and_no_musl(needed: set[int], installed: int) -> None:
    tags = [f"{tag}_x86_64" for tag in oldest(f"manylinux_2_{minor}" for minor in needed)]
    assert is_accepted(tags, f"glibc 2.{installed}") == (installed >= min(needed))
    assert not is_accepted(tags, "musl")
    assert is_accepted([*tags, "musllinux_1_2_x86_64"], "musl")
    assert is_accepted(["linux_x86_64"], f"glibc 2.{installed}")
