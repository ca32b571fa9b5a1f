"""GD211: driver-too-new-for-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, Gpu, MachineView
from gpudoctor.diagnose.advice.driver import TURING, update_driver
from gpudoctor.diagnose.gpu_facts import supposed_capability
from gpudoctor.diagnose.kernel_facts import said
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.driver.branches import _NO_BRANCH, _pair, _read
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import KernelLog, Missing, Snapshot

NOT_OPEN = r"not supported by open nvidia\.ko"


LEGACY = r"supported through the NVIDIA .{0,40} Legacy drivers"


@rule(
    "GD211",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(
            (
                "no-driver",
                "driver-library-mismatch",
                "cuda-init-fails",
                "nouveau-loaded",
                "kernel-module-not-built",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
        Explains(("gpu-count-mismatch",), "", Join.GPU),
    ),
)
def driver_too_new_for_gpu(
    gpu: Gpu, snapshot: Snapshot, driver: Driver | Missing, matrix: Matrix, log: KernelLog | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The driver no longer drives a GPU of this age.

    ## Why it matters
    NVIDIA's driver branches drop old generations: 390 was the last for Fermi, 470 for Kepler, 580 for Maxwell, Pascal and Volta. A
    newer one loads, says in the kernel's log that it ignores the GPU, and nvidia-smi finds no device. The open flavour of the kernel
    modules drives nothing older than Turing, in any branch.

    ## What to do
    Install a branch that still drives the GPU, in the proprietary flavour; the distribution's package names carry the branch. Then
    choose a build of the framework that this branch's CUDA serves.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
    """
    pair = _pair(gpu, snapshot, driver, matrix, machine.site)
    if pair is None:
        return
    told = said(log, f"{NOT_OPEN}|{LEGACY}", gpu)
    capability = pair.capability
    dropped = pair.oldest is not None and capability < pair.oldest
    if not told and not dropped and not (pair.flavour == "open" and capability < TURING):
        need(pair.oldest or _NO_BRANCH, Rung.KERNEL_DRIVER)
        return
    reason = (
        f"branch {pair.branch} drives none below {pair.oldest}" if dropped else "the open kernel modules drive none before Turing (7.5)"
    )
    yield Problem(
        message=f"{pair.called} is too old for driver {pair.version}: {reason}.",
        confidence=Confidence.CERTAIN if told or supposed_capability(gpu) else Confidence.LIKELY,
        evidence=(*pair.evidence, *told),
        fixes=(
            *_read(gpu),
            update_driver(machine, what="Install a driver that drives this GPU", flavour="" if dropped else "proprietary", older=True),
        ),
    )
