from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import ABSENT, bare, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import NOT_FOUND, on_disk, own

RULE = "libcuda-not-installed"


def test_a_driver_without_its_cuda_library() -> None:
    (finding,) = findings_of(RULE, machine(1, libcuda=NOT_FOUND, cuda_files=on_disk()))
    assert finding.message == "libcuda.so.1 is not installed, although NVML works (driver 550.163.01)."
    assert finding.fixes[0].command == "sudo apt install --reinstall 'libnvidia-compute-550=550.163.01-*'"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=NOT_FOUND, cuda_files=on_disk(own()))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, libcuda=NOT_FOUND, cuda_files=on_disk(), container=in_docker())) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, libcuda=NOT_FOUND, cuda_files=ABSENT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, bare()) == [OutcomeKind.NOT_APPLICABLE]
