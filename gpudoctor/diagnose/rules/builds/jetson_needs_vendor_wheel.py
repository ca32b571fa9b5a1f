"""GD543: jetson-needs-vendor-wheel."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView, Site
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, GpuCode, Host, Missing, Platform
from gpudoctor.versions import Version

_SBSA = Version(38)
"""The release of Jetson Linux (of JetPack 7) from which on Jetson runs the builds for servers on ARM."""


_JETSON_TORCH = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html"


@rule(
    "GD543",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cpu-only-build",
                "gpu-too-new-for-build",
                "gpu-too-old-for-build",
                "slow-ptx-jit",
                "cudnn-wrong-major",
                "cudnn-version-mismatch",
                "cudnn-drops-gpu",
                "cuda-library-missing",
                "cudnn-missing",
                "cuda-libs-not-on-loader-path",
                "pip-nvidia-libs-not-on-path",
                "cuda-library-damaged",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
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
        not_applicable(f"{framework.label} is NVIDIA's build" if hardware else "no GPU was seen")
    why, confidence = _generic(framework, hardware, machine)
    if not why:
        return
    yield Problem(
        message=f"{framework.label} is a generic wheel for ARM ({why}); Jetson Linux {release} needs NVIDIA's build for JetPack.",
        confidence=confidence,
        evidence=(
            Evidence("Jetson Linux", release, "/etc/nv_tegra_release"),
            Evidence("build", why, f"the files of {framework.label}"),
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
