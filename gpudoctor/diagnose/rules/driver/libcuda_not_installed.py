"""GD230: libcuda-not-installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.derive.unknown import known, not_applicable, why_absent
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.advice.system import command_for
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import kernel_module
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.findings.actions import Action
from gpudoctor.snapshot import Nvml

_INSTALL = {
    "ubuntu": "sudo apt install libnvidia-compute-{branch}",
    "debian": "sudo apt install libcuda1",
    "rhel": "sudo dnf install nvidia-driver-cuda",
    "fedora": "sudo dnf install xorg-x11-drv-nvidia-cuda",
    "arch": "sudo pacman -Syu nvidia-utils",
    "suse": "sudo zypper install nvidia-compute-utils-G06",
}
"""The package with libcuda, by distribution, from the source that `update_driver` uses."""


@rule(
    "GD230",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(Explains(("required-gpus-missing", *TRAINING_FAILS), "Without libcuda.so.1 no CUDA program can start."),),
)
def libcuda_not_installed(machine: MachineView) -> Iterator[Problem]:
    """Driver's CUDA library (libcuda.so.1) is not installed."""
    release = known(machine.kernel.driver.version).value
    if machine.site.container:
        not_applicable("a container gets libcuda from its host")
    unfound = why_absent(machine.observed.libcuda, Rung.LIBCUDA)
    if not unfound:
        return
    files = library.drivers_own(machine.cuda_files)
    if files:
        not_applicable(f"{files[0].path} is installed")
    works = "NVML works" if isinstance(machine.observed.nvml, Nvml) else "the NVIDIA kernel driver is loaded"
    yield Problem(
        message=f"libcuda.so.1 is not installed, although {works} (driver {release}).",
        evidence=(
            Evidence("the loader", unfound, "dlopen"),
            Evidence("libcuda on disk", "none", "the driver's usual folders"),
            kernel_module(machine),
        ),
        fixes=(_install(machine, release),),
    )


def _install(machine: MachineView, release: str) -> Fix:
    driver = machine.driver_or_missing
    branch = driver.version.major if isinstance(driver, Driver) else release.partition(".")[0]
    command = command_for(machine.site, _INSTALL).format(branch=branch)
    if not command:
        return update_driver(machine, title=f"Install the complete NVIDIA driver {release}")
    return Fix(f"Install the driver's CUDA library (libcuda), version {release}", command, (ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE)
