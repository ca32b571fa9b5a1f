"""GD5 and GD6: wheels that this system, processor or board cannot run: glibc, CPU features, Jetson."""

from __future__ import annotations

from gpudoctor.derive import Stack
from gpudoctor.frameworks import spec_of
from gpudoctor.snapshot import Distribution, Framework


def _compiled(framework: Framework, stack: Stack) -> list[Distribution]:
    return [one for one in stack.distributions.values() if one.name in spec_of(framework.name).compiled]
