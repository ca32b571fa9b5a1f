from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.derive import libcuda as cuda_library
from gpudoctor.derive.driver import driver_release_of_nvml
from gpudoctor.diagnose.advice.shell import hide_library
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.driver.nvml_start import nvml_start_evidence
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, Nvml
from gpudoctor.status_codes import CudaError, NvmlError

_MODULE_FILE = "/proc/driver/nvidia/version"
_RESTART_CONTAINER = Fix(
    "Restart the container to get the host's current libraries; if that does not help, reboot the host.", action=Action.RESTART_JOB
)
_RELOAD_MODULES = Fix(
    "Without a reboot: end every process that uses a GPU, then reload the modules",
    "sudo systemctl stop nvidia-persistenced; sudo modprobe -r nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia",
    kind=FixKind.INSTEAD,
)
_UNINSTALL = Fix("If NVIDIA's .run installer put it there, uninstall that driver", "sudo nvidia-uninstall", kind=FixKind.INSTEAD)


@rule("GD202", severity=Severity.ERROR, breaks=Rung.NVML)
@advises(reboot("Reboot to load the module of the installed driver"), _RELOAD_MODULES)
@explains(CUDA_FAILS, "CUDA does not start if the kernel module has a different version.")
@explains(("gpu-count-mismatch",), "NVML does not start, so it lists no GPU.")
@explains(("cuda-compat-lib-conflict",), "The mismatch makes cuInit return 803, whatever libcuda was loaded.")
def driver_library_mismatch(machine: MachineView) -> Problems:
    """Kernel module and driver libraries have different versions."""
    nvml, libcuda = machine.observed.nvml, machine.observed.libcuda
    if isinstance(nvml, Missing) and isinstance(libcuda, Missing):
        if nvml.cause is libcuda.cause is Cause.ABSENT:
            not_applicable("the loader finds no driver library")
        require_known(nvml if nvml.cause is not Cause.ABSENT else libcuda, Rung.NVML)
    module, library = machine.kernel.driver_version, driver_release_of_nvml(nvml)
    if isinstance(nvml, Nvml) and isinstance(libcuda, Missing) and not (machine.supposed or (module and library)):
        require_known(nvml.init, Rung.NVML)
    nvml_refuses = machine.nvml_init_code == NvmlError.LIB_RM_VERSION_MISMATCH
    differ = bool(module and library and module != library)
    cuda_refuses = cuda_library.init_code(libcuda) == CudaError.SYSTEM_DRIVER_MISMATCH and differ
    only_stated = differ and isinstance(nvml, Nvml) and isinstance(nvml.init, Missing) and nvml.init.cause is Cause.NOT_STATED
    if not (nvml_refuses or cuda_refuses or only_stated):
        yield from _two_installations(machine, module)
        return
    path = nvml.library if isinstance(nvml, Nvml) and isinstance(nvml.library, str) else "the driver's library"
    yield Problem(
        message=f"Kernel module {module or '(version unknown)'} and driver libraries {library or '(version unknown)'} do not match, so "
        f"{'CUDA' if cuda_refuses and not nvml_refuses else 'NVML'} does not start; the driver was probably updated without a reboot.",
        evidence=(
            *nvml_start_evidence(machine),
            Evidence("loaded kernel module", module or "not readable", _MODULE_FILE),
            Evidence("driver libraries", library or "not readable", path if isinstance(nvml, Nvml) else "NVML"),
        ),
        fixes=(_RESTART_CONTAINER,)
        if machine.site.container
        else (reboot("Reboot to load the module of the installed driver"), _RELOAD_MODULES),
    )


def _two_installations(machine: MachineView, module: str) -> Problems:
    """Yield the problem of two mixed installations: NVML matches the kernel module, libcuda does not."""
    libcuda = machine.observed.libcuda
    path = cuda_library.loaded_path(libcuda)
    release = cuda_library.release_in_name(path)
    if cuda_library.init_code(libcuda) != CudaError.SYSTEM_DRIVER_MISMATCH or cuda_library.is_compat(path):
        return
    if not module or release is None or release.text == module:
        return
    yield Problem(
        message=f"Two driver installations are mixed: {path} is from driver {release.text}, the kernel module is {module} "
        "(cuInit returns 803).",
        evidence=(
            Evidence("loaded libcuda", path, "/proc/self/maps"),
            Evidence("loaded kernel module", module, _MODULE_FILE),
        ),
        fixes=(
            Fix(f"Hide libcuda of driver {release} from the loader", hide_library(path)),
            _UNINSTALL,
        ),
    )
