from gpudoctor.derive import FrameworkView, not_applicable, require_known
from gpudoctor.derive.nearness import nearness_order
from gpudoctor.derive.packages import source_of
from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.diagnose.advice.constraints import constraints
from gpudoctor.diagnose.advice.missing_packages import newest_accepting_release
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import newest_release
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Action, Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.builds import CPU_TAG, METAL_ACCELERATOR
from gpudoctor.snapshot import Platform


@rule("GD116", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, domain=Domain.ENVIRONMENT, predicts=False)
@explains(TRAINING_FAILS, "Without Apple's plugin the framework lists no GPU on macOS.", Join.FRAMEWORK)
def metal_plugin_missing(framework: FrameworkView) -> Problems:
    """Apple's GPU plugin for the framework is not installed."""
    plugin = framework.spec.metal_plugin
    without_metal = None if plugin else _release_before_metal(framework)
    if not plugin and without_metal is None:
        not_applicable(f"{framework.spec.title} needs no GPU plugin on macOS")
    if require_known(framework.machine.host.platform) != Platform.MACOS:
        not_applicable("not macOS")
    if framework.observed.sees_gpu is True:
        return
    if without_metal is not None:
        yield _old_release_problem(framework, *without_metal)
        return
    environment = framework.environment
    if any(package.name == plugin for package in environment.packages.distributions):
        return
    yield Problem(
        severity=Severity.NOTE if framework.machine.policy.allow_cpu else None,
        message=f"{framework.label} cannot use the GPU: Apple's plugin {plugin} is not installed.",
        evidence=(Evidence(plugin, "not installed", "the environment's packages"),),
        fixes=(_install_plugin(plugin, framework),),
    )


def _install_plugin(plugin: str, framework: FrameworkView) -> Fix:
    """Return the fix that installs the plugin, with another release of the framework if it has none for this one."""
    environment = framework.environment
    python = environment.observed.python
    if release := newest_accepting_release(environment, plugin):
        return install_fix(f"Install {plugin}", python, f"{plugin}=={release}", action=Action.INSTALL_PACKAGE)
    if pair := _compatible_releases(plugin, framework):
        name, supported, release = framework.observed.distribution, *pair
        title = f"Install {name} {supported}, the nearest release that {plugin} supports, and {plugin} {release}"
        return install_fix(title, python, f"{name}=={supported}", f"{plugin}=={release}", action=Action.INSTALL_PACKAGE)
    return install_fix(f"Install {plugin}, if Apple has a release for {framework.label}", python, plugin, action=Action.INSTALL_PACKAGE)


def _compatible_releases(plugin: str, framework: FrameworkView) -> tuple[str, str] | None:
    """Return the nearest release of the framework that the plugin supports, and the newest release of the plugin that does."""
    machine, name, near = framework.machine, framework.observed.distribution, framework.release
    pairs = []
    for row in constraints(machine).releases(plugin):
        bounds = [wanted.specifier for wanted in parse_requirements(row.requires) if wanted.name == name]
        if bounds and (supported := newest_release(machine, name, accepts=",".join(bounds), near=near)):
            pairs.append((supported, str(row.release)))
    return min(pairs, key=lambda pair: nearness_order(pair[0], near), default=None)


def _release_before_metal(framework: FrameworkView) -> tuple[FrameworkRelease, str] | None:
    """Return the row of a release for Macs from before its framework used Metal, and the first release that does; None for others."""
    matrix = framework.machine.matrix
    for row in matrix.of_release(framework.observed.distribution, framework.release):
        later = matrix.releases(row.distribution, row.platform) if row.platform.startswith("macos") and row.accelerator == CPU_TAG else ()
        if first := next((str(release.release) for release in later if release.accelerator == METAL_ACCELERATOR), ""):
            return row, first
    return None


def _old_release_problem(framework: FrameworkView, row: FrameworkRelease, first: str) -> Problem:
    release = newest_release(framework.machine, row.distribution, accepts=f">={first}", near=first) or first
    python = framework.environment.observed.python
    return Problem(
        severity=Severity.NOTE if framework.machine.policy.allow_cpu else None,
        title="Release is built without Metal",
        message=f"{framework.label} is built without Metal, so it cannot use the GPU of a Mac: {first} is the first release with it.",
        evidence=(Evidence("build", row.accelerator, source_of(row)),),
        fixes=(install_fix(f"Install {row.distribution} {release}", python, f"{row.distribution}=={release}"),),
    )
