from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from tests.shipped import shared_matrix


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """The shipped tables."""
    return shared_matrix()
