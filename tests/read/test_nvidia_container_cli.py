"""What `nvidia-container-cli info` states, and the kernel's lines about PCIe errors."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import KernelLog, Nvml
from tests.read.reading import read

INFO = """\
I0612 09:14:02.118733 4411 nvc_info.c:803] listing device /dev/nvidia0 (GPU-2f1c77aa-1b2c-4d3e-8f90-a1b2c3d4e5f6 at 00000000:3b:00.0)
NVRM version:   515.65.01
CUDA version:   11.7

Device Index:   0
Device Minor:   0
Model:          NVIDIA A40
Brand:          Nvidia
GPU UUID:       GPU-2f1c77aa-1b2c-4d3e-8f90-a1b2c3d4e5f6
Bus Location:   00000000:3b:00.0
Architecture:   8.6

Device Index:   1
Device Minor:   1
Model:          NVIDIA A40
Brand:          Nvidia
GPU UUID:       (null)
Bus Location:   (null)
Architecture:   8.6
"""


def test_info_states_the_driver_and_each_gpu(matrix: Matrix) -> None:
    nvml = read(INFO, matrix).nvml
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.gpus, tuple)
    assert (nvml.driver_version, nvml.cuda_served) == ("515.65.01", "11.7")
    assert [(gpu.index, gpu.name, gpu.compute_capability) for gpu in nvml.gpus] == [(0, "NVIDIA A40", "8.6"), (1, "NVIDIA A40", "8.6")]
    assert nvml.gpus[0].address == "0000:3b:00.0"


def test_fields_of_other_programs_are_not_read(matrix: Matrix) -> None:
    nvml = read("Model:          Precision 7920\nArchitecture:   x86_64\nDriver Version: 535.54.03\n", matrix).nvml
    assert isinstance(nvml, Nvml)
    assert "Precision" not in str(nvml.gpus)


@pytest.mark.parametrize(
    "line",
    [
        "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0",
        "pcieport 0000:3a:00.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0000:3b:00.0",
        "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
    ],
)
def test_the_kernel_log_keeps_errors_of_the_bus(line: str, matrix: Matrix) -> None:
    log = read(f"[  917.220411] {line}\n", matrix).kernel_log
    assert isinstance(log, KernelLog)
    assert line in log.lines[0]
