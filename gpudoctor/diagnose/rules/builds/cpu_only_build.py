from gpudoctor.derive import FrameworkView, known_absence, not_applicable, not_stated, wheel_platform
from gpudoctor.derive.pythons import lacks_wheel
from gpudoctor.derive.unpublished_releases import releases_around
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.logged_frameworks import install_with_cuda
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import is_release_working
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.planned import packages_in_extra
from gpudoctor.findings import Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix.builds import CPU_TAG
from gpudoctor.snapshot import SUPPOSED, Fact, Missing


@rule("GD501", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, impact=Impact.PARTLY)
@advises(lambda machine: install_with_cuda(machine, "cpu-only-build"))
@explains(TRAINING_FAILS, "A build without CUDA can only train on the CPU.", Join.FRAMEWORK)
def cpu_only_build(framework: FrameworkView) -> Problems:
    """Framework is built without CUDA."""
    framework.machine.need_gpu()
    if framework.is_using_directml:
        not_applicable("it uses the GPU through DirectML")
    without_cuda = known_absence(framework.cuda_or_missing)
    if without_cuda is None:
        return
    if framework.observed.rocm_build is True and framework.observed.sees_gpu is True:
        not_applicable("it is a ROCm build and uses the AMD GPU")
    if framework.observed.rocm_build is True and all(isinstance(gpu.observed.name, Missing) for gpu in framework.machine.gpus):
        not_stated("which GPU a ROCm build runs on")
    if framework.required_by is not None:
        not_applicable(f"{framework.required_by.label} requires {framework.name}, and nobody asked for it")
    if _is_not_installed(framework):
        not_applicable("this release does not exist, or has no wheel for this Python")
    observed = framework.observed
    own = () if observed.distribution in framework.spec.distributions[:1] else (observed.distribution,)
    replace = tuple(dict.fromkeys(filter(None, (*own, *_distributions_sharing_folder(framework), framework.directml))))
    yield Problem(
        message=_message(framework),
        only_for=framework.name,
        severity=Severity.NOTE if _is_cpu_requested(framework) else None,
        evidence=(
            Evidence("build", without_cuda.reason, observed.location if isinstance(observed.location, str) else observed.distribution),
        ),
        fixes=_install_same_release(framework, replace) or install_framework(framework.machine, framework.name, replace=replace),
    )


def _distributions_sharing_folder(framework: FrameworkView) -> tuple[str, ...]:
    """Return the distributions that own the framework's files together, if there are several: an installer takes one of them for installed."""
    own, packages = framework.distribution, framework.environment.observed.packages
    if own is None or isinstance(packages, Missing):
        return ()
    copies = (copy for copy in packages.distributions if framework_of(copy.name) == framework.name and copy.where == own.where)
    names = tuple(dict.fromkeys(copy.name for copy in copies))
    return names if len(names) > 1 and not framework.machine.supposed else ()


def _is_not_installed(framework: FrameworkView) -> bool:
    """Return whether a planned release does not exist, or not for the Python: package-not-installable and python-version-unsupported report that."""
    stack, own = framework.environment.stack_or_missing, framework.distribution
    if isinstance(stack, Missing) or own is None or not stack.supposed:
        return False
    return bool(releases_around(own, stack.matrix)) or (bool(stack.python) and lacks_wheel(stack.row(own), stack))


def _is_cpu_requested(framework: FrameworkView) -> bool:
    """Return whether a build for the CPU was asked for by its name, beside another framework that has CUDA."""
    observed, machine = framework.observed, framework.machine
    version = observed.version.value if isinstance(observed.version, Fact) else ""
    named = observed.distribution.endswith(f"-{CPU_TAG}") or version.endswith(f"+{CPU_TAG}")
    return (
        named
        and machine.observed.origin == SUPPOSED
        and any(not isinstance(other.cuda_or_missing, Missing) for other in machine.frameworks)
    )


def _install_same_release(framework: FrameworkView, replace: tuple[str, ...]) -> tuple[Fix, ...]:
    """Return the fix that installs the same release under the name that has CUDA, as tensorflow-gpu before 2.0; () if there is none."""
    machine, own = framework.machine, framework.observed.distribution
    platform = wheel_platform.platform_name(machine.observed.host, machine.observed.python) or wheel_platform.LINUX_X86_64
    for name in framework.spec.distributions:
        rows = (
            row for row in machine.matrix.of_release(name, framework.release) if row.platform in {platform, wheel_platform.ANY_PLATFORM}
        )
        row = next((row for row in rows if row.accelerator == "cuda" and is_release_working(machine, row)), None)
        if row is not None and row.built_with_cuda is not None and name != own and not packages_in_extra(framework, row):
            cudnn = f" and cuDNN {row.cudnn}" if row.cudnn else ""
            title = f"Install {name} {row.release}, which uses CUDA {row.built_with_cuda.short}{cudnn} of the system"
            return (install_fix(title, machine.observed.python, f"{name}=={row.release}", replace=tuple(dict.fromkeys((own, *replace)))),)
    return ()


def _message(framework: FrameworkView) -> str:
    if framework.directml:
        return f"{framework.directml} needs DirectX, which exists only on Windows and in WSL, so it cannot use the NVIDIA GPU on Linux."
    observed = framework.observed
    version = f" {observed.version.value}" if isinstance(observed.version, Fact) else ""
    distribution = next(iter(framework.machine.site.distribution), "").capitalize()
    package = f" ({distribution} package {framework.debian_package})" if framework.debian_package else ""
    rocm = " (it is a ROCm build for AMD GPUs)" if observed.rocm_build is True else ""
    return f"{observed.distribution or framework.name}{version}{package} is built without CUDA{rocm}, so it cannot use the NVIDIA GPU."
