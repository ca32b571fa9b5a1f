"""GD414: ptxas-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, Hardware, MachineView
from gpudoctor.derive.code import capability
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.xla import FLAG, _adapts, _wanted, _without_a_compiler
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import CudaRelease, Matrix
from gpudoctor.snapshot import Cause, Framework, LibraryFile, LibraryUse, Missing, Python
from gpudoctor.versions import Version

_OLDEST = Version(11, 8)
"""kMinimumSupportedPtxAsVersion in XLA."""


@rule(
    "GD414",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def ptxas_too_old(
    framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView, hardware: Hardware, python: Python | Missing
) -> Iterator[Problem]:
    """The ptxas that XLA would start is older than the GPU, or than the CUDA of the build.

    ## Why it matters
    XLA takes the first ptxas that it finds, an old toolkit's on PATH before the one of the framework's packages. One that does not know
    the GPU says "is not defined for option 'gpu-name'", and XLA lets the driver compile, which is slower and takes more memory. One that
    is older than the build's CUDA may not read the PTX that the build writes ("Unsupported .version"), which ended older releases of
    XLA; newer ones write older PTX for it, and pass over a ptxas before 11.8.

    ## What to do
    Take the old toolkit off PATH, or name a newer one's folder to XLA.

    ## References
    - https://github.com/openxla/xla/blob/main/xla/stream_executor/cuda/subprocess_compilation.cc
    - https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes
    """
    use = _wanted("ptxas", framework, machine, hardware)
    _without_a_compiler(framework)
    if not isinstance(use.file, LibraryFile):
        not_applicable("XLA finds no ptxas")
    stated = need(use.file.version)
    version = need(versions.parse(stated.value) or Missing(Cause.FAILED, f"{stated.value} is no release of ptxas"))
    passed_over = _adapts(framework) and version < _OLDEST
    if passed_over and use.shadows:
        not_applicable(f"XLA passes over {use.file.path}, which is older than {_OLDEST.short}, and takes the next")
    row = need(machine.matrix.cuda(version) or Missing(Cause.NOT_STATED, f"the matrix does not know CUDA {version.short}"))
    unknown = _unknown(row, hardware, machine.matrix)
    if not unknown and not passed_over and (_adapts(framework) or _speaks(row, effective, machine.matrix)):
        return
    why = "XLA passes over as too old" if passed_over else f"may not read the PTX that {framework.label} writes"
    why = f"does not know {' and '.join(unknown)}" if unknown else why
    yield Problem(
        message=f"XLA in {framework.label} would start ptxas {version.short} from {use.file.path}, which {why}.",
        confidence=Confidence.CERTAIN if unknown or passed_over else Confidence.LIKELY,
        evidence=(
            Evidence("ptxas", f"{use.file.path} ({version})", stated.where),
            Evidence("why that one", use.why, "XLA's order"),
            *((Evidence("CUDA of the build", str(effective.version), effective.where),) if isinstance(effective, EffectiveCuda) else ()),
            Evidence("machine code that it makes", " ".join(row.sass or ()), f"matrix: CUDA {row.release}"),
        ),
        fixes=_newer(use, effective, python),
    )


def _unknown(row: CudaRelease, hardware: Hardware, matrix: Matrix) -> list[str]:
    """The architectures of GPUs that this assembler makes no code for."""
    known = (capability(gpu, matrix) for gpu in hardware)
    words = dict.fromkeys(f"sm_{one.major}{one.minor}" for one in known if one is not None)
    return [word for word in words if row.sass is not None and word not in row.sass]


def _speaks(row: CudaRelease, effective: EffectiveCuda | Missing, matrix: Matrix) -> bool:
    """Whether it reads the PTX of the build's CUDA; a build that names only a major release is not held against it."""
    if isinstance(effective, Missing) or not effective.version.text.count("."):
        return True
    build = matrix.cuda(effective.version)
    return build is None or build.ptx_isa is None or row.ptx_isa is None or row.ptx_isa >= build.ptx_isa


def _newer(use: LibraryUse, effective: EffectiveCuda | Missing, python: Python | Missing) -> tuple[Fix, ...]:
    other = next(
        (place.path for place in (*use.shadows, *use.elsewhere) if "/site-packages/" in place.path and "/nvidia/" in place.path), ""
    )
    if other and not other.endswith("triton/backends/nvidia/bin/ptxas"):
        root = other.removesuffix("/bin/ptxas")
        return (
            Fix(
                "Name the folder of the environment's own compiler package to XLA",
                f'export XLA_FLAGS={FLAG}{shell_path(root)}" $XLA_FLAGS"',
            ),
        )
    major = effective.version.major if isinstance(effective, EffectiveCuda) else 12
    package = "nvidia-cuda-nvcc" if major >= 13 else f"nvidia-cuda-nvcc-cu{major}"
    bring_it = install_package(python, "--upgrade", package)
    return (Fix("Install the newest compiler package for the build's CUDA, and take the old one off PATH", bring_it, (DOWNLOAD,)),)
