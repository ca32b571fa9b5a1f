"""GD404: pip-nvidia-libs-not-on-path."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.derive.packages import SUPPOSED
from gpudoctor.diagnose.planned_libraries import not_found
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.loading import _beside_the_path
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework


@rule(
    "GD404",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def pip_nvidia_libs_not_on_path(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """NVIDIA's packages hold the libraries, and the framework does not look there.

    ## Why it matters
    The wheels nvidia-... put their libraries into folders of site-packages that the loader does not know. A framework finds them only
    where its own files name those folders relative to themselves: builds before its support for them do not, nor does one that lies in
    another site-packages than they.

    ## What to do
    Install framework and libraries into the same environment; for a build that does not look there, add the folders to LD_LIBRARY_PATH.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    if machine.observed.origin == SUPPOSED:
        yield from not_found(framework, machine)
        return
    yield from _beside_the_path(framework, machine, hardware, wheels=True)
