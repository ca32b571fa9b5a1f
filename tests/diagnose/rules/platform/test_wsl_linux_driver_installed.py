from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from gpudoctor.snapshot import DriverFile
from tests.builders import TIMED_OUT, bare, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ON_WSL, REFUSED, WINDOWS, change

RULE = "wsl-linux-driver-installed"
FILE = DriverFile("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "550.163.01")


def test_a_linux_libcuda_that_programs_load() -> None:
    refused = change(REFUSED, library="/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01")
    (finding,) = findings_of(RULE, bare(host=ON_WSL, wsl=change(WINDOWS, linux_driver=(FILE,)), libcuda=refused))
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.CERTAIN)
    assert "and its libcuda is loaded" in finding.message
    assert finding.fixes[0].command == "sudo rm /usr/lib/x86_64-linux-gnu/libcuda.so* && sudo ldconfig"


def test_packages_are_removed_as_packages_and_warned_of_while_cuda_works() -> None:
    (finding,) = findings_of(RULE, machine(host=ON_WSL, wsl=change(WINDOWS, packages=("libcuda1",))))
    assert finding.severity <= Severity.WARNING
    assert finding.fixes[0].command == "sudo apt purge libcuda1 && sudo ldconfig"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=WINDOWS)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
