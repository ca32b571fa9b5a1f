"""Where the newest releases of what was left open exclude each other, older ones are taken together, as an installer takes them."""

from __future__ import annotations

import time

import pytest

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import of_beside
from gpudoctor.findings import Policy, Verdict
from gpudoctor.matrix.rows import Withdrawn
from gpudoctor.matrix.tables import YANKED
from gpudoctor.plan import check_combination
from gpudoctor.plan.model import Combination
from gpudoctor.snapshot import Packages
from tests.matrix.samples import release
from tests.plan.samples import tables, torch
from tests.plan.test_package_selection import supposed, taken
from tests.shipped import shared_matrix

WITHDRAWN: tuple[Withdrawn, ...] = shared_matrix().rows(YANKED)
TENSORFLOW = ("2.11.1", "2.12.1", "2.13.1", "2.14.1", "2.15.1", "2.16.2", "2.17.1", "2.18.1")
BESIDE = (
    ("torch",),
    ("torch", "pytorch-lightning"),
    ("torchvision", "torch-fidelity"),
    ("keras-nlp",),
    ("sentence-transformers", "onnxruntime-gpu"),
)


def clashing(*requirements: str, python: str) -> list[str]:
    """Return what is required of the taken packages that none of these meets, apart from what no installer compares."""
    snapshot = supposed(shared_matrix(), *requirements, python=python)
    assert isinstance(snapshot.packages, Packages)
    stack = Stack(snapshot, snapshot.packages, shared_matrix())
    demands = [demand for clash in stack.requirement_clashes for demand in clash.demands] + [broken.demand for broken in stack.violations]
    return [demand.text for demand in demands if not of_beside(demand.requirement.marker)]


@pytest.mark.parametrize("others", BESIDE, ids=" ".join)
@pytest.mark.parametrize("version", TENSORFLOW)
def test_beside_a_stated_tensorflow_older_releases_are_taken_together(version: str, others: tuple[str, ...]) -> None:
    began = time.process_time()
    assert clashing(f"tensorflow=={version}", *others, python="3.10" if version < "2.16" else "3.11") == []
    assert time.process_time() - began < 1


def test_what_nobody_stated_gives_way_before_what_was_stated() -> None:
    matrix = tables(
        torch("2.5.0", "sympy>=1.12", "torchvision"),
        torch("2.5.1", "sympy>=1.12", "torchvision"),
        release("0.20.0", distribution="torchvision", requires=("sympy>=1",)),
        release("0.20.1", distribution="torchvision", requires=("sympy<1.12",)),
    )
    assert {name: found.version for name, found in taken(matrix, "torch", "numpy").items()} == {"torch": "2.5.1", "torchvision": "0.20.0"}


def test_where_no_releases_agree_the_newest_stay() -> None:
    matrix = tables(
        torch("2.5.0", "sympy>=1.13"), torch("2.5.1", "sympy>=1.14"), release("0.1", distribution="torchvision", requires=("sympy<1",))
    )
    assert taken(matrix, "torch", "torchvision")["torch"].version == "2.5.1"


@pytest.mark.parametrize(
    "others", [("tf-keras",), ("tensorflow-hub",), ("tensorflow-probability", "tf-keras"), ("tensorflow-text",)], ids=" ".join
)
def test_tensorflow_addons_leads_to_one_environment_with_everything(others: tuple[str, ...]) -> None:
    found = check_combination(
        Combination(requirements=("tensorflow-addons", *others), python="3.11"), Policy(level=None), fixes=True
    ).diagnosis
    installs = [text for finding in found.findings[:1] for fix in finding.fixes[:1] for text in fix.installs]
    assert found.verdict is Verdict.BROKEN
    assert {text.partition("==")[0].partition("[")[0] for text in installs} >= {"tensorflow"}
    assert not any(fix.removes for finding in found.findings[:1] for fix in finding.fixes[:1])


@pytest.mark.parametrize(("open_", "pinned"), [("tf-keras", "tf-keras==2.15."), ("tensorflow-text", "tensorflow-text==2.15.")])
def test_a_fix_installs_the_other_releases_of_what_was_left_open_too(open_: str, pinned: str) -> None:
    found = check_combination(
        Combination(requirements=("tensorflow-addons", "tensorflow", open_), python="3.10"), Policy(level=None), fixes=True
    ).diagnosis
    assert any(text.startswith(pinned) for text in found.findings[0].fixes[0].installs)
    assert pinned in (found.findings[0].fixes[0].command or "")


@pytest.mark.parametrize("row", WITHDRAWN, ids=lambda row: row.distribution)
def test_a_withdrawn_release_is_taken_only_where_it_is_pinned(row: Withdrawn) -> None:
    matrix = shared_matrix()
    assert not {str(other.release) for other in matrix.releases(row.distribution)} & {*row.releases}
    for version in row.releases:
        snapshot = supposed(matrix, f"{row.distribution}=={version}")
        assert any(remark.startswith(f"{row.distribution} {version} was withdrawn") for remark in snapshot.remarks)
        assert matrix.of_release(row.distribution, version)
