"""GD4: what XLA needs to compile for a GPU: NVIDIA's device library and its assembler."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, Hardware, MachineView
from gpudoctor.derive.code import capability
from gpudoctor.diagnose.build_facts import called
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package, shell_path
from gpudoctor.diagnose.library_facts import asked, uses
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.loading import bring
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import CudaRelease, Matrix
from gpudoctor.snapshot import Cause, Fact, Framework, LibraryFile, LibraryUse, Missing, Python, Variables
from gpudoctor.versions import Version

FLAG = "--xla_gpu_cuda_data_dir="
BY_DRIVER = "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found"
_KERAS_COMPILES = Version(2, 11)
"""Since this TensorFlow, Keras compiles with XLA unasked: its optimizers first, whole models with Keras 3."""
_ADAPTS = {"tensorflow": Version(2, 21), "jax": Version(0, 10)}
"""Releases whose binaries were seen to write PTX for the ptxas at hand, and to pass over one before 11.8; JAX's also to hold a compiler."""
_NEEDS_PTXAS = Version(0, 4, 30)
"""JAX before this was reported to stop without ptxas; what is between carries a compiler or not."""
_OLDEST = Version(11, 8)
"""kMinimumSupportedPtxAsVersion in XLA."""


def _release(framework: Framework) -> Version | None:
    return versions.parse(framework.version.value) if isinstance(framework.version, Fact) else None


def _adapts(framework: Framework) -> bool:
    """Whether XLA in this release is known to live with another ptxas."""
    version, since = _release(framework), _ADAPTS.get(framework.name)
    return version is not None and since is not None and version >= since


def _wanted(part: str, framework: Framework, machine: MachineView, hardware: Hardware) -> LibraryUse:
    """How XLA looks for `part`; ends the rule where the framework has no XLA, or none that was seen."""
    found = next((use for use in uses(framework, machine, hardware) if use.component == part), None)
    if found is None:
        not_applicable(f"the X-ray saw no XLA in {framework.name}")
    return found


def _harm(framework: Framework) -> Severity | None:
    """An error where training compiles with XLA unasked: all of JAX, and Keras in newer releases of TensorFlow."""
    version = _release(framework)
    if framework.name == "tensorflow" and version is not None and version < _KERAS_COMPILES:
        return Severity.WARNING
    return None


def _lost(use: LibraryUse) -> bool:
    return isinstance(use.file, Missing) and use.file.cause is Cause.ABSENT


def _ways(use: LibraryUse, framework: Framework, machine: MachineView, python: Python | Missing) -> tuple[Fix, ...]:
    """Name the folder to XLA where there is one, else bring the package."""
    if not use.elsewhere:
        return bring(framework, machine, (use,), python)
    root = use.elsewhere[0].path.removesuffix("/bin/ptxas").removesuffix("/nvvm/libdevice/libdevice.10.bc")
    return (Fix("Name its folder to XLA", f'export XLA_FLAGS={FLAG}{shell_path(root)}" $XLA_FLAGS"'),)


def _places(use: LibraryUse) -> tuple[Evidence, ...]:
    return (*asked((use,)), *(Evidence("on disk", place.path, place.why) for place in use.elsewhere[:3]))


@rule("GD412", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def libdevice_not_found(framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """XLA does not find libdevice.10.bc, the mathematics that it compiles into kernels.

    ## Why it matters
    XLA links exp, tanh, pow and others from that file, and looks for it in a few folders: one named in XLA_FLAGS, NVIDIA's compiler
    package beside the framework, /usr/local/cuda. Without it a compilation ends with "libdevice not found at ./libdevice.10.bc". All of
    JAX is compiled by XLA; so is, unasked, what Keras trains with TensorFlow since 2.11. Programs of TensorFlow without Keras or
    jit_compile do not need it.

    ## What to do
    Install the package nvidia-cuda-nvcc for the framework's CUDA, or name a folder that holds nvvm/libdevice in XLA_FLAGS.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://github.com/tensorflow/tensorflow/issues/58681
    """
    use = _wanted("libdevice", framework, machine, hardware)
    if _lost(use):
        yield Problem(
            message=f"XLA in {called(framework)} does not find libdevice.10.bc: what needs exp, tanh or pow cannot be compiled.",
            severity=_harm(framework),
            only_for=framework.name,
            evidence=_places(use),
            fixes=_ways(use, framework, machine, python),
        )


def _without_a_compiler(framework: Framework) -> None:
    if framework.name == "jax" and _adapts(framework):
        not_applicable("this release of JAX's plugin carries a compiler inside")


@rule("GD413", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def ptxas_not_found(
    framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing, variables: Variables | Missing
) -> Iterator[Problem]:
    """XLA does not find ptxas, which turns its code into machine code.

    ## Why it matters
    XLA writes PTX and starts NVIDIA's assembler ptxas. Without it TensorFlow's XLA gives up ("Couldn't find a suitable version of
    ptxas", "No PTX compilation provider is available") unless it was told to let the driver compile; the rest of TensorFlow falls back
    to the driver by itself. JAX's newer plugins carry a compiler inside and need none; where it is not known of a release, it is a note.

    ## What to do
    Install the package nvidia-cuda-nvcc for the framework's CUDA, or put a toolkit's bin folder on PATH.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://github.com/openxla/xla/blob/main/xla/stream_executor/cuda/subprocess_compilation.cc
    """
    use = _wanted("ptxas", framework, machine, hardware)
    _without_a_compiler(framework)
    flags = "" if isinstance(variables, Missing) else variables.values.get("XLA_FLAGS", "")
    if not _lost(use) or any(word in {BY_DRIVER, f"{BY_DRIVER}=true"} for word in flags.split()):
        return
    version = _release(framework)
    perhaps = framework.name == "jax" and (version is None or version >= _NEEDS_PTXAS)
    yield Problem(
        message=f"XLA in {called(framework)} does not find ptxas"
        + (", and may need it: older plugins carry no compiler." if perhaps else ": what it compiles for the GPU fails."),
        severity=Severity.NOTE if perhaps else _harm(framework),
        only_for=framework.name,
        confidence=Confidence.POSSIBLE if perhaps else Confidence.LIKELY,
        evidence=_places(use),
        fixes=(
            *_ways(use, framework, machine, python),
            Fix(
                "Let the driver compile, which takes more memory",
                f'export XLA_FLAGS="{BY_DRIVER}=true $XLA_FLAGS"',
                kind=FixKind.INSTEAD,
            ),
        ),
    )


@rule("GD414", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
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
    why = "XLA passes over as too old" if passed_over else f"may not read the PTX that {called(framework)} writes"
    why = f"does not know {' and '.join(unknown)}" if unknown else why
    yield Problem(
        message=f"XLA in {called(framework)} would start ptxas {version.short} from {use.file.path}, which {why}.",
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


RULES = (libdevice_not_found, ptxas_not_found, ptxas_too_old)
