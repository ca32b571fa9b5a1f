"""Rebuilds Debian's rows of compat/driver_packages.csv from the package lists of each release, on a machine with Debian.

The archive's addresses are apt's own. The lists are downloaded to a temporary folder, and the machine's stay as they are.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpudoctor import versions
from gpudoctor.matrix.machine_rows import DriverPackage
from gpudoctor.matrix.tables import DRIVER_PACKAGES
from gpudoctor.matrix_files import read_table
from scripts.refresh.common import arguments, finish

_RELEASES = {
    "debian-11": ("bullseye", {"Debian": "bullseye"}),
    "debian-12": ("bookworm", {"Debian": "bookworm", "Debian-Security": "bookworm-security"}),
    "debian-13": ("trixie", {"Debian": "trixie", "Debian-Security": "trixie-security"}),
}
"""The name of each release, and its suites by the label of their archive."""
_DRIVERS = re.compile(r"nvidia-(?:tesla-(?:\d+-)?|legacy-(?!340)\d+xx-)?driver")
"""The packages that install a driver whose branch is in drivers.csv."""
_TESTED = re.compile(r"tested up to Linux (\d+\.\d+)")


def fields(listing: str) -> list[dict[str, str]]:
    """Return the fields of each package in the output of `apt-cache`; a field that goes on over several lines is one text."""
    found = (re.findall(r"^([A-Za-z][\w-]*): ?(.*(?:\n .*)*)", stanza, re.MULTILINE) for stanza in listing.strip().split("\n\n"))
    return [dict(one) for one in found if one]


def rows(system: str, name: str, packages: Iterable[Mapping[str, str]]) -> list[DriverPackage]:
    """Return the rows of a release of Debian, from the newest version of each of its packages."""
    newest = {one["Package"]: one for one in packages}
    found = []
    for package in filter(_DRIVERS.fullmatch, sorted(newest)):
        module = newest.get(f"{package.removesuffix('driver')}kernel-dkms", {})
        tested = _TESTED.search(next((text for field, text in module.items() if field.startswith("Description")), ""))
        found.append(
            DriverPackage(
                system=system,
                package=package,
                version=versions.parse_version(newest[package]["Version"].partition("-")[0]),
                modules="proprietary",
                newest_kernel=versions.parse_version(tested[1]) if tested else None,
                origin="distribution",
                source=("debian-driver-packages",),
                note=f"in non-free of {name}",
            )
        )
    return found


def archives() -> dict[str, str]:
    """Return the addresses of Debian's archives that apt is configured for, by label."""
    command = ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)"]
    return dict(line.split() for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def listed(suites: Iterable[tuple[str, str]], folder: Path) -> list[dict[str, str]]:
    """Return the newest NVIDIA packages in the non-free sections of these suites, each with the address of its archive."""
    for part in ("lists/partial", "cache/archives/partial", "sources"):
        (folder / part).mkdir(parents=True)
    lines = (f"deb [trusted=yes] {address} {suite} contrib non-free\n" for address, suite in suites)
    (folder / "sources" / "debian.list").write_text("".join(lines))
    places = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": folder / "sources",
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": folder / "cache",
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "en",
    }
    options = [word for key, value in places.items() for word in ("-o", f"{key}={value}")]

    def run(*command: str) -> str:
        return subprocess.run([command[0], *options, *command[1:]], check=True, capture_output=True, text=True).stdout

    run("apt-get", "update")
    names = [line.split()[0] for line in run("apt-cache", "search", "--names-only", "^nvidia-.*(driver|kernel-dkms)$").splitlines()]
    return fields(run("apt-cache", "show", "--no-all-versions", *names))


def main() -> int:
    """Read the lists of each release; show, check or write the difference; return the exit status."""
    options, addresses = arguments(tuple(_RELEASES)), archives()
    kept = [row for row in read_table(str(options.compat), DRIVER_PACKAGES) if row.source != ("debian-driver-packages",)]
    found = []
    for system, (name, suites) in _RELEASES.items():
        with tempfile.TemporaryDirectory() as folder:
            found += rows(system, name, listed([(addresses[label], suite) for label, suite in suites.items()], Path(folder)))
    return finish(options, DRIVER_PACKAGES, sorted([*kept, *found], key=DRIVER_PACKAGES.key))


if __name__ == "__main__":
    sys.exit(main())
