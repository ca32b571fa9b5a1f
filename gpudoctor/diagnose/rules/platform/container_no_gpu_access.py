"""GD301: container-no-gpu-access."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.platform.container import (
    _CAPABILITIES,
    DEVICES,
    IMAGE,
    NO_DEVICES,
    asked_for,
    has_devices,
    host_has,
    image,
    listed,
    mounted,
)
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import (
    Cause,
    DeviceNodes,
    DriverFile,
    Libcuda,
    Missing,
    Nvml,
    Snapshot,
    Status,
    Variables,
)


@rule(
    "GD301",
    severity=Severity.ERROR,
    breaks=Rung.DEVICE_NODE,
    since="0.1",
    explains=(
        Explains(
            (
                "no-driver",
                "device-permission-denied",
                "cuda-init-fails",
                "gpu-count-mismatch",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def container_no_gpu_access(
    snapshot: Snapshot, site: Site, nodes: DeviceNodes | Missing, nvml: Nvml | Missing, libcuda: Libcuda | Missing
) -> Iterator[Problem]:
    """The container was started without the GPU's devices or without the driver's libraries.

    ## Why it matters
    A container sees a GPU only if its runtime puts the device files and the host's driver libraries into it. Without that,
    everything inside may be in order and still no program sees a GPU, though /proc and /sys show the host's.

    ## What to do
    Start the container with the GPU: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, in Kubernetes a resource
    request for nvidia.com/gpu. If NVIDIA_VISIBLE_DEVICES is void or none, or NVIDIA_DRIVER_CAPABILITIES lacks compute, the image or
    the pod says so on purpose. Do not install a driver inside the container.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/
    """
    if not site.container:
        not_applicable("not in a container")
    if isinstance(nodes, Missing) and nodes.cause is not Cause.ABSENT:
        need(nodes, Rung.DEVICE_NODE)
    works = isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and not nvml.init.code
    given = mounted(snapshot.container)
    has_nodes = has_devices(nodes, proven=works or bool(given))
    lacking = _lacking(nvml, libcuda, given, works=works) if has_nodes else "the GPU's device files"
    if not lacking:
        return
    host = host_has(snapshot.kernel_driver, snapshot.pci)
    if not host and not works and not site.on_wsl:
        not_applicable("neither /proc nor /sys shows that the host has an NVIDIA driver")
    known = host or ("NVML works here" if works else "WSL may have one")
    why = _said_so(snapshot.variables)
    yield Problem(
        message=f"This {site.container} container was not given {lacking}, although {known}{': ' + why if why else ''}.",
        confidence=Confidence.CERTAIN if host or works else Confidence.POSSIBLE,
        evidence=(
            Evidence("device files", listed(nodes), "/dev"),
            Evidence("libcuda", "found" if isinstance(libcuda, Libcuda) else libcuda.reason, "the loader"),
            *asked_for(snapshot.variables),
        ),
        fixes=(_compute(site, image(snapshot.container)) if has_nodes else _started(site, image(snapshot.container)),),
    )


def _lacking(nvml: Nvml | Missing, libcuda: Libcuda | Missing, given: tuple[DriverFile, ...], *, works: bool) -> str:
    """What of the driver's libraries was not put in; empty where all was, or where that is not what is wrong."""
    if isinstance(libcuda, Libcuda) or libcuda.cause is not Cause.ABSENT or any("libcuda" in file.path for file in given):
        return ""
    if isinstance(nvml, Missing) and nvml.cause is Cause.ABSENT and not given:
        return "the driver's libraries"
    return "the driver's libcuda" if works or given else ""


def _started(site: Site, name: str) -> Fix:
    fix = _START.get(site.container, _START["docker"])
    return msgspec.structs.replace(fix, command=fix.command.replace(IMAGE, name))


def _compute(site: Site, name: str) -> Fix:
    title = f"Start it with the driver's compute libraries: {_CAPABILITIES} must be unset or hold compute"
    start = {"docker": "docker run --rm --gpus all", "podman": "podman run --rm --device nvidia.com/gpu=all"}.get(site.container)
    return Fix(title, f"{start} -e {_CAPABILITIES}=compute,utility {name} nvidia-smi") if start else Fix(f"{title}.")


_START = {
    "docker": Fix("Start it with the GPU", "docker run --rm --gpus all IMAGE nvidia-smi"),
    "podman": Fix("Start it with the GPU", "podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi"),
    "kubernetes": Fix("Request the GPU in the pod: resources.limits with nvidia.com/gpu: 1."),
    "apptainer": Fix("Start it with the GPU", "apptainer exec --nv IMAGE nvidia-smi"),
    "lxc": Fix("Give the container the GPU, on the host", "lxc config device add CONTAINER gpu gpu", (ROOT,)),
}


def _said_so(variables: Variables | Missing) -> str:
    """What in the environment explains it."""
    values = variables.values if isinstance(variables, Variables) else {}
    if values.get(DEVICES, "all") in NO_DEVICES:
        return f"{DEVICES} is {values[DEVICES] or 'empty'}"
    asked = [word.strip() for word in values.get(_CAPABILITIES, "").split(",") if word.strip()]
    return f"{_CAPABILITIES} is {','.join(asked)}, without compute" if asked and not {"all", "compute"} & set(asked) else ""
