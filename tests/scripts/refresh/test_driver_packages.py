from __future__ import annotations

from scripts.refresh.driver_packages import fields, rows

SHOWN = """\
Package: nvidia-driver
Version: 535.309.01-0+deb12u1
Depends: nvidia-driver-libs (= 535.309.01-0+deb12u1),
 nvidia-driver-bin

Package: nvidia-kernel-dkms
Version: 535.309.01-0+deb12u1
Description-en: NVIDIA binary kernel module DKMS source
 This package builds the kernel modules.
 .
 Building the kernel modules has been tested up to Linux 6.16.

Package: nvidia-legacy-340xx-driver
Version: 340.108-18

Package: nvidia-tesla-470-driver
Version: 470.256.02-1~deb12u1
"""


def test_each_driver_has_the_newest_kernel_that_its_modules_were_built_for() -> None:
    found = rows("debian-12", "bookworm", fields(SHOWN))
    assert [(row.package, str(row.version), str(row.newest_kernel)) for row in found] == [
        ("nvidia-driver", "535.309.01", "6.16"),
        ("nvidia-tesla-470-driver", "470.256.02", "None"),
    ]
    assert found[0].note == "in non-free of bookworm"
