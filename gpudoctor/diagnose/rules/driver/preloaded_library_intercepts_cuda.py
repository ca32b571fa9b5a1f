import shlex

from gpudoctor.derive import MachineView, known, not_applicable
from gpudoctor.derive.libcuda import code
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.naming import few
from gpudoctor.snapshot import Cause, Missing, Preload

_FILE = "/etc/ld.so.preload"


@rule("GD242", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "Programs call the preloaded library's cuInit instead of the driver's.")
def preloaded_library_intercepts_cuda(machine: MachineView) -> Problems:
    """Preloaded library intercepts CUDA or NVML calls."""
    if not machine.hardware and machine.site.has_pci:
        not_applicable("there is no GPU")
    failures = [f"{call} returns {answer}" for call, answer in _codes(machine) if answer]
    for library in machine.preloads:
        if not library.exports or isinstance(library.exports, Missing):
            continue
        functions = few(library.exports)
        message = f"{library.path}, preloaded by {library.where}, intercepts {functions}"
        yield Problem(
            message=f"{message}; {' and '.join(failures)}." if failures else f"{message}.",
            severity=None if failures else Severity.NOTE,
            evidence=(
                Evidence("preloaded by", library.where, library.where),
                Evidence("intercepted functions", functions, library.path),
            ),
            fixes=(_without(library, machine),),
        )
    for library in machine.preloads:
        if isinstance(library.exports, Missing) and library.exports.cause not in {Cause.ABSENT, Cause.NOT_ASKED}:
            known(library.exports)


def _codes(machine: MachineView) -> tuple[tuple[str, int | None], ...]:
    """Return what cuInit and nvmlInit returned in the examined environment."""
    return ("cuInit", code(machine.observed.libcuda)), ("nvmlInit", machine.nvml_init_code)


def _without(library: Preload, machine: MachineView) -> Fix:
    if library.where == _FILE:
        expression = shlex.quote("\\|" + library.path + "|d")
        return Fix(f"Remove the library from {_FILE}", f"sudo sed -i {expression} {_FILE}")
    return unset("LD_PRELOAD", machine)
