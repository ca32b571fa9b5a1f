"""However a text was pasted, its root cause stays."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Sequence

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import plain_lines
from gpudoctor.read.texts import read_text
from tests.read.corpus import CASES, HEALTHY, TEXTS, Case
from tests.read.disguises import DISGUISES, PAIRS, PREFIXED
from tests.read.reading import CREATED, causes

pytestmark = pytest.mark.untraced  # the same code a thousand times: tests of each part cover it

REFLOWING = {"wrapped at 72", "wrapped at 80", "cut at 80", "in a table"}
"""Disguises that break the columns of a table, the lines of a list and the answers of a form, which cannot be repaired: sentences survive them."""
SHARES = 24
"""Into which the cases are dealt among the disguises."""
FENCED = {"in capitals around"}
"""Disguises that put a text into a code block, where a heading is a comment."""
PIP_ACCOUNT = "which is incompatible."
"""pip's account of one unmet requirement alone in a text: behind a prompt or bullet it is a conflict, alone also a list of versions."""


def cases(disguise: str) -> list[Case]:
    """The texts that a disguise leaves readable."""
    readable = [case for case in CASES if (disguise not in REFLOWING or not _is_listing(case[2])) and not _is_pip_account(case[2])]
    return [case for case in readable if disguise not in FENCED or not case[2].startswith("# ")]


def share(chosen: Sequence[Case], number: int) -> list[Case]:
    """A share of the cases, another one for the next number: each text meets one in SHARES of the disguises, whatever texts are added."""
    return [case for case in chosen if zlib.crc32(case[2].encode()) % SHARES == number % SHARES]


def _is_listing(text: str) -> bool:
    rows = "|", "- ", "### ", "[PhysicalDevice("
    return any("==" in line or "  " in line.strip() or line.lstrip().startswith(rows) for line in text.splitlines())


def _is_pip_account(text: str) -> bool:
    return text.strip().endswith(PIP_ACCOUNT) and "\n" not in text.strip()


def leading(data: bytes, matrix: Matrix) -> str | None:
    found = diagnose(read_text(data, "pasted.txt", matrix, CREATED), matrix, Policy(level=None)).root_causes
    return next((finding.name for finding in found if finding.severity is not Severity.NOTE), None)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguised_text_keeps_its_cause(disguise: str, matrix: Matrix) -> None:
    chosen = share(cases(disguise), list(DISGUISES).index(disguise))
    disguised = {name: leading(DISGUISES[disguise](text).encode(), matrix) for name, _, text in chosen}
    assert disguised == {name: cause for name, cause, _ in chosen}


@pytest.mark.parametrize(("number", "encoding"), list(enumerate(["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])))
def test_a_text_of_windows_tools_keeps_its_cause(number: int, encoding: str, matrix: Matrix) -> None:
    chosen = share(CASES, number)
    assert {name: leading(text.encode(encoding), matrix) for name, _, text in chosen} == {name: cause for name, cause, _ in chosen}


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_a_text_in_two_disguises_keeps_its_cause(outer: str, inner: str, matrix: Matrix) -> None:
    chosen: list[Case] = random.Random(f"{outer} {inner}").sample(cases(inner), 6)
    disguised = {name: leading(DISGUISES[outer](DISGUISES[inner](text)).encode(), matrix) for name, _, text in chosen}
    assert disguised == {name: cause for name, cause, _ in chosen}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_healthy_text_stays_healthy(disguise: str, matrix: Matrix) -> None:
    assert [causes(DISGUISES[disguise](text), matrix) for text in HEALTHY] == [[]] * len(HEALTHY)


def stripped(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines]


@pytest.mark.parametrize("disguise", [name for name in PREFIXED if name not in {"list", "root prompt", "user prompt"}])
def test_a_prefix_before_each_line_is_removed(disguise: str) -> None:
    for text in TEXTS:
        lines = text.splitlines()
        if len(lines) >= 3:
            assert stripped(plain_lines(PREFIXED[disguise](text).encode())) == stripped(plain_lines(text.encode())), text


HAS_PREFIXES = re.compile(r"(?m)\[rank|^\[\d+/\d+\] |^\d\d:\d\d:\d\d |^[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \w+ |^\d{4}-\d\d-\d\d[T ]")


def test_nothing_is_taken_for_a_prefix_that_is_none() -> None:
    for text in TEXTS:
        if not HAS_PREFIXES.search(text):
            bare = text.replace("- ", "") if all(line.startswith("- ") for line in text.splitlines() if line) else text
            bare = bare.replace("\u2019", "'")
            assert stripped(plain_lines(text.encode())) == [line.strip().removeprefix(">>> ") for line in bare.splitlines()]
