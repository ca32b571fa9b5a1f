"""GD403: cuda-libs-not-on-loader-path."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.missing import off_the_loader_path
from gpudoctor.findings import Problem, Rung, Severity


@rule(
    "GD403",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    explains=(Explains(TRAINING_FAILS, "Without the libraries the framework fails to import or uses the CPU.", Join.FRAMEWORK),),
)
def cuda_libs_not_on_loader_path(framework: FrameworkView) -> Iterator[Problem]:
    """CUDA libraries are installed but not on the loader's path.

    ## Why it matters
    The dynamic loader searches the folders that a library itself names, LD_LIBRARY_PATH, its cache and its default folders. A toolkit in
    /usr/local, or a conda environment that is not active, is in none of them unless configured.

    ## What to do
    Add the folder to LD_LIBRARY_PATH for this environment only, or install the framework's CUDA libraries as packages.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#post-installation-actions
    """
    yield from off_the_loader_path(framework, in_wheels=False)
