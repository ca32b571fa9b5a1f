"""Which facts of a text speak for a build without CUDA, or for a platform that has none with CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import FrameworkView, MachineView, require_known
from gpudoctor.derive.plugins import mismatched_plugins, version_numbers
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.installer_facts import is_windows_on_arm
from gpudoctor.diagnose.support_packages import duplicate_packages
from gpudoctor.diagnose.text_evidence import EvidenceByCause, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.signatures.phrases import TENSORFLOW_TWICE
from gpudoctor.snapshot import Fact, Host, Missing, Platform


def _libraries_without_plugin(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the compiled half of a framework that sees no GPU, if the text names no CUDA plugin beside it."""
    listed = {distribution.name: distribution for distribution in require_known(machine.observed.packages).distributions}
    for framework in machine.frameworks:
        plugin = framework.spec.plugin
        library = listed.get(plugin.library) if plugin else None
        if plugin is None or library is None or framework.observed.sees_gpu is not False:
            continue
        if "+cuda" not in library.version and not any(name.startswith(plugin.beginning) for name in listed):
            yield Evidence("no CUDA plugin beside", library.label, library.where)


def _plugins_newer_than_library(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a CUDA plugin that is newer than a library which loads any."""
    stack = require_known(machine.stack_or_missing)
    for plugin in (framework.spec.plugin for framework in machine.frameworks if framework.spec.plugin):
        library = stack.distributions.get(plugin.library)
        for distribution in mismatched_plugins(stack, plugin):
            if library and version_numbers(distribution.version) > version_numbers(library.version):
                yield Evidence(f"newer than {library.label}", distribution.label, distribution.where)


_TENSORFLOW_INSTALLED_TWICE = expression(rf"(?i){TENSORFLOW_TWICE}")


def _packages_without_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a framework whose name alone, without a build, is that of a package without CUDA, if no other package of it is installed too."""
    if _TENSORFLOW_INSTALLED_TWICE.search(text) or next(duplicate_packages(machine, text), None):
        return
    for framework in machine.frameworks:
        release = versions.parse_version(framework.release)
        if framework.observed.sees_gpu is True or framework.observed.distribution or release is None:
            continue
        rows = [row for row in machine.matrix.releases(framework.name, "linux_x86_64") if row.release == release]
        if rows and all(row.accelerator == "cpu" for row in rows):
            yield Evidence("the package of that name has no CUDA", framework.label, "matrix")


def _default_build_on_windows(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield PyTorch on Windows if the text names no build: pip alone installs the one without CUDA."""
    builds = [framework.observed.cuda_build for framework in machine.frameworks if framework.name == TORCH.name]
    if machine.site.platform == Platform.WINDOWS and TORCH.name in text and all(isinstance(build, Missing) for build in builds):
        yield Evidence("pip's build of PyTorch for Windows", "without CUDA", "matrix")


def _cuda_requested_from_conda(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the CUDA that somebody asked conda for, if the driver works and the framework sees no GPU: conda may have chosen a build without CUDA."""
    driver, variables = machine.driver, machine.observed.variables
    if not isinstance(variables, Missing) and MASK_VARIABLE in variables.values:
        return
    for one in machine.frameworks:
        asked = one.observed.built_with_cuda
        if isinstance(asked, Fact) and isinstance(one.observed.cuda_build, Missing) and one.observed.sees_gpu is not True:
            yield Evidence("asked conda for", f"CUDA {asked.value}, with driver {driver.version} no GPU is seen", asked.where)


_CPU_LINE = expression(r"\bcpu_feature_guard\.cc:\d{1,4}\]")
_GPU_LINE = expression(r"\b(?:gpu_device|dso_loader|cuda_\w{3,20})\.cc:\d")


def _log_without_gpu(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield TensorFlow's line about the CPU, if no line is about a GPU: a build with CUDA says which GPUs and libraries it finds."""
    found = _CPU_LINE.search(text)
    with_cuda = any(framework.observed.cuda_build is True or framework.observed.sees_gpu is True for framework in machine.frameworks)
    if found and not with_cuda and not _GPU_LINE.search(text):
        yield TextEvidence("the log names no GPU library", found[0], "the log")


_CUDA_WHEEL = expression(r"==\d[\w.]{1,12}\+cu(?:\d{2,3}\b|da\d{2})")
_LINUX_ONLY_PACKAGES = r"jax-cuda\d{1,2}-|triton(?![\w-])|jax\[cuda|jaxlib==[\w.]{3,16}\+cuda"
_CUDA_PLUGIN = expression(rf"(?:the requirement|distribution found for) (?:tensorflow-gpu\b|{_LINUX_ONLY_PACKAGES})")
_LINUX_PLUGIN = expression(rf"(?:the requirement|distribution found for) (?:{_LINUX_ONLY_PACKAGES})")
"""What has wheels for Linux alone."""


def _platform_without_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the platform, if a build with CUDA is asked for that none has."""
    if machine.site.platform == Platform.MACOS and (_CUDA_WHEEL.search(text) or _CUDA_PLUGIN.search(text)):
        yield TextEvidence("operating system", "macOS", "the text")
    if machine.site.platform == Platform.WINDOWS and (found := _LINUX_PLUGIN.search(text)):
        yield Evidence("operating system", "Windows", found[0])


def _windows_on_arm(machine: MachineView, _: str) -> Iterator[Evidence]:
    if is_windows_on_arm(machine):
        yield Evidence("platform", "Windows on ARM", "the text")


_JETSON_MENTION = expression(
    r"(?im)(?<!works )(?<!works fine )(?<!runs )\b(?:on|for|with|have|using|in) (?:the |my |an? |our |this |nvidia(?:'s)? ){0,2}(?:jetson\b|jetpack\b|(?:agx |nx )?orin\b|xavier\b)|\bjetpack ?[<>=]{0,2} ?\d|-tegra\b|^\W{0,4}(?:my )?(?:nvidia(?:'s)? )?jetson (?:agx |tx\d|nano|orin|xavier|thor)"
)


def _jetson_platform(machine: MachineView, text: str) -> Iterator[Evidence]:
    host = machine.observed.host
    if isinstance(host, Host) and host.platform == Platform.JETSON:
        yield Evidence("platform", "Jetson", "the text")
    elif not any(isinstance(gpu.name, str) for gpu in machine.observed.listed_gpus) and (found := _JETSON_MENTION.search(text)):
        yield TextEvidence("platform", found[0], "the text")


def _windows_without_cuda(machine: MachineView, _: str) -> Iterator[Evidence]:
    if machine.site.platform == Platform.WINDOWS:
        for framework in machine.frameworks:
            if framework.spec.on_windows and not _had_cuda_on_windows(framework, machine):
                yield TextEvidence(framework.spec.title, "without CUDA for Windows", "the text")


def _had_cuda_on_windows(framework: FrameworkView, machine: MachineView) -> bool:
    """Return whether the release is known to be older than the first without CUDA for Windows."""
    release, bound = versions.parse_version(framework.release), machine.matrix.bound(framework.name, "no-cuda-on-windows")
    return bound is not None and release is not None and release[:2] < bound[:2]


def had_cuda_on_windows(machine: MachineView) -> bool:
    """Return whether every framework in the text is of a release that had CUDA for Windows."""
    of_windows = [framework for framework in machine.frameworks if framework.spec.on_windows]
    return bool(of_windows) and all(_had_cuda_on_windows(framework, machine) for framework in of_windows)


def _frameworks_without_metal(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a framework on macOS that sees no GPU and needs a plugin for it."""
    for framework in machine.frameworks:
        if framework.spec.metal_plugin and machine.site.platform == Platform.MACOS:
            yield TextEvidence("operating system", "macOS", "the text")


CPU_BUILD_FACTS: EvidenceByCause = {
    "cpu-only-build": (
        _libraries_without_plugin,
        _packages_without_cuda,
        _default_build_on_windows,
        _log_without_gpu,
        _cuda_requested_from_conda,
    ),
    "jax-plugin-version-mismatch": (_plugins_newer_than_library,),
    "no-cuda-wheel-for-platform": (_platform_without_cuda, _windows_on_arm),
    "windows-native-no-gpu": (_windows_without_cuda,),
    "metal-plugin-missing": (_frameworks_without_metal,),
    "jetson-needs-vendor-wheel": (_jetson_platform,),
}
