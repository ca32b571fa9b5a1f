"""A container that a text starts without a GPU gets the fix for its own engine."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from tests.read.reading import read

NO_GPU = ">>> torch.cuda.is_available()\nFalse\n"
IPYTHON = "In [1]: import torch\n\nIn [2]: torch.cuda.is_available()\nOut[2]: False\n"
POD = "$ kubectl describe pod trainer-0\nName:  trainer-0\nContainers:\n  trainer:\n    Image:  img\n    Limits:\n      memory:  32Gi\nQoS Class:  Burstable\n"
COMPOSE = "services:\n  trainer:\n    image: acme/trainer:4\n    volumes:\n      - ./:/work\n\n"


@pytest.mark.parametrize(
    ("start", "fix"),
    [
        ("2. run it: `docker run -it trainer`\n" + NO_GPU, "docker run --rm --gpus all"),
        ("$ sudo docker run -t -i acme/pytorch:7 ipython\n" + IPYTHON, "docker run --rm --gpus all"),
        ("podman run --rm -it acme/trainer python\n" + NO_GPU, "podman run --rm --device nvidia.com/gpu=all"),
        (COMPOSE + NO_GPU, "compose file: deploy.resources.reservations.devices"),
        (POD + NO_GPU, "nvidia.com/gpu: 1"),
    ],
    ids=["docker", "ipython", "podman", "compose", "pod"],
)
def test_the_fix_is_that_of_the_engine(start: str, fix: str, matrix: Matrix) -> None:
    (finding,) = diagnose(read(start, matrix), matrix, Policy(level=None)).root_causes
    assert finding.name == "container-no-gpu-access"
    assert fix in f"{finding.fixes[0].title} {finding.fixes[0].command}"
    assert not any("`" in one.value for one in finding.evidence)


@pytest.mark.parametrize("start", ["docker run --gpus all -it trainer\n", "docker run --rm hello-world\n"])
def test_a_container_with_a_gpu_has_no_such_finding(start: str, matrix: Matrix) -> None:
    found = diagnose(read(start + NO_GPU, matrix), matrix, Policy(level=None)).findings
    assert "container-no-gpu-access" not in [one.name for one in found]
