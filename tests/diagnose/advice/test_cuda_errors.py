from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.cuda_errors import CUDA_CANDIDATES, fixes_for_error
from gpudoctor.findings import FixKind, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Variables
from tests.builders import in_docker, machine


@pytest.mark.parametrize("code", CUDA_CANDIDATES)
def test_each_candidate_says_what_it_is_and_what_cures_it(code: int) -> None:
    for candidate in CUDA_CANDIDATES[code]:
        assert candidate.cause
        assert candidate.cure
        assert not candidate.cause.endswith(".")
        assert candidate.command or candidate.check or candidate.cure.startswith(("Remove", "Reinstall", "Update", "Install", "Use", "End"))


def test_a_candidate_for_a_variable_is_named_only_where_that_is_set(matrix: Matrix) -> None:
    unset, masked = (MachineView(machine(variables=Variables(values)), matrix, Policy()) for values in ({}, {"CUDA_VISIBLE_DEVICES": "7"}))
    assert "unset CUDA_VISIBLE_DEVICES" not in [fix.command for fix in fixes_for_error(100, unset)]
    set_one = fixes_for_error(100, masked)
    assert (set_one[0].command, set_one[0].kind) == ("unset CUDA_VISIBLE_DEVICES", FixKind.FIX)
    assert [fix.kind for fix in set_one if fix.kind is not FixKind.CHECK][1:] == [FixKind.ELSE] * 2


def test_in_a_container_the_driver_is_the_hosts_to_cure(matrix: Matrix) -> None:
    contained = MachineView(machine(container=in_docker()), matrix, Policy())
    (fix,) = (fix for fix in fixes_for_error(803, contained) if fix.kind is FixKind.FIX)
    assert "on the host, reboot" in fix.title


@pytest.mark.parametrize(
    ("container", "restart"),
    [(False, "Reboot to reload the driver and reset the GPUs"), (True, "Reboot the host to reload the driver and reset the GPUs.")],
)
def test_a_code_that_nobody_reported_leads_to_the_log_and_a_restart(container: bool, restart: str, matrix: Matrix) -> None:
    snapshot = machine(1, container=in_docker()) if container else machine(1)
    look, again = fixes_for_error(12345, MachineView(snapshot, matrix, Policy()))
    assert (look.kind, again.title, bool(again.command)) == (FixKind.CHECK, restart, not container)
