from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpudoctor.matrix import MatchKind
from gpudoctor.matrix.row_matching import final_release, match_row
from gpudoctor.matrix.rows import TorchBuild

from .samples import matrix, release, version

ROWS = [
    release("2.0.0", built_with_cuda=version("11.7")),
    release("2.2.0"),
    release("2.2.2"),
    release("2.4.0"),
    release("2.5.0", built_with_cuda=version("12.4"), builds=("cpu", "cu118", "cu124")),
    release("2.5.1", built_with_cuda=version("12.4"), sass=None),
]


@pytest.mark.parametrize(
    ("asked", "how", "row"),
    [
        ("2.2.0", MatchKind.EXACT, "2.2.0"),
        (" 2.2.0 ", MatchKind.EXACT, "2.2.0"),
        ("2.2", MatchKind.EXACT, "2.2.0"),
        ("2.2.1", MatchKind.SAME_MINOR, "2.2.0"),
        ("2.2.9", MatchKind.SAME_MINOR, "2.2.2"),
        ("2.4.7", MatchKind.SAME_MINOR, "2.4.0"),
        ("2.3.0", MatchKind.BRACKETED, "2.2.2"),
        ("2.0.0+cu117", MatchKind.EXACT, "2.0.0"),
        ("2.3.0+cu121", MatchKind.BRACKETED, "2.2.2"),
        ("2.4.0.dev20240101", MatchKind.BRACKETED, "2.2.2"),
    ],
)
def test_matches(asked: str, how: MatchKind, row: str) -> None:
    found = match_row(ROWS, asked)
    assert found.row is not None
    assert (found.how, str(found.row.release)) == (how, row)
    assert found.why == ""


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("2.1.0", "2.1.0 is between 2.0.0 and 2.2.0, where releases differ"),
        ("1.13.1", "1.13.1 is older than 2.0.0, the oldest known release"),
        ("2.5.2", "newer than 2.5.1"),
        ("3.0.0", "newer than 2.5.1"),
        ("2.4.0rc1", "is not a final release"),
        ("2.4.0.dev20240101+cu121", "is not a final release"),
        ("2.2.0.dev20230901", "is not a final release"),
        ("2.0.0.dev20230101", "is not a final release"),
        ("2.6.0.dev20241112", "is not a final release"),
        ("2.4.0a0+gitabcdef", "is not a final release"),
        ("2.4.0+nv24.08", "do not list the build +nv24.08 of 2.4.0"),
        ("2.2.1+cu118", "do not list the build +cu118 of 2.2.1"),
        ("", "is not a final release"),
        ("2.x", "is not a final release"),
        ("2.0.0.1.post1", "is not a final release"),
        ("2.0.0.1.1", "is not a final release"),
    ],
)
def test_no_match(asked: str, why: str) -> None:
    found = match_row(ROWS, asked)
    assert (found.how, found.row) == (MatchKind.NONE, None)
    assert why in found.why


def test_differing_neighbours_match_nothing_between_them() -> None:
    rows = [release("2.5.0"), release("2.5.2", cudnn=version("9.1")), release("2.6.0")]
    assert match_row(rows, "2.5.1").how is MatchKind.NONE


def test_another_official_build_is_only_known_by_its_cuda() -> None:
    row = match_row(ROWS, "2.5.0+cu118").row
    assert row is not None
    assert (row.accelerator, str(row.built_with_cuda)) == ("cuda", "11.8")
    assert (row.cudnn, row.sass, row.ptx, row.requires) == (None, None, None, ())


def test_another_official_build_in_a_table_is_fully_known() -> None:
    build = TorchBuild(version("2.5"), "linux_x86_64", "cu118", version("9.1"), ("sm_37",), ("compute_37",), None, ("script",), "n")
    others = [msgspec.structs.replace(build, platform="win_amd64"), msgspec.structs.replace(build, release=version("2.4")), build]
    row = match_row(ROWS, "2.5.0+cu118", builds=others).row
    assert row is not None
    assert (str(row.built_with_cuda), str(row.cudnn), row.sass, row.ptx) == ("11.8", "9.1", ("sm_37",), ("compute_37",))
    assert (row.requires, row.source, row.note) == ((), ("torch-wheels", "script"), "n")
    assert match_row(ROWS, "2.5.0+cu124", builds=others).row == ROWS[4]
    assert (match_row(ROWS, "2.4.0+cu124", builds=others[:1]).row or build).sass is None


def test_what_another_build_requires_of_nvidia_is_known_only_from_a_table() -> None:
    rows = [release("2.5.0", built_with_cuda=version("12.4"), requires=("nvidia-nccl-cu12==2.21.5", "triton==3.1.0"))]
    build = TorchBuild(version("2.5"), "linux_x86_64", "cu118", None, None, None, None, (), "")
    unknown = match_row(rows, "2.5.0+cu118", builds=[build])
    assert (unknown.row is not None and unknown.row.requires, unknown.nvidia_known) == (("triton==3.1.0",), False)
    for nvidia in (("nvidia-nccl-cu11==2.21.5",), ()):
        known = match_row(rows, "2.5.0+cu118", builds=[msgspec.structs.replace(build, nvidia=nvidia)])
        assert (known.row is not None and known.row.requires, known.nvidia_known) == ((*nvidia, "triton==3.1.0"), True)
    assert all(match_row(rows, version).nvidia_known for version in ("2.5.0", "2.5.0+cu124", "2.5.0+cpu"))


def test_the_windows_build_on_the_index_is_for_the_cpu() -> None:
    rows = [release("2.8.0", platform="win_amd64", accelerator="cpu", built_with_cuda=None, sass=None, ptx=None)]
    assert match_row(rows, "2.8.0+cpu").row == rows[0]
    row = match_row(rows, "2.8.0+cu128").row
    assert row is not None
    assert (row.accelerator, str(row.built_with_cuda), row.sass) == ("cuda", "12.8", None)


def test_the_cpu_build_has_no_cuda() -> None:
    row = match_row(ROWS, "2.2.0+cpu").row
    assert row is not None
    assert (row.accelerator, row.built_with_cuda) == ("cpu", None)


def test_tensorflow_publishes_no_local_versions() -> None:
    rows = [release("2.15.0", distribution="tensorflow", built_with_cuda=version("12.2"))]
    assert match_row(rows, "2.15.0+cu122").how is MatchKind.NONE


def test_a_post_release_has_its_own_row() -> None:
    rows = [release("2.15.0"), release("2.15.1")]
    assert match_row(rows, "2.15.0.post1").how is MatchKind.SAME_MINOR
    assert final_release("2.15.0.post1") == version("2.15.0.1")


def test_a_release_may_have_four_numbers() -> None:
    rows = [release("0.12.0", distribution="jax"), release("0.12.0.1", distribution="jax")]
    assert [match_row(rows, text).row for text in ("0.12.0", "0.12.0.1")] == rows
    assert match_row(rows, "0.12.0.2").why.startswith("0.12.0.2 is newer")


def test_the_distribution_and_platform_choose_the_rows() -> None:
    known = matrix(
        torch="torch,2.2.0,linux_x86_64,3.11,cuda,12.1,,,,,,,,x", tensorflow="tensorflow-cpu,2.12.0,linux_x86_64,3.8,cpu,,,,,,,,,x"
    )
    assert known.resolve("Torch", "2.2.0").how is MatchKind.EXACT
    assert known.resolve("tensorflow_cpu", "2.12.0").how is MatchKind.EXACT
    assert known.resolve("tensorflow", "2.12.0").why == "no release for this platform is known"
    assert known.resolve("torch", "2.2.0", platform="win_amd64").how is MatchKind.NONE
    assert known.resolve("mxnet", "1.0").why == "no release for this platform is known"


@given(st.text(max_size=20) | st.from_regex(r"\d+(\.\d+)*(\.(post|dev)\d*)?(\+cu\d*)?", fullmatch=True))
@example("2.0.post²")
@example(f"2.0.post{'9' * 5000}")
def test_any_text_gets_an_answer(asked: str) -> None:
    found = match_row(ROWS, asked)
    assert (found.row is None) == (found.how is MatchKind.NONE)
    assert bool(found.why) == (found.row is None)


def test_a_universal_wheel_matches_every_platform() -> None:
    known = matrix(jax="jax,0.7.0,any,3.12,none,,,,,,,,,x\njaxlib,0.7.0,linux_x86_64,3.12,cpu,,,,,,,,,x")
    assert [row.platform for row in known.releases("jax", "win_amd64")] == ["any"]
    assert known.resolve("jax", "0.7.0", "macos_arm64").how is MatchKind.EXACT
    assert known.releases("jaxlib", "win_amd64") == ()
    assert len(known.releases("jaxlib")) == 1


def test_a_development_release_with_a_row_is_known() -> None:
    rows = matrix(others="plugin,0.4.0.dev230202,win_amd64,3.10,directml,,,,,,,,,x").releases("plugin")
    assert match_row(rows, "0.4.0.dev230202").how is MatchKind.EXACT
    assert "is not a final release" in match_row(rows, "0.4.0.dev1").why
    assert "newer than 0.4.0.dev230202" in match_row(rows, "0.4.0").why
