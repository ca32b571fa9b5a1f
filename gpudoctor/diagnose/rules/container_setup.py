"""GD3: what a container is set up with: the toolkit on its host, specifications of devices, shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, Hardware, Site
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT, shell_path
from gpudoctor.diagnose.kernel_facts import here
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.cdi import asked_by, severity, tools_of
from gpudoctor.diagnose.rules.container import DEVICES, NO_DEVICES, asked_for, has_devices, host_has, image, listed, mounted
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Container, ContainerTools, DeviceNodes, Libcuda, Limits, Missing, Snapshot, Variables

_TOOLKIT = {
    "debian": "sudo apt install nvidia-container-toolkit",
    "ubuntu": "sudo apt install nvidia-container-toolkit",
    "rhel": "sudo dnf install nvidia-container-toolkit",
    "fedora": "sudo dnf install nvidia-container-toolkit",
    "suse": "sudo zypper install nvidia-container-toolkit",
    "arch": "sudo pacman -S nvidia-container-toolkit",
}
_GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
_SET_UP = {
    "docker": "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
    "containerd": "sudo nvidia-ctk runtime configure --runtime=containerd && sudo systemctl restart containerd",
    "podman": "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
}


def _configure(site: Site, engine: str) -> tuple[Fix, ...]:
    """Install the toolkit from NVIDIA's package source, and tell the engine about it. In a container the host is unknown."""
    where = "On the host, install" if site.container else "Install"
    command = "" if site.container else here(site, _TOOLKIT)
    text = f"{where} the NVIDIA Container Toolkit, from NVIDIA's package source ({_GUIDE})"
    engine = engine if engine in _SET_UP else "docker"
    return (
        Fix(text if command else f"{text}.", command, (ROOT, DOWNLOAD)),
        Fix(f"{'On the host, set' if site.container else 'Set'} {engine} up to use it", _SET_UP[engine], (ROOT,)),
    )


@rule("GD302", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1")
def container_toolkit_missing(
    snapshot: Snapshot, site: Site, nodes: DeviceNodes | Missing, tools: ContainerTools | Missing, hardware: Hardware
) -> Iterator[Problem]:
    """The container runtime has no NVIDIA hook, so that it cannot give a container a GPU.

    ## Why it matters
    Docker, containerd and Podman know nothing of the driver's libraries. The NVIDIA Container Toolkit puts them in, as a runtime of
    its own or through a CDI specification. Without it `--gpus` fails ("could not select device driver") and NVIDIA_VISIBLE_DEVICES
    is a variable like any other.

    From inside a container this is inferred: GPUs were named and none came. On a host it only concerns containers and is a note.

    ## What to do
    Install the toolkit on the host, let it configure the runtime, and restart that.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """
    if not site.container:
        if _no_engine(tools):
            not_applicable("no container engine here")
        yield from _host_without_toolkit(need(tools), hardware, site)
        return
    values = snapshot.variables.values if isinstance(snapshot.variables, Variables) else {}
    asked = values.get(DEVICES, "")
    if asked in {*NO_DEVICES, "all"}:  # images say "all" of themselves
        not_applicable(f"{DEVICES} names no GPU")
    host = host_has(snapshot.kernel_driver, snapshot.pci)
    if has_devices(nodes, proven=False) or mounted(snapshot.container) or not host:
        return
    yield Problem(
        message=f"{DEVICES}={asked} asks for GPUs, {host}, and the runtime put in neither device files nor libraries.",
        confidence=Confidence.LIKELY,
        evidence=(*asked_for(snapshot.variables), Evidence("device files", listed(nodes), "/dev")),
        fixes=(
            Fix("On the host, see whether the runtime knows nvidia", "docker info --format '{{json .Runtimes}}'", kind=FixKind.CHECK),
            *_configure(site, site.container),
        ),
    )


def _no_engine(tools: ContainerTools | Missing) -> bool:
    return isinstance(tools, Missing) and tools.cause is Cause.ABSENT


def _host_without_toolkit(tools: ContainerTools, hardware: Hardware, site: Site) -> Iterator[Problem]:
    if not hardware:
        not_applicable("there is no NVIDIA GPU to give to a container")
    if tools.toolkit or tools.runtime is True or (isinstance(tools.cdi, tuple) and tools.cdi):
        return
    yield Problem(
        message=f"{', '.join(tools.engines)} is installed without the NVIDIA Container Toolkit: its containers cannot use the GPU.",
        severity=Severity.NOTE,
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence("container engines", ", ".join(tools.engines), "/usr/bin"),
            Evidence("nvidia-ctk, nvidia-container-runtime, CDI specifications", "none", "/usr/bin, /etc/cdi, /var/run/cdi"),
        ),
        fixes=_configure(site, tools.engines[0] if tools.engines else "docker"),
    )


_ENOUGH = 1 << 30
"""Bytes of /dev/shm that NVIDIA's own framework images ask for at least."""


@rule("GD305", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False)
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


@rule("GD313", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1", predicts=False)
def container_cdi_spec_stale(site: Site, tools: ContainerTools | Missing, driver: Driver) -> Iterator[Problem]:
    """A CDI specification names the libraries of another driver than the one that is loaded.

    ## Why it matters
    The specification lists the driver's files by their full names. After a driver upgrade those are gone, and Podman, Docker and
    Kubernetes fail to start a container with a GPU, or start it with half the libraries.

    It is an error where a configuration uses CDI, else a note.

    ## What to do
    Generate it again; toolkits since 1.18 have a service that does so at each boot (nvidia-cdi-refresh).

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """
    found = tools_of(site, tools)
    for spec in need(found.cdi):
        versions = need(spec.versions)
        if not versions or str(driver.version) in versions:
            continue
        yield Problem(
            message=f"{spec.path} names driver {', '.join(versions)}; {driver.version} is loaded.",
            severity=severity(found),
            evidence=(
                *asked_by(found),
                Evidence("driver in the specification", ", ".join(versions), spec.path),
                Evidence("driver", str(driver.version), driver.where),
            ),
            fixes=(Fix("Generate it again", f"sudo nvidia-ctk cdi generate --output={shell_path(spec.path)}", (ROOT,)),),
        )


RULES = (container_toolkit_missing, container_shm_too_small, container_cdi_spec_stale)
