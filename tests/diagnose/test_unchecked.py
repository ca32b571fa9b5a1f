"""Ready means judged, over every recorded machine: what is listed is never ready, and what nothing judges is listed."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Level, Policy, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    NOT_ASKED,
    Cause,
    Distribution,
    Extension,
    Fact,
    Framework,
    Libraries,
    Missing,
    Packages,
    Stage,
    StageKind,
    StageState,
)
from tests.builders import machine, smoke, tensorflow, torch
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, policy, recorded
from tests.seams.every import every

pytestmark = pytest.mark.untraced  # the same code a thousand times: tests of each part cover it

GOOD = {Verdict.READY, Verdict.DEGRADED}
everywhere = every("name", NAMES)


def what(diagnosis: Diagnosis) -> list[str]:
    return [unchecked.what for unchecked in diagnosis.unchecked]


@everywhere
def test_a_machine_with_something_unchecked_is_never_ready(name: str) -> None:
    found = diagnosis(name)
    assert found.verdict not in GOOD or not found.unchecked


@everywhere
def test_an_unknown_build_in_place_of_a_framework_is_never_ready(name: str, matrix: Matrix) -> None:
    snapshot = recorded(name)
    if snapshot.origin != "live" or not isinstance(snapshot.frameworks, tuple) or policy(name).allow_cpu:
        return
    vendors = tuple(_of_a_vendor(framework) for framework in snapshot.frameworks)
    changed = msgspec.structs.replace(snapshot, frameworks=vendors, smoke=NOT_ASKED, contexts=NOT_ASKED, libraries=NOT_ASKED)
    found = diagnose(changed, matrix, msgspec.structs.replace(policy(name), level=Level.LOOK))
    assert found.verdict not in GOOD


@everywhere
def test_a_package_that_nothing_looks_into_is_never_ready(name: str, matrix: Matrix) -> None:
    snapshot = recorded(name)
    if snapshot.origin != "live" or not isinstance(snapshot.packages, Packages):
        return
    more = (*snapshot.packages.distributions, Distribution("onnxruntime-gpu", "1.20.0", "/site"))
    changed = msgspec.structs.replace(snapshot, packages=msgspec.structs.replace(snapshot.packages, distributions=more))
    found = diagnose(changed, matrix, policy(name))
    on_a_gpu = "onnxruntime-gpu 1.20.0" in what(found)
    assert on_a_gpu == bool(found.ladder)
    assert not on_a_gpu or found.verdict not in GOOD


@everywhere
def test_a_machine_without_a_framework_is_never_ready_unless_it_is_asked_about_alone(name: str, matrix: Matrix) -> None:
    snapshot = recorded(name)
    if snapshot.origin == "text" or policy(name).node:
        return
    empty = msgspec.structs.replace(snapshot, frameworks=(), smoke=NOT_ASKED)
    level = (None, Level.LOOK, Level.TOUCH, Level.TRAIN)[NAMES.index(name) % 4]  # in turn
    found = diagnose(empty, matrix, msgspec.structs.replace(policy(name), level=level, allow_cpu=False))
    assert found.verdict not in GOOD


def _of_a_vendor(framework: Framework) -> Framework:
    """The same framework as a build known only by its version."""
    version = Fact("9.9.0a0+vendor", "its files")
    return msgspec.structs.replace(
        framework, version=version, cuda_build=True, built_with_cuda=NOT_ASKED, built_with_cudnn=NOT_ASKED, architectures=NOT_ASKED
    )


def test_a_build_that_trained_was_judged_by_what_it_did(matrix: Matrix) -> None:
    vendors = tensorflow(version=Fact("2.18.0+nv24.12", "dist-info"), built_with_cuda=Fact("12.5", "build_info.py"))
    assert what(diagnose(machine(frameworks=(vendors,)), matrix, Policy(level=Level.LOOK))) == ["tensorflow 2.18.0+nv24.12"]
    assert diagnose(machine(frameworks=(vendors,), smoke=(smoke(),)), matrix, Policy()).verdict is Verdict.READY


def test_a_gpu_of_unknown_kind_is_no_reason_to_call_a_known_build_unchecked(matrix: Matrix) -> None:
    assert what(diagnose(machine(frameworks=(tensorflow(), torch())), matrix, Policy(level=Level.LOOK))) == []


def test_an_add_on_whose_files_nobody_read_is_listed(matrix: Matrix) -> None:
    site = (
        Distribution("torch", "2.6.0", "/site"),
        Distribution("xformers", "0.0.29", "/site"),
        Distribution("transformers", "4.50", "/site"),
    )
    unread = machine(frameworks=(torch(),), packages=Packages(site), libraries=Missing(NOT_ASKED.cause, "the X-ray was not made"))
    (unchecked,) = diagnose(unread, matrix, Policy(level=Level.LOOK)).unchecked
    assert (unchecked.what, unchecked.reason) == ("xformers 0.0.29", "the X-ray was not made")


@pytest.mark.parametrize("cause", Cause)
def test_an_add_on_counts_as_unread_unless_its_file_was_read_and_has_no_gpu_code(cause: Cause, matrix: Matrix) -> None:
    site = (Distribution("torch", "2.6.0", "/site"), Distribution("torchaudio", "2.6.0", "/site"))
    file = Extension("torchaudio", "2.6.0", "torch", "/site/torchaudio/lib/x.so", Missing(cause, "no code"), ("libcudart.so.12",), ())
    read = machine(frameworks=(torch(),), packages=Packages(site), libraries=Libraries((), (file,)))
    assert ("torchaudio 2.6.0" in what(diagnose(read, matrix, Policy(level=Level.LOOK)))) is (cause is not Cause.ABSENT)


def test_a_framework_that_could_not_be_trained_with_is_listed_with_the_reason(matrix: Matrix) -> None:
    stage = Stage(StageKind.IMPORT, StageState.UNSUPPORTED, error="gpudoctor trains with TensorFlow 2 only.")
    untrained = smoke(stages=(stage,), trainings=())
    found = diagnose(machine(frameworks=(tensorflow(),), smoke=(untrained,)), matrix, Policy())
    told = {unchecked.what: unchecked.reason for unchecked in found.unchecked}
    assert told["training with tensorflow"] == "gpudoctor trains with TensorFlow 2 only"
    assert found.verdict not in GOOD
