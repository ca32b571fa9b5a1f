"""The table's column on a TensorFlow wheel's own search path."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import RELEASE_TABLES, WHEEL_TABLES
from tests.shipped import shared_matrix


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


def test_tensorflow_wheels_with_nvidia_packages_list_the_unreachable_ones(shipped: Matrix) -> None:
    for row in shipped.rows(RELEASE_TABLES["tensorflow"]):
        requires = any(text.startswith("nvidia-") for text in row.requires)
        told = requires and row.accelerator == "cuda" and row.platform.startswith("linux_")
        assert (row.unreachable is not None) == told, row


def test_other_wheels_leave_it_blank(shipped: Matrix) -> None:
    assert {row.unreachable for table in WHEEL_TABLES if table.name != "tensorflow" for row in shipped.rows(table)} == {None}


@pytest.mark.parametrize(
    ("release", "lost"),
    [
        ("2.13.1", None),
        ("2.14.0", ()),
        ("2.15.1", ()),
        ("2.16.1", ("nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cufft-cu12", "nvidia-cusolver-cu12", "nvidia-cusparse-cu12")),
        ("2.16.2", ()),
        ("2.20.0", ()),
        ("2.21.0", ("nvidia-cusolver-cu12",)),
    ],
)
def test_unreachable_packages_of_a_release(shipped: Matrix, release: str, lost: tuple[str, ...] | None) -> None:
    row = shipped.resolve("tensorflow", release).row
    assert row is not None
    assert row.unreachable == lost
