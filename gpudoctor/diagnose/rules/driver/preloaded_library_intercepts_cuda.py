import shlex

from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.derive.libcuda import init_code
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names
from gpudoctor.snapshot import Cause, Missing, Preload

_PRELOAD_FILE = "/etc/ld.so.preload"


@rule("GD242", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "Programs call the preloaded library's cuInit instead of the driver's.")
def preloaded_library_intercepts_cuda(machine: MachineView) -> Problems:
    """Preloaded library intercepts CUDA or NVML calls."""
    if not machine.hardware and machine.site.has_pci:
        not_applicable("there is no GPU")
    failures = [f"{call} returns {answer}" for call, answer in _init_codes(machine) if answer]
    for library in machine.preloads:
        if not library.exports or isinstance(library.exports, Missing):
            continue
        functions = few_names(library.exports)
        message = f"{library.path}, preloaded by {library.where}, intercepts {functions}"
        yield Problem(
            message=f"{message}; {' and '.join(failures)}." if failures else f"{message}.",
            severity=None if failures else Severity.NOTE,
            evidence=(
                Evidence("preloaded by", library.where, library.where),
                Evidence("intercepted functions", functions, library.path),
            ),
            fixes=(_remove_preload(library, machine),),
        )
    for library in machine.preloads:
        if isinstance(library.exports, Missing) and library.exports.cause not in {Cause.ABSENT, Cause.NOT_ASKED}:
            require_known(library.exports)


def _init_codes(machine: MachineView) -> tuple[tuple[str, int | None], ...]:
    """Return what cuInit and nvmlInit returned in the examined environment."""
    return ("cuInit", init_code(machine.observed.libcuda)), ("nvmlInit", machine.nvml_init_code)


def _remove_preload(library: Preload, machine: MachineView) -> Fix:
    if library.where == _PRELOAD_FILE:
        expression = shlex.quote("\\|" + library.path + "|d")
        return Fix(f"Remove the library from {_PRELOAD_FILE}", f"sudo sed -i {expression} {_PRELOAD_FILE}")
    return unset_variable("LD_PRELOAD", machine)
