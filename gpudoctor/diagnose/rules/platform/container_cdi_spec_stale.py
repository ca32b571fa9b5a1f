"""GD313: container-cdi-spec-stale."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.diagnose.rules.platform.cdi import asked_by, severity, tools_of
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import ContainerTools, Missing


@rule("GD313", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1", predicts=False)
def container_cdi_spec_stale(site: Site, tools: ContainerTools | Missing, driver: Driver) -> Iterator[Problem]:
    """A CDI specification names the libraries of another driver than the one that is loaded.

    ## Why it matters
    The specification lists the driver's files by their full names. After a driver upgrade those are gone, and Podman, Docker and
    Kubernetes fail to start a container with a GPU, or start it with half the libraries.

    It is an error where a configuration uses CDI, else a note.

    ## What to do
    Generate it again; toolkits since 1.18 have a service that does so at each boot (nvidia-cdi-refresh).

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """
    found = tools_of(site, tools)
    for spec in need(found.cdi):
        versions = need(spec.versions)
        if not versions or str(driver.version) in versions:
            continue
        yield Problem(
            message=f"{spec.path} names driver {', '.join(versions)}; {driver.version} is loaded.",
            severity=severity(found),
            evidence=(
                *asked_by(found),
                Evidence("driver in the specification", ", ".join(versions), spec.path),
                Evidence("driver", str(driver.version), driver.where),
            ),
            fixes=(Fix("Generate it again", f"sudo nvidia-ctk cdi generate --output={shell_path(spec.path)}", (ROOT,)),),
        )
