"""GD241: uvm-hmm-init-failure."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.kernel_facts import answered, cuda_answered, parameter, said
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Details, KernelDriver, KernelLog, Missing, Snapshot

_NOT_INITIALIZED = 3


SAYS = r"request_free_mem_region\(\) err"
"""nvidia-uvm's own line, from uvm_pmm_gpu.c."""


_OPTION = "echo 'options nvidia_uvm uvm_disable_hmm=1' | sudo tee /etc/modprobe.d/nvidia-uvm-hmm.conf"


_RELOAD = "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm"


@rule(
    "GD241",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def uvm_hmm_init_failure(
    kernel_driver: KernelDriver, log: KernelLog | Missing, details: Details | Missing, snapshot: Snapshot, site: Site
) -> Iterator[Problem]:
    """nvidia_uvm fails to set up HMM, so CUDA does not initialise.

    ## Why it matters
    With the open kernel modules nvidia_uvm reserves a range of addresses for heterogeneous memory management (HMM). On some kernels
    address space randomisation (KASLR) leaves no such range free: cuInit answers 3 (CUDA_ERROR_NOT_INITIALIZED), while nvidia-smi and NVML
    work. The kernel's log then says "request_free_mem_region() err -34".

    ## What to do
    Switch HMM off for nvidia_uvm and reload the module. CUDA loses nothing but access to memory that was allocated with malloc. Booting
    with `nokaslr` is NVIDIA's other workaround.

    ## References
    - https://docs.nvidia.com/cuda/archive/13.0.0/cuda-toolkit-release-notes/index.html
    - https://github.com/NVIDIA/open-gpu-kernel-modules/issues/947
    - https://github.com/NVIDIA/open-gpu-kernel-modules/issues/901
    """
    if not site.has_pci or isinstance(kernel_driver.version, Missing):
        not_applicable("no NVIDIA kernel driver is loaded here")
    if cuda_answered(snapshot) != _NOT_INITIALIZED or answered(snapshot.nvml) != 0:
        return
    if "nvidia_uvm" not in need(kernel_driver.modules, Rung.KERNEL_DRIVER):
        return
    told, disabled = said(log, SAYS), parameter(kernel_driver, "nvidia_uvm.uvm_disable_hmm")
    if disabled == "Y" or (not told and need(kernel_driver.flavour, Rung.KERNEL_DRIVER) != "open"):
        return
    yield Problem(
        message=f"cuInit answers {_NOT_INITIALIZED} while NVML works: nvidia_uvm "
        + ("cannot reserve addresses for HMM." if told else "of the open kernel modules probably cannot set up HMM."),
        confidence=Confidence.CERTAIN if told else Confidence.LIKELY,
        evidence=(
            *told,
            Evidence("cuInit", f"{_NOT_INITIALIZED} CUDA_ERROR_NOT_INITIALIZED", "libcuda"),
            Evidence("uvm_disable_hmm", disabled or "not known", "/sys/module/nvidia_uvm/parameters"),
            Evidence("KASLR", _randomised(details), "/proc/cmdline"),
        ),
        fixes=_fixes(site),
    )


def _randomised(details: Details | Missing) -> str:
    parameters = details if isinstance(details, Missing) else details.kernel_parameters
    if isinstance(parameters, Missing):
        return f"not known ({parameters.reason})"
    return "off (nokaslr)" if any(one.name == "nokaslr" for one in parameters) else "not switched off"


def _fixes(site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (Fix(f"Switch HMM off on the host, then restart the container: `{_OPTION}`, `{_RELOAD}`", needs=(ROOT,)),)
    reload = Fix("Stop every program that uses the GPU and reload nvidia_uvm", _RELOAD, (ROOT,))
    return (
        Fix("Switch HMM off for nvidia_uvm", _OPTION, (ROOT,)),
        reload,
        Fix(
            "Boot the kernel with nokaslr: add it to GRUB_CMDLINE_LINUX in /etc/default/grub.",
            needs=(ROOT, REBOOT),
            kind=FixKind.INSTEAD,
        ),
    )
