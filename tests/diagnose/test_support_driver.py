"""What a text's facts say for a driver whose branch does not support the GPU."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.support import supported_causes
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import NOT_ASKED, Fact, Nvml, TextLog
from tests.diagnose.rules.asking import with_gpus
from tests.diagnose.rules.driver.loaded import kernel_driver

UNBOUND = "NVRM: The NVIDIA GPU 0000:01:00.0 installed in this system is not supported by the NVIDIA driver."


@pytest.mark.parametrize(
    ("capability", "driver", "causes"),
    [
        ("3.5", "470.256.02", set()),
        ("3.5", "535.104.05", {"driver-too-new-for-gpu"}),
        ("5.2", "580.65.06", set()),
        ("5.2", "590.44.01", {"driver-too-new-for-gpu"}),
        ("8.9", "470.256.02", {"gpu-too-new-for-driver"}),
        ("8.6", "470.256.02", set()),
        ("12.0", "580.65.06", set()),
        ("8.0", "999.1", set()),
    ],
)
def test_a_branch_that_does_not_support_the_gpu_speaks_for_another_driver(
    capability: str, driver: str, causes: set[str], matrix: Matrix
) -> None:
    log = TextLog(lines=(Fact(UNBOUND, "line 1"),))
    seen = with_gpus({"compute_capability": capability, "name": "a GPU"}, text_log=log)
    assert isinstance(seen.nvml, Nvml)
    seen = msgspec.structs.replace(seen, nvml=msgspec.structs.replace(seen.nvml, driver_version=driver))
    found = supported_causes(MachineView(seen, matrix, Policy()), log)
    assert {"driver-too-new-for-gpu", "gpu-too-new-for-driver"} & {*found} == causes


@pytest.mark.parametrize(
    ("capability", "flavour", "causes"),
    [
        ("7.2", "open", {"driver-too-new-for-gpu", "uvm-hmm-init-failure"}),
        ("7.5", "open", {"uvm-hmm-init-failure"}),
        ("8.9", "proprietary", set()),
        ("10.0", "proprietary", {"uvm-hmm-init-failure"}),
    ],
)
def test_the_open_modules_support_turing_and_newer(capability: str, flavour: str, causes: set[str], matrix: Matrix) -> None:
    log = TextLog(lines=(Fact(UNBOUND, "line 1"),))
    driver = kernel_driver(version=NOT_ASKED, flavour=flavour)
    seen = with_gpus({"compute_capability": capability, "name": "a GPU"}, text_log=log, kernel_driver=driver)
    found = supported_causes(MachineView(seen, matrix, Policy()), log)
    assert {"driver-too-new-for-gpu", "uvm-hmm-init-failure"} & {*found} == causes
