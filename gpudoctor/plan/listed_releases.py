"""The releases of packages that the tables list for a platform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpudoctor import versions
from gpudoctor.derive.specifiers import only_version, parse_requirements, pep440_version, satisfies
from gpudoctor.derive.wheel_platform import ANY_PLATFORM
from gpudoctor.matrix import FrameworkRelease, MatchKind, Matrix
from gpudoctor.matrix.builds import CPU_TAG
from gpudoctor.matrix.tables import CUDNN
from gpudoctor.plan.companions import FRAMEWORK_OF_COMPANION
from gpudoctor.snapshot import NOT_ASKED, Missing

_CUDNN_PREFIX: Final = "nvidia-cudnn-cu"


class ListedReleases:
    """The releases in the tables, as an installer on a platform sees them."""

    def __init__(self, matrix: Matrix, platform: str) -> None:
        self._matrix = matrix
        self._platform = platform

    def has(self, name: str) -> bool:
        """Whether a release of a package is listed."""
        return next(self.releases(name), None) is not None

    def releases(self, name: str) -> Iterator[tuple[str, FrameworkRelease | None]]:
        """The releases of a package in the tables, oldest first, each with its row if it has one."""
        if name.startswith(_CUDNN_PREFIX):
            major = versions.parse_version(name.removeprefix(_CUDNN_PREFIX))
            known = [row for row in self._matrix.rows(CUDNN) if major and row.cuda == major.major]
            here = [row for row in known if row.platform == self._platform]
            yield from dict.fromkeys((str(row.release), None) for row in here or known)
            return
        yield from ((str(row.release), row) for row in self._matrix.releases(name))

    def pythons(self, name: str, specifier: str) -> frozenset[str]:
        """Return the Python versions for which some release of a package that suits has a wheel here; none if the tables do not say."""
        fitting = [row for release, row in self.releases(name) if satisfies(release, specifier)]
        here = [row for row in fitting if row and row.platform in {self._platform, ANY_PLATFORM}]
        if fitting:
            return frozenset(python for row in here for python in row.pythons) if all(row.pythons for row in here) else frozenset()
        pin = versions.parse_version(only_version(specifier) or "")
        spans = self._matrix.pythons(name).items()
        return frozenset(python for python, span in spans if pin is None or span.first <= pin <= (span.last or pin))

    def row(self, name: str, version: str) -> FrameworkRelease | None:
        """The release's row for this platform, otherwise for another: an installer reads the same metadata."""
        platforms = [row.platform for row in self._matrix.releases(name)]
        for word in dict.fromkeys([self._platform, *platforms] if platforms else ()):
            found = self._matrix.resolve(name, version, word)
            if found.how is MatchKind.EXACT:
                return found.row
        return None

    def tags(self, name: str, version: str) -> tuple[str, ...] | Missing:
        """The tags of the index's wheel for this platform; another build may have others."""
        row = None if "+" in version else self.row(name, version)
        return (row and self._matrix.tags(name, self._platform, row.release)) or NOT_ASKED

    def has_build(self, name: str, version: str, local: str) -> bool:
        """Whether the tables list this build of a release, or of a framework's release for which this one was published."""
        own = self.row(name, version) if name in FRAMEWORK_OF_COMPANION else None
        beside = self._framework_releases(FRAMEWORK_OF_COMPANION[name], own) if own is not None else []
        if beside:
            return any(self.has_build(FRAMEWORK_OF_COMPANION[name], release, local) for release in beside)
        found, usual = (self._matrix.resolve(name, text, self._platform) for text in (f"{version}+{local}", version))
        row = found.row if found.how is MatchKind.EXACT else None
        return row is not None and (row == usual.row or row.accelerator == CPU_TAG or row.sass is not None or local in row.builds)

    def _framework_releases(self, framework: str, companion: FrameworkRelease) -> list[str]:
        """The releases of a framework that a companion requires; none if it states no version."""
        wanted = next((one for one in parse_requirements(companion.requires) if one.name == framework and one.specifier), None)
        return [release for release, _ in self.releases(framework) if satisfies(release, wanted.specifier)] if wanted is not None else []

    def table_spelling(self, name: str, version: str) -> str:
        """A version as the tables spell the same release: 2.16 is 2.16.0."""
        published = [release for release, _ in self.releases(name) if release != version]
        wanted = pep440_version(version) if published else None
        return next((release for release in published if pep440_version(release) == wanted), version)
