from gpudoctor.derive import MachineView, not_applicable, require_applicable, require_known
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.diagnose.rule import advises, explains, rule
from gpudoctor.diagnose.rules.platform.container import image_argument
from gpudoctor.diagnose.rules.platform.engine_in_text import engine_in_text
from gpudoctor.findings import Action, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun

_ENOUGH_BYTES = 1 << 30
"""The smallest /dev/shm that NVIDIA's framework images recommend, in bytes."""
_MOUNT_IN_POD = Fix("Mount an emptyDir with medium: Memory at /dev/shm in the pod.", action=Action.RESTART_JOB)


@rule("GD305", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@advises(lambda machine: (_MOUNT_IN_POD,) if engine_in_text(machine) in {"kubernetes", "k3s"} else remedy("container-shm-too-small"))
@explains(("all-reduce-failed",), "NCCL allocates its buffers in /dev/shm.")
def container_shm_too_small(machine: MachineView) -> Problems:
    """Shared memory (/dev/shm) is too small in this container."""
    container = machine.inside_container
    shared = require_applicable(machine.limits.shared_memory)
    gpus = len(require_known(machine.libcuda.devices, Rung.LIBCUDA))
    if not gpus:
        not_applicable("CUDA lists no GPU")
    if shared.size >= _ENOUGH_BYTES:
        return
    run = f"{container.runtime} run --gpus all --shm-size=8g {image_argument(container)}"
    yield Problem(
        message=f"Shared memory (/dev/shm) is {shared.size >> 20} MiB in a container with {count_with_noun(gpus, 'GPU')}; "
        f"NVIDIA recommends at least {_ENOUGH_BYTES >> 30} GiB.",
        severity=Severity.NOTE if gpus == 1 else None,
        evidence=(Evidence("size of /dev/shm", f"{shared.size >> 20} MiB, {shared.free >> 20} MiB free", "statvfs"),),
        fixes=(
            _MOUNT_IN_POD
            if container.runtime == "kubernetes"
            else Fix("Restart the container with more shared memory", run, action=Action.RESTART_JOB),
        ),
    )
