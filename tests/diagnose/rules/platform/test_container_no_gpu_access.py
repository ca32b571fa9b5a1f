from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, OutcomeKind, Policy
from gpudoctor.snapshot import Container, DriverFile, KernelDriver, Variables
from tests.builders import ABSENT, TIMED_OUT, bare, machine
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.diagnose.rules.platform.samples import DOCKER, ON_WSL, WINDOWS, change
from tests.read.reading import read

RULE = "container-no-gpu-access"
UNSEEN = KernelDriver(version=ABSENT, modules=(), gpus=ABSENT)
NO_GPU = ">>> torch.cuda.is_available()\nFalse\n"
IPYTHON = "In [1]: import torch\n\nIn [2]: torch.cuda.is_available()\nOut[2]: False\n"
POD = "$ kubectl describe pod trainer-0\nName:  trainer-0\nContainers:\n  trainer:\n    Image:  img\n    Limits:\n      memory:  32Gi\nQoS Class:  Burstable\n"
COMPOSE = "services:\n  trainer:\n    image: acme/trainer:4\n    volumes:\n      - ./:/work\n\n"


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, "NVIDIA_VISIBLE_DEVICES is void"),
        ({"NVIDIA_VISIBLE_DEVICES": ""}, "NVIDIA_VISIBLE_DEVICES is empty"),
        ({"NVIDIA_DRIVER_CAPABILITIES": "video, utility"}, "NVIDIA_DRIVER_CAPABILITIES is video,utility, without compute"),
        ({"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "all"}, ""),
    ],
)
def test_the_message_says_why_the_container_got_no_gpu(variables: dict[str, str], reason: str) -> None:
    snapshot = machine(container=DOCKER, device_nodes=ABSENT, nvml=ABSENT, libcuda=ABSENT, variables=Variables(variables))
    (finding,) = findings_of(RULE, snapshot)
    assert finding.message.endswith(f": {reason}." if reason else "loaded.")


@pytest.mark.parametrize(
    ("runtime", "command"),
    [
        ("docker", "docker run --rm --gpus all IMAGE nvidia-smi"),
        ("podman", "podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi"),
        ("apptainer", "apptainer exec --nv IMAGE nvidia-smi"),
        ("lxc", "lxc config device add CONTAINER gpu gpu"),
        ("kubernetes", ""),
    ],
)
def test_each_runtime_is_told_in_its_own_words(runtime: str, command: str) -> None:
    snapshot = machine(container=change(DOCKER, runtime=runtime), device_nodes=ABSENT, nvml=ABSENT, libcuda=ABSENT)
    (finding,) = findings_of(RULE, snapshot)
    assert finding.fixes[0].command == command


def test_device_files_without_libcuda_need_the_compute_capability() -> None:
    snapshot = machine(container=DOCKER, libcuda=ABSENT)
    (finding,) = findings_of(RULE, snapshot)
    assert "without the driver's libcuda" in finding.message
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in finding.fixes[0].command


def test_in_wsl_the_container_may_not_have_been_given_the_gpu() -> None:
    snapshot = bare(host=ON_WSL, container=DOCKER, wsl=change(WINDOWS, device=False, libraries=ABSENT))
    (finding,) = findings_of(RULE, snapshot)
    assert finding.confidence is Confidence.POSSIBLE
    assert findings_of("wsl-driver-stack-broken", snapshot) == []


def test_libraries_that_apptainer_mounted_are_there() -> None:
    mounted = Container("apptainer", "/.singularity.d", driver_files=(DriverFile("/.singularity.d/libs/libcuda.so.1"),))
    assert findings_of(RULE, machine(container=mounted, libcuda=ABSENT)) == []


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(container=DOCKER)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container=DOCKER)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(container=DOCKER, device_nodes=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    ("start", "fix"),
    [
        ("2. run it: `docker run -it trainer`\n" + NO_GPU, "docker run --rm --gpus all"),
        ("$ sudo docker run -t -i acme/pytorch:7 ipython\n" + IPYTHON, "docker run --rm --gpus all"),
        ("podman run --rm -it acme/trainer python\n" + NO_GPU, "podman run --rm --device nvidia.com/gpu=all"),
        (COMPOSE + NO_GPU, "compose file: deploy.resources.reservations.devices"),
        ("A line about docker.\n" + COMPOSE + NO_GPU, "compose file: deploy.resources.reservations.devices"),
        (POD + NO_GPU, "nvidia.com/gpu: 1"),
    ],
    ids=["docker", "ipython", "podman", "compose", "compose and docker", "pod"],
)
def test_a_container_that_a_text_starts_gets_the_fix_for_its_own_engine(start: str, fix: str) -> None:
    (finding,) = diagnose(read(start, MATRIX), MATRIX, Policy(level=None)).root_causes
    assert finding.name == RULE
    assert fix in f"{finding.fixes[0].title} {finding.fixes[0].command}"
    assert not any("`" in evidence.value for evidence in finding.evidence)


@pytest.mark.parametrize("start", ["docker run --gpus all -it trainer\n", "docker run --rm hello-world\n"])
def test_a_container_with_a_gpu_has_no_such_finding(start: str) -> None:
    assert findings_of(RULE, read(start + NO_GPU, MATRIX)) == []


@pytest.mark.parametrize(
    ("runtime", "options"),
    [("docker", "docker run --rm --gpus all"), ("podman", "podman run --rm --device nvidia.com/gpu=all"), ("apptainer", ""), ("lxc", "")],
)
def test_the_compute_libraries_are_asked_for_in_the_runtimes_own_words(runtime: str, options: str) -> None:
    (finding,) = findings_of(RULE, machine(container=change(DOCKER, runtime=runtime), libcuda=ABSENT))
    command = f"{options} -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE nvidia-smi" if options else ""
    assert finding.fixes[0].command == command
    assert finding.fixes[0].title.endswith("or add compute to it" + "." * (not options))


@pytest.mark.parametrize(
    ("sections", "driver", "confidence"),
    [
        ({}, "the host has NVIDIA driver 550.163.01 loaded", Confidence.CERTAIN),
        ({"kernel_driver": UNSEEN, "pci": ABSENT}, "NVML works here", Confidence.CERTAIN),
        (
            {"kernel_driver": UNSEEN, "pci": ABSENT, "host": ON_WSL, "nvml": ABSENT, "device_nodes": ABSENT},
            "WSL may have one",
            Confidence.POSSIBLE,
        ),
    ],
)
def test_what_shows_a_driver_on_the_host_is_said(sections: dict[str, Any], driver: str, confidence: Confidence) -> None:
    (finding,) = findings_of(RULE, machine(**({"container": DOCKER, "libcuda": ABSENT} | sections)))
    assert [row.value for row in finding.evidence if row.what == "driver on the host"] == [driver]
    assert finding.message.endswith(f", although {driver}.")
    assert finding.confidence is confidence
