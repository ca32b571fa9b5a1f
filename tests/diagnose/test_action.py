"""Actions and domains: every finding has both, and an action never disagrees with the first fix."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive import Site
from gpudoctor.diagnose.action import action_of
from gpudoctor.diagnose.rule import FAMILY_DOMAINS
from gpudoctor.diagnose.rules import FAMILIES, RULES
from gpudoctor.findings import DOWNLOAD, REBOOT, ROOT, Action, Confidence, Domain, Finding, Fix, FixKind
from gpudoctor.report.schema import document_schema
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES
from tests.seams.every import every

HOST = Site(platform="linux", container="", scheduler="", distribution=("debian",), root=False)
CONTAINER = msgspec.structs.replace(HOST, container="docker", root=True)
JOB = msgspec.structs.replace(HOST, scheduler="Slurm")
REBOOTS = Fix("Reboot", "sudo reboot", (ROOT, REBOOT), action=Action.REBOOT)
CHECK = Fix("Look", "nvidia-smi", kind=FixKind.CHECK)
INSTALLS = {Action.INSTALL_PACKAGE, Action.REINSTALL_PACKAGE, Action.UPDATE_DRIVER}
BY_COMMAND = {
    "sudo reboot": {Action.REBOOT},
    "sudo poweroff": {Action.REBOOT},
    "wsl.exe --shutdown": {Action.REBOOT},
    "sudo nvidia-smi --gpu-reset": {Action.RESET_GPU},
    "sudo kill ": {Action.FREE_GPU},
    "export ": {Action.CHANGE_SETTING, Action.RESTART_JOB},
    "unset ": {Action.CHANGE_SETTING},
    "sudo systemctl ": {Action.CHANGE_SETTING},
    "sudo modprobe ": {Action.CHANGE_SETTING},
    "docker run ": {Action.RESTART_JOB},
    "podman run ": {Action.RESTART_JOB},
    "srun ": {Action.RESTART_JOB},
    "sudo apt install ": INSTALLS,
    "conda install ": INSTALLS,
}
"""By how the first fix's command begins: the actions that it can come to."""


def first_fix(finding: Finding) -> Fix | None:
    changing = [fix for fix in finding.fixes if fix.kind is not FixKind.CHECK]
    return next((fix for fix in changing if fix.kind is FixKind.FIX), changing[0] if changing else None)


@pytest.mark.parametrize(
    ("fixes", "site", "action"),
    [
        ((), HOST, Action.NONE),
        ((CHECK,), HOST, Action.INVESTIGATE),
        ((CHECK, REBOOTS), HOST, Action.REBOOT),
        ((CHECK, REBOOTS), CONTAINER, Action.CONTACT_ADMINISTRATOR),
        ((REBOOTS,), JOB, Action.CONTACT_ADMINISTRATOR),
        ((REBOOTS,), msgspec.structs.replace(JOB, root=True), Action.REBOOT),
        ((Fix("Install gcc", "sudo apt install gcc", (ROOT, DOWNLOAD)),), CONTAINER, Action.REINSTALL_PACKAGE),
        ((Fix("Install the toolkit on the host.", needs=(ROOT, DOWNLOAD)),), CONTAINER, Action.CONTACT_ADMINISTRATOR),
        ((Fix("Unset it", "unset CUDA_VISIBLE_DEVICES"),), JOB, Action.CHANGE_SETTING),
        ((Fix("Or this", kind=FixKind.INSTEAD, action=Action.RESTART_JOB), REBOOTS), HOST, Action.REBOOT),
        ((Fix("Or this", kind=FixKind.INSTEAD, action=Action.RESTART_JOB),), HOST, Action.RESTART_JOB),
    ],
)
def test_the_action_is_that_of_the_first_fix_within_reach(fixes: tuple[Fix, ...], site: Site, action: Action) -> None:
    assert action_of(fixes, site) is action


class TestEveryRecordedMachine:
    @every("name", NAMES)
    def test_an_action_agrees_with_the_first_fix(self, name: str) -> None:
        for finding in diagnosis(name).findings:
            fix = first_fix(finding)
            if fix is None:
                assert finding.action is (Action.INVESTIGATE if finding.fixes else Action.NONE)
                continue
            assert finding.action is not Action.NONE
            if finding.action is Action.INVESTIGATE:
                assert finding.confidence is not Confidence.CERTAIN, finding.id
                assert finding.fixes[0].kind is FixKind.CHECK, finding.id
                continue
            if finding.action is Action.CONTACT_ADMINISTRATOR:
                assert ROOT in fix.needs or fix.action is Action.CONTACT_ADMINISTRATOR
                continue
            for beginning, actions in BY_COMMAND.items():
                assert not fix.command.startswith(beginning) or finding.action in actions, (finding.id, fix.command)
            if " -m pip " in fix.command or "uv pip " in fix.command:
                assert finding.action in {Action.INSTALL_PACKAGE, Action.REINSTALL_PACKAGE}

    @every("name", NAMES)
    def test_what_comes_to_a_reboot_or_reset_is_one(self, name: str) -> None:
        for finding in diagnosis(name).findings:
            fix = first_fix(finding)
            if fix and finding.action is Action.REBOOT:
                assert fix.command.startswith(("sudo reboot", "sudo poweroff", "wsl.exe --shutdown")) or not fix.command
            if fix and finding.action is Action.RESET_GPU:
                assert "--gpu-reset" in fix.command
            if fix and finding.action is Action.UPDATE_DRIVER:
                assert DOWNLOAD in fix.needs


def test_every_family_has_a_domain_and_every_domain_has_findings() -> None:
    assert set(FAMILIES) - set(FAMILY_DOMAINS) == {"libraries", "builds", "python"}
    assert {rule.lies_in for rule in RULES} == set(Domain)


def test_the_published_schema_lists_the_words() -> None:
    finding = document_schema("report")["$defs"]["Finding"]["properties"]
    assert finding["action"]["examples"] == [word.value for word in Action]
    assert finding["domain"]["examples"] == [word.value for word in Domain]
