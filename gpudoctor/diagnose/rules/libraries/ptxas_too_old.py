from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, FrameworkView, not_applicable, require_known
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.xla import point_to_folder
from gpudoctor.findings import Confidence, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.matrix import CudaRelease
from gpudoctor.snapshot import Cause, LibraryFile, LibraryUse, Missing


@rule("GD414", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY)
@explains(TRAINING_FAILS, "XLA cannot compile for the GPU with a ptxas that is too old.", Join.FRAMEWORK)
def ptxas_too_old(framework: FrameworkView) -> Problems:
    """XLA would use a ptxas that is too old."""
    use, matrix = framework.xla_assembler, framework.machine.matrix
    if not isinstance(use.file, LibraryFile):
        not_applicable("XLA finds no ptxas")
    stated = require_known(use.file.version)
    version = require_known(versions.parse_version(stated.value) or Missing(Cause.FAILED, f"{stated.value} is no version of ptxas"))
    oldest = matrix.bound("xla", "oldest-assembler")
    adapts = framework.has_reached("adapts-ptx")
    skipped = adapts and oldest is not None and version < oldest
    if skipped and use.shadows:
        not_applicable(f"XLA skips {use.file.path}, which is older than {oldest}, and uses the next")
    row = require_known(matrix.cuda(version) or Missing(Cause.NOT_STATED, f"the matrix does not know CUDA {version.short}"))
    unknown = _unsupported_architectures(framework, row)
    if not unknown and not skipped and (adapts or _reads_ptx(framework, row)):
        return
    why = f"which may be too old for the PTX that {framework.label} generates"
    why = "which XLA skips as too old" if skipped else why
    why = f"which does not support {' and '.join(unknown)}" if unknown else why
    yield Problem(
        message=f"XLA in {framework.label} would use ptxas {version.short} from {use.file.path}, {why}.",
        confidence=Confidence.CERTAIN if unknown or skipped else Confidence.LIKELY,
        evidence=(
            Evidence("ptxas", f"{use.file.path} ({version})", stated.where),
            Evidence("found by", use.why, "XLA's search order"),
            *_build_evidence(framework),
            Evidence("targets it supports", " ".join(row.sass or ()), f"matrix: CUDA {row.release}"),
        ),
        fixes=(_use_newer_ptxas(framework, use),),
    )


def _unsupported_architectures(framework: FrameworkView, row: CudaRelease) -> list[str]:
    """Return the architectures of the machine's GPUs that this ptxas does not support."""
    capabilities = (compute_capability(gpu, framework.machine.matrix) for gpu in framework.machine.hardware)
    targets = dict.fromkeys(f"sm_{found.major}{found.minor}" for found in capabilities if found is not None)
    return [target for target in targets if row.sass is not None and target not in row.sass]


def _reads_ptx(framework: FrameworkView, row: CudaRelease) -> bool:
    """Return whether it reads the PTX of the build's CUDA; True if only the build's major version is known."""
    cuda = framework.cuda_or_missing
    if isinstance(cuda, Missing) or not cuda.version.text.count("."):
        return True
    build = framework.machine.matrix.cuda(cuda.version)
    return build is None or build.ptx_isa is None or row.ptx_isa is None or row.ptx_isa >= build.ptx_isa


def _build_evidence(framework: FrameworkView) -> Iterator[Evidence]:
    cuda = framework.cuda_or_missing
    if isinstance(cuda, EffectiveCuda):
        yield Evidence("CUDA version of the build", str(cuda.version), cuda.where)


def _use_newer_ptxas(framework: FrameworkView, use: LibraryUse) -> Fix:
    paths = (place.path for place in (*use.shadows, *use.elsewhere))
    in_package = next((path for path in paths if "/site-packages/" in path and "/nvidia/" in path), "")
    if in_package and not in_package.endswith("triton/backends/nvidia/bin/ptxas"):
        return Fix("Point XLA to the compiler package in the environment", point_to_folder(in_package))
    cuda = framework.cuda_or_missing
    major = cuda.version.major if isinstance(cuda, EffectiveCuda) else 12
    package = "nvidia-cuda-nvcc" if major >= 13 else f"nvidia-cuda-nvcc-cu{major}"
    title = f"Install the newest {package}, and remove the old toolkit from PATH"
    return install_fix(title, framework.machine.observed.python, package, options=("--upgrade",))
