from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from gpudoctor.snapshot import DeviceNodes, Node, Pci, Variables
from tests.builders import ABSENT, TIMED_OUT, bare, card, machine
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.diagnose.rules.platform.samples import DOCKER, ENGINES, change
from tests.read.reading import read

RULE = "container-toolkit-missing"


def test_gpus_that_were_requested_and_not_added() -> None:
    asked = Variables({"NVIDIA_VISIBLE_DEVICES": "0,1"})
    snapshot = machine(container=DOCKER, device_nodes=ABSENT, nvml=ABSENT, libcuda=ABSENT, variables=asked)
    (finding,) = findings_of(RULE, snapshot)
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.LIKELY)
    assert [fix.title.split(",")[0] for fix in finding.fixes] == ["On the host"] * 3


def test_ordinary_files_with_the_names_of_devices_are_no_gpu() -> None:
    asked = Variables({"NVIDIA_VISIBLE_DEVICES": "0"})
    files = DeviceNodes(tuple(Node(path, major=ABSENT) for path in ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0")))
    assert findings_of(RULE, machine(container=DOCKER, device_nodes=files, nvml=ABSENT, libcuda=ABSENT, variables=asked))


def test_a_gpu_that_the_host_gives_to_a_virtual_machine_is_not_its_drivers() -> None:
    asked = Variables({"NVIDIA_VISIBLE_DEVICES": "0"})
    there = {"container": DOCKER, "variables": asked, "device_nodes": ABSENT, "kernel_driver": ABSENT}
    assert findings_of(RULE, bare(pci=Pci((card(0, driver="nvidia"),)), **there))
    assert findings_of(RULE, bare(pci=Pci((card(0, driver="vfio-pci"),)), **there)) == []


def test_a_host_with_an_engine_and_no_toolkit_is_a_note() -> None:
    (finding,) = findings_of(RULE, machine(container_tools=change(ENGINES, toolkit=())))
    assert finding.severity is Severity.NOTE
    assert finding.fixes[0].command == "sudo apt install nvidia-container-toolkit"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(container_tools=ENGINES)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(container_tools=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(container_tools=change(ENGINES, toolkit=()))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container_tools=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    by_image = Variables({"NVIDIA_VISIBLE_DEVICES": "all"})
    assert kinds_of(RULE, machine(container=DOCKER, variables=by_image)) == [OutcomeKind.NOT_APPLICABLE]


def test_a_text_that_names_no_engine_is_taken_for_dockers() -> None:
    text = 'exec: "nvidia-container-runtime": executable file not found in $PATH\n'
    (finding,) = findings_of(RULE, read(text, MATRIX))
    _, configure, *_ = finding.fixes
    assert configure.title == "Configure Docker to use it"
    assert configure.command == "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
