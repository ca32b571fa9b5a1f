"""GD1: GPUs of other vendors, and builds of frameworks that cannot use them."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.fixes import DOWNLOAD, by_uv, install_package, interpreter
from gpudoctor.diagnose.releases import newest
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Amd, Cause, Framework, Host, Missing, Packages, Pci, PciDevice, Platform, Python, Snapshot

AMD = "1002"
VENDORS = {
    AMD: "AMD",
    "8086": "Intel",
    "1ae0": "Google (TPU)",
    "1da3": "Habana (Gaudi)",
    "1a03": "ASPEED",
    "1234": "QEMU",
    "15ad": "VMware",
    "1af4": "virtio",
    "1b36": "Red Hat",
    "1414": "Microsoft",
}
"""Vendors of display devices and accelerators, by PCI id, as the PCI ID repository names them."""
_PLUGINS = ("tensorflow-metal",)


def called(device: PciDevice) -> str:
    """A device that is not NVIDIA's, for a person."""
    return f"{VENDORS.get(device.vendor, 'vendor')} {device.vendor}:{device.device}"


def built_for_amd(snapshot: Snapshot) -> str:
    """The frameworks that are ROCm builds; empty where none is."""
    frameworks = () if isinstance(snapshot.frameworks, Missing) else snapshot.frameworks
    return ", ".join(one.name for one in frameworks if one.rocm_build is True)


def amd_gpus(pci: Pci) -> list[PciDevice]:
    """AMD's GPUs, where none is NVIDIA's: beside one of those they only drive the display."""
    if any(is_gpu(device) for device in pci.devices):
        return []
    return [device for device in pci.devices if device.vendor == AMD]


@rule("GD114", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", predicts=False)
def amd_gpu_unsupported(pci: Pci, snapshot: Snapshot, policy: Policy, site: Site, python: Python | Missing) -> Iterator[Problem]:
    """The GPU is AMD's and the framework is built for CUDA.

    ## Why it matters
    CUDA is NVIDIA's alone. A framework reaches an AMD GPU through ROCm and only in a build for ROCm; a build for CUDA computes on the CPU
    beside the finest AMD card, without a word.

    ## What to do
    Install the ROCm build of the framework, if AMD supports the GPU: its compatibility matrix says so. ROCm supports few of the
    graphics units inside AMD's processors. Gpudoctor does not examine ROCm itself.

    ## References
    - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    - https://pytorch.org/get-started/locally/
    """
    if not site.has_pci:
        not_applicable("GPUs of this platform do not show on a PCI bus")
    theirs = amd_gpus(pci)
    if not theirs:
        return
    frameworks = () if isinstance(snapshot.frameworks, Missing) else snapshot.frameworks
    for_cuda = [one for one in frameworks if one.cuda_build is True]
    if not for_cuda or built_for_amd(snapshot):
        if isinstance(snapshot.frameworks, Missing):
            need(snapshot.frameworks)
        return
    names = ", ".join(one.name for one in for_cuda)
    torch = any(one.name == "torch" for one in for_cuda)
    yield Problem(
        severity=Severity.NOTE if policy.allow_cpu else None,
        message=f"{', '.join(map(called, theirs))}: {names} {'is' if len(for_cuda) == 1 else 'are'} built for CUDA, which an AMD GPU does not run.",
        evidence=(
            *(Evidence("GPU", called(one), f"/sys/bus/pci/devices/{one.address}") for one in theirs),
            *(
                Evidence(f"{one.name}'s build", "CUDA", one.location if isinstance(one.location, str) else one.distribution)
                for one in for_cuda
            ),
        ),
        fixes=(
            *(
                _rocm(python)
                if torch
                else (Fix("Install a build for ROCm, as AMD publishes it: https://rocm.docs.amd.com", needs=(DOWNLOAD,)),)
            ),
            Fix("Accept the CPU, and train on it", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD),
        ),
    )


def _rocm(python: Python | Missing) -> tuple[Fix, ...]:
    """PyTorch's build for ROCm. uv finds the index for the installed driver; pip would have to be told it, and no table holds it."""
    path = interpreter(python)
    uv, first = ("uv", "") if by_uv(python) else (f"{path} -m uv", f"{install_package(python, 'uv')} && ")
    command = f"{first}{uv} pip install --python {path} --reinstall torch --torch-backend=auto"
    return (Fix("Install PyTorch's build for ROCm", command, (DOWNLOAD,)),)


@rule("GD115", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def rocm_arch_unsupported(framework: Framework, snapshot: Snapshot) -> Iterator[Problem]:
    """The ROCm build of the framework holds no code for this AMD GPU.

    ## Why it matters
    ROCm's libraries bring machine code for a list of targets (gfx90a, gfx1100) and nothing that could be compiled for others. On a GPU
    outside the list the first operation fails, with "invalid device function" or a crash of the process.

    ## What to do
    Choose a build whose list holds the target. On a GPU of the same family as one on the list, HSA_OVERRIDE_GFX_VERSION makes ROCm take
    it for that one: AMD does not support this, and results must be checked.

    ## References
    - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    """
    if framework.rocm_build is not True:
        not_applicable("not a build for ROCm")
    if isinstance(snapshot.amd, Missing) and snapshot.amd.cause is Cause.ABSENT:
        not_applicable("ROCm's kernel driver serves no GPU here")
    gpus: tuple[Amd, ...] = need(snapshot.amd, Rung.KERNEL_DRIVER)
    held = {name.partition(":")[0] for name in need(framework.architectures)}
    lacking = sorted({one.target for one in gpus if one.target not in held})
    if not lacking or len(lacking) < len({one.target for one in gpus}):
        return
    yield Problem(
        message=f"{framework.name} is built for {', '.join(sorted(held))}; the GPU here is {', '.join(lacking)}.",
        evidence=(
            Evidence("target of the GPU", ", ".join(lacking), "/sys/class/kfd"),
            Evidence("targets in the build", ", ".join(sorted(held)), framework.location if isinstance(framework.location, str) else ""),
        ),
        fixes=(Fix(f"Install a build of {framework.name} for ROCm that holds {lacking[0]}.", needs=(DOWNLOAD,)),),
    )


@rule("GD116", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def metal_plugin_missing(
    framework: Framework, host: Host, packages: Packages, python: Python | Missing, policy: Policy, machine: MachineView
) -> Iterator[Problem]:
    """TensorFlow on macOS without tensorflow-metal computes on the CPU.

    ## Why it matters
    TensorFlow has no GPU support for macOS of its own. Apple's plug-in tensorflow-metal adds it; without that TensorFlow lists no GPU,
    on the newest Mac too. The plug-in follows TensorFlow's releases late: each of its versions fits some of them only.

    ## What to do
    Install tensorflow-metal, and a TensorFlow that it fits. PyTorch needs no plug-in: its device is called mps.

    ## References
    - https://developer.apple.com/metal/tensorflow-plugin/
    """
    if framework.name != "tensorflow":
        not_applicable("only TensorFlow needs a plug-in")
    if need(host.platform) != Platform.MACOS:
        not_applicable("not macOS")
    if any(one.name in _PLUGINS for one in packages.distributions):
        return
    yield Problem(
        severity=Severity.NOTE if policy.allow_cpu else None,
        message="TensorFlow is installed on macOS, tensorflow-metal is not.",
        evidence=(Evidence("tensorflow-metal", "not installed", "the environment's packages"),),
        fixes=(Fix("Install Apple's plug-in", install_package(python, _plugin(machine)), (DOWNLOAD,)),),
    )


def _plugin(machine: MachineView) -> str:
    """The newest plug-in with a wheel for this Python."""
    release = newest(machine, _PLUGINS[0])
    return f"{_PLUGINS[0]}=={release}" if release else _PLUGINS[0]


RULES = (amd_gpu_unsupported, rocm_arch_unsupported, metal_plugin_missing)
