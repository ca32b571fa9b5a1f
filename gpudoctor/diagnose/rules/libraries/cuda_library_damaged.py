"""GD419: cuda-library-damaged."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.library_facts import damaged, uses
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.damaged import _MOST, _fixes, _told
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD419",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cuda-library-missing",
                "cudnn-missing",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def cuda_library_damaged(framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """A CUDA library is installed, but its file is damaged.

    ## Why it matters
    The dynamic loader stops at a file that is empty, truncated, a Git LFS pointer, a link to nothing, or on a file system that is mounted
    noexec. A full disk, an interrupted download, a copy without its link targets or `git clone` without Git LFS leave such files. PyTorch
    and JAX then fail to import ("file too short", "invalid ELF header"); TensorFlow goes on without the GPU.

    ## What to do
    Reinstall the package that holds the file.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://git-lfs.com/
    """
    found = damaged(uses(framework, machine, hardware))
    if not found:
        return
    first, damage = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    yield Problem(
        message=f"{framework.label} cannot load {first.wanted}{more}: {_told(damage)}.",
        only_for=framework.name,
        evidence=tuple(Evidence(use.wanted, f"{one.path}: {one.why}", f"asked for by {use.asked_by}") for use, one in found[:_MOST]),
        fixes=tuple(_fixes([one for _, one in found], framework, machine, python)),
    )
