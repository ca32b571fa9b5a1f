"""GD619: script-folder-hides-package."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.diagnose.rules.python.installations import _rename
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import ScriptFolder


@rule("GD619", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def script_folder_hides_package(machine: MachineView, folder: ScriptFolder) -> Iterator[Problem]:
    """A file beside the training script hides an installed package.

    ## Why it matters
    Python puts the folder of a script first on sys.path. A file torch.py or a folder torch/ there is imported in place of PyTorch: "module
    'torch' has no attribute ...", or an import of half a package. gpudoctor trains from a folder of its own and does not see it, unless
    `--cwd` names the folder.

    ## What to do
    Rename the file, and remove its compiled form in __pycache__.

    ## References
    - https://docs.python.org/3/library/sys_path_init.html
    """
    if not machine.observed_frameworks:
        not_applicable("no framework is installed")
    if not folder.hides:
        return
    first = folder.hides[0]
    name = first.rpartition("/")[2].partition(".")[0]
    more = f", as {len(folder.hides) - 1} others are of theirs" if len(folder.hides) > 1 else ""
    yield Problem(
        message=f"{first} is imported in place of the installed package {name} by every script in {folder.path}{more}.",
        evidence=tuple(Evidence("beside the script", one, "--cwd") for one in folder.hides),
        fixes=tuple(_rename(one) for one in folder.hides),
    )
