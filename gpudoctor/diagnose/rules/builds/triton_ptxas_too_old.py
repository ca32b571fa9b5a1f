from gpudoctor import versions
from gpudoctor.derive import FrameworkView, GpuView, MachineView, not_applicable, require_known
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.derive.toolkits import toolkit_version
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.advice.system import WITHOUT_COMPILE, set_variable, unset_variable
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.matrix import CudaRelease
from gpudoctor.snapshot import Cause, FoundBy, LibraryFile, LibraryUse, Missing
from gpudoctor.versions import Version

_COMPONENT, _BLACKWELL_ASSEMBLER = "triton-ptxas", "ptxas-blackwell"


@rule("GD540", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
@explains(("smoke-crashed",), "A compiled training step fails if ptxas does not support the GPU.", Join.FRAMEWORK)
def triton_ptxas_too_old(framework: FrameworkView) -> Problems:
    """Triton's ptxas does not support this GPU, so torch.compile fails."""
    machine, triton = framework.machine, framework.triton
    assemblers = [use for use in framework.all_libraries_used if use.component == _COMPONENT]
    if not assemblers:
        not_applicable("Triton's ptxas was not found")
    found: dict[str, tuple[LibraryUse, CudaRelease, GpuView]] = {}
    for gpu in (gpu for gpu in machine.gpus if gpu.usable):
        missing = Missing(Cause.NOT_STATED, f"the compute capability of {gpu.label} is not known")
        place = require_known(compute_capability(gpu.observed, machine.matrix) or missing)
        use = _assembler_for_gpu(place, assemblers, machine)
        row, target = _cuda_of_assembler(use, machine), f"sm_{place.major}{place.minor}"
        if row.sass is not None and target not in row.sass:
            found.setdefault(target, (use, row, gpu))
    for target, (use, row, gpu) in found.items():
        yield Problem(
            message=f"Triton would use {_assembler_path(use)} (CUDA {row.release.short}), which does not support {target} ({gpu.label}).",
            evidence=(
                Evidence("Triton", triton.version, triton.where),
                Evidence("ptxas that Triton uses", f"{_assembler_path(use)}, CUDA {row.release.short}", use.why),
                Evidence("targets it supports", " ".join(row.sass or ()), f"matrix: CUDA {row.release}"),
            ),
            fixes=(_use_newer_toolkit(use, target, machine), WITHOUT_COMPILE),
        )


def _assembler_for_gpu(place: Version, assemblers: list[LibraryUse], machine: MachineView) -> LibraryUse:
    """Return the ptxas that Triton runs for a GPU of this compute capability."""
    since = machine.matrix.bound("triton", "second-assembler")
    newer = next((use for use in assemblers if use.wanted == _BLACKWELL_ASSEMBLER), None)
    return newer if newer is not None and since is not None and place >= since else assemblers[0]


def _assembler_path(use: LibraryUse) -> str:
    return use.file.path if isinstance(use.file, LibraryFile) else use.wanted


def _cuda_of_assembler(use: LibraryUse, machine: MachineView) -> CudaRelease:
    """Return the matrix row of a ptxas's CUDA; the rule ends if it is not known."""
    stated = require_known(require_known(use.file).version)
    version = versions.parse_version(stated.value)
    row = machine.matrix.cuda(version) if version else None
    return require_known(
        row or Missing(Cause.NOT_STATED, f"the matrix does not know CUDA {stated.value}, the version of {_assembler_path(use)}")
    )


def _use_newer_toolkit(use: LibraryUse, target: str, machine: MachineView) -> Fix:
    """Return the fix that uses the newest toolkit on disk that supports the GPU, or installs one."""
    variable = "TRITON_PTXAS_BLACKWELL_PATH" if use.wanted == _BLACKWELL_ASSEMBLER else "TRITON_PTXAS_PATH"
    knowing: list[tuple[Version, str]] = []
    for toolkit in machine.known_toolkits:
        version = toolkit_version(toolkit)
        row = machine.matrix.cuda(version) if version else None
        if version and row and isinstance(toolkit.ptxas, str) and target in (row.sass or ()):
            knowing.append((version, toolkit.ptxas))
    if knowing:
        return set_variable(variable, shell_path(max(knowing)[1]), "Make Triton use the ptxas of a newer toolkit")
    if use.found_by is FoundBy.VARIABLE:
        return unset_variable(variable, machine)
    oldest = machine.matrix.toolkit_for(target)
    release = f" {oldest.release.short} or newer" if oldest else ""
    title = f"Install a CUDA toolkit{release} and set {variable} to its bin/ptxas, or install a newer PyTorch."
    return Fix(title, needs=(DOWNLOAD,))
