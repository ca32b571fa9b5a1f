"""The CUDA release that compiled a library, by the version of the PTX in it."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor import versions
from gpudoctor.matrix.tables import CUDA
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.common import COMPAT


def compiler_of(ptx_versions: Iterable[str]) -> Version | None:
    """Return the CUDA version whose compiler writes the newest of these PTX versions; its major version if several do, None if none does."""
    newest = max(filter(None, map(versions.parse_version, ptx_versions)), default=None)
    fitting = {row.release.short for row in read_table(str(COMPAT), CUDA) if row.ptx_isa is not None and row.ptx_isa == newest}
    if len(fitting) == 1:
        return versions.parse_version(fitting.pop())
    majors = {release.partition(".")[0] for release in fitting}
    return versions.parse_version(majors.pop()) if len(majors) == 1 else None
