from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Confidence, Evidence, OutcomeKind
from gpudoctor.snapshot import Cpu, Details, KernelLog, Memory, Parameter
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.loaded import failing, kernel_driver
from tests.diagnose.rules.driver.modules import DENIED
from tests.diagnose.rules.platform.samples import DOCKER

RULE = "uvm-hmm-init-failure"
LOG = KernelLog("/dev/kmsg", lines=("nvidia-uvm: uvm_pmm_gpu.c:3320 devmem_alloc_pagemap: request_free_mem_region() err -34",))


def test_what_the_kernel_logged_is_certain() -> None:
    (finding,) = findings_of(RULE, failing(3, kernel_driver=kernel_driver(flavour="open"), kernel_log=LOG))
    assert finding.confidence is Confidence.CERTAIN


def test_without_the_log_the_open_modules_are_suspected() -> None:
    (finding,) = findings_of(RULE, failing(3, kernel_driver=kernel_driver(flavour="open"), kernel_log=DENIED))
    assert finding.confidence is Confidence.LIKELY
    assert not findings_of(RULE, failing(3, kernel_driver=kernel_driver(flavour="proprietary"), kernel_log=DENIED))


def test_other_outcomes() -> None:
    off = kernel_driver(flavour="open", parameters=(Parameter("nvidia_uvm.uvm_disable_hmm", "Y"),))
    assert kinds_of(RULE, failing(3, kernel_driver=off, kernel_log=LOG)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, failing(999, kernel_driver=kernel_driver(), kernel_log=LOG)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, failing(3, kernel_driver=kernel_driver(flavour=DENIED))) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    ("parameters", "state"),
    [((Parameter("nokaslr", ""),), "off (nokaslr)"), ((Parameter("iommu", "pt"),), "on"), (DENIED, f"not known ({DENIED.reason})")],
)
def test_whether_the_kernel_randomises_its_addresses_is_evidence(parameters: Any, state: str) -> None:
    details = Details(cpu=Cpu(), memory=Memory(), kernel_parameters=parameters)
    (finding,) = findings_of(RULE, failing(3, kernel_driver=kernel_driver(flavour="open"), kernel_log=LOG, details=details))
    assert Evidence("KASLR", state, "/proc/cmdline") in finding.evidence


def test_in_a_container_the_host_turns_hmm_off() -> None:
    (finding,) = findings_of(RULE, failing(3, kernel_driver=kernel_driver(flavour="open"), kernel_log=LOG, container=DOCKER))
    assert [fix.command for fix in finding.fixes] == [""]
