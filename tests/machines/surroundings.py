"""Changes to recorded machines that only a container runtime, or root on its host, could make to the real one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpudoctor.snapshot import Cause, Container, Libcuda, Libraries, Limits, Missing, Nvml, SharedMemory, Snapshot, Status

UNKNOWN = Status(999, "NVML_ERROR_UNKNOWN", "Unknown Error")
NO_DEVICE = Status(100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")


def _with_shared_memory(snapshot: Snapshot, size: int) -> Snapshot:
    assert isinstance(snapshot.limits, Limits)
    limits = msgspec.structs.replace(snapshot.limits, shared_memory=SharedMemory(size, size, "tmpfs"))
    return msgspec.structs.replace(snapshot, limits=limits)


def with_dockers_shared_memory(snapshot: Snapshot) -> Snapshot:
    """64 MiB, the default of container runtimes."""
    return _with_shared_memory(snapshot, 64 << 20)


def with_a_gibibyte_of_shared_memory(snapshot: Snapshot) -> Snapshot:
    return _with_shared_memory(snapshot, 1 << 30)


def with_address_space(allowed: int, needed: int = 3 << 30) -> Callable[[Snapshot], Snapshot]:
    """`ulimit -v` allows so many bytes, and the libraries of each framework take others."""

    def change(snapshot: Snapshot) -> Snapshot:
        assert isinstance(snapshot.libraries, Libraries)
        replace = msgspec.structs.replace
        known = snapshot.limits if isinstance(snapshot.limits, Limits) else Limits()
        mapped = tuple(replace(framework, mapped=needed) for framework in snapshot.libraries.frameworks)
        limits = replace(known, address_space=allowed, address_space_hard="unlimited")
        return replace(snapshot, libraries=replace(snapshot.libraries, frameworks=mapped), limits=limits)

    return change


def after_a_reload(snapshot: Snapshot) -> Snapshot:
    """The control group lost the devices: opening the control device is refused, NVML reports an unknown error, CUDA sees none."""
    assert isinstance(snapshot.container, Container)
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.libcuda, Libcuda)
    replace = msgspec.structs.replace
    return replace(
        snapshot,
        container=replace(snapshot.container, control="EPERM"),
        nvml=replace(snapshot.nvml, init=UNKNOWN, gpus=Missing(Cause.FAILED, "nvmlInit: Unknown Error")),
        libcuda=replace(snapshot.libcuda, init=NO_DEVICE, devices=Missing(Cause.FAILED, "cuInit: CUDA_ERROR_NO_DEVICE")),
    )
