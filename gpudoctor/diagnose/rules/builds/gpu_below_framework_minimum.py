from gpudoctor import versions
from gpudoctor.derive import EnvironmentView, FrameworkView, Stack, not_applicable
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.matrix import GpuNeed
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import SUPPOSED, TEXT, Distribution, Missing


@rule("GD544", severity=Severity.ERROR, breaks=Rung.TRAINED, impact=Impact.PARTLY)
@explains(("gpu-too-old-for-triton", "gpu-lacks-bf16"), "The package supports no GPU this old.")
def gpu_below_framework_minimum(environment: EnvironmentView) -> Problems:
    """GPU is older than an installed package supports."""
    machine = environment.machine
    stack = environment.stack
    named = [(distribution, need) for distribution in stack.distributions.values() if (need := _gpu_need(distribution, environment))]
    covered = _packages_required_by({distribution.name for distribution, _ in named}, stack)
    needs = [(distribution, need) for distribution, need in named if distribution.requirement or distribution.name not in covered]
    if not needs:
        not_applicable("no installed package states a lowest compute capability")
    gpus = machine.usable_gpus
    capabilities = [gpu.capability for gpu in gpus]
    newest = max(capabilities)
    only_installed = machine.observed.origin not in {TEXT, SUPPOSED}  # the framework trains without it
    for distribution, need in needs:
        if newest < need.oldest_capability:
            gpu = gpus[capabilities.index(newest)]
            yield Problem(
                severity=Severity.WARNING if only_installed else None,
                message=f"{distribution.label} needs compute capability {need.oldest_capability.short} or newer; {gpu.label} has {newest.short}.",
                evidence=(
                    Evidence(
                        "oldest GPU it supports", need.oldest_capability.short, citation(need.source, f"{distribution.name} {need.release}")
                    ),
                    Evidence("compute capability", newest.short, gpu.label),
                    Evidence(distribution.name, distribution.version, distribution.where),
                ),
                fixes=(
                    Fix(f"Use a GPU of compute capability {need.oldest_capability.short} or newer.", action=Action.REPLACE_HARDWARE),
                    Fix(f"Use a package that supports this GPU instead of {distribution.name}.", kind=FixKind.INSTEAD),
                ),
            )


def _packages_required_by(names: set[str], stack: Stack) -> set[str]:
    """Return what these packages require: vLLM states its own minimum, and runs without FlashInfer on a GPU that FlashInfer refuses."""
    return {demand.requirement.name for demand in stack.demands if demand.by.name in names and demand.requirement.name != demand.by.name}


def _gpu_need(distribution: Distribution, environment: EnvironmentView) -> GpuNeed | None:
    if any(_has_no_kernels(framework, distribution) for framework in environment.frameworks):
        return None
    version = versions.parse_version(distribution.version.partition("+")[0])
    return environment.machine.matrix.gpu_need(distribution.name, version) if version else None


def _has_no_kernels(framework: FrameworkView, plugin: Distribution) -> bool:
    """Return whether this is the plugin of a framework whose build has no kernels for a GPU: gpu-too-old-for-build names the build that has."""
    parts, meetings = framework.spec.plugin, framework.gpu_fits_or_missing
    return bool(parts and parts.major(plugin.name)) and not isinstance(meetings, Missing) and bool(meetings.lacking(Fit.TOO_OLD))
