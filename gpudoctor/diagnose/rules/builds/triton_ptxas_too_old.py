"""GD540: triton-ptxas-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Gpu, Hardware, MachineView, Stack
from gpudoctor.derive.code import capability
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.advice.system import set_variable, unset
from gpudoctor.diagnose.gpu_facts import hidden
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.builds.triton import _OFF, _compiles
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import CudaRelease
from gpudoctor.snapshot import Cause, Fact, FoundBy, Framework, LibraryFile, LibraryUse, Missing
from gpudoctor.versions import Version

COMPONENT, FOR_NEWER = "triton-ptxas", "ptxas-blackwell"


_NEWER = Version(10, 0)
"""The compute capability from which on Triton starts the second of its assemblers, in the releases that have one."""


@rule(
    "GD540",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    explains=(Explains(("smoke-crashed",), "", Join.FRAMEWORK),),
)
def triton_ptxas_too_old(framework: Framework, stack: Stack, hardware: Hardware, machine: MachineView) -> Iterator[Problem]:
    """The ptxas that Triton starts does not know this GPU, so torch.compile fails.

    ## Why it matters
    torch.compile leaves GPU kernels to Triton, which brings its own ptxas, or starts the one that TRITON_PTXAS_PATH names. One that is older
    than the GPU ends with "Value 'sm_121a' is not defined for option 'gpu-name'". The rest of PyTorch works.

    ## What to do
    Let TRITON_PTXAS_PATH name the ptxas of a newer CUDA toolkit, or install a newer PyTorch with the Triton that it requires. Since
    Triton 3.6 the variable for compute capability 10.0 and newer is TRITON_PTXAS_BLACKWELL_PATH.

    ## References
    - https://github.com/triton-lang/triton/blob/main/third_party/nvidia/backend/compiler.py
    - https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
    """
    _compiles(framework, stack, hardware)
    started = [
        use
        for use in next(view for view in machine.frameworks if view.observed is framework).all_libraries_used
        if use.component == COMPONENT
    ]
    if not started:
        not_applicable("Triton's own assembler was not found")
    problems: dict[str, tuple[LibraryUse, CudaRelease, list[Gpu]]] = {}
    for gpu in (one for one in hardware if not (one.set_aside or hidden(one))):
        place = need(capability(gpu, machine.matrix) or Missing(Cause.NOT_STATED, f"the compute capability of {gpu.label} is not known"))
        use = _for(started, place)
        row = _release(use, machine)
        if row.sass is not None and f"sm_{place.major}{place.minor}" not in row.sass:
            problems.setdefault(f"sm_{place.major}{place.minor}", (use, row, []))[2].append(gpu)
    for target, (use, row, gpus) in problems.items():
        yield Problem(
            message=f"Triton would start {_path(use)} (CUDA {row.release.short}), which does not know {target} ({gpus[0].label}).",
            evidence=(
                Evidence("ptxas that Triton starts", f"{_path(use)}, CUDA {row.release.short}", use.why),
                Evidence("targets that it knows", " ".join(row.sass or ()), f"matrix: CUDA {row.release}"),
            ),
            fixes=(_other(use, target, machine), _OFF),
        )


def _for(started: list[LibraryUse], place: Version) -> LibraryUse:
    newer = next((use for use in started if use.wanted == FOR_NEWER), None)
    return newer if newer is not None and place >= _NEWER else started[0]


def _path(use: LibraryUse) -> str:
    return use.file.path if isinstance(use.file, LibraryFile) else use.wanted


def _release(use: LibraryUse, machine: MachineView) -> CudaRelease:
    stated = need(need(use.file).version)
    version = versions.parse(stated.value)
    row = machine.matrix.cuda(version) if version else None
    return need(row or Missing(Cause.NOT_STATED, f"the matrix does not know CUDA {stated.value}, which {_path(use)} is of"))


def _other(use: LibraryUse, target: str, machine: MachineView) -> Fix:
    """The newest toolkit on disk that knows the GPU, else a newer PyTorch."""
    variable = "TRITON_PTXAS_BLACKWELL_PATH" if use.wanted == FOR_NEWER else "TRITON_PTXAS_PATH"
    toolkits = machine.observed.toolkits
    knowing = [
        (version, one.ptxas)
        for one in (() if isinstance(toolkits, Missing) else toolkits)
        if isinstance(one.ptxas, str) and isinstance(one.toolkit_cuda, Fact)
        if (version := versions.parse(one.toolkit_cuda.value)) and (row := machine.matrix.cuda(version)) and target in (row.sass or ())
    ]
    if use.found_by is FoundBy.VARIABLE and not knowing:
        return unset(variable)
    if knowing:
        return set_variable(variable, shell_path(max(knowing)[1]), "Have Triton start the ptxas of a newer toolkit")
    oldest = machine.matrix.toolkit_for(target)
    return Fix(
        f"Install a CUDA toolkit{f' {oldest.release.short} or newer' if oldest else ''} and let {variable} name its bin/ptxas, or install a newer PyTorch.",
        needs=(DOWNLOAD,),
    )
