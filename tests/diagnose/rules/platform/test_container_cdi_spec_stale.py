from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import CdiSpec, ContainerTools, Fact
from tests.builders import ABSENT, TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import DOCKER, ENGINES, change

RULE = "container-cdi-spec-stale"


def engines(*versions: str, used: bool = False) -> ContainerTools:
    """An engine whose CDI specification lists these driver versions."""
    users = (Fact("mode = cdi", "/etc/nvidia-container-runtime/config.toml"),) if used else ()
    changed: ContainerTools = change(
        ENGINES, cdi=(CdiSpec("/etc/cdi/nvidia.yaml", "nvidia.com/gpu", versions=versions),), cdi_asked_by=users
    )
    return changed


def test_another_driver_is_an_error_where_cdi_is_used() -> None:
    (finding,) = findings_of(RULE, machine(container_tools=engines("535.54.03")))
    assert finding.severity is Severity.NOTE
    assert finding.message == "/etc/cdi/nvidia.yaml lists the libraries of driver 535.54.03, but driver 550.163.01 is loaded."
    (used,) = findings_of(RULE, machine(container_tools=engines("535.54.03", used=True)))
    assert used.severity is Severity.ERROR


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(container_tools=engines("550.163.01"))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(container_tools=engines())) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(container_tools=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container=DOCKER)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container_tools=change(ENGINES, cdi=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
