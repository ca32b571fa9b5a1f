"""What an old release leaves open and an installer would choose today: too new a NumPy, protobuf or Keras. Over all releases in the tables."""

from __future__ import annotations

import pytest

from gpudoctor.derive.open_requirements import upper_bound
from gpudoctor.derive.specifiers import clauses, satisfies
from gpudoctor.findings import Diagnosis, Policy, Severity, Verdict
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.tables import PYTHONS
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.assumed_machine import assumed_machine
from gpudoctor.plan.proposal import PlanQuestion, proposed_plan
from tests.plan.planned import MATRIX, asked

LINUX = "linux_x86_64"
_SPANNED = {row.distribution for row in MATRIX.rows(PYTHONS)}
_WITH_NUMPY_2 = tuple(python for python, span in MATRIX.pythons("numpy").items() if span.last is None or span.last.major >= 2)
"""The Python versions for which an installer chooses NumPy 2."""


def diagnosis(*requirements: str, python: str) -> Diagnosis:
    return check_combination(Combination(requirements=requirements, python=python), Policy(level=None)).diagnosis


def names(*requirements: str, python: str) -> dict[str, Severity]:
    return {cause.name: cause.severity for cause in diagnosis(*requirements, python=python).root_causes}


def rows(distribution: str, python: str) -> list[FrameworkRelease]:
    return [row for row in MATRIX.releases(distribution, LINUX) if python in row.pythons]


def own(row: FrameworkRelease, name: str) -> str:
    return next((text.removeprefix(name) for text in row.requires if text.startswith(name) and ";" not in text), "")


def allows_numpy_2(row: FrameworkRelease) -> bool:
    texts = [text.partition(";")[0].removeprefix("numpy") for text in row.requires if text.startswith("numpy") and "extra==" not in text]
    return bool(texts) and all(satisfies("2.0.0", text) is True for text in texts)


@pytest.mark.parametrize("python", [python for python in ("3.9", "3.10", "3.11") if python in _WITH_NUMPY_2])
@pytest.mark.parametrize("distribution", ["tensorflow", "tensorflow-cpu", "onnxruntime-gpu"])
def test_numpy_2_is_told_where_a_build_for_numpy_1_does_not_exclude_it(distribution: str, python: str) -> None:
    for row in rows(distribution, python):
        pin = f"{distribution}=={row.release}"
        open_to_2 = row.numpy_abi == 1 and allows_numpy_2(row)
        expected = Severity.WARNING if open_to_2 else None
        assert names(pin, python=python).get("numpy2-abi-mismatch") is expected, (pin, python)
        if open_to_2:
            assert "numpy2-abi-mismatch" not in names(pin, "numpy==1.26.4", python=python), pin


@pytest.mark.parametrize("python", ["3.6", "3.8", "3.10", "3.12"])
def test_a_protobuf_that_metadata_allows_is_only_refused_by_code_that_is_too_old_for_it(python: str) -> None:
    for row in rows("tensorflow", python):
        pin, wanted = f"tensorflow=={row.release}", own(row, "protobuf")
        least = next(version for operator, version in clauses(wanted) or () if operator in {">=", "=="})
        assert "protobuf-mismatch" not in names(pin, f"protobuf=={least}", python=python), pin
        is_open = not upper_bound(row.requires, "protobuf") and satisfies("3.20.0", wanted) is True
        chosen = names(pin, python=python).get("protobuf-mismatch")
        assert chosen is (Severity.WARNING if is_open and python != "3.6" else None), (pin, python)


def test_a_protobuf_between_the_bounds_of_two_releases_is_none_too_new() -> None:
    assert "protobuf-mismatch" not in names("tensorflow==2.20.0", "protobuf==5.29.5", python="3.12")


def test_keras_is_bounded_by_a_patch_of_tensorflow() -> None:
    assert names("tensorflow==2.6.0", "keras==2.15.0", python="3.9")["package-requirement-conflict"] is Severity.ERROR
    assert names("tensorflow==2.6.0", python="3.9")["package-requirement-conflict"] is Severity.WARNING
    assert "package-requirement-conflict" not in names("tensorflow==2.6.0", "keras==2.6.0", python="3.9")
    assert "package-requirement-conflict" not in names("tensorflow==2.6.2", python="3.9")


@pytest.mark.parametrize("release", ["2.4.0", "2.6.0", "2.8.0", "2.10.1"])
def test_after_the_fixes_of_the_warnings_nothing_is_left(release: str) -> None:
    pin = (f"tensorflow=={release}",)
    stated = Combination(requirements=pin, python="3.8", gpus=("T4",), driver="470.82.01", system_cuda="11.2", system_cudnn="8.1")
    found = check_combination(stated, Policy(level=None), fixes=True).diagnosis
    added = tuple(text for cause in found.root_causes if cause.severity is Severity.WARNING for text in cause.fixes[0].installs)
    assert diagnosis(*pin, *added, python="3.8").verdict is not Verdict.BROKEN
    assert not {"numpy2-abi-mismatch", "protobuf-mismatch", "package-requirement-conflict"} & set(names(*pin, *added, python="3.8"))


def test_a_fix_that_leads_to_an_old_release_keeps_the_installer_within_its_bounds() -> None:
    stated = Combination(requirements=("torch==1.13.1", "torchvision==0.14.1"), gpus=("H100",), driver="550.54.15", python="3.10")
    found = check_combination(stated, Policy(level=None), fixes=True).diagnosis
    assert found.root_causes[0].fixes[0].installs == ("torch==2.0.1+cu118", "torchvision==0.15.2+cu118", "numpy<2")


def windows(*requirements: str, python: str = "") -> PlanQuestion:
    machine_of = assumed_machine(Combination(requirements=requirements, gpus=("RTX 4070",), driver="560.94", os="windows"), MATRIX)
    return PlanQuestion(requirements=requirements, machine=machine_of, python=python)


def test_a_plan_bounds_numpy_also_where_not_everything_could_be_checked() -> None:
    plan = proposed_plan(windows("tensorflow<2.11"), MATRIX).plan
    assert plan.environment is not None
    assert plan.environment.verdict == "unknown"
    assert [pin.requirement for pin in plan.environment.pins] == ["tensorflow==2.10.1", "numpy<2"]


def test_a_plan_for_a_python_without_a_cuda_build_on_windows_points_to_wsl() -> None:
    headline = proposed_plan(windows("tensorflow<=2.21.0", python="3.11"), MATRIX).plan.headline
    assert "cannot use an NVIDIA GPU on native Windows" in headline
    assert "WSL 2" in headline


def test_instead_of_pins_that_exclude_each_other_the_newest_pair_comes_before_fewer_packages() -> None:
    pins = ("tensorflow==2.13.1", "torch==2.4.1")
    nearest = proposed_plan(asked("a100", "535.183.01", *pins, python="3.10"), MATRIX).plan.nearest
    assert nearest is not None
    assert {"tensorflow", "torch"} <= {pin.requirement.partition("=")[0].partition("[")[0] for pin in nearest.pins}


def test_two_frameworks_that_exclude_each_other_take_few_checks() -> None:
    for pins in (("tensorflow[and-cuda]==2.16.2", "torch==2.4.1"), ("tensorflow==2.13.1", "torch==2.4.1")):
        assert proposed_plan(asked("a100", "535.183.01", *pins, python="3.10"), MATRIX).search.checked_sets < 150


@pytest.mark.parametrize("row", MATRIX.releases("jax"), ids=lambda row: str(row.release))
def test_a_jax_that_does_not_require_jaxlib_is_told_with_it(row: FrameworkRelease) -> None:
    plain = Combination(requirements=(f"jax=={row.release}",), gpus=("none",), python="3.11" if row.release < (0, 4, 20) else "3.12")
    found = check_combination(plain, Policy(level=None), fixes=True).diagnosis
    required = any(text.startswith("jaxlib") and "extra==" not in text for text in row.requires)
    texts = [text for cause in found.root_causes for fix in cause.fixes[:1] for text in fix.installs]
    assert any(text.startswith("jaxlib==") for text in texts) is not required


def test_a_plan_for_the_cpu_pins_the_jaxlib_of_an_old_jax() -> None:
    plan = proposed_plan(asked("none", "", "jax==0.4.25", python="3.11"), MATRIX).plan
    assert plan.environment is not None
    assert [pin.requirement for pin in plan.environment.pins] == ["jax==0.4.25", "jaxlib==0.4.25", "numpy<2"]


_OLD_PYTHONS = ("3.8", "3.9", "3.10")


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_what_is_left_open_follows_the_python_of_what_is_pinned(framework: str) -> None:
    """Of every package the last release with a wheel for an old Python, beside a framework without a version: an installer takes one for that Python."""
    spans = {
        (name, span.last.text): python
        for name in sorted(_SPANNED)
        for python, span in MATRIX.pythons(name).items()
        if python in _OLD_PYTHONS and span.last
    }
    pins = [f"{name}=={release}" for name, release in spans]
    assert len(pins) > 10
    found = {pin: check_combination(Combination(requirements=(pin, framework)), Policy(level=None)).diagnosis.root_causes for pin in pins}
    assert [pin for pin, causes in found.items() if "python-version-unsupported" in {cause.name for cause in causes}] == []
