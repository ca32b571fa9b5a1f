from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.matrix_files import open_matrix


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """The shipped tables."""
    return open_matrix()
