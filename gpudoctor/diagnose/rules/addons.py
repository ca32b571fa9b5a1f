"""GD5: compiled add-ons of a framework: whether they fit its CUDA, its symbols and the GPU."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import msgspec

from gpudoctor.addons import MAIN
from gpudoctor.derive import EffectiveCode, EffectiveCuda, Hardware, MachineView
from gpudoctor.derive.code import LACKS, meetings, spelt
from gpudoctor.derive.platform import LINUX
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.build_facts import called, listed, with_cuda
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package
from gpudoctor.diagnose.installing import release_of
from gpudoctor.diagnose.library_facts import all_uses
from gpudoctor.diagnose.releases import TORCH_INDEX
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.snapshot import Extension, Fact, Framework, GpuCode, Missing

_MOST = 3


def _addons(framework: Framework, machine: MachineView, hardware: Hardware) -> dict[str, list[Extension]]:
    """The compiled files of the add-ons of a framework, by distribution; ends the rule where there is none."""
    all_uses(framework, machine, hardware)
    libraries = need(machine.observed.libraries)
    found: dict[str, list[Extension]] = {}
    for one in libraries.extensions:
        if one.framework == framework.name:
            found.setdefault(one.distribution, []).append(one)
    if not found:
        not_applicable(f"no compiled add-on of {framework.name} is installed")
    return found


def _main(addon: list[Extension]) -> list[Extension]:
    """The libraries that stand for an add-on: those that are known as such, else all."""
    beginnings = MAIN.get(addon[0].distribution, ())
    return [one for one in addon if _file(one).startswith(beginnings)] or addon


def _file(one: Extension) -> str:
    return one.path.rpartition("/")[2]


def _again(addon: Extension, framework: Framework, machine: MachineView, architectures: str = "") -> tuple[Fix, ...]:
    """How to get the add-on for this framework: the release that was published with it, else compiled here."""
    python = machine.observed.python
    build = install_package(python, "--force-reinstall", "--no-deps", "--no-build-isolation", *_source(addon, framework, machine))
    own = f"TORCH_CUDA_ARCH_LIST={shlex.quote(architectures)} " if architectures else ""
    compiled = f"Compile {addon.distribution} against what is installed; that takes nvcc of the framework's CUDA"
    published = _published(addon, framework, machine)
    if published is None:
        return (Fix(compiled, f"{own}{build}", (DOWNLOAD,)),)
    return published, Fix(compiled, f"{own}{build}", (DOWNLOAD,), kind=FixKind.INSTEAD)


_SOURCES = {"torchvision": "https://github.com/pytorch/vision", "torchaudio": "https://github.com/pytorch/audio"}
"""Add-ons whose source is on no index."""


def _source(addon: Extension, framework: Framework, machine: MachineView) -> tuple[str, ...]:
    """What pip is told to compile: the release that fits the framework, where the tables know it, else the one that is there."""
    fitting = _releases(addon, framework, machine)
    release = str(fitting[-1].release) if fitting else addon.version.partition("+")[0]
    if addon.distribution in _SOURCES:
        return (f"{_SOURCES[addon.distribution]}/archive/refs/tags/v{release}.tar.gz",)
    return "--no-binary", addon.distribution, f"{addon.distribution}=={release}"


def _releases(addon: Extension, framework: Framework, machine: MachineView) -> list[FrameworkRelease]:
    """The add-on's releases for this release of the framework and this Python, oldest first."""
    stack = machine.stack_or_missing
    rows = () if isinstance(stack, Missing) else machine.matrix.releases(addon.distribution, stack.platform or LINUX)
    short = "" if isinstance(stack, Missing) else stack.python
    mine = release_of(framework)
    return [
        row
        for row in rows
        if any(text.startswith(f"{framework.name}==") and satisfies(mine, text.removeprefix(framework.name)) for text in row.requires)
        and (not short or not row.pythons or short in row.pythons)
    ]


def _published(addon: Extension, framework: Framework, machine: MachineView) -> Fix | None:
    """The add-on's release for this release of the framework, from the index of its build; None where the tables know none that differs."""
    tag = framework.version.value.partition("+")[2] if isinstance(framework.version, Fact) else ""
    fitting = _releases(addon, framework, machine)
    if not fitting or (str(fitting[-1].release) == addon.version and not tag):
        return None
    index = f"{TORCH_INDEX}/{tag}" if tag.startswith("cu") else ""
    pin = f"{addon.distribution}=={fitting[-1].release}{f'+{tag}' if index else ''}"
    command = install_package(machine.observed.python, "--force-reinstall", "--no-deps", pin, index=index)
    return Fix(f"Install {addon.distribution} in the release for {called(framework)}", command, (DOWNLOAD,))


@rule("GD513", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def extension_built_for_other_cuda(
    framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView, hardware: Hardware
) -> Iterator[Problem]:
    """A compiled add-on links the libraries of another CUDA release than the framework.

    ## Why it matters
    An add-on such as torchvision or flash-attn asks for CUDA's libraries by the names of the release that it was compiled with. Under a
    framework with another CUDA they are missing ("libcudart.so.11.0: cannot open shared object file"), or a second CUDA runtime comes
    into the process. The framework itself works.

    ## What to do
    Install the add-on's build for the framework's CUDA, or compile it against the framework that is installed.

    ## References
    - https://pytorch.org/get-started/previous-versions/
    """
    found = _addons(framework, machine, hardware)
    cuda = with_cuda(effective)
    for addon in found.values():
        foreign = {
            one.path: other for one in addon if isinstance(one.wanted, tuple) and (other := _foreign(one.wanted, cuda, machine.matrix))
        }
        if foreign:
            path, names = next(iter(foreign.items()))
            yield Problem(
                message=f"{addon[0].distribution} {addon[0].version} links {', '.join(names[:_MOST])}, "
                f"and {called(framework)} is built for CUDA {cuda.version.short}.",
                evidence=(
                    Evidence("libraries that it links", " ".join(names), path),
                    Evidence("CUDA of the build", str(cuda.version), cuda.where),
                ),
                fixes=_again(addon[0], framework, machine),
            )
    for one in (one for addon in found.values() for one in addon):
        need(one.wanted)


def _foreign(wanted: tuple[str, ...], cuda: EffectiveCuda, matrix: Matrix) -> list[str]:
    """The names among these that a CUDA release has otherwise."""
    row = matrix.cuda(cuda.version)
    own = {name.partition(".so")[0]: name for name in row.sonames} if row is not None else {}
    if not own:
        return [name for name in wanted if name.startswith("libcudart.so.") and name.split(".")[2] != str(cuda.version.major)]
    return [name for name in wanted if own.get(name.partition(".so")[0], name) != name]


@rule("GD514", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def extension_abi_mismatch(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """A compiled add-on needs functions that the installed framework does not have.

    ## Why it matters
    A framework's C++ interface changes from release to release. An add-on that was compiled for another one cannot be imported:
    "undefined symbol: _ZN3c10...". The framework itself works.

    ## What to do
    Install the add-on's release for this framework, or compile it again.

    ## References
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    found = _addons(framework, machine, hardware)
    for addon in found.values():
        lost = [(one, one.undefined) for one in addon if isinstance(one.undefined, tuple) and one.undefined]
        if lost:
            main = {one.path for one in _main(addon)}
            one, names = min(lost, key=lambda pair: pair[0].path not in main)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield Problem(
                message=f"{one.distribution} {one.version} needs {names[0]}{more}, which {called(framework)} does not define: it cannot be imported."
                if one.path in main
                else f"{_file(one)} of {one.distribution} {one.version} needs {names[0]}{more}, which {called(framework)} does not define.",
                severity=None if one.path in main else Severity.NOTE,
                evidence=tuple(Evidence("symbol that is nowhere defined", name, one.path) for name in names[:_MOST]),
                fixes=_again(one, framework, machine),
            )
    for one in (one for addon in found.values() for one in addon):
        need(one.undefined)


@rule("GD515", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def extension_missing_arch(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """A compiled add-on has no code for this GPU.

    ## Why it matters
    Each compiled add-on has its own list of GPUs. What of it runs on the GPU then ends with "no kernel image is available for execution
    on the device", though the framework works.

    ## What to do
    Install a build of the add-on for the GPU, or compile it with TORCH_CUDA_ARCH_LIST naming the GPU's compute capability.

    ## References
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    found = _addons(framework, machine, hardware)
    for addon in found.values():
        coded = [(one, one.code) for one in addon if isinstance(one.code, GpuCode) and (one.code.sass or one.code.ptx)]
        main = {one.path for one in _main(addon)}
        for one, held in sorted(coded, key=lambda pair: pair[0].path not in main):
            code = EffectiveCode(sass=held.sass, ptx=held.ptx, where=one.path)
            lost = [met for met in meetings(code, hardware, machine.matrix) if met.fit in LACKS]
            if lost:
                wanted = " ".join(dict.fromkeys(str(met.capability) for met in lost))
                yield Problem(
                    message=f"{one.distribution} {one.version} holds code for {spelt(code)}, and none for {listed(lost)}."
                    if one.path in main
                    else f"{_file(one)} of {one.distribution} {one.version} has code for {spelt(code)} only; the rest of it serves {listed(lost)}.",
                    severity=None if one.path in main else Severity.NOTE,
                    evidence=(
                        Evidence("GPU code in it", spelt(code), one.path),
                        *(Evidence("compute capability", str(met.capability), met.gpu.label) for met in lost),
                    ),
                    fixes=(msgspec.structs.replace(_again(one, framework, machine, wanted)[-1], kind=FixKind.FIX),),
                )
                break


RULES = (extension_built_for_other_cuda, extension_abi_mismatch, extension_missing_arch)
