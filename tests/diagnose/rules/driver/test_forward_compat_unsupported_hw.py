from __future__ import annotations

import pytest

from gpudoctor.findings import Action, FixKind, OutcomeKind
from gpudoctor.snapshot import Variables
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded
from tests.plan.samples import checked

RULE = "forward-compat-unsupported-hw"
COMPAT = "/usr/local/cuda/compat/libcuda.so.570.26"


def test_the_library_is_taken_off_the_path_or_the_driver_updated_to_its_release() -> None:
    variables = Variables({"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/opt/lib"})
    (finding,) = findings_of(RULE, machine(1, libcuda=loaded(804, COMPAT), variables=variables))
    assert finding.fixes[0].command == "export LD_LIBRARY_PATH=/opt/lib"
    assert "570.26 or newer" in finding.fixes[1].title
    assert finding.fixes[1].kind is FixKind.INSTEAD


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, libcuda=loaded(803, COMPAT))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    ("gpus", "compat", "refused"),
    [
        (("RTX 4090",), "12.8", ["NVIDIA GeForce RTX 4090"]),
        (("A100-SXM4-80GB",), "12.8", []),
        (("RTX 4090",), None, []),
    ],
    ids=["a GeForce", "a data centre GPU", "no cuda-compat"],
)
def test_a_described_gpu_without_forward_compatibility(gpus: tuple[str, ...], compat: str | None, refused: list[str]) -> None:
    diagnosis = checked("torch==2.6.0", gpus=gpus, driver="535.104.05", cuda_compat=compat)
    found = [finding for finding in diagnosis.findings if finding.name == RULE]
    assert [finding.message.partition(" does not support forward compatibility")[0] for finding in found] == refused
    for finding in found:
        assert [(row.what, row.value) for row in finding.evidence] == [("cuda-compat", "12.8"), ("kind of GPU", "geforce")]
        assert [fix.removes for fix in finding.fixes] == [("cuda-compat",)], "driver 535 runs CUDA 12.4 itself"


def test_without_cuda_compat_the_driver_must_run_the_builds_itself() -> None:
    found = checked("torch==2.15.0", gpus=("RTX 4090",), driver="535.104.05", cuda_compat="13.0")
    remove, update = next(finding for finding in found.findings if finding.name == RULE).fixes
    assert remove.removes == ("cuda-compat",)
    assert (update.action, update.driver) == (Action.UPDATE_DRIVER, "580")
