from __future__ import annotations

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, OutcomeKind, Policy
from gpudoctor.snapshot import KernelLog, KernelModules
from tests.builders import ABSENT, address, card
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.diagnose.rules.driver.branches import GTX_1080, refused
from tests.diagnose.rules.driver.modules import signed, unloaded

RULE = "driver-too-new-for-gpu"


def test_open_modules_and_a_gpu_before_turing() -> None:
    modules = signed(signature=False)
    assert isinstance(modules.installed, tuple)
    path = msgspec.structs.replace(modules.installed[0], path="/lib/modules/6.1/kernel/nvidia-570-open/nvidia.ko")
    snapshot = refused(GTX_1080, "570.86.15", modules=msgspec.structs.replace(modules, installed=(path,)))
    (finding,) = findings_of(RULE, snapshot)
    assert "before Turing" in finding.message
    assert "nvidia-driver-pinning-580" in finding.fixes[1].command or "proprietary" in finding.fixes[1].title


def test_what_the_driver_says_itself_is_certain() -> None:
    line = f"NVRM: The NVIDIA GPU {address(0)} (PCI ID: 10de:0fc0) installed in this system is supported through the NVIDIA 470.xx Legacy drivers."
    log = KernelLog("/dev/kmsg", lines=(line,))
    (finding,) = findings_of(RULE, refused(card(0, device="0fc0", driver=ABSENT), "550.163.01", kernel_log=log))
    assert finding.confidence is Confidence.CERTAIN


def test_what_it_says_of_another_gpu_is_not_of_this_one() -> None:
    log = KernelLog("/dev/kmsg", lines=("NVRM: The NVIDIA GPU 0000:99:00.0 is supported through the NVIDIA 470.xx Legacy drivers.",))
    assert not findings_of(RULE, refused(GTX_1080, "550.163.01", kernel_log=log))


def test_a_gpu_that_no_list_names_is_not_judged() -> None:
    assert kinds_of(RULE, refused(card(0, device="fff0", driver=ABSENT), "550.163.01")) == [OutcomeKind.NOT_ASKED]


def test_without_a_driver_there_is_no_branch() -> None:
    snapshot = unloaded(KernelModules(), GTX_1080, nvml=ABSENT, libcuda=ABSENT)
    assert kinds_of(RULE, snapshot) == [OutcomeKind.NOT_APPLICABLE]


def test_a_gpu_that_nouveau_took_after_the_driver_refused_it() -> None:
    diagnosis = diagnose(refused(card(0, device="1b80", driver="nouveau"), "590.44.01"), MATRIX, Policy(level=None))
    assert [finding.name for finding in diagnosis.findings if not finding.because_of] == [RULE]
    assert "nouveau-loaded" in {finding.name for finding in diagnosis.findings}
