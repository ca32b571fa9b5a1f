from gpudoctor.derive import MachineView, require_known
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.platform.cdi import GENERATE_SPECIFICATION, cdi_use_evidence, severity_by_use
from gpudoctor.findings import Evidence, Fix, Problem, Problems, Rung, Severity


@rule("GD313", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, predicts=False)
@advises(Fix("Generate the CDI specification again", GENERATE_SPECIFICATION))
def container_cdi_spec_stale(machine: MachineView) -> Problems:
    """CDI specification is for another driver version."""
    tools = machine.container_engines
    driver = machine.driver
    for spec in require_known(tools.cdi):
        listed = require_known(spec.versions)
        if not listed or str(driver.version) in listed:
            continue
        yield Problem(
            message=f"{spec.path} lists the libraries of driver {', '.join(listed)}, but driver {driver.version} is loaded.",
            severity=severity_by_use(tools),
            evidence=(
                *cdi_use_evidence(tools),
                Evidence("driver in the specification", ", ".join(listed), spec.path),
                Evidence("driver", str(driver.version), driver.where),
            ),
            fixes=(Fix("Generate the CDI specification again", f"sudo nvidia-ctk cdi generate --output={shell_path(spec.path)}"),),
        )
