from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EnvironmentView, not_applicable
from gpudoctor.diagnose.advice.system import rename_file
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity
from gpudoctor.findings.naming import agree


@rule("GD619", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False)
def script_folder_hides_package(environment: EnvironmentView) -> Iterator[Problem]:
    """File beside the training script shadows an installed package."""
    folder = environment.script_folder
    if not environment.frameworks:
        not_applicable("no framework is installed")
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
