"""GD230: libcuda-not-installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.kernel_facts import here
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaFiles, KernelDriver, Libcuda, Missing, Nvml

_LIBCUDA = {
    "ubuntu": "sudo apt install libnvidia-compute-{branch}",
    "debian": "sudo apt install libcuda1",
    "rhel": "sudo dnf install nvidia-driver-cuda",
    "fedora": "sudo dnf install xorg-x11-drv-nvidia-cuda",
    "arch": "sudo pacman -S nvidia-utils",
    "suse": "sudo zypper install nvidia-compute-utils-G06",
}
"""The package with libcuda, by distribution, from the same package source as `update_driver` takes the driver."""


@rule(
    "GD230",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
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
        fixes=(install,) if command else (update_driver(machine, what=f"Install all of NVIDIA driver {version}"),),
    )
