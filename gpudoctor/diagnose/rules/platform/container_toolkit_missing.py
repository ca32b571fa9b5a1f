"""GD302: container-toolkit-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.kernel_facts import here
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.platform.container import DEVICES, NO_DEVICES, asked_for, has_devices, host_has, listed, mounted
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, ContainerTools, DeviceNodes, Missing, Snapshot, Variables

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


@rule(
    "GD302",
    severity=Severity.ERROR,
    breaks=Rung.DEVICE_NODE,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "container-no-gpu-access",
                "container-cdi-spec-missing",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
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
