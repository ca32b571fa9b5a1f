import posixpath

from gpudoctor.derive import EnvironmentView, not_applicable
from gpudoctor.diagnose.advice.system import rename_file
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.naming import agree


@rule("GD619", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False)
def script_folder_hides_package(environment: EnvironmentView) -> Problems:
    """File beside the training script shadows an installed package."""
    if not environment.frameworks:
        not_applicable("no framework is installed")
    yield from _over_the_standard_library(environment)
    folder = environment.script_folder
    if not folder.hides:
        return
    first = folder.hides[0]
    package = first.rpartition("/")[2].partition(".")[0]
    others = len(folder.hides) - 1
    more = f" ({others} more {agree(others, 'file shadows', 'files shadow')} other packages)" if others else ""
    yield Problem(
        message=f"`import {package}` in {folder.path} loads {first}, not the installed package{more}.",
        evidence=tuple(Evidence("beside the script", path, "--cwd") for path in folder.hides),
        fixes=tuple(map(rename_file, folder.hides)),
    )


def _over_the_standard_library(environment: EnvironmentView) -> Problems:
    """Yield each file that shadows a module of the standard library.

    It is an error if the framework itself imports that module, and a risk if another module of the standard library does.
    """
    asked = {module.path: (module.asked_by, view) for view in environment.frameworks if (module := view.shadowed_module)}
    for path in environment.python.shadowing:
        name = path.rpartition("/")[2].partition(".")[0]
        asking, view = asked.get(name, ("", None))
        location = view.observed.location if view is not None else ""
        inside = isinstance(location, str) and asking.startswith(f"{location}/")
        user = posixpath.join(*asking.split("/")[-2:]) if asking else ""
        yield Problem(
            message=f"{path} shadows Python's own module {name}{f', which {user} imports' if user else ''}.",
            title="File shadows a module of the standard library",
            severity=None if inside else Severity.WARNING if asking else Severity.NOTE,
            confidence=Confidence.LIKELY,
            impact=Impact.AT_RISK,
            evidence=(Evidence(f"import {name}", path, asking or "sys.path"),),
            fixes=(rename_file(path),),
        )
