from gpudoctor.derive import MachineView, known, not_applicable
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.platform.cdi import GENERATE, NVIDIA_GPU, users_of_cdi
from gpudoctor.diagnose.rules.platform.container_toolkit_missing import GUIDE
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Evidence, Fix, Problem, Problems, Rung, Severity

_INSTALL_TOOLKIT = Fix(
    f"Install the NVIDIA Container Toolkit from NVIDIA's repository: {GUIDE}", needs=(ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE
)
_GENERATE = Fix("Generate the CDI specification", GENERATE)


@rule("GD340", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, predicts=False)
@advises(_GENERATE)
def container_cdi_spec_missing(machine: MachineView) -> Problems:
    """CDI is configured for GPUs, but there is no CDI specification."""
    tools = machine.container_engines
    if not machine.hardware:
        not_applicable("there is no NVIDIA GPU")
    users = known(tools.cdi_asked_by)
    if not users:
        not_applicable("no configuration here uses CDI")
    if any(spec.kind == NVIDIA_GPU for spec in known(tools.cdi)):
        return
    yield Problem(
        message=f"{users[0].where} uses CDI, but /etc/cdi and /var/run/cdi have no specification for {NVIDIA_GPU}.",
        evidence=(*users_of_cdi(tools), Evidence("NVIDIA CDI specifications", "none", "/etc/cdi, /var/run/cdi")),
        fixes=(*(() if tools.toolkit else (_INSTALL_TOOLKIT,)), _GENERATE),
    )
