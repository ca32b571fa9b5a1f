"""A release between two that follow one another in a table of all releases was never published; every listed one was."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gpudoctor.derive.unpublished_releases import releases_around
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.snapshot import Distribution
from tests.shipped import shared_matrix


@pytest.mark.parametrize("name", TABLE_OF)
def test_what_lies_between_two_listed_releases_does_not_exist(name: str) -> None:
    matrix = shared_matrix()
    releases = sorted({row.release for row in matrix.releases(name)})
    for older, newer in pairwise(releases):
        assert releases_around(Distribution(name, str(older), ""), matrix) == ()
        between = f"{older.major}.{older.minor}.{older.patch + 90}"
        if older.short == newer.short and older.patch + 90 > newer.patch:
            continue
        assert [row.release for row in releases_around(Distribution(name, between, ""), matrix)] == [older, newer]
