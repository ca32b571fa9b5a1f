"""GD4: what a machine has to build CUDA code with. Nothing of it is needed to train, so that these are notes."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, Hardware, MachineView
from gpudoctor.diagnose.build_facts import called, with_cuda
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT, shell_path
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Compiler, Fact, Framework, Missing, Snapshot, Toolkit, Variables

HOMES = ("CUDA_HOME", "CUDA_PATH")
"""The variables that PyTorch's and others' build tools ask first, in their order."""
_INTENT = ("TORCH_CUDA_ARCH_LIST", "CUDAHOSTCXX", "NVCC_CCBIN", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
"""Variables that nothing but a build reads."""
_ORDER = (*HOMES, "PATH", "/usr/local/cuda")
_PACKAGED = ("/usr", "/usr/lib/cuda")
"""Toolkits of distributions, which bring a host compiler that fits."""
_COMPILERS = ("NVCC_CCBIN", "CUDAHOSTCXX", "g++", "gcc")


def _with_gpu(hardware: Hardware) -> None:
    if not hardware:
        not_applicable("there is no NVIDIA GPU to build for")


def chosen(toolkits: tuple[Toolkit, ...]) -> Toolkit | None:
    """The toolkit that a build would take: of CUDA_HOME, of nvcc on PATH, else /usr/local/cuda."""
    for name in _ORDER:
        found = next((one for one in toolkits if name in one.named_by or name == one.path), None)
        if found is not None:
            return found
    return None


def _nvcc(toolkits: tuple[Toolkit, ...]) -> Toolkit:
    """The same, if it has a compiler; ends the rule where there is none."""
    found = chosen(toolkits)
    if found is None or not isinstance(found.nvcc, str):
        not_applicable("no nvcc is there that a build would take")
    return found


@rule("GD415", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1")
def nvcc_toolkit_missing(snapshot: Snapshot, hardware: Hardware, variables: Variables) -> Iterator[Problem]:
    """Something is to be built for CUDA, by its settings, and there is no nvcc.

    ## Why it matters
    Extensions such as flash-attn or apex are compiled when they are installed, and need NVIDIA's compiler nvcc. The packages that bring
    CUDA's libraries for PyTorch or TensorFlow do not hold it. CUDA_HOME that names a folder without bin/nvcc ends a build too. Training
    needs none of this.

    ## What to do
    Install a CUDA toolkit of the framework's CUDA release and let CUDA_HOME name it; or unset the variables, if nothing is built.

    ## References
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    _with_gpu(hardware)
    toolkits = need(snapshot.toolkits)
    said = {name: variables.values[name] for name in (*HOMES, *_INTENT) if variables.values.get(name)}
    home = next((name for name in HOMES if name in said), "")
    taken = next((one for one in toolkits if home in one.named_by), None) if home else chosen(toolkits)
    if not said or (taken is not None and isinstance(taken.nvcc, str)):
        return
    where = f"{home} names {said[home]}, where there is no nvcc" if home else f"{next(iter(said))} is set, and there is no nvcc"
    others = [one for one in toolkits if isinstance(one.nvcc, str)]
    yield Problem(
        message=f"{where}: nothing can be built for CUDA here.",
        evidence=(
            *(Evidence(name, value, "environment") for name, value in said.items()),
            *(Evidence("a toolkit with nvcc", one.path, str(one.nvcc)) for one in others),
        ),
        fixes=(
            Fix("Name the toolkit that has one", f"export CUDA_HOME={shell_path(others[0].path)}")
            if others
            else Fix("Install a CUDA toolkit of the framework's CUDA release, if anything is to be built."),
        ),
    )


@rule("GD416", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def nvcc_framework_cuda_mismatch(
    framework: Framework, effective: EffectiveCuda | Missing, snapshot: Snapshot, hardware: Hardware
) -> Iterator[Problem]:
    """The nvcc that a build would take is of another CUDA major release than PyTorch.

    ## Why it matters
    An extension of PyTorch is compiled with the toolkit that CUDA_HOME or PATH names and runs with the CUDA that PyTorch brings.
    PyTorch's build tool refuses two major releases ("The detected CUDA version ... mismatches the version that was used to compile
    PyTorch"). Training with what is installed needs no toolkit.

    ## What to do
    Before a build, let CUDA_HOME name a toolkit of PyTorch's own CUDA major release.

    ## References
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    _with_gpu(hardware)
    if framework.name != "torch":
        not_applicable("only PyTorch's build tool compares them")
    cuda = with_cuda(effective)
    toolkit = _nvcc(need(snapshot.toolkits))
    release = need(toolkit.toolkit_cuda)
    version = versions.parse(release.value)
    if version is None or version.major == cuda.version.major:
        return
    fitting = next((one for one in need(snapshot.toolkits) if _major(one) == cuda.version.major and isinstance(one.nvcc, str)), None)
    yield Problem(
        message=f"A build for {called(framework)} (CUDA {cuda.version.short}) would take nvcc {version.short} from {toolkit.path}.",
        evidence=(
            Evidence("CUDA of PyTorch", str(cuda.version), cuda.where),
            Evidence("CUDA of the toolkit", release.value, release.where),
            Evidence("what leads to it", ", ".join(toolkit.named_by) or toolkit.path, "environment and folders"),
        ),
        fixes=(
            Fix("Name the fitting toolkit before a build", f"export CUDA_HOME={shell_path(fitting.path)}")
            if fitting
            else Fix(f"Install the toolkit of CUDA {cuda.version.short} beside it before anything is built, and let CUDA_HOME name it."),
        ),
    )


def _major(toolkit: Toolkit) -> int | None:
    version = versions.parse(toolkit.toolkit_cuda.value) if isinstance(toolkit.toolkit_cuda, Fact) else None
    return version.major if version else None


@rule("GD417", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1")
def host_compiler_unsupported(snapshot: Snapshot, hardware: Hardware, matrix: Matrix, machine: MachineView) -> Iterator[Problem]:
    """The host compiler is newer than the CUDA toolkit's nvcc accepts.

    ## Why it matters
    Nvcc leaves the code for the processor to gcc, and refuses one that is newer than it knows: "unsupported GNU version! gcc versions
    later than 12 are not supported". It matters only where something is built.

    ## What to do
    Name an older compiler to nvcc, or use a newer toolkit.

    ## References
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
    """
    _with_gpu(hardware)
    toolkit = _nvcc(need(snapshot.toolkits))
    if toolkit.path in _PACKAGED:
        not_applicable("a distribution's toolkit brings a compiler that fits")
    release = need(toolkit.toolkit_cuda)
    version = versions.parse(release.value)
    row = matrix.cuda(version) if version else None
    compiler = _compiler(need(snapshot.compilers))
    stated = need(compiler.version)
    gcc = versions.parse(stated.value)
    if row is None or row.host_gcc is None or gcc is None or gcc.major <= row.host_gcc:
        return
    site = machine.site.distribution
    install = f"sudo apt install g++-{row.host_gcc}" if {"debian", "ubuntu"} & set(site) else ""
    yield Problem(
        message=f"nvcc {row.release.short} of {toolkit.path} accepts gcc up to {row.host_gcc}, and {compiler.path} is {gcc.major}.",
        evidence=(
            Evidence("newest gcc that it accepts", str(row.host_gcc), cited(row.source, f"CUDA {row.release}")),
            Evidence(f"host compiler ({compiler.name})", f"{compiler.path} {stated.value}", stated.where),
            Evidence("CUDA of the toolkit", release.value, release.where),
        ),
        fixes=(
            *((Fix(f"Install gcc {row.host_gcc}", install, (ROOT, DOWNLOAD)),) if install else ()),
            Fix(f"Before a build, name gcc {row.host_gcc} to nvcc", f"export NVCC_CCBIN=g++-{row.host_gcc}"),
        ),
    )


def _compiler(compilers: tuple[Compiler, ...]) -> Compiler:
    """The host compiler that nvcc would call; ends the rule where there is none of GNU's."""
    named = {one.name: one for one in compilers}
    found = next((named[name] for name in _COMPILERS if name in named), None)
    if found is None or "clang" in found.path:
        not_applicable("no gcc is there")
    return found


RULES = (nvcc_toolkit_missing, nvcc_framework_cuda_mismatch, host_compiler_unsupported)
