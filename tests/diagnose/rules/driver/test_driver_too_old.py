from __future__ import annotations

from gpudoctor.findings import FixKind
from tests.diagnose.rules.planned import CUDAS, PTX, SERVING, TF, branches, judge, only, stated, supposed, torch_row
from tests.matrix.samples import matrix
from tests.plan.samples import judged


def test_a_driver_older_than_the_gpu_is_too_old_for_every_cuda() -> None:
    lines = matrix(torch=torch_row("2.8.0", "sm_80 sm_120", cuda="12.0"), cuda=CUDAS, drivers=SERVING)
    found = judge(supposed(stated("torch", "2.8.0"), gpus=("12.0",), driver="535.104.05"), lines)
    assert [one.name for one in found.root_causes] == ["driver-too-old"]
    assert "gpu-too-new-for-driver" in {one.name for one in found.findings}
    assert not judge(supposed(stated("torch", "2.8.0"), gpus=("12.0",), driver="570.26"), lines).findings


def test_a_newer_driver_is_not_advised_where_it_drops_the_gpu() -> None:
    kepler = branches((470, "11.4", "3.0", "8.6"), (525, "12.0", "5.0", "9.0"))
    lines = matrix(tensorflow=PTX.replace("sm_80,compute_80", "sm_37,none"), cuda=CUDAS, drivers=kepler)
    found = only(judge(supposed(TF, gpus=("3.7",), driver="470.256.02"), lines), "driver-too-old")
    assert "branch 470 is the last driver for this one" in found.fixes[0].title


def test_an_older_release_of_what_was_asked_for_is_the_alternative_to_a_newer_driver() -> None:
    findings = judged("vllm==0.20.0", gpus=("a100-sxm4-80gb",), driver="535.104.05").findings
    update, install = next(one.fixes for one in findings if one.name == "driver-too-old")
    assert (update.kind, install.kind) == (FixKind.FIX, FixKind.INSTEAD)
    assert "pip install vllm==" in install.command
