from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.damaged_files import damage_text, replace_damaged
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_few
from gpudoctor.snapshot import Damage, DamageKind

_TITLES: dict[DamageKind, str] = {
    DamageKind.NOT_IN_PYTHON: "Python lacks a module of its standard library",
    DamageKind.LACKS_VERSION: "Library that the loader finds first is too old for the framework",
}


@rule("GD618", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(
    ("cuda-library-missing", "cudnn-missing", "cuda-libs-not-on-loader-path", "pip-nvidia-libs-not-on-path", "cuda-library-damaged"),
    "A damaged framework file does not tell the loader where the CUDA libraries are.",
    Join.FRAMEWORK,
)
@explains(TRAINING_FAILS, "The framework cannot be imported.", Join.FRAMEWORK)
def framework_files_damaged(framework: FrameworkView) -> Problems:
    """Files of the framework are missing or damaged."""
    broken = framework.broken_files
    if not broken:
        return
    only_plugin = all(_is_of_plugin(damage, framework) for damage in broken)
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    yield Problem(
        message=f"{framework.label} cannot {'load its CUDA plugin' if only_plugin else 'be imported'}: {damage_text(broken[0])}{more}.",
        severity=Severity.WARNING if only_plugin and not framework.machine.hardware else None,
        title=_TITLES.get(
            broken[0].kind,
            "" if any(_is_framework_file(damage, framework) for damage in broken) else "Files of a required package are missing or damaged",
        ),
        only_for=framework.name,
        evidence=tuple(
            Evidence(damage.path, damage.why, f"requested by {damage.asked_by}" if damage.asked_by else "on disk")
            for damage in first_few(broken)
        ),
        fixes=tuple(replace_damaged(list(broken), framework)),
    )


def _is_of_plugin(damage: Damage, framework: FrameworkView) -> bool:
    """Return whether a file is of the plugin without which the framework is imported all the same and sees no GPU."""
    plugin = framework.spec.plugin
    return plugin is not None and damage.owner.startswith(plugin.beginning)


def _is_framework_file(damage: Damage, framework: FrameworkView) -> bool:
    """Return whether a file is the framework's own, not one of a package that it requires."""
    return damage.owner in {"", framework.observed.distribution}
