"""GD206: cuda-init-fails."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.codes import MPS_ERRORS, CudaError
from gpudoctor.derive import MachineView
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.derive.unknown import not_applicable
from gpudoctor.diagnose.advice.cuda_errors import cures
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Level, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaContext, Missing

_OF_OTHER_RULES = {CudaError.OUT_OF_MEMORY, *MPS_ERRORS}
"""Errors of a context that other rules report."""


@rule(
    "GD206",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    sees_more_at=Level.TOUCH,
    explains=(Explains(("required-gpus-missing", *TRAINING_FAILS), "Every CUDA program starts with cuInit and a context on its GPU."),),
)
def cuda_init_fails(machine: MachineView) -> Iterator[Problem]:
    """CUDA fails to initialise."""
    if machine.site.has_pci and not machine.hardware:
        not_applicable("there is no GPU")
    init = machine.cuda_init
    where = machine.libcuda.library if isinstance(machine.libcuda.library, str) else "libcuda.so.1"
    if init.code:
        yield Problem(
            message=f"CUDA fails to initialise: cuInit returns {init.code} ({init.name}).",
            evidence=(Evidence("cuInit", f"{init.code} {init.name}", where),),
            fixes=cures(init.code, machine),
        )
    for (error, code), gpus in _failures(machine).items():
        subject = gpus[0] if len(gpus) == 1 else f"{len(gpus)} GPUs"
        yield Problem(
            message=f"CUDA fails on {subject}: {error}.",
            evidence=(Evidence("gpudoctor's kernel", f"{error} on {', '.join(gpus)}", where), *_ptx_compiler(machine, code)),
            fixes=cures(code, machine),
        )


def _failures(machine: MachineView) -> dict[tuple[str, int], list[str]]:
    """Return the GPUs on which gpudoctor's kernel failed, by the error's text and its code (0 if it has none)."""
    labels = {gpu.key: gpu.label for gpu in machine.hardware}
    contexts = machine.observed.contexts
    found: dict[tuple[str, int], list[str]] = {}
    for context in () if isinstance(contexts, Missing) else contexts:
        error = _error(context)
        if error is not None:
            address = str(context.address)
            found.setdefault(error, []).append(labels.get(address, address))
    return found


def _error(context: CudaContext) -> tuple[str, int] | None:
    """Return what failed in a context and its code; None where nothing did, or another rule reports it."""
    call, right = failed_call(context), context.kernel_right
    if call is not None:
        status = call.status
        return None if status.code in _OF_OTHER_RULES else (f"{call.call} returns {status.code} ({status.name})", status.code)
    if isinstance(right, Missing) and right.cause in {Cause.FAILED, Cause.UNLOADABLE}:
        return right.reason.removesuffix(f" {context.ordinal}"), 0
    return None


def _ptx_compiler(machine: MachineView, code: int) -> tuple[Evidence, ...]:
    files = machine.observed.cuda_files
    if code != CudaError.JIT_COMPILER_NOT_FOUND or isinstance(files, Missing):
        return ()
    found = ", ".join(file.path for file in files.ptx_compiler)
    return (Evidence("libnvidia-ptxjitcompiler.so.1", found or "not found", "the driver's usual folders"),)
