"""GD202: driver-library-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.derive import libcuda as files
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.driver import _library, _nvml_said
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Fact, KernelDriver, Libcuda, Missing, Nvml, Status

_RM_MISMATCH, _SYSTEM_DRIVER_MISMATCH = 18, 803


@rule(
    "GD202",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "cuda-compat-lib-conflict",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def driver_library_mismatch(
    nvml: Nvml | Missing, libcuda: Libcuda | Missing, kernel_driver: KernelDriver | Missing, site: Site
) -> Iterator[Problem]:
    """The loaded kernel driver and the driver's libraries are of different versions.

    ## Why it matters
    Kernel module and libraries are one product in two halves that must be the same release. An upgrade replaces the files at once,
    but the old module stays in the kernel until it is unloaded; from then on NVML and CUDA refuse to start.

    ## What to do
    Reboot: then the module of the installed release is loaded. Reinstalling the driver does not help, the files are in order.
    Without a reboot: end every process that uses the GPU, unload the modules and load them again. To keep it from happening during
    work, hold the driver's packages back from unattended upgrades.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
    """
    if isinstance(nvml, Missing) and isinstance(libcuda, Missing):
        if nvml.cause is libcuda.cause is Cause.ABSENT:
            not_applicable("the loader finds no library of the driver")
        need(nvml if nvml.cause is not Cause.ABSENT else libcuda, Rung.NVML)
    module = _module_version(kernel_driver)
    library = _library_version(nvml)
    said = _code(nvml) == _RM_MISMATCH
    cuda_said = _code(libcuda) == _SYSTEM_DRIVER_MISMATCH and bool(module and library and module != library)
    if not (said or cuda_said):
        yield from _two_installations(libcuda, module)
        return
    where = "NVML" if said else "cuInit"
    restart = Fix("Restart the container so that it is given the host's current libraries; if that does not help, reboot the host.")
    reload = Fix(
        "Without a reboot: end every process that uses the GPU, then reload the modules",
        "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia; sudo modprobe nvidia",
        (ROOT,),
        kind=FixKind.INSTEAD,
    )
    yield Problem(
        message=f"{where} reports that the kernel driver ({module or 'version not readable'}) and its libraries "
        f"({library or 'version not readable'}) do not match; the driver was most likely upgraded without a reboot.",
        evidence=(
            *_nvml_said(nvml),
            Evidence("version of the loaded kernel module", module or "not readable", "/proc/driver/nvidia/version"),
            Evidence("version of the libraries", library or "not readable", _library(nvml) if isinstance(nvml, Nvml) else "NVML"),
        ),
        fixes=(restart,) if site.container else (reboot("Reboot: this loads the module of the installed driver"), reload),
    )


def _two_installations(libcuda: Libcuda | Missing, module: str) -> Iterator[Problem]:
    """NVML fits the kernel driver and libcuda does not: files of two installations lie side by side."""
    path = files.path(libcuda)
    release = files.release(path)
    if _code(libcuda) != _SYSTEM_DRIVER_MISMATCH or not module or not release or release.text == module or files.is_compat(path):
        return
    yield Problem(
        message=f"cuInit answers 803: the loader takes {path}, of driver {release.text}, and the kernel driver is {module}. "
        "Two installations of the driver are mixed.",
        evidence=(
            Evidence("libcuda that was loaded", path, "/proc/self/maps"),
            Evidence("version of the loaded kernel module", module, "/proc/driver/nvidia/version"),
        ),
        fixes=(
            Fix(
                f"Move libcuda of driver {release} out of the loader's way",
                f"sudo mv {shell_path(path)} {shell_path(f'{path}.disabled')} && sudo ldconfig",
                (ROOT,),
            ),
            Fix(
                "If NVIDIA's own installer put it there, remove that driver as a whole",
                "sudo nvidia-uninstall",
                (ROOT,),
                kind=FixKind.INSTEAD,
            ),
        ),
    )


def _code(section: Nvml | Libcuda | Missing) -> int:
    return section.init.code if isinstance(section, Nvml | Libcuda) and isinstance(section.init, Status) else 0


def _module_version(section: KernelDriver | Missing) -> str:
    return section.version.value if isinstance(section, KernelDriver) and isinstance(section.version, Fact) else ""


def _library_version(nvml: Nvml | Missing) -> str:
    """The driver release of libnvidia-ml: NVML's own version is the CUDA major, a dot, and the release ("12.550.163.01")."""
    if isinstance(nvml, Missing) or isinstance(nvml.nvml_version, Missing):
        return ""
    return nvml.nvml_version.partition(".")[2]
