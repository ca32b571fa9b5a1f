from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.platform.cdi import GENERATE_SPECIFICATION, NVIDIA_DEVICE_KIND, cdi_use_evidence
from gpudoctor.diagnose.rules.platform.container_toolkit_missing import INSTALL_GUIDE
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Evidence, Fix, Problem, Problems, Rung, Severity

_INSTALL_TOOLKIT = Fix(
    f"Install the NVIDIA Container Toolkit from NVIDIA's repository: {INSTALL_GUIDE}", needs=(ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE
)
_GENERATE_SPECIFICATION = Fix("Generate the CDI specification", GENERATE_SPECIFICATION)


@rule("GD340", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, predicts=False)
@advises(_GENERATE_SPECIFICATION)
def container_cdi_spec_missing(machine: MachineView) -> Problems:
    """CDI is configured for GPUs, but there is no CDI specification."""
    tools = machine.container_engines
    if not machine.hardware:
        not_applicable("there is no NVIDIA GPU")
    users = require_known(tools.cdi_asked_by)
    if not users:
        not_applicable("no configuration here uses CDI")
    if any(spec.kind == NVIDIA_DEVICE_KIND for spec in require_known(tools.cdi)):
        return
    yield Problem(
        message=f"{users[0].where} uses CDI, but /etc/cdi and /var/run/cdi have no specification for {NVIDIA_DEVICE_KIND}.",
        evidence=(*cdi_use_evidence(tools), Evidence("NVIDIA CDI specifications", "none", "/etc/cdi, /var/run/cdi")),
        fixes=(*(() if tools.toolkit else (_INSTALL_TOOLKIT,)), _GENERATE_SPECIFICATION),
    )
