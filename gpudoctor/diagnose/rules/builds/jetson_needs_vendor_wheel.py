from gpudoctor import versions
from gpudoctor.derive import FrameworkView, not_applicable, not_stated, require_known
from gpudoctor.derive.gpu_code import xray_of_framework
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import DOWNLOAD, Confidence, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import CudaDevice, GpuCode, Host, Missing, Platform, is_absent
from gpudoctor.versions import Version

_SERVER_BUILDS_SINCE = Version(38)
"""The first release of Jetson Linux (JetPack 7) that runs the ARM server builds."""

_KERNEL_RELEASES = ((Version(6, 8), "38"), (Version(5, 15), "36"), (Version(5, 10), "35"), (Version(4, 9), "32"))
"""From which kernel on a release of Jetson Linux is the running one: https://docs.nvidia.com/jetson/archives/"""


@rule("GD543", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(
    ("cpu-only-build", "no-cuda-wheel-for-platform", "gpu-too-new-for-build", "gpu-too-old-for-build", "slow-ptx-jit"),
    "The generic wheel is built without kernels for Jetson's GPU.",
    Join.FRAMEWORK,
)
@explains(
    (
        "cudnn-wrong-major",
        "cudnn-version-mismatch",
        "cudnn-drops-gpu",
        "cuda-library-missing",
        "cudnn-missing",
        "cuda-libs-not-on-loader-path",
        "pip-nvidia-libs-not-on-path",
        "cuda-library-damaged",
    ),
    "The generic wheel needs the CUDA libraries for servers, not those of JetPack.",
    Join.FRAMEWORK,
)
@explains(TRAINING_FAILS, "The generic wheel does not use Jetson's GPU.", Join.FRAMEWORK)
def jetson_needs_vendor_wheel(framework: FrameworkView) -> Problems:
    """Generic ARM wheel cannot use the Jetson's GPU."""
    machine = framework.machine
    host = machine.host
    if machine.site.platform != Platform.JETSON:
        not_applicable("not a Jetson")
    release = _jetson_linux_release(host)
    tegra = versions.parse_version(release)
    if tegra is None or tegra >= _SERVER_BUILDS_SINCE:
        not_applicable(f"Jetson Linux {release} runs the ARM server builds")
    if "nv" in framework.version.value:
        not_applicable(f"{framework.label} is NVIDIA's build")
    machine.need_gpu()
    why, confidence = _generic_build_evidence(framework)
    if not why:
        return
    page = framework.spec.jetson_page
    yield Problem(
        message=f"{framework.label} is a generic ARM wheel ({why}); Jetson Linux {release} needs NVIDIA's build for JetPack.",
        confidence=confidence,
        evidence=(
            Evidence("Jetson Linux", release, "/etc/nv_tegra_release"),
            Evidence("build", why, f"the files of {framework.label}"),
        ),
        fixes=(Fix(f"Install NVIDIA's wheel for this JetPack, or use its container: {page}", needs=(DOWNLOAD,)),),
    )


def _jetson_linux_release(host: Host) -> str:
    """Return the release of Jetson Linux, as the system or else its kernel's version tells. Ends the rule if neither is known."""
    kernel = versions.parse_version(host.kernel) if isinstance(host.kernel, str) else None
    by_kernel = next((release for first, release in _KERNEL_RELEASES if kernel is not None and kernel >= first), "")
    return by_kernel if by_kernel and isinstance(host.tegra, Missing) else require_known(host.tegra)


def _generic_build_evidence(framework: FrameworkView) -> tuple[str, Confidence]:
    """Return what shows that a build is not for Jetson; empty if it has kernels for this GPU."""
    if framework.observed.cuda_build is False:
        return "CPU only", Confidence.CERTAIN
    cuda = framework.cuda_or_missing
    if is_absent(cuda):
        return "CPU only", Confidence.LIKELY
    devices = (gpu.observed.cuda for gpu in framework.machine.gpus)
    capabilities = {device.compute_capability for device in devices if isinstance(device, CudaDevice)}
    targets = {f"sm_{capability.replace('.', '')}" for capability in capabilities if isinstance(capability, str)}
    seen = xray_of_framework(framework.observed, framework.machine.observed.libraries)
    code = seen.code if seen is not None else None
    if isinstance(code, GpuCode) and targets:
        generic = not targets.intersection(code.sass)
        return (f"with kernels for {' '.join(code.sass) or 'no GPU'}" if generic else ""), Confidence.CERTAIN
    stack = framework.environment.stack_or_missing
    wheels = [] if isinstance(stack, Missing) else sorted(name for name in stack.distributions if name.startswith("nvidia-cu"))
    if not wheels and framework.observed.sees_gpu is False:
        return "it sees no GPU", Confidence.LIKELY
    if isinstance(stack, Missing):
        not_stated("what this build has kernels for")
    return (f"with {wheels[0]}" if wheels else ""), Confidence.LIKELY
