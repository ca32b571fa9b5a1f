import re

from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Platform

_MISSING_MESSAGE = r"Microsoft Visual C\+\+ Redistributable is not installed|Could not find the DLL\(s\) 'msvcp"
"""What torch/__init__.py and tensorflow/python/platform/self_check.py say after they looked for its DLLs."""


@rule("GD649", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False, on_cpu_too=True)
@advises(
    Fix(
        "Install the Microsoft Visual C++ Redistributable, then open a new terminal",
        "winget install --exact --id Microsoft.VCRedist.2015+.x64",
        (DOWNLOAD,),
        action=Action.INSTALL_PACKAGE,
    ),
    Fix(
        "In a conda environment without administrator rights",
        "conda install -c conda-forge vc14_runtime",
        (DOWNLOAD,),
        kind=FixKind.INSTEAD,
    ),
)
@explains(TRAINING_FAILS, "Windows cannot load the framework's libraries.")
def msvc_redistributable_missing(machine: MachineView) -> Problems:
    """Microsoft Visual C++ Redistributable is not installed."""
    said = next((line for line in machine.log.lines if re.search(_MISSING_MESSAGE, line.value)), None)
    if said is None:
        if require_known(machine.host.platform) != Platform.WINDOWS:
            not_applicable("not Windows")
        require_known(machine.observed.text_log)
        return
    yield Problem(
        message="The framework did not find the Microsoft Visual C++ Redistributable, which its libraries need.",
        evidence=(Evidence("log", said.value, said.where),),
    )
