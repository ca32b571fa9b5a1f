"""Which of CUDA's libraries a supposed TensorFlow would find: by what its metadata requires and its wheel's own search path names."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, MachineView, Stack
from gpudoctor.derive.components import takes_system_cuda
from gpudoctor.derive.packages import known
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Fact, Framework, Missing

EXTRA = "and-cuda"
_MARK = f'extra=="{EXTRA}"'
_CUDNN = "nvidia-cudnn"


def _stated(framework: Framework, machine: MachineView) -> tuple[Distribution, FrameworkRelease, EffectiveCuda, Stack]:
    """The supposed framework and its row; ends the rule for one whose CUDA packages no extra brings."""
    stack, cuda = machine.stack_or_missing, machine.effective_cuda(framework)
    own = None if isinstance(stack, Missing) else stack.distributions.get(framework.distribution)
    row = None if own is None or isinstance(stack, Missing) else stack.row(own)
    if not machine.hardware or isinstance(stack, Missing) or own is None or row is None or not isinstance(cuda, EffectiveCuda):
        not_applicable("no CUDA build of a known release")
    if not any(_MARK in text for text in row.requires):
        not_applicable(f"{own.label} has no extra that brings CUDA")
    return own, row, cuda, stack


def not_brought(framework: Framework, machine: MachineView) -> Iterator[Problem]:
    """TensorFlow without the extra that brings CUDA, and without a CUDA of the system."""
    own, row, cuda, stack = _stated(framework, machine)
    if EXTRA in own.extras or not takes_system_cuda(framework, cuda, stack) or not isinstance(machine.observed.toolkits, Missing):
        return
    brought = [text.partition(";")[0] for text in row.requires if _MARK in text]
    yield Problem(
        message=f"{own.label} is installed without CUDA's libraries: they come with {own.name}[{EXTRA}], and no CUDA of the system was stated.",
        title="TensorFlow is stated without the CUDA libraries that it opens",
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence(f"{own.name}[{EXTRA}] requires", f"{brought[0]} and {len(brought) - 1} more", known(row)),
            Evidence("CUDA of the system", "not stated", "--system-cuda"),
        ),
        fixes=(
            *_install(own, row, machine),
            Fix(
                f"Install CUDA {cuda.version.short} and its cuDNN on the system, and state them with --system-cuda and --system-cudnn.",
                needs=(DOWNLOAD,),
                kind=FixKind.INSTEAD,
            ),
        ),
    )


def not_found(framework: Framework, machine: MachineView) -> Iterator[Problem]:
    """Packages that TensorFlow requires and whose folders its own search path does not name."""
    own, row, cuda, stack = _stated(framework, machine)
    lost = [name for name in row.unreachable or () if name in stack.distributions or _wanted(name, stack)]
    lost = [name for name in lost if not _on_system(name, cuda, machine)]
    if not lost:
        return
    yield Problem(
        message=f"{own.label} does not find {', '.join(lost)}: the search path of its own files (RUNPATH) does not name their folders.",
        confidence=Confidence.LIKELY,
        evidence=(Evidence(f"packages that {own.label} requires and does not find", " ".join(lost), known(row)),),
        fixes=(
            *_install(own, row, machine),
            Fix(
                f"Add the lib folders of {', '.join(lost)} in site-packages/nvidia to LD_LIBRARY_PATH, for this environment only.",
                kind=FixKind.INSTEAD,
            ),
        ),
    )


def _wanted(name: str, stack: Stack) -> bool:
    return any(demand.requirement.name == name for demand in stack.demands)


def _on_system(name: str, cuda: EffectiveCuda, machine: MachineView) -> bool:
    """Whether the system holds what a package would bring, under the name that the build asks for."""
    if name.startswith(_CUDNN):
        stated = machine.observed.system_cudnn
        version = versions.parse(stated.value) if isinstance(stated, Fact) else None
        return version is not None and not isinstance(cuda.cudnn, Missing) and version.major == cuda.cudnn.major
    toolkits = () if isinstance(machine.observed.toolkits, Missing) else machine.observed.toolkits
    found = (versions.parse(one.toolkit_cuda.value) for one in toolkits if isinstance(one.toolkit_cuda, Fact))
    return any(version is not None and version.major == cuda.version.major for version in found)


def _install(own: Distribution, row: FrameworkRelease, machine: MachineView) -> tuple[Fix, ...]:
    """The same release with the extra or, where its wheel does not find what that brings, one that does, of the same minor if there is one."""
    prefer = str(row.release) if not row.unreachable else f"{row.release.short}.*"
    return install_framework(machine, own.name, prefer=prefer)
