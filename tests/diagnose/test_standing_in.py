"""One framework stands in for another only where it has no error of its own."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.engine import RuleRun, run_rules
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Policy, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Distribution, Packages, Snapshot
from tests.builders import machine, tensorflow
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, policy, recorded
from tests.seams.every import every


class _Alone(MachineView):
    """Facts of an environment in which no framework can stand in for another."""

    def another_can_train(self, name: str, failing: frozenset[str] = frozenset()) -> bool:  # noqa: ARG002 -- the signature it overrides
        return False


def _failing(runs: list[RuleRun]) -> set[str]:
    return {name for run in runs for name in run.failing_frameworks if name}


def _all_fail(name: str, matrix: Matrix) -> set[str]:
    """The frameworks of a recorded machine if each of them fails for itself, otherwise none."""
    facts = _Alone(recorded(name), matrix, policy(name))
    installed = {framework.name for framework in facts.observed_frameworks}
    return installed if installed and installed <= _failing(run_rules(RULES, facts)) else set()


@every("name", NAMES)
def test_an_environment_whose_frameworks_all_fail_is_broken(name: str, matrix: Matrix) -> None:
    if _all_fail(name, matrix):
        assert diagnosis(name).verdict is Verdict.BROKEN


def test_the_property_above_has_machines_to_speak_of(matrix: Matrix) -> None:
    assert len(_all_fail("two-frameworks-both-without-cublas", matrix)) > 1


def _severities(snapshot: Snapshot, matrix: Matrix, name: str) -> list[Severity]:
    return [finding.severity for finding in diagnose(snapshot, matrix, Policy()).findings if finding.name == name]


@pytest.mark.parametrize(
    ("package", "version", "requires", "name"),
    [
        ("protobuf", "6.31.1", "protobuf!=4.21.0,<5,>=3.20.3", "protobuf-mismatch"),
        ("protobuf", "4.25.0", "protobuf<4,>=3.9.2", "protobuf-mismatch"),
        ("keras", "3.5.0", "keras<2.16,>=2.15", "keras3-mismatch"),
        ("numpy", "2.0.1", "numpy<2", "numpy2-abi-mismatch"),
    ],
)
def test_training_on_the_cpu_disproves_that_the_import_fails(package: str, version: str, requires: str, name: str, matrix: Matrix) -> None:
    packages = Packages((Distribution("tensorflow", "2.18.0", "/site", requires=(requires,)), Distribution(package, version, "/site")))
    untrained = machine(1, packages=packages, frameworks=(tensorflow(),))
    trained = msgspec.structs.replace(untrained, smoke=recorded("cpu-trains").smoke)
    assert Severity.NOTE not in _severities(untrained, matrix, name)
    assert _severities(trained, matrix, name) == [Severity.NOTE]


def test_training_on_the_cpu_does_not_disprove_that_the_gpu_is_out_of_reach(matrix: Matrix) -> None:
    snapshot = recorded("cuda-libraries-nowhere")
    trained = msgspec.structs.replace(snapshot, smoke=recorded("cpu-trains").smoke)
    assert _severities(trained, matrix, "cuda-library-missing") == [Severity.ERROR]


@pytest.mark.parametrize(("excluded", "severity"), [("!=4.21.0,", Severity.WARNING), ("", Severity.WARNING)])
def test_a_protobuf_release_that_is_merely_excluded_says_nothing_of_newer_ones(excluded: str, severity: Severity, matrix: Matrix) -> None:
    wants = Distribution("tensorflow", "2.18.0", "/site", requires=(f"protobuf{excluded}<6,>=3.20.3",))
    snapshot = machine(1, packages=Packages((wants, Distribution("protobuf", "6.31.1", "/site"))), frameworks=(tensorflow(),))
    assert _severities(snapshot, matrix, "protobuf-mismatch") == [severity]


@pytest.mark.parametrize(("plugin", "found"), [((), []), ((Distribution("jax-cuda12-plugin", "0.4.33", "/site"),), ["jax-cuda12-plugin"])])
def test_an_extra_counts_only_where_one_of_its_own_packages_is_installed(
    plugin: tuple[Distribution, ...], found: list[str], matrix: Matrix
) -> None:
    """And never for what the package requires without it: jaxlib 0.4.35 is within those bounds."""
    requires = ("jaxlib<=0.4.35,>=0.4.34", "jaxlib==0.4.34; extra == 'cuda12'", "jax-cuda12-plugin==0.4.34; extra == 'cuda12'")
    jax = Distribution("jax", "0.4.35", "/site", requires=requires)
    snapshot = machine(1, packages=Packages((jax, Distribution("jaxlib", "0.4.35", "/site"), *plugin)))
    names = [violation.demand.requirement.name for violation in MachineView(snapshot, matrix, Policy()).stack_or_missing.violations]  # type: ignore[union-attr]
    assert names == found
