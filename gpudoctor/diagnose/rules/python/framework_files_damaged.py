"""GD618: framework-files-damaged."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.code import xray
from gpudoctor.diagnose.library_facts import xrayed
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.damaged import _MOST, _fixes, _told
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD618",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cuda-library-missing",
                "cudnn-missing",
                "cuda-libs-not-on-loader-path",
                "pip-nvidia-libs-not-on-path",
                "cuda-library-damaged",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def framework_files_damaged(framework: Framework, machine: MachineView, python: Python | Missing) -> Iterator[Problem]:
    """Files of the framework are missing or damaged.

    ## Why it matters
    `import` loads the framework's compiled files. Where one is missing, empty or truncated, or links a library that is not installed, the
    import fails, whatever else is in order.

    ## What to do
    Reinstall the framework; install the system library that is missing.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    seen = xray(framework, xrayed(machine))
    if seen is None:
        not_applicable(f"the X-ray found no CUDA build of {framework.name}")
    if not seen.broken:
        need(seen.uses)
        if not seen.uses:
            need(seen.code)
        return
    first = seen.broken[0]
    more = f" (and {len(seen.broken) - 1} more)" if len(seen.broken) > 1 else ""
    yield Problem(
        message=f"{framework.label} cannot be imported: {_told(first)}{more}.",
        only_for=framework.name,
        evidence=tuple(
            Evidence(one.path, one.why, f"asked for by {one.asked_by}" if one.asked_by else "on disk") for one in seen.broken[:_MOST]
        ),
        fixes=tuple(_fixes(list(seen.broken), framework, machine, python)),
    )
