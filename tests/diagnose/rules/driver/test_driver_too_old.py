from __future__ import annotations

import pytest

from gpudoctor.findings import Action, FixKind, Severity
from tests.diagnose.rules.planned import CUDAS, PTX, SERVING, TF, branches, judge, only, stated, supposed, torch_row
from tests.matrix.samples import matrix
from tests.plan.samples import checked


def test_a_driver_older_than_the_gpu_is_too_old_for_every_cuda() -> None:
    lines = matrix(torch=torch_row("2.8.0", "sm_80 sm_120", cuda="12.0"), cuda=CUDAS, drivers=SERVING)
    found = judge(supposed(stated("torch", "2.8.0"), gpus=("12.0",), driver="535.104.05"), lines)
    assert [cause.name for cause in found.root_causes] == ["driver-too-old"]
    assert "gpu-too-new-for-driver" in {finding.name for finding in found.findings}
    assert not judge(supposed(stated("torch", "2.8.0"), gpus=("12.0",), driver="570.26"), lines).findings


def test_a_newer_driver_is_not_advised_where_it_drops_the_gpu() -> None:
    kepler = branches((470, "11.4", "3.0", "8.6"), (525, "12.0", "5.0", "9.0"))
    lines = matrix(tensorflow=PTX.replace("sm_80,compute_80", "sm_37,none"), cuda=CUDAS, drivers=kepler)
    found = only(judge(supposed(TF, gpus=("3.7",), driver="470.256.02"), lines), "driver-too-old")
    assert "branch 470 is the last driver for this one" in found.fixes[0].title


def test_an_older_release_of_what_was_asked_for_is_the_alternative_to_a_newer_driver() -> None:
    findings = checked("vllm==0.20.0", gpus=("a100-sxm4-80gb",), driver="535.104.05").findings
    update, install = next(finding.fixes for finding in findings if finding.name == "driver-too-old")
    assert (update.kind, install.kind) == (FixKind.FIX, FixKind.INSTEAD)
    assert "pip install vllm==" in install.command


NEWEST_DRIVERS = ("550", "580", "615")
OF_DRIVERS_AND_GPUS = {"driver-too-old", "driver-too-new-for-gpu", "gpu-too-old-for-build", "gpu-below-framework-minimum"}


@pytest.mark.parametrize("package", ["torch", "torch==2.9.1", "jax[cuda13]", "tensorflow[and-cuda]"])
@pytest.mark.parametrize("gpu", ["GTX 960M", "GTX 1080", "V100-SXM2-16GB", "A100-SXM4-80GB", "RTX 5090"])
def test_a_driver_update_is_the_first_fix_only_where_a_driver_alone_cures(package: str, gpu: str) -> None:
    for driver in ("470", "535", "550"):
        found = [finding for finding in checked(package, gpus=(gpu,), driver=driver).findings if finding.name == "driver-too-old"]
        if not found or [fix.action for fix in found[0].fixes if fix.kind is FixKind.FIX] != [Action.UPDATE_DRIVER]:
            continue
        left = [
            {finding.name for finding in checked(package, gpus=(gpu,), driver=newer).findings} & OF_DRIVERS_AND_GPUS
            for newer in NEWEST_DRIVERS
        ]
        assert set() in left, (driver, left)


def test_a_build_for_newer_gpus_is_replaced_whatever_the_driver_is() -> None:
    findings = [
        finding for finding in checked("torch", gpus=("GTX 1080",), driver="535.104.05").findings if finding.severity is Severity.ERROR
    ]
    assert {finding.name for finding in findings} == {"driver-too-old", "gpu-too-old-for-build"}
    commands = {finding.fixes[0].command for finding in findings}
    assert len(commands) == 1
    assert "+cu126" in commands.pop()
    assert not [fix for finding in findings for fix in finding.fixes if fix.action is Action.UPDATE_DRIVER]
