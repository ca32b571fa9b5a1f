from collections.abc import Iterator
from itertools import islice

from gpudoctor import versions
from gpudoctor.derive import MachineView, not_applicable
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.driver_packages import driver_packages, is_kernel_too_new
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.diagnose.advice.system import distribution_command, reboot
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, advises, explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import installed_driver_parts
from gpudoctor.findings import DOWNLOAD, REBOOT, ROOT, Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import TEXT, KernelModules, Missing, is_absent

_INSTALL_HEADERS = {
    "debian": 'sudo apt install "linux-headers-$(uname -r)"',
    "ubuntu": 'sudo apt install "linux-headers-$(uname -r)"',
    "fedora": 'sudo dnf install "kernel-devel-$(uname -r)"',
    "rhel": 'sudo dnf install "kernel-devel-$(uname -r)"',
    "suse": "sudo zypper install kernel-default-devel",
    "arch": "sudo pacman -S linux-headers",
}
_BUILD_MODULE = {"fedora": "sudo akmods --force && sudo modprobe nvidia"}
"""Where packages build the module without DKMS: https://rpmfusion.org/Howto/NVIDIA"""


_DKMS = "sudo dkms autoinstall && sudo modprobe nvidia"


def _build_here(machine: MachineView) -> Iterator[Fix]:
    """Yield the fix of a build that only a log names, with the commands of the stated distribution."""
    by_message = usual_fixes(machine, "kernel-module-not-built")
    headers = distribution_command(machine.site, _INSTALL_HEADERS)
    if not headers or by_message != remedy("kernel-module-not-built"):
        yield from by_message
        return
    build = distribution_command(machine.site, _BUILD_MODULE) or _DKMS
    yield Fix("Install the running kernel's headers, then build and load the module", f"{headers} && {build}", (ROOT, DOWNLOAD))


@rule("GD207", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, predicts=False)
@advises(_build_here)
@explains(DRIVER_NOT_LOADED, "Without a module for the running kernel the driver cannot load.")
@explains(("nouveau-loaded", "nova-loaded"), "The kernel's own driver binds a GPU that NVIDIA's does not claim.")
def kernel_module_not_built(machine: MachineView) -> Problems:
    """NVIDIA kernel module is not built for the running kernel."""
    modules, lacks_driver, host = machine.kernel.module_files, machine.kernel.lacks_driver, machine.host
    others = modules.other_kernels if isinstance(modules.other_kernels, tuple) else ()
    if not lacks_driver or _is_built(machine, others):
        return
    parts = installed_driver_parts(machine)
    if not parts:
        not_applicable("no part of an NVIDIA driver is installed")
    kernel = host.kernel if isinstance(host.kernel, str) else "(version unknown)"
    yield Problem(
        message=f"No NVIDIA kernel module is built for the running kernel {kernel}"
        + (f", only for {', '.join(others)}." if others else ", although the driver is installed."),
        evidence=(
            Evidence("NVIDIA modules for the running kernel", "none", "/lib/modules/$(uname -r)/modules.dep"),
            *_newest_kernel_evidence(machine, modules),
            *parts,
        ),
        fixes=tuple(_fixes(machine, modules, others)),
    )


def _is_built(machine: MachineView, others: tuple[str, ...]) -> bool:
    """Return whether the running kernel has the module; a missing module folder counts only where other kernels have theirs."""
    installed = machine.kernel_modules.installed
    if is_absent(installed) and others:
        return False
    return machine.kernel.nvidia_module is not None


def _newest_kernel_evidence(machine: MachineView, modules: KernelModules) -> Iterator[Evidence]:
    """Yield the newest kernel on which the distribution built this driver, if the running one is newer."""
    sources = {source.version for source in modules.dkms} if isinstance(modules.dkms, tuple) else set()
    packages = (one for one in driver_packages(machine) if str(one.version) in sources and is_kernel_too_new(machine.site, one))
    for package in islice(packages, 1):
        yield Evidence(
            f"newest kernel that {package.package} {package.version} was built for", str(package.newest_kernel), citation(package.source)
        )


def _fixes(machine: MachineView, modules: KernelModules, others: tuple[str, ...]) -> Iterator[Fix]:
    if isinstance(modules.installed, Missing):
        yield reboot("Reboot: an update removed the running kernel and its modules")
        return
    sources = modules.dkms if isinstance(modules.dkms, tuple) else ()
    failed = next((source for source in sources if source.failed), None)
    if failed:
        log = f"/var/lib/dkms/{failed.name}/{failed.version}/build/make.log"
        yield Fix("Read why the last build failed", f"tail -n 40 {log}", kind=FixKind.CHECK)
    if modules.headers is False:
        install = distribution_command(machine.site, _INSTALL_HEADERS)
        yield Fix(
            "Install the headers of the running kernel" + ("" if install else "."), install, (ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE
        )
    if failed:
        yield update_driver(machine, title=f"Install a driver newer than {failed.version}", failed=versions.parse_version(failed.version))
    elif sources:
        yield Fix("Build the module and load it", _DKMS)
    elif (others or machine.observed.origin == TEXT) and (build := distribution_command(machine.site, _BUILD_MODULE)):
        yield Fix("Build the module and load it", build, (ROOT,))
    else:
        yield update_driver(machine, title="Reinstall the NVIDIA driver to build its module")
    if others:
        yield Fix(f"Boot the kernel that has a module: {', '.join(others)}.", needs=(ROOT, REBOOT), kind=FixKind.INSTEAD)
