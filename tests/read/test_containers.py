"""How containers are started, and what shows that a text is from inside one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.readers.containers import READER
from gpudoctor.read.statements import Line
from gpudoctor.snapshot import NOT_ASKED, Cause, Container, Missing, TextLog
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused, read

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"
DIGEST = "5b1e77c0a4f9" + "0d" * 26
RUN = "$ docker run -it --rm -v ./data:/data trainer:7 python fit.py\n"
LONG_RUN = "$ docker run -it --rm \\\n    -v ./data:/data \\\n    {option}\n    trainer:7 python fit.py\n"
COMPOSE = """\
services:
  fit:
    image: trainer:7
    volumes:
      - ./data:/data
"""
RESERVED = """\
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 1
              capabilities: [gpu]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: fit
spec:
  containers:
    - name: fit
      image: trainer:7
      resources:
        limits:
          memory: 32Gi
"""
DESCRIBED = """\
Name:             fit
Namespace:        default
Containers:
  fit:
    Image:         trainer:7
    Limits:
      memory:      32Gi
{limit}Conditions:
  Type              Status
  Ready             True
QoS Class:                   Burstable
"""
DEVCONTAINER = """\
.devcontainer/devcontainer.json
{
  "name": "trainer",
  "image": "trainer:7",
  {option}"remoteUser": "me"
}
"""
REQUESTS = "    Requests:\n      cpu:         4\n"
WITHOUT = {
    "run": RUN,
    "podman": RUN.replace("docker", "podman"),
    "long run": LONG_RUN.format(option="--ipc=host \\"),
    "compose": COMPOSE,
    "pod": POD,
    "describe": DESCRIBED.format(limit=""),
    "cut behind the requests": DESCRIBED.format(limit=REQUESTS).partition("Conditions")[0],
    "devcontainer": DEVCONTAINER.replace("{option}", ""),
}
WITH = {
    "gpus": RUN.replace("--rm", "--rm --gpus all"),
    "runtime": RUN.replace("--rm", "--runtime=nvidia"),
    "device": RUN.replace("docker", "podman").replace("--rm", "--device nvidia.com/gpu=all"),
    "long run": LONG_RUN.format(option="--gpus '\"device=0\"' \\"),
    "wrapper": RUN.replace("docker", "nvidia-docker"),
    "compose": COMPOSE + RESERVED,
    "compose list": COMPOSE
    + RESERVED.replace("            - driver: nvidia\n", "            -\n").replace("[gpu]", "\n                - gpu"),
    "compose runtime": COMPOSE + "    runtime: nvidia\n",
    "pod": POD + "          nvidia.com/gpu: 1\n",
    "script": POD.replace("      resources", "      args:\n        - |\n          set -e\n          python fit.py\n\n      resources")
    + "          nvidia.com/gpu: 1\n",
    "slice": POD + "          nvidia.com/mig-1g.10gb: 1\n",
    "runtime class": POD.replace("spec:\n", "spec:\n  runtimeClassName: nvidia\n"),
    "describe": DESCRIBED.format(limit="      nvidia.com/gpu:  1\n"),
    "cut behind the requests": DESCRIBED.format(limit="      nvidia.com/gpu:  1\n" + REQUESTS).partition("Conditions")[0],
    "devcontainer": DEVCONTAINER.replace("{option}", '"runArgs": ["--gpus", "all"],\n  '),
    "devcontainer feature": DEVCONTAINER.replace("{option}", '"hostRequirements": {"gpu": "optional"},\n  '),
}
UNTOLD = {
    "demonstration": "$ docker run hello-world\n",
    "other command": "$ docker ps\n$ docker exec -it fit bash\n",
    "default": RUN + ' "default-runtime": "nvidia",\n',
    "cut compose": COMPOSE + "    ...\n",
    "no image": "services:\n  - ssh\n  - cron\n",
    "cut devcontainer": DEVCONTAINER.replace("{option}", "// ...\n  "),
    "cut describe": DESCRIBED.format(limit="").partition("Conditions")[0],
    "word": "The docker runtime is new.\n",
}


def requests(text: str, matrix: Matrix) -> list[str]:
    log = read(text + NO_DRIVER, matrix).text_log
    assert isinstance(log, TextLog)
    return list(log.gpu_requests)


@pytest.mark.parametrize("name", WITHOUT)
def test_a_start_without_a_gpu_decides(name: str, matrix: Matrix) -> None:
    assert requests(WITHOUT[name], matrix) == ["none"]
    assert causes(WITHOUT[name] + NO_DRIVER, matrix)[:1] == ["container-no-gpu-access"]


@pytest.mark.parametrize("name", WITH)
def test_a_start_with_a_gpu_does_not_blame_the_start(name: str, matrix: Matrix) -> None:
    assert requests(WITH[name], matrix) == ["requested"]
    assert causes(WITH[name] + NO_DRIVER, matrix)[:1] == ["no-driver"]


@pytest.mark.parametrize("name", UNTOLD)
def test_a_near_miss_states_nothing(name: str, matrix: Matrix) -> None:
    assert requests(UNTOLD[name], matrix) == []


INSIDE = {
    "docker": f"12:devices:/docker/{DIGEST}\n",
    "kubernetes": "0::/kubepods/burstable/pod6f1f/5b1e77\n",
    "podman": f"0::/system.slice/libpod-{DIGEST}.scope\n",
}
OUTSIDE = (
    "0::/user.slice/user-1000.slice/session-3.scope\n",
    "ls: cannot access '/.dockerenv': No such file or directory\n",
    "0::/system.slice/docker.service\n",
    "root@trainer:/workspace# nvidia-smi\n",
    "root@123456789012345:/workspace# nvidia-smi\n",
)


@pytest.mark.parametrize("runtime", INSIDE)
def test_the_control_group_states_the_runtime_and_nothing_else(runtime: str, matrix: Matrix) -> None:
    found = read(INSIDE[runtime] + NO_DRIVER, matrix).container
    assert isinstance(found, Container)
    assert (found.runtime, found.where) == (runtime, "line 1, containers")
    assert all(isinstance(value, Missing) and value is not NOT_ASKED for value in (found.driver_files, found.control, found.image))


@pytest.mark.parametrize(
    "line",
    ["$ ls /.dockerenv\n/.dockerenv\n", "-rwxr-xr-x 1 root root 0 Mar  3 08:12 .dockerenv\n", f"root@{DIGEST[:12]}:/workspace# python\n"],
)
def test_docker_is_seen_from_inside(line: str, matrix: Matrix) -> None:
    found = read(line + NO_DRIVER, matrix).container
    assert isinstance(found, Container)
    assert found.runtime == "docker"


@pytest.mark.parametrize("line", OUTSIDE)
def test_a_host_is_no_container(line: str, matrix: Matrix) -> None:
    found = read(line + NO_DRIVER, matrix).container
    assert isinstance(found, Missing)
    assert found.cause is Cause.NOT_STATED


def test_a_container_without_device_files_was_started_without_a_gpu(matrix: Matrix) -> None:
    no_files = "ls: cannot access '/dev/nvidia*': No such file or directory\n"
    assert causes(INSIDE["docker"] + no_files + NO_DRIVER, matrix)[:1] == ["container-no-gpu-access"]
    assert causes(no_files + NO_DRIVER, matrix)[:1] == ["no-driver"]


@pytest.mark.parametrize("text", [*WITHOUT.values(), *WITH.values(), *INSIDE.values()])
def test_a_text_without_a_fault_has_no_finding(text: str, matrix: Matrix) -> None:
    assert causes("PyTorch version: 2.5.1+cu124\n" + text, matrix) == []


@pytest.mark.parametrize("line", ["services:", "kind: Pod", "Containers:", "docker run x \\"])
def test_many_documents_take_linear_time(line: str) -> None:
    lines = [Line(number, line) for number in range(20_000)]
    begin = time.process_time()
    list(READER.blocks(lines) if READER.blocks else ())
    assert time.process_time() - begin < 5


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    text = "".join([*WITHOUT.values(), *WITH.values(), *INSIDE.values()]) + NO_DRIVER
    assert is_read_or_refused(data.draw(mangled(text)), matrix)
