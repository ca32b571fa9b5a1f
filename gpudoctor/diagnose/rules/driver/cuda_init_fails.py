from gpudoctor.derive import Gpu, MachineView, not_applicable
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.diagnose.advice.cuda_errors import fixes_for_error
from gpudoctor.diagnose.advice.driver_libraries import PTX_COMPILER, install_driver_library
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import Evidence, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import Cause, CudaContext, Missing
from gpudoctor.status_codes import MPS_ERRORS, CudaError

_ERRORS_OF_OTHER_RULES = {CudaError.OUT_OF_MEMORY, *MPS_ERRORS}
"""Errors of a context that other rules report."""


@rule("GD206", severity=Severity.ERROR, breaks=Rung.LIBCUDA, predicts=False, sees_more_at=Level.TOUCH)
@explains(("required-gpus-missing", *TRAINING_FAILS), "Every CUDA program starts with cuInit and a context on its GPU.")
def cuda_init_fails(machine: MachineView) -> Problems:
    """CUDA fails to initialise."""
    if machine.site.has_pci and not machine.hardware:
        not_applicable("there is no GPU")
    init = machine.cuda_init
    where = machine.libcuda.library if isinstance(machine.libcuda.library, str) else "libcuda.so.1"
    if init.code:
        yield Problem(
            message=f"CUDA fails to initialise: cuInit returns {init.code} ({init.name}).",
            evidence=(Evidence("cuInit", f"{init.code} {init.name}", where),),
            fixes=fixes_for_error(init.code, machine),
        )
    for (error, code), gpus in _kernel_failures(machine).items():
        labels = [gpu.label for gpu in gpus]
        subject = singular_or_plural(len(gpus), labels[0], f"{len(gpus)} GPUs")
        lacks_compiler = code == CudaError.JIT_COMPILER_NOT_FOUND and _ptx_compilers(machine) == ()
        yield Problem(
            message=f"CUDA fails on {subject}: {error}.",
            evidence=(Evidence("gpudoctor's kernel", f"{error} on {', '.join(labels)}", where), *_ptx_compiler_evidence(machine, code)),
            fixes=install_driver_library(machine, PTX_COMPILER) if lacks_compiler else fixes_for_error(code, machine, gpus),
        )


def _kernel_failures(machine: MachineView) -> dict[tuple[str, int], list[Gpu]]:
    """Return the GPUs on which gpudoctor's kernel failed, by the error's text and its code (0 if it has none)."""
    gpus = {gpu.key: gpu for gpu in machine.hardware}
    contexts = machine.observed.contexts
    found: dict[tuple[str, int], list[Gpu]] = {}
    for context in () if isinstance(contexts, Missing) else contexts:
        error, gpu = _context_error(context), gpus.get(str(context.address))
        if error is not None and gpu is not None:
            found.setdefault(error, []).append(gpu)
    return found


def _context_error(context: CudaContext) -> tuple[str, int] | None:
    """Return what failed in a context and its code; None where nothing did, or another rule reports it."""
    call, right = failed_call(context), context.kernel_right
    if call is not None:
        status = call.status
        return None if status.code in _ERRORS_OF_OTHER_RULES else (f"{call.call} returns {status.code} ({status.name})", status.code)
    if isinstance(right, Missing) and right.cause in {Cause.FAILED, Cause.UNLOADABLE}:
        return right.reason, 0
    return None


def _ptx_compiler_evidence(machine: MachineView, code: int) -> tuple[Evidence, ...]:
    files = _ptx_compilers(machine)
    if code != CudaError.JIT_COMPILER_NOT_FOUND or files is None:
        return ()
    return (Evidence("libnvidia-ptxjitcompiler.so.1", ", ".join(files) or "not found", "the driver's usual folders"),)


def _ptx_compilers(machine: MachineView) -> tuple[str, ...] | None:
    """Return the driver's PTX compilers on disk; None if nobody looked."""
    files = machine.observed.cuda_files
    return None if isinstance(files, Missing) else tuple(file.path for file in files.ptx_compiler)
