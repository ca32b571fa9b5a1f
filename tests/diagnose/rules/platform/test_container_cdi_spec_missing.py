from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import CdiSpec, Fact
from tests.builders import TIMED_OUT, bare, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ENGINES, change

RULE = "container-cdi-spec-missing"
USED = change(ENGINES, cdi_asked_by=(Fact("mode = cdi", "/etc/nvidia-container-runtime/config.toml"),))


def test_a_missing_specification_is_generated_once_the_toolkit_is_there() -> None:
    (finding,) = findings_of(RULE, machine(container_tools=USED))
    assert [fix.title for fix in finding.fixes] == ["Generate the CDI specification"]
    (without,) = findings_of(RULE, machine(container_tools=change(USED, toolkit=())))
    assert without.fixes[0].title.startswith("Install the NVIDIA Container Toolkit")


def test_other_outcomes() -> None:
    written = change(USED, cdi=(CdiSpec("/etc/cdi/nvidia.yaml", "nvidia.com/gpu"),))
    assert kinds_of(RULE, machine(container_tools=written)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(container_tools=ENGINES)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(container_tools=USED)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container_tools=change(USED, cdi=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
