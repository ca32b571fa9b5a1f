from __future__ import annotations

from itertools import pairwise

import pytest

from gpudoctor import versions
from gpudoctor.matrix import DriverBranch, Matrix
from gpudoctor.matrix.tables import DRIVERS, GPUS
from tests.shipped import shared_matrix

from .samples import version


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


@pytest.fixture(scope="module")
def branches(shipped: Matrix) -> tuple[DriverBranch, ...]:
    return shipped.rows(DRIVERS)


def of(shipped: Matrix, driver: str) -> DriverBranch:
    row = shipped.driver(version(driver))
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("driver", "bounds"),
    [
        ("390.157", ("2.0", "7.0")),
        ("418.197.02", ("3.0", "7.5")),
        ("450.248.02", ("3.0", "8.0")),
        ("470.256.02", ("3.0", "8.6")),
        ("520.61.05", ("5.0", "9.0")),
        ("535.309.01", ("5.0", "9.0")),
        ("570.211.01", ("5.0", "12.0")),
        ("580.142", ("5.0", "12.1")),
        ("590.48.01", ("7.5", "12.1")),
    ],
)
def test_gpus_that_a_branch_supports(shipped: Matrix, driver: str, bounds: tuple[str, str]) -> None:
    row = of(shipped, driver)
    assert (str(row.oldest_capability), str(row.newest_capability)) == bounds


@pytest.mark.parametrize(
    ("driver", "kind", "end"),
    [
        ("470.256.02", "long-term", "2024-07"),
        ("535.309.01", "long-term", "2026-06"),
        ("570.211.01", "production", "2026-02"),
        ("580.142", "long-term", "2028-06"),
        ("595.91.07", "production", "2027-03"),
        ("610.57.04", "new-feature", "2026-08"),
        ("615.31", None, None),
    ],
)
def test_kind_and_end(shipped: Matrix, driver: str, kind: str | None, end: str | None) -> None:
    row = of(shipped, driver)
    assert (row.kind, row.end_of_life) == (kind, end)


def test_a_newer_branch_never_supports_older_gpus(branches: tuple[DriverBranch, ...]) -> None:
    for before, after in pairwise(branches):
        assert before.oldest_capability is not None
        assert after.oldest_capability is not None
        assert before.oldest_capability <= after.oldest_capability
        if before.newest_capability is not None and after.newest_capability is not None:
            assert before.newest_capability <= after.newest_capability


def test_open_modules_exist_since_515_and_support_turing(branches: tuple[DriverBranch, ...]) -> None:
    for row in branches:
        assert row.modules == (("proprietary", "open") if row.branch >= 515 else ("proprietary",))
        assert (row.open_from and str(row.open_from)) == ("7.5" if row.branch >= 515 else None)


def test_only_open_modules_support_blackwell(branches: tuple[DriverBranch, ...]) -> None:
    blackwell = version("10.0")
    for row in branches:
        drives_it = row.branch >= 610 or (row.newest_capability is not None and row.newest_capability >= blackwell)
        assert (row.open_only_from == blackwell) == drives_it, row.branch


@pytest.mark.parametrize(
    ("driver", "packages"),
    [("535.54.03", ("12.3", "13.4")), ("570.86.15", ("12.9", "13.4")), ("580.65.06", ("13.1", "13.4")), ("610.43", ("13.4", "13.4"))],
)
def test_forward_compatibility_packages(shipped: Matrix, driver: str, packages: tuple[str, str]) -> None:
    row = of(shipped, driver)
    assert row.compat_packages is not None
    assert (row.compat_packages[0], row.compat_packages[-1]) == packages


def test_a_compat_package_is_newer_than_the_branchs_own_cuda(branches: tuple[DriverBranch, ...]) -> None:
    for row in branches:
        for package in row.compat_packages or ():
            served = versions.parse_version(package)
            assert served is not None
            assert row.cuda_served is not None
            assert served > row.cuda_served


def test_none_is_not_unknown(shipped: Matrix) -> None:
    assert of(shipped, "615.31").compat_packages == ()
    assert of(shipped, "470.256.02").compat_packages is None


@pytest.mark.parametrize("cell", ["2026", "2026-13", "2026-06-01", "june 2026"])
def test_an_end_is_a_month(cell: str) -> None:
    cells = ["550", "12.4", "", "", "", "proprietary", "", "", cell, "", "x", ""]
    with pytest.raises(ValueError, match=r"column end_of_life is .* not a month like 2026-01"):
        DRIVERS.parse(cells)


@pytest.mark.parametrize(("column", "cell"), [("kind", "legacy"), ("compat_packages", "twelve"), ("open_from", "Turing")])
def test_an_invalid_cell_is_reported(column: str, cell: str) -> None:
    cells = dict.fromkeys(DRIVERS.columns, "") | {"branch": "550", "source": "x", column: cell}
    with pytest.raises(ValueError, match=f"column {column} "):
        DRIVERS.parse(list(cells.values()))


@pytest.mark.parametrize(
    ("driver", "capability", "branch"),
    [
        ("580.65.06", "6.1", 580),
        ("605.10", "6.1", 595),
        ("605.10", "7.5", 610),
        ("540.10", "9.0", 545),
        ("540.10", "12.0", 545),
        ("405.10", "7.5", None),
        ("999.10", "6.1", 615),
        ("999.10", "7.5", None),
        ("340.108", "3.0", None),
    ],
)
def test_branch_that_decides_whether_a_driver_supports_a_gpu(shipped: Matrix, driver: str, capability: str, branch: int | None) -> None:
    row = shipped.deciding_branch(version(driver), version(capability))
    assert (row.branch if row else None) == branch


def test_no_branch_supports_again_what_an_earlier_one_dropped(branches: tuple[DriverBranch, ...]) -> None:
    for bound in ("oldest_capability", "newest_capability"):
        known = [value for row in branches if (value := getattr(row, bound)) is not None]
        assert known == sorted(known)


@pytest.mark.parametrize(
    ("capability", "first"),
    [("8.0", "450"), ("8.9", "520"), ("9.0", "520"), ("10.0", "570"), ("10.3", "575"), ("12.0", "570"), ("12.1", "580")],
)
def test_the_first_branch_of_a_gpu_compiles_for_it(
    shipped: Matrix, branches: tuple[DriverBranch, ...], capability: str, first: str
) -> None:
    assert shipped.branches_for(version(capability))[0] == int(first)
    for row in branches:
        if row.newest_capability is not None:
            assert shipped.predates(row, version(capability)) == (row.branch < int(first)), row.branch


def test_a_branch_does_not_predate_what_it_dropped(shipped: Matrix, branches: tuple[DriverBranch, ...]) -> None:
    for row in branches:
        for product in shipped.rows(GPUS):
            if row.oldest_capability is not None and product.compute_capability < row.oldest_capability:
                assert not shipped.predates(row, product.compute_capability), (row.branch, product.name)
