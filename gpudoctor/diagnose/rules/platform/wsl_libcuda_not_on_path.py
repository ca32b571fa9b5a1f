from gpudoctor.derive import MachineView, known_absence, not_applicable
from gpudoctor.diagnose.advice.shell import prepend_library_path
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.platform.wsl import NEEDED_LIBRARIES, WSL_LIBRARY_FOLDER
from gpudoctor.findings import Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing


@rule("GD306", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT)
@advises(
    Fix(
        f"Add {WSL_LIBRARY_FOLDER} to the loader's path",
        f"echo {WSL_LIBRARY_FOLDER} | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig",
    ),
    Fix("Set LD_LIBRARY_PATH in this shell", prepend_library_path(WSL_LIBRARY_FOLDER), kind=FixKind.INSTEAD),
)
@explains(("libcuda-not-on-loader-path",), "In WSL, libcuda comes from the Windows driver.")
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "Without libcuda, CUDA finds no GPU.")
@explains(("required-gpus-missing",), "Without libcuda, no GPU is usable.")
def wsl_libcuda_not_on_path(machine: MachineView) -> Problems:
    """Windows driver's libcuda is not on the loader's path in WSL."""
    wsl, unfound = machine.wsl2, known_absence(machine.observed.libcuda, Rung.LIBCUDA)
    if unfound is None:
        return
    if isinstance(wsl.libraries, Missing) or NEEDED_LIBRARIES[0] not in wsl.libraries:
        not_applicable(f"{WSL_LIBRARY_FOLDER} has no libcuda.so.1")
    configuration = wsl.loader_conf if isinstance(wsl.loader_conf, str) else wsl.loader_conf.reason
    yield Problem(
        message=f"{WSL_LIBRARY_FOLDER}/libcuda.so.1 exists, but {WSL_LIBRARY_FOLDER} is not on the loader's path.",
        evidence=(
            Evidence("libcuda.so.1", unfound.reason, "the loader"),
            Evidence("the loader's configuration", configuration, "/etc/ld.so.conf.d"),
        ),
    )
