"""Which container runtime leaves which mark."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.probe.container import container
from gpudoctor.snapshot import Cause, Container, Missing
from tests.probe.places import Content, plant

OVERLAY = (
    "601 487 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/b/diff\n"
)
HOSTS = "612 601 8:1 /var/lib/docker/containers/4f/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
MARKS: dict[str, tuple[dict[str, Content], str, str]] = {
    "docker by its file": ({"/.dockerenv": ""}, "docker", "/.dockerenv"),
    "docker by version 1 control groups": ({"/proc/self/cgroup": "4:memory:/docker/4f4f\n"}, "docker", "/proc/self/cgroup"),
    "docker by systemd's scope": ({"/proc/self/cgroup": "0::/system.slice/docker-4f4f.scope\n"}, "docker", "/proc/self/cgroup"),
    "docker by its mounts": ({"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": HOSTS}, "docker", "/proc/self/mountinfo"),
    "docker by its root": ({"/proc/self/mountinfo": OVERLAY}, "docker", "/proc/self/mountinfo"),
    "podman": ({"/run/.containerenv": "", "/proc/1/environ": b"container=oci\0"}, "podman", "/run/.containerenv"),
    "podman by the first process": ({"/proc/1/environ": b"A=1\0container=podman\0"}, "podman", "/proc/1/environ"),
    "kubernetes over containerd": (
        {"/proc/self/cgroup": "0::/kubepods.slice/cri-containerd-9a.scope\n"},
        "kubernetes",
        "/proc/self/cgroup",
    ),
    "containerd": ({"/proc/self/cgroup": "0::/k8s.io/cri-containerd-9a.scope\n"}, "containerd", "/proc/self/cgroup"),
    "lxc by systemd": ({"/run/systemd/container": "lxc\n"}, "lxc", "/run/systemd/container"),
    "lxc by control groups": ({"/proc/self/cgroup": "0::/lxc.payload.t/init\n"}, "lxc", "/proc/self/cgroup"),
    "apptainer": ({"/.singularity.d/labels.json": "{}"}, "apptainer", "/.singularity.d"),
    "nspawn": ({"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn", "/run/systemd/container"),
    "some runtime": ({"/proc/1/environ": b"container=oci\0"}, "unknown", "/proc/1/environ"),
}


@pytest.mark.parametrize("name", MARKS)
def test_each_runtime_is_recognised_by_its_mark(tmp_path: Path, name: str) -> None:
    files, runtime, where = MARKS[name]
    found = container(plant(tmp_path, files), {})
    assert isinstance(found, Container)
    assert found.runtime == runtime
    assert found.where.startswith(where)


def test_variables_are_evidence_and_kubernetes_precedes_its_runtime(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/.dockerenv": ""})
    found = container(root, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert isinstance(found, Container)
    assert found.runtime == "kubernetes"
    found = container(str(tmp_path / "other"), {"APPTAINER_CONTAINER": "/x.sif"})
    assert isinstance(found, Container)
    assert found.runtime == "apptainer"


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n"},
        {"/proc/self/cgroup": "0::/system.slice/docker.service\n"},
        {"/proc/self/cgroup": "0::/system.slice/lxcfs.service\n"},
        {"/proc/self/mountinfo": "99 1 0:52 / /var/lib/docker/overlay2/a/merged rw - overlay overlay rw\n"},
        {"/proc/self/mountinfo": "99 1 0:52 / /var/lib/kubelet/pods/a/volumes rw - tmpfs tmpfs rw\n"},
        {"/proc/self/mountinfo": "99 1 0:40 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw\n"},
        {"/run/systemd/container": "wsl\n"},
        {"/.dockerenv": "", "/proc/2/comm": "kthreadd\n"},  # a virtual machine made from a container image
        {},
    ],
)
def test_a_host_with_containers_is_not_a_container(tmp_path: Path, files: dict[str, str]) -> None:
    found = container(plant(tmp_path, files), {})
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


@pytest.mark.parametrize(
    ("files", "environ", "image"),
    [
        ({"/run/.containerenv": 'engine="podman-5.4"\nimage="nvcr.io/nvidia/pytorch:25.01-py3"\n'}, {}, "nvcr.io/nvidia/pytorch:25.01-py3"),
        ({"/.singularity.d/labels.json": "{}"}, {"APPTAINER_CONTAINER": "/images/train.sif"}, "/images/train.sif"),
        ({"/run/.containerenv": 'image=""\n'}, {}, None),
        ({"/.dockerenv": ""}, {}, None),
    ],
)
def test_the_image_is_known_if_the_runtime_names_it(
    tmp_path: Path, files: dict[str, Content], environ: dict[str, str], image: str | None
) -> None:
    plant(tmp_path, files)
    seen = container(str(tmp_path), environ)
    assert isinstance(seen, Container)
    assert (None if isinstance(seen.image, Missing) else seen.image.value) == image
