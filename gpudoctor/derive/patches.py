"""What a release leaves open and its later patch requires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive.demands import Demand
from gpudoctor.derive.specifiers import Requirement, only_version, parse_requirements
from gpudoctor.frameworks import framework_of, spec_of, stack_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Distribution


def patch_demands(distribution: Distribution, own: Iterable[Requirement], later: Iterable[FrameworkRelease]) -> Iterator[Demand]:
    """Yield what later patches require and a release leaves open: of its framework, or of a framework as an upper bound for Keras.

    tf-keras 2.15.0 cannot be imported beside TensorFlow 2.16 or 2.17 (tried on 2026-11-22), though its metadata has no bound; its patch 2.15.1 has
    one. TensorFlow 2.6.0 allows any Keras 2 (~=2.6), its patch 2.6.2 none from 2.7 on. What an installer adds for others need not be imported:
    tensorflow-hub requires tf-keras, and imports it beside Keras 3 alone.
    """
    is_framework, keras = framework_of(distribution.name) is not None, spec_of(stack_of(distribution.name) or "").rewritten
    settled = {one.name for one in own if not is_framework or "<" in one.specifier or only_version(one.specifier)}
    if is_framework and (keras is None or all(one.name != keras.distribution for one in own)):
        return  # before the releases are read
    for patch in later:
        for found in parse_requirements(patch.requires):
            pinned = found.specifier.startswith("==") and "*" not in found.specifier  # to what was released with that patch
            is_bound = keras is not None and found.name == keras.distribution and "<" in found.specifier
            counts = is_bound if is_framework else framework_of(found.name) is not None
            if counts and found.name not in settled and not found.marker and not pinned:
                settled.add(found.name)
                yield Demand(distribution, found, source_of(patch), str(patch.release))


def later_patches(row: FrameworkRelease, matrix: Matrix) -> Iterator[FrameworkRelease]:
    """Yield the later releases of the same minor version."""
    for other in matrix.releases(row.distribution, row.platform):
        if row.release < other.release and row.release[:2] == other.release[:2]:
            yield other


def source_of(row: FrameworkRelease) -> str:
    """The matrix's source of a row, for evidence."""
    return citation(row.source, f"{row.distribution} {row.release}")
