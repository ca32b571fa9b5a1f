"""A package fits bounds at the bounds themselves, and not beyond."""

from __future__ import annotations

import pytest

from gpudoctor import versions
from gpudoctor.diagnose.advice.driver_packages import DriverBounds
from gpudoctor.matrix import DriverPackage

FLOOR, TRIED = versions.Version(550, 54, 14), versions.Version(560, 28, 3)


def package(version: str) -> DriverPackage:
    return DriverPackage("debian-12", "nvidia-driver", versions.parse_version(version), "proprietary", None, "distribution", (), "")


@pytest.mark.parametrize(
    ("bounds", "version", "fits"),
    [
        (DriverBounds(FLOOR), "550.54.13", False),
        (DriverBounds(FLOOR), "550.54.14", True),
        (DriverBounds(newest_branch=580), "580.65.06", True),
        (DriverBounds(newest_branch=580), "581.15", False),
        (DriverBounds(failed=TRIED), "560.28.3", False),
        (DriverBounds(failed=TRIED), "560.28.4", True),
        (DriverBounds(FLOOR, flavour="open"), "560.28.3", False),
        (DriverBounds(FLOOR, flavour="proprietary"), "560.28.3", True),
        (DriverBounds(FLOOR, newest_branch=535), "", True),
    ],
)
def test_a_package_fits_at_a_bound(bounds: DriverBounds, version: str, fits: bool) -> None:
    assert bounds.fits(package(version)) is fits


@pytest.mark.parametrize(("newest", "contradictory"), [(549, True), (550, False), (None, False)])
def test_a_floor_above_the_newest_branch_is_a_contradiction(newest: int | None, contradictory: bool) -> None:
    assert DriverBounds(FLOOR, newest).is_contradictory is contradictory
