from gpudoctor.derive import FrameworkView, not_applicable, require_known
from gpudoctor.derive.libraries import LIBRARY_PATH, folder_of_file
from gpudoctor.derive.other_copies import OtherCopy
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.advice.shell import prepend_library_path, set_library_path
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Action, Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import FoundBy, LibraryFile, Missing
from gpudoctor.versions import Version


@rule("GD805", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.ENVIRONMENT)
@explains(("all-reduce-failed",), "NCCL runs the all-reduce, and the wrong version may fail.", Join.FRAMEWORK)
@explains(TRAINING_FAILS, "PyTorch fails to import if NCCL lacks functions that it links.", Join.FRAMEWORK)
def nccl_version_conflict(framework: FrameworkView) -> Problems:
    """Wrong NCCL version would be loaded."""
    use = next((use for use in framework.libraries_used if use.component == "nccl"), None)
    if use is None:
        not_applicable(f"{framework.name} does not use NCCL")
    another = next((place.path for place in (*use.shadows, *use.elsewhere)), "")
    copy = framework.other_copy(use, another)
    if copy is None:
        return
    shared_folder = isinstance(use.file, LibraryFile) and len(use.file.owners) > 1
    version = require_known(copy.version)
    if not (another or shared_folder) or copy.wanted is None or _is_same_version(copy.wanted, version):
        return
    evidence = [
        Evidence("NCCL that would be loaded", f"{copy.path} ({version})", use.why),
        Evidence("NCCL that the build needs", str(copy.wanted), copy.wanted_where),
    ]
    if another:
        evidence.append(Evidence("another copy", another, "on disk"))
    yield Problem(
        message=f"{framework.label} needs NCCL {copy.wanted} but would load {version} from {folder_of_file(copy.path)}.",
        severity=_severity(framework, copy.wanted, version),
        only_for=framework.name,
        evidence=tuple(evidence),
        fixes=(_reinstall(framework) if shared_folder else _reorder_path(framework, copy, another),),
    )


def _is_same_version(wanted: Version, version: Version) -> bool:
    parts = min(wanted.text.count("."), version.text.count("."), 2) + 1
    return wanted[:parts] == version[:parts]


def _severity(framework: FrameworkView, wanted: Version, version: Version) -> Severity | None:
    """An older NCCL breaks `import torch`, and may fail on several GPUs with others; a newer one is a note."""
    if wanted[:3] <= version[:3]:
        return Severity.NOTE
    if framework.spec.links_nccl:
        return None
    return Severity.WARNING if len(framework.machine.gpus) > 1 else Severity.NOTE


def _reorder_path(framework: FrameworkView, copy: OtherCopy, another: str) -> Fix:
    """Return how to put the other copy first on the loader's path."""
    if copy.use.found_by is not FoundBy.LIBRARY_PATH:
        return Fix(f"Put {folder_of_file(another)} first in {LIBRARY_PATH}", prepend_library_path(folder_of_file(another)))
    loaded_from = folder_of_file(copy.path)
    entries = (entry for entry in framework.machine.variable(LIBRARY_PATH).split(":") if entry)
    left = [entry for entry in entries if not f"{loaded_from}/".startswith(f"{entry.rstrip('/')}/")]
    return Fix(f"Remove {loaded_from} from {LIBRARY_PATH}, here and where it is set", set_library_path(left))


def _reinstall(framework: FrameworkView) -> Fix:
    """Return how to reinstall the required one of two packages that share a folder."""
    stack = framework.environment.stack_or_missing
    installed = () if isinstance(stack, Missing) else stack.distributions
    demands = () if isinstance(stack, Missing) else stack.demands
    own = (demand.requirement for demand in demands if demand.by.name == framework.observed.distribution)
    required = [requirement for requirement in own if requirement.name.startswith("nvidia-nccl")]
    names = {requirement.name for requirement in required}
    others = tuple(name for name in installed if name.startswith("nvidia-nccl") and name not in names)
    if not required or not others:
        return Fix(
            "Remove the NCCL package that the framework does not require, then reinstall the other (they share a folder).",
            action=Action.REINSTALL_PACKAGE,
        )
    pins = dict.fromkeys(f"{requirement.name}{requirement.specifier}" for requirement in required)
    title = f"Remove {' and '.join(others)}, then reinstall the package that {framework.label} requires"
    return install_fix(title, framework.machine.observed.python, *pins, options=REINSTALL, replace=others)
