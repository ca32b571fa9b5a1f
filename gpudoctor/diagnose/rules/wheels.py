"""GD5 and GD6: wheels that this system, processor or board cannot run: glibc, CPU features, Jetson."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView, Site, Stack
from gpudoctor.derive.platform import word
from gpudoctor.diagnose.build_facts import called
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Details, Distribution, Framework, GpuCode, Host, Missing, Platform, Python
from gpudoctor.versions import Version

_OLD_TAGS = {"manylinux1": Version(2, 5), "manylinux2010": Version(2, 12), "manylinux2014": Version(2, 17)}
"""What the names before PEP 600 stand for (PEP 513, 571, 599)."""
_PARTS = {"tensorflow": ("tensorflow",), "torch": ("torch",), "jax": ("jaxlib", "jax-cuda")}
"""How the names of the distributions begin whose compiled code a framework is."""
_SBSA = Version(38)
"""The release of Jetson Linux (of JetPack 7) from which on Jetson runs the builds for servers on ARM."""
_JETSON_TORCH = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html"
_PASS_THROUGH = Fix('Pass the host\'s CPU through to this virtual machine ("host-passthrough", `-cpu host`) and restart it.')
_OTHER_MACHINE = Fix("Train on a machine whose CPU has them.", kind=FixKind.ELSE)


def _compiled(framework: Framework, stack: Stack) -> list[Distribution]:
    return [one for one in stack.distributions.values() if one.name.startswith(_PARTS.get(framework.name, ()))]


def _least(tags: tuple[str, ...]) -> Version | None:
    """The oldest glibc for which one of a wheel's tags says that it is built; None where none does."""
    found = []
    for tag in tags:
        name, _, rest = tag.partition("_")
        parts = rest.split("_")
        if name == "manylinux" and len(parts) > 1 and parts[0].isdecimal() and parts[1].isdecimal():
            found.append(Version(int(parts[0]), int(parts[1])))
        elif name in _OLD_TAGS:
            found.append(_OLD_TAGS[name])
    return min(found, default=None)


@rule("GD640", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, on_cpu_too=True)
def glibc_too_old(framework: Framework, python: Python, stack: Stack) -> Iterator[Problem]:
    """Glibc is older than the framework's wheel needs.

    ## Why it matters
    A wheel's tag names the glibc that its compiled code was built for: manylinux_2_28 needs glibc 2.28. pip does not install it on an older
    system, but an environment that was copied, mounted or packed elsewhere still holds it. The import then ends with "version `GLIBC_2.28'
    not found".

    ## What to do
    Use a newer system or a container, or a release whose wheel is built for this glibc.

    ## References
    - https://peps.python.org/pep-0600/
    """
    libc = need(python.libc)
    here = versions.parse(libc.partition(" ")[2]) if libc.startswith("glibc ") else None
    if here is None:
        not_applicable(f"the C library is {libc}")
    told = [(one, least) for one in _compiled(framework, stack) if isinstance(one.tags, tuple) and (least := _least(one.tags))]
    if not told:
        not_applicable("no wheel of it says for which glibc it is built")
    for one, least in told:
        if least > here:
            yield Problem(
                message=f"{one.name} {one.version} needs glibc {least.major}.{least.minor}, and this Python runs on {libc}.",
                evidence=(
                    Evidence("wheel's tags", ", ".join(one.tags if isinstance(one.tags, tuple) else ()), f"the metadata of {one.name}"),
                    Evidence("glibc", libc, "CS_GNU_LIBC_VERSION"),
                ),
                fixes=(
                    Fix(f"Train on a system, or in a container, with glibc {least.major}.{least.minor} or newer.", needs=(DOWNLOAD,)),
                    Fix(
                        f"Install a release of {one.name} that is built for {libc}: pip chooses it here",
                        install_package(python, "--force-reinstall", one.name),
                        (DOWNLOAD,),
                        kind=FixKind.INSTEAD,
                    ),
                ),
            )


@rule("GD641", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, on_cpu_too=True)
def cpu_lacks_avx(framework: Framework, details: Details, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The processor lacks instructions that the framework's wheel is built with.

    ## Why it matters
    Published wheels of TensorFlow since 1.6 use AVX, those of jaxlib AVX and since 0.12 AVX2 and others. On a processor without them, or
    in a virtual machine that hides them, the import ends with "Illegal instruction", or says that the library was built to use them. No
    GPU helps.

    ## What to do
    In a virtual machine pass the host's CPU through (`-cpu host`, "host-passthrough"). Otherwise use another machine, or a build without.

    ## References
    - https://github.com/tensorflow/tensorflow/blob/master/RELEASE.md
    - https://github.com/jax-ml/jax/blob/main/jaxlib/cpu_feature_guard.c
    """
    if not word(machine.observed.host, machine.observed.python).endswith(("x86_64", "amd64")):
        not_applicable("AVX is of x86_64 processors")
    needs = [
        (one, row)
        for one in _compiled(framework, stack)
        if (version := versions.parse(one.version.partition("+")[0])) and (row := machine.matrix.cpu_need(one.name, version))
    ]
    if not needs:
        not_applicable("no table says what its wheels ask of the processor")
    there = need(details.cpu.flags)
    for one, row in needs:
        lacking = [feature for feature in row.features if feature not in there]
        if lacking:
            model = details.cpu.model if isinstance(details.cpu.model, str) else "the processor"
            words = ", ".join(feature.upper() for feature in lacking)
            yield Problem(
                message=f"{one.name} {one.version} needs {words}, which {model} does not show.",
                title="" if "avx" in lacking else f"The CPU lacks {words}, which the framework's wheel is built with",
                evidence=(
                    Evidence("instructions that the wheel needs", " ".join(row.features), cited(row.source, f"{one.name} {row.release}")),
                    Evidence("those of the processor", " ".join(there) or "none of them", "/proc/cpuinfo"),
                ),
                fixes=(_PASS_THROUGH, _OTHER_MACHINE)
                if "hypervisor" in there
                else (msgspec.structs.replace(_OTHER_MACHINE, kind=FixKind.FIX),),
            )


@rule("GD543", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def jetson_needs_vendor_wheel(framework: Framework, host: Host, hardware: Hardware, site: Site, machine: MachineView) -> Iterator[Problem]:
    """The framework on this Jetson is the generic ARM wheel, not NVIDIA's for JetPack.

    ## Why it matters
    Up to JetPack 6 a Jetson has a driver, CUDA and kernels of its own. The package index's wheels for ARM are for the CPU or for
    servers: they hold no code for the Jetson's GPU (8.7 of Orin, 7.2 of Xavier) and bring libraries that its driver does not run. From
    JetPack 7 on the server builds work.

    ## What to do
    Install the wheel that is built for this JetPack, with the system's own CUDA.

    ## References
    - https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html
    - https://developer.nvidia.com/embedded/jetpack
    """
    if site.platform != Platform.JETSON:
        not_applicable("not a Jetson")
    release = need(host.tegra)
    tegra = versions.parse(release)
    if tegra is None or tegra >= _SBSA:
        not_applicable(f"Jetson Linux {release} runs the builds for servers on ARM")
    version = need(framework.version).value
    if "nv" in version or not hardware:
        not_applicable(f"{called(framework)} is NVIDIA's build" if hardware else "no GPU was seen")
    why, confidence = _generic(framework, hardware, machine)
    if not why:
        return
    yield Problem(
        message=f"{called(framework)} is a generic wheel for ARM ({why}); Jetson Linux {release} needs NVIDIA's build for JetPack.",
        confidence=confidence,
        evidence=(
            Evidence("Jetson Linux", release, "/etc/nv_tegra_release"),
            Evidence("build", why, f"the files of {called(framework)}"),
        ),
        fixes=(_vendor_wheel(framework),),
    )


def _generic(framework: Framework, hardware: Hardware, machine: MachineView) -> tuple[str, Confidence]:
    """What shows that a build is not for Jetson; empty where its own code is for this GPU."""
    if framework.cuda_build is False:
        return "for the CPU alone", Confidence.CERTAIN
    stack = machine.stack_or_missing
    wheels = () if isinstance(stack, Missing) else sorted(name for name in stack.distributions if name.startswith("nvidia-cu"))
    libraries = machine.observed.libraries
    seen = () if isinstance(libraries, Missing) else (one.code for one in libraries.frameworks if one.framework == framework.name)
    code = next((one for one in seen if isinstance(one, GpuCode)), None)
    capabilities = {gpu.cuda.compute_capability for gpu in hardware if not isinstance(gpu.cuda, Missing)}
    mine = {f"sm_{one.replace('.', '')}" for one in capabilities if isinstance(one, str)}
    if code is not None and mine & set(code.sass):
        return "", Confidence.CERTAIN
    if code is not None and mine:
        return f"with code for {' '.join(code.sass) or 'no GPU'}", Confidence.CERTAIN
    return (f"with {wheels[0]}", Confidence.LIKELY) if wheels else ("", Confidence.LIKELY)


def _vendor_wheel(framework: Framework) -> Fix:
    """NVIDIA names each wheel by JetPack release on one page; no table holds them."""
    if framework.name == "torch":
        return Fix(f"Install the wheel that NVIDIA lists for this JetPack: {_JETSON_TORCH}", needs=(DOWNLOAD,))
    return Fix("Use NVIDIA's container or wheel for this JetPack: https://developer.nvidia.com/embedded/jetpack", needs=(DOWNLOAD,))


RULES = (jetson_needs_vendor_wheel, glibc_too_old, cpu_lacks_avx)
