"""GD216: forward-compat-unsupported-hw."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.driver.libcuda import _COMPAT_NOT_SUPPORTED, _module, _newer, _said, _take_away
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Problem, Rung, Severity
from gpudoctor.snapshot import KernelDriver, Libcuda, Missing, Snapshot


@rule(
    "GD216",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def forward_compat_unsupported_hw(
    libcuda: Libcuda | Missing, kernel_driver: KernelDriver | Missing, snapshot: Snapshot, machine: MachineView
) -> Iterator[Problem]:
    """A cuda-compat library is in use on a GPU that may not use it.

    ## Why it matters
    The package cuda-compat brings a newer libcuda that runs over an older kernel driver. NVIDIA allows that for data-centre GPUs and
    some workstation ones only; elsewhere cuInit answers 804, "forward compatibility was attempted on non supported HW". Images of
    newer CUDA releases switch it on by themselves where the host's driver is older than their CUDA.

    ## What to do
    Renew the host's driver, so that the library is not needed; or take the library off the loader's path and use builds for the
    CUDA that the driver serves.

    ## References
    - https://docs.nvidia.com/deploy/cuda-compatibility/
    """
    loaded = need(libcuda, Rung.LIBCUDA)
    if need(loaded.init, Rung.LIBCUDA).code != _COMPAT_NOT_SUPPORTED:
        return
    path = library.path(loaded)
    yield Problem(
        message=f"cuInit answers 804: {path or 'the loaded libcuda'} is newer than the kernel driver "
        f"({_module(kernel_driver)}), and this GPU may not bridge that.",
        evidence=(*_said(loaded, snapshot), Evidence("kernel driver", _module(kernel_driver), "/proc/driver/nvidia/version")),
        fixes=(*_take_away(path, snapshot, machine.site), _newer(path, machine)),
    )
