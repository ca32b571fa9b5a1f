from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Limits, SharedMemory
from tests.builders import ABSENT, TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import DOCKER, change

RULE = "container-shm-too-small"
SMALL, LARGE = (Limits(shared_memory=SharedMemory(size, size, "tmpfs")) for size in (64 << 20, 1 << 30))


def test_several_gpus_make_it_a_warning() -> None:
    (finding,) = findings_of(RULE, machine(2, container=DOCKER, limits=SMALL))
    assert finding.severity is Severity.WARNING
    assert finding.message == "Shared memory (/dev/shm) is 64 MiB in a container with 2 GPUs; NVIDIA recommends at least 1 GiB."
    assert finding.fixes[0].command == "docker run --gpus all --shm-size=8g IMAGE"
    (alone,) = findings_of(RULE, machine(1, container=DOCKER, limits=SMALL))
    assert alone.severity is Severity.NOTE


def test_in_a_pod_it_is_a_volume() -> None:
    (finding,) = findings_of(RULE, machine(2, container=change(DOCKER, runtime="kubernetes"), limits=SMALL))
    assert "emptyDir" in finding.fixes[0].title


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(container=DOCKER, limits=LARGE)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container=DOCKER, limits=Limits(shared_memory=ABSENT))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container=DOCKER, limits=Limits(shared_memory=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(container=in_docker())) == [OutcomeKind.NOT_ASKED]
