"""GD305: container-shm-too-small."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.platform.container import image
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Container, Libcuda, Limits, Missing

_ENOUGH = 1 << 30
"""Bytes of /dev/shm that NVIDIA's own framework images ask for at least."""


@rule(
    "GD305", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False, explains=(Explains(("all-reduce-failed",), ""),)
)
def container_shm_too_small(site: Site, limits: Limits, libcuda: Libcuda | Missing, container: Container | Missing) -> Iterator[Problem]:
    """The container's shared memory is too small for several GPUs or data loaders.

    ## Why it matters
    NCCL moves data between the processes of several GPUs, and data loaders hand batches to the training, through /dev/shm. Container
    runtimes make it 64 MiB. When it is full, NCCL fails to create a segment and loader processes die with a bus error.

    With a single GPU and no loader processes it does not matter, and this is a note.

    ## What to do
    Give the container more: `--shm-size=1g` or more, or `--ipc=host`; in Kubernetes a memory-backed emptyDir at /dev/shm.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    if not site.container:
        not_applicable("not in a container")
    shared = limits.shared_memory
    if isinstance(shared, Missing):
        if shared.cause is Cause.ABSENT:
            not_applicable("there is no /dev/shm")
        need(shared)
        return
    gpus = len(need(need(libcuda, Rung.LIBCUDA).devices, Rung.LIBCUDA))
    if not gpus:
        not_applicable("there is no GPU to train on")
    if shared.size >= _ENOUGH:
        return
    remedy = (
        Fix("Mount an emptyDir with medium: Memory at /dev/shm in the pod.")
        if site.container == "kubernetes"
        else Fix("Start the container again with more", f"{site.container} run --gpus all --shm-size=8g {image(container)}")
    )
    yield Problem(
        message=f"The shared memory at /dev/shm holds {shared.size >> 20} MiB for {gpus} {'GPU' if gpus == 1 else 'GPUs'}; at least {_ENOUGH >> 20} MiB are advised.",
        severity=Severity.NOTE if gpus == 1 else None,
        evidence=(Evidence("size of /dev/shm", f"{shared.size >> 20} MiB, {shared.free >> 20} MiB free", "statvfs"),),
        fixes=(remedy,),
    )
