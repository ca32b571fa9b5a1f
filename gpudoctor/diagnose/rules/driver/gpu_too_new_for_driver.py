"""GD212: gpu-too-new-for-driver."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, Gpu, MachineView
from gpudoctor.diagnose.advice.driver import BLACKWELL, update_driver
from gpudoctor.diagnose.gpu_facts import supposed_capability
from gpudoctor.diagnose.kernel_facts import said
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.driver.branches import _NO_BRANCH, _pair, _read
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import KernelLog, Missing, Snapshot
from gpudoctor.versions import Version

ONLY_OPEN = r"requires use of the NVIDIA open kernel modules"


UNKNOWN_TO_DRIVER = r"not supported by the NVIDIA [\d.]+ driver release"


@rule(
    "GD212",
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
def gpu_too_new_for_driver(
    gpu: Gpu, snapshot: Snapshot, driver: Driver | Missing, matrix: Matrix, log: KernelLog | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The driver does not know a GPU as new as this one.

    ## Why it matters
    A driver drives the generations that existed when its branch was made. It ignores a newer GPU and says so in the kernel's log only;
    nvidia-smi finds no device. From Blackwell on, GPUs are driven by the open flavour of the kernel modules alone: with the proprietary
    one, even of the newest branch, the GPU does not start.

    ## What to do
    Install a newer branch, for Blackwell in its open flavour: packages with "open" in their name.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
    """
    pair = _pair(gpu, snapshot, driver, matrix, machine.site)
    if pair is None:
        return
    told = said(log, f"{ONLY_OPEN}|{UNKNOWN_TO_DRIVER}", gpu)
    capability = pair.capability
    unknown = pair.newest is not None and capability > pair.newest
    closed = (pair.flavour == "proprietary" and capability >= BLACKWELL) or bool(said(log, ONLY_OPEN, gpu))
    if not told and not unknown and not closed:
        need(pair.newest or _NO_BRANCH, Rung.KERNEL_DRIVER)
        return
    first, _ = matrix.branches_for(capability)
    least = Version(first, text=str(first)) if unknown and first else None
    reason = (
        f"branch {pair.branch} drives none above {pair.newest}" if unknown else "its kernel modules are not the open ones" if closed else ""
    )
    yield Problem(
        message=f"{pair.called} is too new for driver {pair.version}: {reason or 'it says so itself'}.",
        confidence=Confidence.CERTAIN if told or supposed_capability(gpu) else Confidence.LIKELY,
        evidence=(*pair.evidence, *told),
        fixes=(
            *_read(gpu),
            update_driver(
                machine, least, what="" if least else "Install the driver with its open kernel modules", flavour="open" if closed else ""
            ),
        ),
    )
