from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import NO_GPU, FrameworkView, not_applicable, require_known
from gpudoctor.derive.packages import source_of
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import newest_release
from gpudoctor.diagnose.advice.system import USE_WSL
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.snapshot import Fact, Missing, Platform


@rule("GD502", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(("no-cuda-wheel-for-platform", "cpu-only-build"), "All builds for native Windows are without CUDA.", Join.FRAMEWORK)
@explains(("package-not-installable",), "The framework's CUDA packages are not published for Windows.")
def windows_native_no_gpu(framework: FrameworkView) -> Problems:
    """No CUDA build of the framework exists for native Windows."""
    machine, on_windows = framework.machine, framework.spec.on_windows
    if require_known(machine.host.platform) != Platform.WINDOWS:
        not_applicable("not native Windows")
    if on_windows is None or not machine.gpus:
        not_applicable(f"{framework.name} has CUDA builds for Windows" if machine.gpus else NO_GPU)
    version = framework.version.value
    if not _is_after_last_cuda(framework, version):
        return
    if framework.is_using_directml:
        not_applicable("it uses the GPU through DirectML")
    if isinstance(framework.observed.built_with_cuda, Fact):
        return
    use_wsl = msgspec.structs.replace(USE_WSL, title=f"{USE_WSL.title}: {on_windows.page}")
    yield Problem(
        message=f"{framework.observed.distribution} {version} cannot use an NVIDIA GPU on native Windows: {on_windows.reason}.",
        only_for=framework.name,
        evidence=(Evidence("operating system", "native Windows", "the host"), *_wheel_evidence(framework)),
        fixes=(use_wsl, *_use_directml(framework)),
    )


def _is_after_last_cuda(framework: FrameworkView, version: str) -> bool:
    """Return whether the release is later than the last with CUDA for Windows; True for JAX, which had none.

    Of the first minor version without CUDA, a nightly may be older than the change.
    """
    bound = framework.machine.matrix.bound(framework.name, "no-cuda-on-windows")
    public = version.partition("+")[0]
    final, release = final_release(public), versions.parse_version(public)
    return bound is None or (release is not None and (release[:2] > bound[:2] or (final is not None and final[:2] == bound[:2])))


def _wheel_evidence(framework: FrameworkView) -> Iterator[Evidence]:
    stack, own = framework.environment.stack_or_missing, framework.distribution
    row = None if isinstance(stack, Missing) or own is None else stack.row(own)
    if row is not None and row.accelerator == "cpu":
        yield Evidence("its wheel for Windows", "without CUDA", source_of(row))


def _use_directml(framework: FrameworkView) -> Iterator[Fix]:
    """Return the fix that uses the last release with DirectML, if it has wheels for this Python."""
    machine, spec = framework.machine, framework.spec
    bound = machine.matrix.bound(spec.name, "no-cuda-on-windows")
    release = newest_release(machine, f"{spec.name}-cpu", accepts=f"<{bound}") if bound and spec.directml else ""
    if release and newest_release(machine, spec.directml[-1]):
        title = f"Use DirectML instead of CUDA, with {spec.title} {release}"
        pins = (f"{spec.name}-cpu=={release}", spec.directml[-1])
        yield install_fix(title, machine.observed.python, *pins, kind=FixKind.INSTEAD)
