"""GD2: a GPU, or the driver's CUDA library, that programs do not reach although NVML works."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Driver, Gpu, Hardware, MachineView, Site
from gpudoctor.derive import libcuda as library
from gpudoctor.derive.gpus import divided
from gpudoctor.diagnose.driver_fixes import install_driver
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT, read_log, reboot
from gpudoctor.diagnose.gpu_facts import known, reset
from gpudoctor.diagnose.kernel_facts import here
from gpudoctor.diagnose.rule import CouldNotTell, need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, CudaDevice, CudaFiles, KernelDriver, Libcuda, Missing, Nvml, Snapshot

_LIBCUDA = {
    "ubuntu": "sudo apt install libnvidia-compute-{branch}",
    "debian": "sudo apt install libcuda1",
    "rhel": "sudo dnf install nvidia-driver-cuda",
    "fedora": "sudo dnf install xorg-x11-drv-nvidia-cuda",
    "arch": "sudo pacman -S nvidia-utils",
    "suse": "sudo zypper install nvidia-compute-utils-G06",
}
"""The package with libcuda, by distribution, from the same package source as `install_driver` takes the driver."""


@rule("GD230", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def libcuda_not_installed(
    libcuda: Libcuda | Missing,
    files: CudaFiles | Missing,
    nvml: Nvml | Missing,
    kernel_driver: KernelDriver,
    driver: Driver | Missing,
    machine: MachineView,
) -> Iterator[Problem]:
    """Driver's CUDA library (libcuda.so.1) is not installed.

    ## Why it matters
    The kernel driver is loaded, nvidia-smi may work, and no CUDA program can start: libcuda.so.1 is part of the driver, and
    distributions ship it in a package of its own. Minimal, desktop-only and display-only installations leave it out.

    ## What to do
    Install the package with libcuda, in the release of the loaded kernel driver. No CUDA toolkit and no wheel contains it.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    site = machine.site
    if not site.has_pci or isinstance(kernel_driver.version, Missing):
        not_applicable("no NVIDIA kernel driver is loaded here")
    if site.container:
        not_applicable("a container gets libcuda from its host")
    if not isinstance(libcuda, Missing):
        return
    if libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    there = library.drivers_own(need(files))
    if there:
        not_applicable(f"{there[0].path} is on the disk")
    version = kernel_driver.version.value
    branch = driver.version.major if isinstance(driver, Driver) else version.partition(".")[0]
    command = here(site, _LIBCUDA).format(branch=branch)
    install = Fix(f"Install the driver's CUDA library, release {version}", command, (ROOT, DOWNLOAD))
    works = "NVML works" if isinstance(nvml, Nvml) else "NVIDIA's kernel driver is loaded"
    yield Problem(
        message=f"{works} (driver {version}), but libcuda.so.1 is not on this machine.",
        evidence=(
            Evidence("the loader", libcuda.reason, "dlopen"),
            Evidence("libcuda on disk", "none", "the folders where drivers put it"),
            Evidence("kernel driver", version, "/proc/driver/nvidia/version"),
        ),
        fixes=(install,) if command else (install_driver(machine, what=f"Install all of NVIDIA driver {version}"),),
    )


@rule("GD231", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", about=SubjectKind.GPU)
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


RULES = (libcuda_not_installed, gpu_missing_from_cuda)
