"""What pip's list of the releases that it found shows."""

from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.installer_facts import missing_release_evidence, other_python_evidence
from gpudoctor.findings import Level, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Python
from tests.builders import bare
from tests.read.reading import read

REFUSED = (
    "ERROR: Could not find a version that satisfies the requirement {} (from versions: {})\nERROR: No matching distribution found for {}\n"
)


def shown(matrix: Matrix, requirement: str, offered: str) -> list[tuple[str, str, str]]:
    """Return each finding with the evidence of the installer."""
    snapshot = read(REFUSED.format(requirement, offered, requirement), matrix)
    findings = diagnose(snapshot, matrix, Policy(level=Level.LOOK)).findings
    return [(finding.name, fact.what, fact.value) for finding in findings for fact in finding.evidence if fact.where == "the installer"]


@pytest.mark.parametrize(
    ("offered", "span"),
    [("2.2.0", "2.2.0"), ("2.2.0, 2.2.1", "2.2.0 to 2.2.1"), ("2.2.0, 2.2.1, 2.5.0+cpu", "2.2.0 to 2.5.0+cpu")],
)
def test_releases_on_one_side_of_the_wanted_one_are_those_for_this_python(offered: str, span: str, matrix: Matrix) -> None:
    ((name, what, value),) = shown(matrix, "torch==1.7.1", offered)
    assert (what, value) == ("releases of torch for this Python", span)
    assert name


@pytest.mark.parametrize("offered", ["1.7.0, 1.8.0", "1.7.1", "none", ""])
def test_releases_on_both_sides_or_none_say_nothing_of_python(offered: str, matrix: Matrix) -> None:
    assert not [one for one in shown(matrix, "torch==1.7.1", offered) if "for this Python" in one[1]]


def test_a_release_newer_than_the_newest_that_is_offered_and_known_does_not_exist(matrix: Matrix) -> None:
    newest = str(matrix.releases("torch")[-1].release)
    ((_, what, value),) = shown(matrix, "torch==99.0.0", f"2.2.0, {newest}")
    assert (what, value) == ("releases of torch", f"2.2.0 to {newest}")
    assert not [one for one in shown(matrix, "torch==99.0.0", "2.2.0, 2.2.1") if one[1] == "releases of torch"]


PIP = "ERROR: Could not find a version that satisfies the requirement torch=={} (from versions: none)\n"


@pytest.mark.parametrize(
    ("index", "release", "builds"),
    [("cu121", "2.4.0", []), ("cu92", "2.4.0", ["cu118, cu121, cu124"]), ("cu118", "2.9.0", ["cu126, cu128, cu130"])],
)
def test_an_index_without_the_release_is_named_with_those_that_have_it(index: str, release: str, builds: list[str], matrix: Matrix) -> None:
    text = f"$ pip install torch=={release} --index-url https://download.pytorch.org/whl/{index}\n{PIP.format(release)}"
    facts = missing_release_evidence(MachineView(read(text, matrix), matrix, Policy()), text)
    assert [fact.value for fact in facts] == builds


@pytest.mark.parametrize(("python", "told"), [("3.11.4", []), ("3.6.9", ["3.6.9"]), ("3.11", [])])
def test_a_pinned_release_without_wheels_for_this_python_is_told_by_the_tables(python: str, told: list[str], matrix: Matrix) -> None:
    text = f"Python {python}\n$ pip install tensorflow==2.18.0\n"
    seen = bare(python=Python("python", "the text", version=python))
    assert [fact.value for fact in other_python_evidence(MachineView(seen, matrix, Policy()), text)] == told
