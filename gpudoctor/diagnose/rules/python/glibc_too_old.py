from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.derive.wheel_tags import installed_glibc, is_accepted, oldest_glibc, wheel_tags
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.tables import WHEEL_TAGS
from gpudoctor.snapshot import Distribution, Missing
from gpudoctor.versions import Version


@rule("GD640", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, on_cpu_too=True)
@explains(TRAINING_FAILS, "The loader refuses the framework's libraries.", Join.FRAMEWORK)
def glibc_too_old(framework: FrameworkView) -> Problems:
    """glibc is too old for the framework's wheel."""
    libc = framework.environment.libc
    if installed_glibc(libc) is None and not framework.environment.stack.supposed:
        not_applicable(f"the C library is {libc}, not glibc")
    needs = [(needed, wheel) for wheel in framework.compiled_parts if (needed := oldest_glibc(wheel_tags(wheel)))]
    if not needs:
        not_applicable("no wheel of it states the glibc that it needs")
    refused = [(needed, wheel) for needed, wheel in needs if not is_accepted(wheel_tags(wheel), libc)]
    if refused:
        needed, wheel = max(refused, key=lambda one: one[0])
        yield _old_glibc_problem(wheel, needed, libc, framework)


def _old_glibc_problem(wheel: Distribution, needed: Version, libc: str, framework: FrameworkView) -> Problem:
    planned = framework.environment.stack.supposed
    supposed = framework.machine.observed.supposed
    said = "" if isinstance(supposed, Missing) else next((one.where for one in supposed if one.what == "C library"), "")
    sources = dict.fromkeys(name for row in framework.machine.matrix.rows(WHEEL_TAGS, wheel.name) for name in row.source)
    with_glibc = libc.startswith("glibc")
    move = Fix(
        f"Use a system or a container image with glibc {needed.short} or newer.",
        needs=(DOWNLOAD,),
        action=Action.CHANGE_SETTING,
        libc=f"glibc-{needed.short}",
    )
    if planned:
        near = wheel.version.partition("+")[0]
        others = install_framework(framework.machine, framework.name, near=near, kind=FixKind.INSTEAD) if with_glibc else ()
    else:
        others = (_install_compatible_release(wheel, libc, framework),)
    return Problem(
        message=f"{wheel.label} needs glibc {needed.short} or newer, but this system has {libc}.",
        title="" if with_glibc else "The framework's wheel is built for glibc, and this system has musl",
        evidence=(
            Evidence(
                "wheel's tags", ", ".join(wheel_tags(wheel)), citation(tuple(sources)) if planned else f"the metadata of {wheel.name}"
            ),
            Evidence("glibc" if with_glibc else "C library", libc, said or "CS_GNU_LIBC_VERSION"),
        ),
        fixes=(move, *others),
    )


def _install_compatible_release(wheel: Distribution, libc: str, framework: FrameworkView) -> Fix:
    title = f"Install a release of {wheel.name} built for {libc}, which pip chooses on this system"
    python = framework.environment.observed.python
    return install_fix(title, python, wheel.name, options=("--force-reinstall",), kind=FixKind.INSTEAD)
