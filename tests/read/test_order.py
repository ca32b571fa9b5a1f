"""The order of the parts of a text makes no difference, and a healthy part adds no finding."""

from __future__ import annotations

import random
import re

import pytest

from gpudoctor.matrix import Matrix
from tests.read import texts
from tests.read.corpus import CASES
from tests.read.reading import causes

pytestmark = pytest.mark.untraced  # the same code a thousand times: tests of each part cover it

HEADING = re.compile(r"(?m)^(#+ .+)\n\n")
"""A heading of an issue's form belongs to the answer under it."""
PARTED = [(name, cause, HEADING.sub(r"\1\n", text).split("\n\n")) for name, cause, text in CASES if "\n\n" in text.strip()]


@pytest.mark.parametrize(("cause", "parts"), [(cause, parts) for _, cause, parts in PARTED], ids=[name for name, _, _ in PARTED])
def test_the_order_of_blocks_makes_no_difference(cause: str, parts: list[str], matrix: Matrix) -> None:
    shuffled = random.Random(cause).sample(parts, len(parts))
    assert causes("\n\n".join(shuffled) + "\n", matrix)[:1] == [cause]
    assert causes("\n\n".join(reversed(parts)) + "\n", matrix)[:1] == [cause]


HARMLESS = [text for text in texts.HARMLESS if "physical_device:GPU" not in text and "device-side assert" not in text]
"""Without a list of TensorFlow's GPUs, which shows that they work, and an assertion, after which every call fails."""


@pytest.mark.parametrize("noise", HARMLESS)
def test_harmless_lines_add_no_finding(noise: str, matrix: Matrix) -> None:
    """Every second text meets one of them."""
    chosen = CASES[HARMLESS.index(noise) :: 2 * len(HARMLESS)]
    assert {name: causes(f"{text}\n{noise}", matrix) for name, _, text in chosen} == {
        name: causes(text, matrix) for name, _, text in chosen
    }
