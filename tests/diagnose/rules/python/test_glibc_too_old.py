from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution, Packages, Python, Snapshot
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "glibc-too-old"


def on(libc: str, *tags: str) -> Snapshot:
    """TensorFlow's wheel with these tags under a C library."""
    wheel = Distribution("tensorflow", "2.21.0", "/site", tags=tags)
    return machine(python=Python("/env/bin/python", "named", libc=libc), packages=Packages((wheel,)))


def test_the_wheels_tag_is_held_against_glibc() -> None:
    (finding,) = findings_of(RULE, on("glibc 2.17", "manylinux_2_28_x86_64"))
    assert finding.message == "tensorflow 2.21.0 needs glibc 2.28 or newer, but this system has glibc 2.17."
    assert "2.28 or newer" in finding.fixes[0].title


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        (("manylinux_2_28_x86_64", "manylinux2014_x86_64"), OutcomeKind.PASSED),
        (("manylinux2014_x86_64",), OutcomeKind.PASSED),
        (("manylinux_2_18_x86_64",), OutcomeKind.FOUND),
        (("manylinux_2_x", "manylinux_two_8_x86_64"), OutcomeKind.NOT_APPLICABLE),
        (("linux_x86_64",), OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_the_oldest_glibc_that_a_tag_accepts_counts(tags: tuple[str, ...], kind: OutcomeKind) -> None:
    assert kinds_of(RULE, on("glibc 2.17", *tags)) == [kind]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, on("musl 1.2.5", "manylinux_2_28_x86_64")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(packages=Packages(()), python=Python("/p", "named", libc=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
