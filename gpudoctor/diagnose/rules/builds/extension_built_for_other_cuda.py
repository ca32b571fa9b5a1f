from itertools import islice

from gpudoctor.derive import EffectiveCuda, FrameworkView, Stack, not_applicable, require_known, wheel_platform
from gpudoctor.derive.add_on_wheels import AddOnWheel, add_on_wheels, cuda_of_loaded_library, cuda_versions
from gpudoctor.derive.packages import source_of
from gpudoctor.derive.specifiers import parse_requirements, satisfies
from gpudoctor.diagnose.advice.logged_frameworks import install_extension
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import Join, advises, explains, rule
from gpudoctor.diagnose.rules.builds.add_ons import install_fitting_add_on
from gpudoctor.findings import Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.builds import cuda_builds


@rule("GD513", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY)
@advises(lambda machine: install_extension(machine, "extension-built-for-other-cuda"))
@explains(("extension-abi-mismatch",), "An extension for another CUDA was compiled for another build of the framework.", Join.FRAMEWORK)
def extension_built_for_other_cuda(framework: FrameworkView) -> Problems:
    """Extension is built for a different CUDA version."""
    stack = framework.environment.stack_or_missing
    if isinstance(stack, Stack) and stack.supposed:
        yield from _assumed_mismatches(framework, stack)
        return
    add_ons, cuda = framework.add_ons, framework.cuda
    for add_on in add_ons:
        linked = ((file.path, file.wanted) for file in add_on.files if isinstance(file.wanted, tuple))
        foreign = ((path, _foreign_libraries(names, cuda, framework.machine.matrix)) for path, names in linked)
        path, names = next(((path, names) for path, names in foreign if names), ("", []))
        if names:
            yield Problem(
                message=f"{add_on.label} links {few_names(names)}, but {framework.label} is built for CUDA {cuda.version.short}.",
                evidence=(
                    Evidence("CUDA libraries it links", " ".join(names), path),
                    Evidence("CUDA version of the framework", str(cuda.version), cuda.where),
                ),
                fixes=install_fitting_add_on(framework, add_on),
            )
    for file in (file for add_on in add_ons for file in add_on.files):
        require_known(file.wanted)


def _assumed_mismatches(framework: FrameworkView, stack: Stack) -> Problems:
    """Report add-ons whose published wheel has no library for the framework's CUDA.

    An add-on that requires another release of the framework is left out: that release may be built for its CUDA.
    """
    wheels = tuple(wheel for wheel in add_on_wheels(framework.name, stack) if _accepts_framework(wheel.row, framework, stack))
    if not wheels:
        not_applicable(f"no assumed add-on with a published CUDA build accepts {framework.label}")
    cuda, matrix = framework.cuda, framework.machine.matrix
    for wheel in wheels:
        built = cuda_versions(wheel.row)
        if (
            built
            and wheel.distribution.name not in framework.spec.companions
            and cuda_of_loaded_library(wheel.row, cuda.version, matrix) is None
        ):
            name, spelt = wheel.distribution.label, f"{built[0]}{f' to {built[-1]}' if built[1:] else ''}"
            yield Problem(
                message=f"{name} has a library for CUDA {spelt}, but {framework.label} is built for CUDA {cuda.version.short}: it does not load.",
                severity=Severity.ERROR,
                evidence=(
                    Evidence(f"CUDA libraries in {name}", spelt, source_of(wheel.row)),
                    Evidence("CUDA version of the framework", str(cuda.version), cuda.where),
                ),
                fixes=_install_fitting_wheel(framework, wheel, stack),
            )


def _install_fitting_wheel(framework: FrameworkView, wheel: AddOnWheel, stack: Stack) -> tuple[Fix, ...]:
    """Return fixes that install the newest release of the add-on for this framework, or the framework for the add-on's CUDA."""
    python, matrix = framework.machine.observed.python, framework.machine.matrix
    name, cuda = wheel.distribution.name, framework.cuda.version
    rows = [
        row
        for row in matrix.releases(name, wheel.row.platform)
        if cuda_of_loaded_library(row, cuda, matrix) and _accepts_framework(row, framework, stack)
    ]
    fixes = []
    if rows:
        pin = f"{name}=={rows[-1].release}"
        title = f"Install {name} {rows[-1].release}, which has a library for CUDA {cuda.major}"
        fixes.append(install_fix(title, python, pin))
    same = (build for build in cuda_builds(matrix, framework.spec, wheel.row.platform) if build.number == framework.release)
    fitting = (
        build
        for build in same
        if build.cuda is not None and cuda_of_loaded_library(wheel.row, build.cuda, matrix) and build.code.sass is not None
    )
    for build in islice(fitting, 1):
        index = "" if build.default else f"{framework.spec.wheel_index}/{build.tag}"
        title, pin = (
            f"Install {framework.name} {build.number} for CUDA {build.cuda.short if build.cuda else ''}",
            f"{framework.name}=={build.version}",
        )
        kind = FixKind.INSTEAD if fixes else FixKind.FIX
        fixes.append(install_fix(title, python, pin, options=("--force-reinstall",), index=index, kind=kind))
    return tuple(fixes)


def _accepts_framework(row: FrameworkRelease, framework: FrameworkView, stack: Stack) -> bool:
    """Return whether a release of an add-on has a wheel for this Python and does not exclude this release of the framework."""
    wanted = (found for found in parse_requirements(row.requires) if found.name == framework.name and not found.marker)
    python = not stack.python or wheel_platform.has_wheel(row, stack.python)
    return python and all(satisfies(framework.release, one.specifier) is not False for one in wanted)


def _foreign_libraries(wanted: tuple[str, ...], cuda: EffectiveCuda, matrix: Matrix) -> list[str]:
    """Return the file names that belong to another CUDA version."""
    row = matrix.cuda(cuda.version)
    own = {name.partition(".so")[0]: name for name in row.sonames} if row is not None else {}
    if not own:
        return [name for name in wanted if name.startswith("libcudart.so.") and name.split(".")[2] != str(cuda.version.major)]
    return [name for name in wanted if own.get(name.partition(".so")[0], name) != name]
