"""Releases that their authors withdrew from the package index (PEP 592)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.matrix import Matrix


def withdrawn(releases: Iterable[tuple[str, str]], matrix: Matrix) -> Iterator[str]:
    """Yield a clause for each release, by name and version, that is taken although it was withdrawn."""
    for name, version in releases:
        if matrix.withdrawn(name, version):
            yield f"{name} {version} was withdrawn from the package index (yanked); an installer takes it only because it is pinned, and says why"
