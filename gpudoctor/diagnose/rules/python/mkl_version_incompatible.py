from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.python.failed_import import failed_import
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, FixKind, Level, Problem, Problems, Rung, Severity

_REMOVED_FUNCTION = "iJIT_"
"""How the functions begin that MKL 2024.1 no longer has: https://github.com/pytorch/pytorch/issues/123097"""
_OLDER_MKL = Fix("Install an MKL that still has the function", "conda install 'mkl<2024.1'", (DOWNLOAD,))
_USE_GNU_OPENMP = Fix(
    "Use one OpenMP runtime: GNU's, which the other packages load",
    "export MKL_THREADING_LAYER=GNU",
    action=Action.CHANGE_SETTING,
)


@rule("GD644", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False, on_cpu_too=True, seen_at=Level.TRAIN)
@explains(TRAINING_FAILS, "The framework's libraries load MKL.", Join.FRAMEWORK)
def mkl_version_incompatible(framework: FrameworkView) -> Problems:
    """Installed MKL does not fit the framework."""
    failure = failed_import(framework)
    if failure is None or mkl_version_incompatible.name not in failure.causes:
        return
    old_function = _REMOVED_FUNCTION in failure.error
    yield Problem(
        message=f"{framework.label} cannot be imported with the installed MKL: {failure.error}.",
        evidence=(Evidence("error of the import", failure.error, framework.name),),
        fixes=(_OLDER_MKL,) if old_function else (_USE_GNU_OPENMP, _reinstall_numpy()),
    )


def _reinstall_numpy() -> Fix:
    return Fix("Reinstall NumPy and MKL from one channel", "conda install --force-reinstall numpy mkl", (DOWNLOAD,), kind=FixKind.INSTEAD)
