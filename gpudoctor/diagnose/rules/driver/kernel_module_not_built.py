"""GD207: kernel-module-not-built."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import DOWNLOAD, REBOOT, ROOT
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.kernel_facts import HEADERS, here, traces, undriven
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Host, KernelDriver, KernelModules, Missing, ModuleFile, Pci, Snapshot


@rule(
    "GD207",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "no-driver",
                "driver-library-mismatch",
                "cuda-init-fails",
                "nouveau-loaded",
                "nova-loaded",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def kernel_module_not_built(
    pci: Pci, kernel_driver: KernelDriver | Missing, modules: KernelModules, host: Host, snapshot: Snapshot, machine: MachineView
) -> Iterator[Problem]:
    """The NVIDIA driver is installed, and there is no kernel module of it for the running kernel.

    ## Why it matters
    A kernel module fits one kernel. After a kernel upgrade it must be built again, which DKMS or akmods do where the new kernel's
    headers are installed; where they are not, or the driver is too old for the kernel, the build fails and nobody tells. `modprobe
    nvidia` then says "Module nvidia not found in directory /lib/modules/...".

    ## What to do
    Install the headers of the running kernel and build the module, or boot the kernel that has one. If the build fails, its log says
    why; a driver that is older than the kernel mostly has to be renewed.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    if machine.site.container:
        not_applicable("the modules of a container's kernel are the host's")
    if not undriven(pci, kernel_driver, machine.site):
        return
    others = modules.other_kernels if isinstance(modules.other_kernels, tuple) else ()
    if _built(modules.installed, others):
        return
    evidence = traces(snapshot)
    if not evidence:
        not_applicable("nothing of an NVIDIA driver is installed")
    yield Problem(
        message=f"There is no NVIDIA module for the running kernel {_or_unknown(host.kernel)}"
        + (f"; there is one for {', '.join(others)}." if others else ", although the driver is installed."),
        evidence=(Evidence("NVIDIA modules for the running kernel", "none", "/lib/modules/$(uname -r)/modules.dep"), *evidence),
        fixes=tuple(_builds(modules, machine, others)),
    )


def _built(installed: tuple[ModuleFile, ...] | Missing, others: tuple[str, ...]) -> bool:
    """Whether the running kernel has the module; that its folder is gone means something only where other kernels have theirs."""
    if isinstance(installed, Missing) and installed.cause is Cause.ABSENT and others:
        return False
    return any(one.name == "nvidia" for one in need(installed, Rung.KERNEL_DRIVER))


def _or_unknown(text: str | Missing) -> str:
    return text if isinstance(text, str) else "(release not known)"


def _builds(modules: KernelModules, machine: MachineView, others: tuple[str, ...]) -> Iterator[Fix]:
    if isinstance(modules.installed, Missing):
        yield reboot("Reboot: the running kernel was replaced, and its modules are gone")
        return
    headers = here(machine.site, HEADERS)
    sources = modules.dkms if isinstance(modules.dkms, tuple) else ()
    failed = next((one for one in sources if one.failed), None)
    if failed:
        log = f"/var/lib/dkms/{failed.name}/{failed.version}/build/make.log"
        yield Fix("Read why the last build failed", f"tail -n 40 {log}", kind=FixKind.CHECK)
    if modules.headers is False:
        yield (
            Fix("Install the headers of the running kernel", headers, (ROOT, DOWNLOAD))
            if headers
            else Fix("Install the headers of the running kernel.", needs=(ROOT, DOWNLOAD))
        )
    if sources and not failed:
        yield Fix("Build the module and load it", "sudo dkms autoinstall && sudo modprobe nvidia", (ROOT,))
    elif failed:
        yield update_driver(machine, what="Install a driver that compiles for this kernel")
    else:
        yield update_driver(machine, what="Install the NVIDIA driver again, which builds its module")
    if others:
        yield Fix(f"Boot the kernel that has a module: {', '.join(others)}.", needs=(ROOT, REBOOT), kind=FixKind.INSTEAD)
