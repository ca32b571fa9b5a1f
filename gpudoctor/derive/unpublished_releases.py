"""Releases that were never published, as torch 1.14: what the tables list around them."""

from __future__ import annotations

from gpudoctor.derive.cuda import STUB_ACCELERATOR
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.snapshot import Distribution


def releases_around(package: Distribution, matrix: Matrix) -> tuple[FrameworkRelease, ...]:
    """The releases that prove that a final release does not exist: those before and after it, or a last one that is a stub; () if none prove it.

    Of a package that has no table of its own, only minor versions are listed in full: its releases of the same minor version.
    """
    public, _, local = package.version.partition("+")
    release, rows = final_release(public), matrix.releases(package.name)
    if release is None or (local and package.name not in TABLE_OF) or any(row.release == release for row in rows):
        return ()
    older, newer = ([row for row in rows if (row.release < release) is before] for before in (True, False))
    if not older or not newer:
        return tuple(older[-1:]) if older and older[-1].accelerator == STUB_ACCELERATOR else ()
    if package.name in TABLE_OF:
        return older[-1], newer[0]
    return tuple({row.release: row for row in rows if row.release[:2] == release[:2]}.values())
