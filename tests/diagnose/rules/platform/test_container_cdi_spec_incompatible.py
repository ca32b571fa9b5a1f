from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import CdiSpec, Snapshot, SystemPackage, SystemPackages
from tests.builders import machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ENGINES, change

RULE = "container-cdi-spec-incompatible"


def podman(version: str, needs: str, *, declares: str = "0.5.0") -> Snapshot:
    """A machine with this Podman and a specification that needs a version of CDI."""
    spec = CdiSpec("/etc/cdi/nvidia.yaml", "nvidia.com/gpu", declares=declares, needs=needs)
    packages = SystemPackages("dpkg", "/var/lib/dpkg/status", packages=(SystemPackage("podman", version),))
    return machine(container_tools=change(ENGINES, engines=("podman",), cdi=(spec,)), system_packages=packages)


def test_fields_that_the_engine_does_not_know() -> None:
    (finding,) = findings_of(RULE, podman("4.9.3+ds1-1ubuntu0.2", "0.7.0"))
    assert finding.severity is Severity.NOTE
    assert "needs CDI 0.7.0, but Podman 4.9.3 supports CDI" in finding.message
    assert finding.fixes[1].command.startswith("sudo apt install --allow-downgrades")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, podman("4.9.3+ds1-1ubuntu0.2", "0.5.0")) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, podman("unreadable", "0.7.0")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container_tools=ENGINES)) == [OutcomeKind.NOT_APPLICABLE]
