from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Cause, FabricManager, Host, Missing, Platform
from tests.builders import ABSENT, TIMED_OUT, in_docker, libcuda, machine
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


def test_nvmls_states_are_enough_without_cuda_or_a_switch() -> None:
    (without_cuda,) = findings_of(RULE, server(fabric_manager=STOPPED, libcuda=ABSENT))
    assert without_cuda.evidence[0].value == "in-progress on 8 of 8 GPUs"
    (without_switch,) = findings_of(RULE, server(switched=False, fabric_manager=ABSENT))
    assert "(8 of 8 GPUs attached)" in without_switch.message
    assert [row.value for row in without_switch.evidence][:2] == ["802 CUDA_ERROR_SYSTEM_NOT_READY", "in-progress on 8 of 8 GPUs"]


def test_error_802_of_registered_gpus_is_not_blamed_on_the_fabric() -> None:
    waits = libcuda(0, 802, "CUDA_ERROR_SYSTEM_NOT_READY")
    registered = server(REGISTERED, fabric_manager=STOPPED, libcuda=waits)
    assert kinds_of(RULE, registered) == [OutcomeKind.PASSED]
    (finding,) = findings_of("cuda-init-fails", registered)
    assert not finding.because_of


def test_it_is_installed_by_the_distributions_name() -> None:
    (finding,) = findings_of(RULE, server(fabric_manager=ABSENT))
    assert "nvidia-fabricmanager-550" in finding.fixes[0].command


def test_a_running_service_is_given_time() -> None:
    assert findings_of(RULE, server(fabric_manager=RUNNING)) == []
    assert findings_of("fabric-not-ready", server(fabric_manager=RUNNING))


@pytest.mark.parametrize(
    ("distribution", "like", "release", "install"),
    [
        ("ubuntu", "debian", "24.04", "sudo apt install 'nvidia-fabricmanager-550=550.163.01-*'"),
        ("rocky", "rhel centos fedora", "9.4", "sudo dnf install nvidia-fabric-manager-550.163.01"),
        ("arch", "", "", ""),
        (ABSENT, ABSENT, ABSENT, ""),
    ],
)
def test_where_no_package_is_known_the_version_is_told(distribution: Any, like: Any, release: Any, install: str) -> None:
    host = Host(
        platform=Platform.LINUX, architecture="x86_64", distribution=distribution, distribution_like=like, distribution_version=release
    )
    (finding,) = findings_of(RULE, server(fabric_manager=ABSENT, host=host))
    command = f"{install} && sudo systemctl enable --now nvidia-fabricmanager" if install else ""
    assert finding.fixes[0].command == command
    assert command or finding.fixes[0].title == "Install the fabric manager in exactly the driver's version, and start it."
