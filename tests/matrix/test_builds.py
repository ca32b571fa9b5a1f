"""The CUDA builds of frameworks in the shipped tables."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gpudoctor.frameworks import CATALOGUE, FrameworkSpec
from gpudoctor.matrix.builds import cuda_builds
from tests.shipped import shared_matrix


@pytest.mark.parametrize("platform", ["linux_x86_64", "linux_aarch64", "win_amd64"])
@pytest.mark.parametrize("spec", CATALOGUE, ids=lambda spec: spec.name)
def test_builds_are_listed_newest_release_first(spec: FrameworkSpec, platform: str) -> None:
    """Whoever looks for one release stops at an older one."""
    releases = [build.release.release for build in cuda_builds(shared_matrix(), spec, platform)]
    assert all(newer >= older for newer, older in pairwise(releases))
