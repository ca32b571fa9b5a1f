from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Container, DriverFile
from tests.builders import ABSENT, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import DOCKER, change

RULE = "container-ldcache-stale"
MOUNTED = change(DOCKER, driver_files=(DriverFile("/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01"),))


def test_mounted_libraries_that_the_loader_does_not_find() -> None:
    (finding,) = findings_of(RULE, machine(container=MOUNTED, libcuda=ABSENT))
    assert finding.message.endswith("libcuda.so.550.163.01 is mounted in /usr/lib/x86_64-linux-gnu, but the loader does not find it.")
    assert finding.fixes[0].command == "ldconfig"


def test_apptainer_finds_its_libraries_by_path() -> None:
    mounted = Container("apptainer", "/.singularity.d", driver_files=(DriverFile("/.singularity.d/libs/libcuda.so.1"),))
    (finding,) = findings_of(RULE, machine(container=mounted, libcuda=ABSENT))
    assert finding.fixes[0].command == 'export LD_LIBRARY_PATH=/.singularity.d/libs"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(container=MOUNTED)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container=in_docker())) == [OutcomeKind.NOT_ASKED]
