"""GD312: scheduler-gpu-not-allocated."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware
from gpudoctor.derive.device_nodes import all_withheld
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, Policy, Problem, Rung, Severity
from gpudoctor.snapshot import Allocation, Cause, DeviceNodes, KernelDriver, Libcuda, Missing, Nvml, Pci, Snapshot

_ASK = {
    "Slurm": Fix("Ask for a GPU, in the script or on the command line", "srun --gres=gpu:1 nvidia-smi -L"),
    "PBS": Fix("Ask for a GPU", "qsub -l select=1:ngpus=1 SCRIPT"),
    "LSF": Fix("Ask for a GPU", "bsub -gpu num=1 nvidia-smi -L"),
    "Kubernetes": Fix("Request the GPU in the pod: resources.limits with nvidia.com/gpu: 1."),
}


@rule(
    "GD312",
    severity=Severity.ERROR,
    breaks=Rung.DEVICE_NODE,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "no-gpu",
                "cuda-visible-devices-masked",
                "container-no-gpu-access",
                "device-permission-denied",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def scheduler_gpu_not_allocated(
    allocation: Allocation | Missing, snapshot: Snapshot, hardware: Hardware, policy: Policy
) -> Iterator[Problem]:
    """The job was not allotted a GPU.

    ## Why it matters
    A scheduler gives a job what it asked for. A job that did not ask for a GPU may run on a machine that has some and not be allowed
    to open them, or be sent to a machine without. Everything below the job is in order: there is nothing to repair.

    ## What to do
    Ask for a GPU when the job is submitted. Do not set CUDA_VISIBLE_DEVICES by hand: those GPUs may be another job's.

    ## References
    - https://slurm.schedmd.com/gres.html
    - https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
    """
    if isinstance(allocation, Missing):
        if allocation.cause is Cause.ABSENT:
            not_applicable("not in a scheduler's job")
        need(allocation)
        return
    if _cuda_shows_some(snapshot.libcuda):
        return
    hidden = allocation.hidden
    if _nvml_opens_some(snapshot.nvml) and not hidden:
        return  # the scheduler does not keep this job from them
    if not _asked_for_none(allocation, snapshot):
        need(allocation.gpus)
        return
    said = allocation.gpus.reason if isinstance(allocation.gpus, Missing) else allocation.gpus_where
    excused = policy.allow_cpu and not hardware
    yield Problem(
        message=f"This {allocation.scheduler} job was not allotted a GPU ({said}), and none can be used in it.",
        severity=Severity.NOTE if excused else None,
        confidence=_confidence(snapshot, hidden=hidden),
        evidence=(
            Evidence("job", allocation.scheduler, allocation.where),
            Evidence("GPUs allotted to it", "none", said),
        ),
        fixes=(_ASK.get(allocation.scheduler, Fix("Ask the scheduler for a GPU.")),),
    )


def _confidence(snapshot: Snapshot, *, hidden: bool) -> Confidence:
    """Certain where the scheduler is seen to keep the job from GPUs: it hides them, or the job's control group refuses them all."""
    if hidden or all_withheld(snapshot.device_nodes, snapshot.host):
        return Confidence.CERTAIN
    return Confidence.POSSIBLE if _without_driver(snapshot) else Confidence.LIKELY


def _asked_for_none(allocation: Allocation, snapshot: Snapshot) -> bool:
    """Whether the scheduler gave none. A pod's variables do not say; that its container was given no device file does."""
    if isinstance(allocation.gpus, tuple):
        return not allocation.gpus
    nodes = snapshot.device_nodes
    given = isinstance(nodes, DeviceNodes) and any(node.path.startswith("/dev/nvidia") for node in nodes.nodes)
    unseen = isinstance(nodes, Missing) and nodes.cause is not Cause.ABSENT
    return allocation.scheduler == "Kubernetes" and not given and not unseen


def _cuda_shows_some(libcuda: Libcuda | Missing) -> bool:
    return isinstance(libcuda, Libcuda) and isinstance(libcuda.devices, tuple) and bool(libcuda.devices)


def _nvml_opens_some(nvml: Nvml | Missing) -> bool:
    return isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) and any(isinstance(gpu.address, str) for gpu in nvml.gpus)


def _without_driver(snapshot: Snapshot) -> bool:
    """Whether a GPU is there without a loaded driver, so that a job with a GPU would fail too."""
    there = isinstance(snapshot.pci, Pci) and any(is_gpu(device) for device in snapshot.pci.devices)
    driver = snapshot.kernel_driver
    return there and isinstance(driver, KernelDriver) and isinstance(driver.version, Missing) and driver.version.cause is Cause.ABSENT
