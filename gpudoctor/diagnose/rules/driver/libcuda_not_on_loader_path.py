from gpudoctor.derive import MachineView, known_absence, not_applicable
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.shell import prepend_library_path, shell_path
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import libcuda_files
from gpudoctor.findings import Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity

_SONAME = "libcuda.so.1"


@rule("GD218", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT)
@explains((*CUDA_FAILS, "container-no-gpu-access"), "Without libcuda.so.1 no CUDA program can start.")
def libcuda_not_on_loader_path(machine: MachineView) -> Problems:
    """Driver's libcuda is installed but not on the loader's path."""
    if machine.site.on_wsl:
        not_applicable("under WSL libcuda belongs to the Windows driver")
    unfound = known_absence(machine.libcuda_for_gpus, Rung.LIBCUDA)
    if unfound is None:
        return
    found = [file for file in library.libcuda_of_driver(machine.cuda_files) if library.is_loadable(file, machine.observed.python)]
    if not found:
        not_applicable("the driver's usual folders have no libcuda for this interpreter")
    path = found[0].path
    folder, _, name = path.rpartition("/")
    reason = f"{folder} is not on the loader's path" if name == _SONAME else f"the link {_SONAME} is missing"
    yield Problem(
        message=f"{path} is installed, but {reason}.",
        evidence=(Evidence("the loader", unfound.reason, "dlopen"), *libcuda_files(found)),
        fixes=_add_folder(folder) if name == _SONAME else (_make_link(folder),),
    )


def _add_folder(folder: str) -> tuple[Fix, Fix]:
    configure = f"echo {shell_path(folder)} | sudo tee /etc/ld.so.conf.d/nvidia-libcuda.conf && sudo ldconfig"
    return (
        Fix(f"Add {folder} to the loader's configuration", configure),
        Fix("Set LD_LIBRARY_PATH in this shell", prepend_library_path(folder), kind=FixKind.INSTEAD),
    )


def _make_link(folder: str) -> Fix:
    return Fix(f"Create the link {_SONAME} with ldconfig", f"sudo ldconfig {shell_path(folder)}")
