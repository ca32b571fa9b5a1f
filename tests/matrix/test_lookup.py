from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.errors import TableError
from gpudoctor.matrix import Matrix, consistency
from gpudoctor.matrix.row_matching import MatchKind
from gpudoctor.matrix.table import Row, Table

from .samples import matrix, version


def test_a_table_is_read_once_and_on_demand() -> None:
    read: list[str] = []

    def reader(table: Table[Row], distribution: str = "", platform: str = "", release: str = "") -> tuple[Row, ...]:
        read.append(f"{table.name} {distribution} {platform}{release}".strip())
        return ()

    empty = Matrix(reader)
    assert read == []
    assert empty.driver(version("550.1")) is None
    assert empty.driver(version("535.1")) is None
    assert empty.gpu("h100") is None
    assert empty.date == ""
    assert empty.releases("torch") == empty.releases("torch", "win_amd64") == ()
    assert empty.releases("cupy-cuda12x", "win_amd64") == ()
    assert read == ["drivers", "gpus", "sources", "torch torch", "yanked", "others cupy-cuda12x win_amd64"]


def test_a_minor_version_without_its_first_release_uses_the_first_known() -> None:
    known = matrix(cuda="11.0.2,450.51.05,,,,,,,,,x\n11.0.3,450.51.06,,,,,,,,,x")
    row = known.cuda(version("11.0"))
    assert row is not None
    assert str(row.release) == "11.0.2"
    assert known.cuda(version("11.1")) is None


def test_the_newest_row_of_a_major_version_provides_the_floor() -> None:
    known = matrix(cuda="12.0,525.60.13,527.41,525.60.13,527.41,,,,,,x\n12.4,550.54.14,551.61,525.60.13,528.33,,,,,,x")
    floor = known.driver_floor(version("12.5"), "windows")
    assert floor is not None
    assert (floor.exact, str(floor.minor_version_floor)) == (None, "528.33")


def test_before_cuda_11_there_is_no_shared_floor() -> None:
    assert matrix(cuda="10.0,410.48,,,,,,,,,x").driver_floor(version("10.1")) is None


def test_a_row_without_floors_is_unknown() -> None:
    assert matrix(cuda="9.0,384.81,,,,,,,,,x").driver_floor(version("9.0"), "windows") is None


def problems(**tables: Any) -> list[str]:
    return list(consistency.table_contradictions(matrix(**tables)))


def test_a_missing_or_unused_source_is_reported() -> None:
    found = problems(sources="a,A,,2026-01-01", drivers="550,12.4,,,,,,,,,b")
    assert found == ["drivers.csv names the source b, which is not in sources.csv.", "sources.csv has a, which no table uses."]


def test_a_minor_version_floor_above_the_exact_driver_is_reported() -> None:
    found = problems(sources="a,A,,2026-01-01", cuda="12.0,525.60.13,,530.1,,,,,,,a")
    assert found == ["CUDA 12.0 has a minor-version floor 530.1 above its own driver 525.60.13."]


def test_a_cudnn_for_an_unknown_cuda_is_reported() -> None:
    found = problems(sources="a,A,,2026-01-01", cuda="12.0,525.60.13,,,,,,,,,a", cudnn="9.1,12,any,l,,,a\n9.1,13,any,l,,,a")
    assert found == ["cuDNN 9.1 is for CUDA 13, which is not in cuda.csv."]


def test_a_framework_with_an_unknown_cuda_is_reported() -> None:
    found = problems(sources="a,A,,2026-01-01", torch="torch,2.0.0,linux_x86_64,3.11,cuda,11.7,,,,,,,,a")
    assert found == [
        "A framework is built with CUDA 11.7, which is not in cuda.csv.",
        "A framework is built with CUDA 11.7, which no branch in drivers.csv supports.",
    ]


def test_two_gpus_with_one_name_are_reported() -> None:
    found = problems(sources="a,A,,2026-01-01", gpus="T4,k80,data-center,7.5,Turing,,,,,,,a\nT5,K-80,data-center,7.5,Turing,,,,,,,a")
    assert found == ["T5 and T4 in gpus.csv are both called k80."]


def test_an_unreachable_package_that_is_not_required_is_reported() -> None:
    row = "tensorflow,2.21.0,linux_x86_64,3.11,cpu,,,,,nvidia-cublas-cu12==1,,,nvidia-cublas-cu12 nvidia-cufft-cu12,a"
    found = problems(sources="a,A,,2026-01-01", tensorflow=f"{row}\n")
    assert found == ["tensorflow 2.21.0 lists nvidia-cufft-cu12 as unreachable but does not require it."]


@pytest.mark.parametrize(
    ("release", "holds"),
    [
        ("2.16.0", False),
        ("2.16.1", True),
        ("2.18.1", True),
        ("2.21.0", True),
        ("2.22.0", False),
        ("2.20.0+nv25.2", False),
        ("2.21.0rc1", False),
        ("2.18.0.dev20240801", True),
        ("2.16.1.dev20240301", False),
    ],
)
def test_a_fault_applies_to_its_releases_but_no_vendors_build(release: str, holds: bool) -> None:
    found = matrix(faults="tensorflow,2.16.1,2.21.0,ptx-refused,10.0,any,guide").faults("tensorflow", release)
    assert [str(row.oldest_capability) for row in found] == ["10.0"] * holds


def test_a_major_version_alone_means_any_of_its_releases() -> None:
    known = matrix(cuda="\n".join(f"{text},,,,,,,,,,guide" for text in ("12.8", "12.9", "13.0", "13.0.1", "13.1")))
    assert [row.release.text for row in known.cudas(version("13"))] == ["13.0", "13.0.1", "13.1"]
    assert [row.release.text for row in known.cudas(version("13.0"))] == ["13.0", "13.0.1"]


def test_a_release_is_found_by_its_spelling_without_its_neighbours() -> None:
    lines = "torch,2.1.0,linux_x86_64,,cuda,,,,,,,,,x torch,2.1.0,win_amd64,,cuda,,,,,,,,,x torch,2.1.0.post1,linux_x86_64,,cuda,,,,,,,,,x"
    known = matrix(torch=f"{lines} torch,2.10.0,linux_x86_64,,wrong,,,,,,,,,x")
    assert [row.platform for row in known.of_release("torch", "2.1.0+cpu")] == ["linux_x86_64", "win_amd64"]
    assert known.resolve("torch", "2.1.0").how is MatchKind.EXACT
    assert known.of_release("torch", "2.1") == known.of_release("torch", "") == known.of_release("", "2.1.0") == ()
    with pytest.raises(TableError):
        known.resolve("torch", "2.1")


def test_a_release_is_found_among_rows_that_were_read_already() -> None:
    known = matrix(torch="torch,2.1.0,linux_x86_64,,cuda,,,,,,,,,x torch,2.1.1,linux_x86_64,,cuda,,,,,,,,,x")
    every = known.releases("torch")
    assert known.of_release("torch", "2.1.1") == every[1:]
