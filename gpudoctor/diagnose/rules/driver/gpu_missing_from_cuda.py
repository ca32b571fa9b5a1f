"""GD231: gpu-missing-from-cuda."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Hardware, Site
from gpudoctor.derive.gpus import divided
from gpudoctor.diagnose.advice.system import read_log, reboot
from gpudoctor.diagnose.gpu_facts import known, reset
from gpudoctor.diagnose.rule import CouldNotTell, Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, CudaDevice, Missing, Snapshot


@rule(
    "GD231",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(
            (
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gpu_missing_from_cuda(gpu: Gpu, snapshot: Snapshot, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """NVML opens the GPU but CUDA does not list it.

    ## Why it matters
    nvidia-smi shows the GPU and no program can use it: CUDA starts, lists the others and leaves this one out, also without
    CUDA_VISIBLE_DEVICES. Its driver state is bad, or this process may not open its device file.

    ## What to do
    Read the kernel's log about this address and reset the GPU. If it is still missing, reboot.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    seen = known(gpu)
    need(seen.address, Rung.NVML)
    whole = snapshot.libcuda_unmasked
    section = need(snapshot.libcuda if isinstance(whole, Missing) and whole.cause is Cause.NOT_ASKED else whole, Rung.LIBCUDA)
    init = need(section.init, Rung.LIBCUDA)
    if init.code:
        raise CouldNotTell(Missing(Cause.FAILED, f"cuInit answered {init.code}"), Rung.LIBCUDA)
    listed = need(section.devices, Rung.LIBCUDA)
    if not isinstance(gpu.cuda_unmasked, Missing):
        return
    if divided(hardware):
        not_applicable("CUDA shows a process one MIG instance, of another GPU")
    for device in listed:
        need(device.address, Rung.LIBCUDA)
    others = sum(isinstance(other.cuda_unmasked, CudaDevice) for other in hardware)
    yield Problem(
        message=f"{gpu.label}: NVML opens it, CUDA does not list it. CUDA lists {others} of {len(hardware)} GPUs.",
        confidence=Confidence.CERTAIN,
        evidence=(Evidence("NVML", f"index {seen.index}", "libnvidia-ml.so.1"), Evidence("CUDA devices", str(others), "cuDeviceGetCount")),
        fixes=(
            read_log(f"NVRM|Xid|{gpu.key.removeprefix('0000:')}", "Read what the kernel says of this GPU"),
            reset(gpu, site),
            *(() if site.container else (msgspec.structs.replace(reboot(), kind=FixKind.ELSE),)),
        ),
    )
