from __future__ import annotations

import msgspec

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Host, Platform
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.platform.samples import DOCKER

RULE = "persistence-mode-off"


def test_one_gpu_with_unknown_persistence() -> None:
    half = with_gpus({"persistence": False}, {"persistence": TIMED_OUT})
    assert [finding.message.partition(",")[0] for finding in findings_of(RULE, half)] == ["Persistence mode is off on GPU 0"]
    assert kinds_of(RULE, with_gpus({"persistence": TIMED_OUT})) == [OutcomeKind.COULD_NOT_TELL]


def test_ubuntu_starts_the_daemon_without_the_mode() -> None:
    for system, count in (("ubuntu", 2), ("debian", 1)):
        host = Host(platform=Platform.LINUX, distribution=system)
        (finding,) = findings_of(RULE, msgspec.structs.replace(with_gpus({"persistence": False}), host=host))
        assert len(finding.fixes) == count
        assert finding.fixes[0].command.endswith("sudo nvidia-smi -pm 1")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"persistence": True})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"persistence": False, "name": "NVIDIA GeForce RTX 4090"})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, host=Host(platform=Platform.WSL2))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_in_a_container_the_host_sets_it() -> None:
    (finding,) = findings_of(RULE, with_gpus({"persistence": False}, container=DOCKER))
    assert ["host" in fix.title for fix in finding.fixes] == [True]
