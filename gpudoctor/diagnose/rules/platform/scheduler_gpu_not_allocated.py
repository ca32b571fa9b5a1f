import msgspec

from gpudoctor.derive import MachineView, require_applicable, require_known
from gpudoctor.derive.device_nodes import are_all_withheld
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.platform.engine_in_text import engine_in_text
from gpudoctor.findings import Action, Confidence, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Allocation, Cause, DeviceNodes, KernelDriver, Missing, Pci, is_absent

_REQUEST_GPU = {
    "Slurm": Fix("Request a GPU in the job script or on the command line", "srun --gres=gpu:1 nvidia-smi -L", action=Action.RESTART_JOB),
    "PBS": Fix("Request a GPU", "qsub -l select=1:ngpus=1 SCRIPT", action=Action.RESTART_JOB),
    "LSF": Fix("Request a GPU", "bsub -gpu num=1 nvidia-smi -L", action=Action.RESTART_JOB),
    "Kubernetes": Fix("Request a GPU in the pod: resources.limits with nvidia.com/gpu: 1.", action=Action.RESTART_JOB),
    "Ray": Fix(
        "Request a GPU for the task or actor: @ray.remote(num_gpus=1), or num_gpus in the trainer's configuration.",
        action=Action.RESTART_JOB,
    ),
}


@rule("GD312", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, domain=Domain.JOB, predicts=False)
@advises(lambda machine: _request_gpu(engine_in_text(machine)))
@explains(
    ("container-no-gpu-access", "cuda-visible-devices-masked", "device-permission-denied"),
    "The scheduler hides GPUs that the job did not request.",
)
@explains(("no-gpu", "cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "CUDA sees only the GPUs allocated to the job.")
@explains(("required-gpus-missing",), "The job has no GPU.")
def scheduler_gpu_not_allocated(machine: MachineView) -> Problems:
    """No GPU is allocated to this job."""
    allocation = require_applicable(machine.observed.allocation)
    usable = bool(machine.cuda_devices) or (_can_nvml_open_gpus(machine) and not allocation.hidden)
    if usable:
        return
    if not _is_none_allocated(allocation, machine):
        require_known(allocation.gpus)
        return
    where = allocation.gpus.reason if isinstance(allocation.gpus, Missing) else allocation.gpus_where
    unit = "pod" if allocation.scheduler == "Kubernetes" else "job"
    excused = machine.policy.allow_cpu and not machine.hardware
    yield Problem(
        message=f"No GPU is allocated to this {allocation.scheduler} {unit} ({where}).",
        severity=Severity.NOTE if excused else None,
        confidence=_confidence(allocation, machine),
        evidence=(
            Evidence("job", allocation.scheduler, allocation.where),
            Evidence("allocated GPUs", "none", where),
        ),
        fixes=(_REQUEST_GPU.get(allocation.scheduler, Fix("Request a GPU from the scheduler.", action=Action.RESTART_JOB)),),
    )


def _request_gpu(scheduler: str) -> tuple[Fix, ...]:
    """Return how to request a GPU from the scheduler that a text names, or from each."""
    by_scheduler = {
        "kubernetes": _REQUEST_GPU["Kubernetes"],
        "k3s": _REQUEST_GPU["Kubernetes"],
        "slurm": _REQUEST_GPU["Slurm"],
        "ray": _REQUEST_GPU["Ray"],
    }
    fix = by_scheduler.get(scheduler)
    return (fix,) if fix else (_REQUEST_GPU["Slurm"], msgspec.structs.replace(_REQUEST_GPU["Kubernetes"], kind=FixKind.INSTEAD))


def _confidence(allocation: Allocation, machine: MachineView) -> Confidence:
    """Return certain where the scheduler hides the GPUs or the job's cgroup blocks them all, possible where no driver is loaded, else likely."""
    if allocation.hidden or are_all_withheld(machine.observed.device_nodes, machine.observed.host):
        return Confidence.CERTAIN
    return Confidence.POSSIBLE if _is_driver_unloaded(machine) else Confidence.LIKELY


def _is_none_allocated(allocation: Allocation, machine: MachineView) -> bool:
    """Return whether the scheduler allocated no GPU; in a pod, missing device files show it."""
    if isinstance(allocation.gpus, tuple):
        return not allocation.gpus
    nodes = machine.observed.device_nodes
    if isinstance(nodes, Missing) and nodes.cause is not Cause.ABSENT:
        return False
    has_nodes = isinstance(nodes, DeviceNodes) and any(node.path.startswith("/dev/nvidia") for node in nodes.nodes)
    return allocation.scheduler == "Kubernetes" and not has_nodes


def _can_nvml_open_gpus(machine: MachineView) -> bool:
    return any(isinstance(gpu.address, str) for gpu in machine.observed.listed_gpus)


def _is_driver_unloaded(machine: MachineView) -> bool:
    """Return whether the machine has a GPU but no loaded driver, so a job with a GPU would fail too."""
    pci, driver = machine.observed.pci, machine.observed.kernel_driver
    has_gpu = isinstance(pci, Pci) and any(device.is_nvidia_gpu for device in pci.devices)
    unloaded = isinstance(driver, KernelDriver) and is_absent(driver.version)
    return has_gpu and unloaded
