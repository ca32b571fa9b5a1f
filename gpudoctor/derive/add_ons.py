"""Compiled add-ons of a framework, such as torchvision or flash-attn: their files, and which of them the rest depends on."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpudoctor.frameworks import ADDONS, Addon
from gpudoctor.snapshot import Extension


class InstalledAddOn(msgspec.Struct, frozen=True):
    """One distribution and its compiled files."""

    files: tuple[Extension, ...]

    @property
    def name(self) -> str:
        """The distribution."""
        return self.files[0].distribution

    @property
    def version(self) -> str:
        """Its version."""
        return self.files[0].version

    @property
    def label(self) -> str:
        """The distribution with its version: "flash-attn 2.7.4"."""
        return f"{self.name} {self.version}"

    @property
    def main_paths(self) -> frozenset[str]:
        """The paths of the files that its import needs: those known as such, otherwise all."""
        _, known = ADDONS.get(self.name, ("", Addon()))
        main = [file.path for file in self.files if file_name(file).startswith(known.main)]
        return frozenset(main or (file.path for file in self.files))

    @property
    def lacks_functions(self) -> bool:
        """Whether a file that its import needs calls functions that the installed framework is known to lack."""
        main = self.main_paths
        return any(isinstance(file.undefined, tuple) and file.undefined and file.path in main for file in self.files)


def file_name(file: Extension) -> str:
    """The name of a compiled file without its folder."""
    return file.path.rpartition("/")[2]


def installed_add_ons(framework: str, files: Iterable[Extension]) -> tuple[InstalledAddOn, ...]:
    """The add-ons of a framework among all compiled files."""
    found: dict[str, list[Extension]] = {}
    for file in files:
        if file.framework == framework:
            found.setdefault(file.distribution, []).append(file)
    return tuple(InstalledAddOn(tuple(group)) for group in found.values())
