from __future__ import annotations

import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Cause, FabricManager, Missing
from tests.builders import ABSENT, TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.multi_gpu.fabrics import REGISTERED, RUNNING, STOPPED, server

RULE = "fabric-manager-missing"


def test_a_stopped_service_is_started() -> None:
    (finding,) = findings_of(RULE, server(fabric_manager=STOPPED))
    assert "is installed but not running" in finding.message
    assert finding.fixes[0].command == "sudo systemctl enable --now nvidia-fabricmanager"


def test_an_absent_service_is_installed_in_the_drivers_version() -> None:
    (finding,) = findings_of(RULE, server(fabric_manager=ABSENT))
    assert "is not installed" in finding.message
    assert "550.163.01" in finding.fixes[0].title


def test_in_a_container_the_host_is_named() -> None:
    (finding,) = findings_of(RULE, server(fabric_manager=Missing(Cause.NOT_ASKED, "in a container"), container=in_docker()))
    assert (finding.confidence, finding.fixes[0].command) == (Confidence.LIKELY, "")
    assert "host" in finding.fixes[0].title


@pytest.mark.parametrize("manager", [FabricManager(running=TIMED_OUT), TIMED_OUT])
def test_a_service_that_could_not_be_seen_is_no_finding(manager: FabricManager | Missing) -> None:
    assert kinds_of(RULE, server(fabric_manager=manager)) == [OutcomeKind.COULD_NOT_TELL]


def test_it_passes_once_the_fabric_is_set_up_or_the_service_runs() -> None:
    assert kinds_of(RULE, server(REGISTERED, fabric_manager=STOPPED)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, server(fabric_manager=RUNNING)) == [OutcomeKind.PASSED]


def test_it_does_not_apply_without_a_fabric() -> None:
    assert kinds_of(RULE, machine(2)) == [OutcomeKind.NOT_APPLICABLE]
