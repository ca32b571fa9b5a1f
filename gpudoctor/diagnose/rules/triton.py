"""GD5: what Triton needs to build kernels for torch.compile: an assembler that knows the GPU, a C compiler, Python's headers."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Gpu, Hardware, MachineView, Site, Stack
from gpudoctor.derive.code import capability
from gpudoctor.diagnose.build_facts import called
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT, set_variable, shell_path, unset
from gpudoctor.diagnose.gpu_facts import hidden
from gpudoctor.diagnose.library_facts import all_uses
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import CudaRelease
from gpudoctor.snapshot import Cause, Fact, Framework, LibraryFile, LibraryUse, Missing, Python, Snapshot
from gpudoctor.versions import Version

COMPONENT, FOR_NEWER = "triton-ptxas", "ptxas-blackwell"
_NEWER = Version(10, 0)
"""The compute capability from which on Triton starts the second of its assemblers, in the releases that have one."""
_OFF = Fix("Run without torch.compile", "export TORCHDYNAMO_DISABLE=1", kind=FixKind.INSTEAD)
_COMPILERS = ("CC", "gcc", "clang")
"""As triton/runtime/build.py looks for one; no c++ and no cc."""
_HEADERS = {
    "debian": "sudo apt install {python}-dev",
    "fedora": "sudo dnf install {python}-devel",
    "rhel": "sudo dnf install {python}-devel",
}
_GCC = {
    "debian": "sudo apt install gcc",
    "ubuntu": "sudo apt install gcc",
    "fedora": "sudo dnf install gcc",
    "rhel": "sudo dnf install gcc",
    "suse": "sudo zypper install gcc",
    "arch": "sudo pacman -S gcc",
}


def _compiles(framework: Framework, stack: Stack, hardware: Hardware) -> None:
    """Ends the rule where torch.compile does not use Triton."""
    if framework.name != "torch" or framework.cuda_build is False or framework.rocm_build is True:
        not_applicable("only PyTorch's CUDA builds compile with Triton")
    if stack.supposed or "triton" not in stack.distributions:
        not_applicable("Triton is not installed")
    if not hardware:
        not_applicable("there is no NVIDIA GPU to compile for")


@rule("GD540", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
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
    started = [use for use in all_uses(framework, machine, hardware) if use.component == COMPONENT]
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
    if use.why == variable and not knowing:
        return unset(variable)
    if knowing:
        return set_variable(variable, shell_path(max(knowing)[1]), "Have Triton start the ptxas of a newer toolkit")
    oldest = machine.matrix.toolkit_for(target)
    return Fix(
        f"Install a CUDA toolkit{f' {oldest.release.short} or newer' if oldest else ''} and let {variable} name its bin/ptxas, or install a newer PyTorch.",
        needs=(DOWNLOAD,),
    )


@rule("GD541", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def c_compiler_missing(framework: Framework, stack: Stack, hardware: Hardware, snapshot: Snapshot, site: Site) -> Iterator[Problem]:
    """No C compiler is installed, so torch.compile fails.

    ## Why it matters
    Triton compiles a small launcher in C for each kernel, at run time. It takes the compiler that CC names, else gcc or clang of PATH, and
    without one ends with "Failed to find C compiler". Slim container images have none. The rest of PyTorch works.

    ## What to do
    Install gcc, or use the "devel" variant of the image.

    ## References
    - https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py
    """
    _compiles(framework, stack, hardware)
    found = need(snapshot.compilers)
    if any(one.name in _COMPILERS for one in found):
        return
    command = next((_GCC[name] for name in site.distribution if name in _GCC), "")
    yield Problem(
        message=f"torch.compile of {called(framework)} needs a C compiler: neither gcc nor clang is on PATH, and CC names none.",
        evidence=(
            Evidence("gcc, clang", "not found", "PATH"),
            Evidence("compilers found", ", ".join(one.name for one in found) or "none", "PATH"),
        ),
        fixes=(Fix("Install gcc" if command else "Install gcc or clang.", command, (ROOT, DOWNLOAD)), _OFF),
    )


@rule("GD542", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def python_headers_missing(framework: Framework, stack: Stack, hardware: Hardware, python: Python, site: Site) -> Iterator[Problem]:
    """Python.h of this interpreter is not installed, so torch.compile fails.

    ## Why it matters
    The launchers that Triton compiles for torch.compile are extension modules of Python, and include Python.h. Distributions package it
    apart from the interpreter; without it the compiler ends with "fatal error: Python.h: No such file or directory". The rest of PyTorch
    works.

    ## What to do
    Install the headers of this Python, or use an interpreter that brings them, as those of conda and uv do.

    ## References
    - https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py
    """
    _compiles(framework, stack, hardware)
    if isinstance(python.headers, Missing):
        if python.headers.cause is not Cause.ABSENT:
            need(python.headers)
        minor = ".".join(python.version.split(".")[:2]) if isinstance(python.version, str) else ""
        template = next((_HEADERS[name] for name in site.distribution if name in _HEADERS), "")
        own = python.base_prefix == "/usr" and bool(minor)
        yield Problem(
            message=f"torch.compile of {called(framework)} needs Python.h of Python {minor}, and {python.headers.reason}.",
            evidence=(Evidence("Python.h", "not found", python.headers.reason), Evidence("interpreter", python.executable, python.why)),
            fixes=(
                Fix("Install the headers of this Python", template.format(python=f"python{minor}"), (ROOT, DOWNLOAD))
                if template and own
                else Fix(
                    "Use an interpreter that brings its headers", f"uv venv --python-preference only-managed --python {minor}", (DOWNLOAD,)
                ),
                _OFF,
            ),
        )


RULES = (triton_ptxas_too_old, c_compiler_missing, python_headers_missing)
