from gpudoctor.derive import FrameworkView, MachineView, Stack, not_applicable, wheel_platform
from gpudoctor.derive.cuda import ACCELERATORS_WITHOUT_CUDA
from gpudoctor.derive.packages import source_of
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.snapshot import Distribution, Platform, is_absent


def _advice_for_text(machine: MachineView) -> tuple[Fix, ...]:
    """Return what to do on a Mac, whose GPU PyTorch uses as another device and others with a plugin, or what usually helps."""
    if machine.site.platform == Platform.MACOS and not any(framework.spec.metal_plugin for framework in machine.frameworks):
        return (Fix("Use the device 'mps' in place of 'cuda' (PyTorch), or train on a Linux or Windows machine: macOS has no CUDA."),)
    return usual_fixes(machine, "no-cuda-wheel-for-platform")


@rule("GD503", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(_advice_for_text)
@explains(("cpu-only-build",), "Only the CPU build is published for this platform.", Join.FRAMEWORK)
@explains(TRAINING_FAILS, "A build without CUDA can only train on the CPU.", Join.FRAMEWORK)
def no_cuda_wheel_for_platform(framework: FrameworkView) -> Problems:
    """No CUDA build is published for this platform."""
    stack, own = framework.environment.stack, framework.distribution
    framework.machine.need_gpu()
    row = stack.row(own) if own is not None and stack.platform else None
    if own is None or row is None:
        not_applicable("the matrix does not know this release on this platform")
    cuda = framework.cuda_or_missing
    if not is_absent(cuda) or row.accelerator not in ACCELERATORS_WITHOUT_CUDA or "+" in own.version:
        return
    if any(build.startswith("cu") for build in row.builds):
        return
    if framework.spec.wheel_index and not row.builds and stack.platform.startswith("win"):
        not_applicable(f"the builds for Windows on the index of {framework.spec.title} are not known for this release")
    with_cuda = {name: other for name, other in stack.elsewhere(own).items() if other.accelerator == "cuda"}
    if not with_cuda:
        return
    here, others = wheel_platform.platform_label(stack.platform), joined_words(map(wheel_platform.platform_label, with_cuda))
    evidence = [
        Evidence(f"wheel for {wheel_platform.platform_label(name)}", "with CUDA", source_of(other)) for name, other in with_cuda.items()
    ]
    yield Problem(
        message=f"{own.label} has no CUDA wheel on the package index for {here}, only for {others}.",
        only_for=framework.name,
        evidence=(Evidence(f"wheel for {here}", "without CUDA", source_of(row)), *evidence),
        fixes=_use_other_platform(framework, own, stack),
    )


def _use_other_platform(framework: FrameworkView, own: Distribution, stack: Stack) -> tuple[Fix, ...]:
    if stack.platform.startswith("macos"):
        return (Fix("Train on a Linux or Windows machine: macOS has no CUDA.", action=Action.REPLACE_HARDWARE),)
    if framework.spec.wheel_index:
        return install_framework(framework.machine, framework.name, near=own.version)
    if framework.spec.container:
        return (Fix(f"Use NVIDIA's container, which has a CUDA build for this platform: {framework.spec.container}", needs=(DOWNLOAD,)),)
    return (
        Fix(f"Build {own.name} from source with CUDA: no CUDA wheel is published for {wheel_platform.platform_label(stack.platform)}."),
    )
