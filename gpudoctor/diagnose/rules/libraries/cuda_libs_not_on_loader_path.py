"""GD403: cuda-libs-not-on-loader-path."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.loading import _beside_the_path
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework


@rule(
    "GD403",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def cuda_libs_not_on_loader_path(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """CUDA's libraries are on disk, and the loader does not look where they are.

    ## Why it matters
    The dynamic loader looks in the folders that a library itself names, in LD_LIBRARY_PATH, in its cache and in its own default
    folders. A toolkit in /usr/local, or a conda environment that is not active, is in none of them until somebody says so.

    ## What to do
    Add the folder to LD_LIBRARY_PATH for this environment only, or let the framework bring the libraries as packages.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#post-installation-actions
    """
    yield from _beside_the_path(framework, machine, hardware, wheels=False)
