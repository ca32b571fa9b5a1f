import posixpath

from gpudoctor.derive import EnvironmentView, FrameworkView, not_applicable
from gpudoctor.diagnose.advice.damaged_files import short_path
from gpudoctor.diagnose.advice.system import rename_file
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import DamageKind, UnfitKind


@rule("GD619", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False)
def script_folder_hides_package(environment: EnvironmentView) -> Problems:
    """File beside the training script shadows an installed package."""
    if not environment.frameworks:
        not_applicable("no framework is installed")
    yield from _standard_library_shadows(environment)
    yield from _over_packages(environment)
    folder = environment.script_folder
    if not folder.hides:
        return
    first = folder.hides[0]
    package = first.rpartition("/")[2].partition(".")[0]
    others = len(folder.hides) - 1
    more = f" ({others} more {singular_or_plural(others, 'file shadows', 'files shadow')} other packages)" if others else ""
    yield Problem(
        message=f"`import {package}` in {folder.path} loads {first}, not the installed package{more}.",
        evidence=tuple(Evidence("beside the script", path, "--cwd") for path in folder.hides),
        fixes=tuple(map(rename_file, folder.hides)),
    )


def _standard_library_shadows(environment: EnvironmentView) -> Problems:
    """Yield each file that shadows a module of the standard library.

    It is an error if the framework's import uses what the file does not define, and a risk if it only imports the module.
    """
    asked = {module.path: (module, view) for view in reversed(environment.frameworks) for module in view.shadowed_modules}
    for path in environment.python.shadowing:
        name = path.rpartition("/")[2].partition(".")[0]
        module, view = asked.get(name, (None, None))
        fails = module is not None and module.kind is DamageKind.LACKS_NAME
        told = f", which {short_path(module.asked_by)} imports" if module is not None else ""
        yield Problem(
            message=f"{path} shadows Python's own module {name}{told}{_failure(view, module.why) if module and fails else ''}.",
            title="File shadows a module of the standard library",
            severity=None if fails else Severity.WARNING if module is not None else Severity.NOTE,
            confidence=Confidence.LIKELY,
            impact=Impact.AT_RISK,
            evidence=(Evidence(f"import {name}", path, module.asked_by if module is not None else "sys.path"),),
            fixes=(rename_file(path),),
        )


def _over_packages(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, the file outside the package of that name that its import finds first and fails at."""
    for view in environment.frameworks:
        module = view.unfit_module
        if module is None or module.kind is not UnfitKind.SHADOWED_PACKAGE:
            continue
        label, file = module.owner.replace("==", " "), module.path.removesuffix("/__init__.py")
        entry = posixpath.dirname(file)
        listed = [one.rstrip("/") for one in environment.machine.variable("PYTHONPATH").split(":")]
        yield Problem(
            message=f"{file} shadows {label}, which {short_path(module.asked_by)} imports{_failure(view, module.why)}.",
            title="File shadows a required package",
            only_for=view.name,
            subject=view.subject,
            confidence=Confidence.LIKELY,
            evidence=(Evidence(f"import {module.module}", file, module.asked_by),),
            fixes=(Fix(f"Remove {entry} from PYTHONPATH", "unset PYTHONPATH") if entry in listed else rename_file(file),),
        )


def _failure(view: FrameworkView | None, why: str) -> str:
    return f": `import {view.name}` fails, as {why}" if view is not None else ""
