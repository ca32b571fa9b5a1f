"""GD206: cuda-init-fails."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.diagnose.advice.cuda_errors import cures
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Level, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaContext, Libcuda, Missing, Snapshot


@rule(
    "GD206",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    sees_more_at=Level.TOUCH,
    explains=(
        Explains(
            (
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def cuda_init_fails(libcuda: Libcuda | Missing, snapshot: Snapshot, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """CUDA does not initialise, or not on every GPU.

    ## Why it matters
    Every CUDA program begins with cuInit, and with a context on each GPU that it uses. Their error codes are few and each has several
    causes, so the code alone is no diagnosis: where nothing else that was seen explains it, only candidates can be named.

    ## What to do
    Go through the candidates in their order; each names the one observation that tells.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    if site.has_pci and not hardware:
        not_applicable("there is no GPU for CUDA to initialise")
    library = need(libcuda, Rung.LIBCUDA)
    init = need(library.init, Rung.LIBCUDA)
    where = library.library if isinstance(library.library, str) else "libcuda.so.1"
    if init.code:
        yield Problem(
            message=f"cuInit answers {init.code} ({init.name}).",
            evidence=(Evidence("cuInit", f"{init.code} {init.name}", where),),
            fixes=cures(init.code, site, _set(snapshot)),
        )
    for (words, code), gpus in _refusals(snapshot.contexts, hardware).items():
        yield Problem(
            message=f"{words} on {gpus[0] if len(gpus) == 1 else f'{len(gpus)} GPUs: ' + ', '.join(gpus)}.",
            evidence=(Evidence("our own kernel", words, where), *_ptx_compiler(snapshot, code)),
            fixes=cures(code, site, _set(snapshot)),
        )


def _set(snapshot: Snapshot) -> dict[str, str]:
    """The variables that are set."""
    return {} if isinstance(snapshot.variables, Missing) else {name: value for name, value in snapshot.variables.values.items() if value}


_NAMED_ELSEWHERE = {2, *range(805, 811)}
"""CUresults of a context that are a cause by themselves: no memory, and MPS."""


_NO_PTX_COMPILER = 221


def _refusals(contexts: tuple[CudaContext, ...] | Missing, hardware: Hardware) -> dict[tuple[str, int], list[str]]:
    """The GPUs on which our own kernel was refused or its process died, by the words for that and the code, 0 where there is none."""
    labels = {gpu.key: gpu.label for gpu in hardware}
    found: dict[tuple[str, int], list[str]] = {}
    for context in () if isinstance(contexts, Missing) else contexts:
        call, right = failed_call(context), context.kernel_right
        if call is not None and call.status.code not in _NAMED_ELSEWHERE:
            told = (f"{call.call} answers {call.status.code} ({call.status.name})", call.status.code)
        elif call is None and isinstance(right, Missing) and right.cause is Cause.FAILED:
            told = (right.reason.removesuffix(f" {context.ordinal}"), 0)
        else:
            continue
        found.setdefault(told, []).append(labels.get(str(context.address), str(context.address)))
    return found


def _ptx_compiler(snapshot: Snapshot, code: int) -> tuple[Evidence, ...]:
    if code != _NO_PTX_COMPILER or isinstance(snapshot.cuda_files, Missing):
        return ()
    places = ", ".join(file.path for file in snapshot.cuda_files.ptx_compiler)
    return (Evidence("libnvidia-ptxjitcompiler.so.1", places or "not found", "the folders where drivers put it"),)
