"""The surroundings of the examined process: driver files mounted and cached, container tools, limits, jobs, MPS, WSL."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gpudoctor.probe.container import container
from gpudoctor.probe.container_tools import container_tools
from gpudoctor.probe.driver_files import cached_libraries, mounted_libraries
from gpudoctor.probe.limits import limits
from gpudoctor.probe.scheduler import gpu_allocation, mps_folder
from gpudoctor.probe.wsl import wsl
from gpudoctor.snapshot import Allocation, Cause, Container, ContainerTools, DriverFile, LoaderCache, Missing, Mps, SharedMemory
from tests.machines.recipes.surroundings import MOUNTS
from tests.probe.places import Content, plant

DRIVER = "550.163.01"
FOLDER = "/usr/lib/x86_64-linux-gnu"


def test_mounted_libraries_have_the_version_in_their_own_or_target_name() -> None:
    renamed = f"9 1 8:1 {FOLDER}/libcuda.so.535.1.2 /usr/lib64/libcuda.so.1 ro - ext4 /dev/sda1 rw\n"
    unnamed = "9 1 8:1 /opt/x /usr/lib64/libnvidia-ml.so.1 ro - ext4 /dev/sda1 rw\n"
    found = mounted_libraries(MOUNTS + renamed + unnamed + "short line\n")
    assert isinstance(found, tuple)
    assert [(file.path, file.version) for file in found[:3]] == [
        (f"{FOLDER}/libcuda.so.{DRIVER}", DRIVER),
        (f"{FOLDER}/libnvidia-ml.so.{DRIVER}", DRIVER),
        ("/usr/lib64/libcuda.so.1", "535.1.2"),
    ]
    assert isinstance(found[3].version, Missing)
    assert found[3].version.cause is Cause.ABSENT


def test_the_loaders_cache_as_ldconfig_writes_it(tmp_path: Path) -> None:
    """A real cache, made by the real ldconfig over a folder with libraries of these names."""
    folder = tmp_path / "root" / "opt" / "nvidia"
    folder.mkdir(parents=True)
    (tmp_path / "root/etc").mkdir()
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.12"):
        subprocess.run(["gcc", "-shared", "-x", "c", f"-Wl,-soname,{name}", "-o", folder / name, "/dev/null"], check=True)
    subprocess.run(["/sbin/ldconfig", "-X", "-C", tmp_path / "root/etc/ld.so.cache", "-f", "/dev/null", folder], check=True)
    found = cached_libraries(str(tmp_path / "root"))
    assert isinstance(found, LoaderCache)
    assert found.driver_files == (f"{folder}/libcuda.so.1", f"{folder}/libnvidia-ml.so.1")


@pytest.mark.parametrize(("content", "cause"), [(None, Cause.ABSENT), ("", Cause.FAILED), ("elf", Cause.FAILED)])
def test_a_cache_without_entries(tmp_path: Path, content: str | None, cause: Cause) -> None:
    found = cached_libraries(plant(tmp_path, {} if content is None else {"/etc/ld.so.cache": content}))
    assert isinstance(found, Missing)
    assert found.cause is cause


LOADED = {"/.dockerenv": "", "/proc/driver/nvidia/version": "NVRM"}


@pytest.mark.parametrize(
    ("files", "control"),
    [
        ({**LOADED, "/dev/nvidiactl": ""}, "opened"),
        (LOADED, Cause.ABSENT),
        ({"/.dockerenv": "", "/dev/nvidiactl": ""}, Cause.UNSUPPORTED),  # no loaded driver: the kernel would look for one
        ({**LOADED, "/dev/nvidiactl/x": ""}, "EISDIR"),
    ],
)
def test_the_control_device_is_opened_only_where_the_driver_is_loaded(
    tmp_path: Path, files: dict[str, Content], control: str | Cause
) -> None:
    found = container(plant(tmp_path, files), {})
    assert isinstance(found, Container)
    assert (found.control.cause if isinstance(found.control, Missing) else found.control) == control


def test_container_tools_of_a_host(tmp_path: Path) -> None:
    spec = f"kind: nvidia.com/gpu\n  - hostPath: {FOLDER}/libcuda.so.535.183.01\n  - hostPath: {FOLDER}/libnvidia-ml.so.535.183.01\n"
    root = plant(
        tmp_path,
        {
            "/usr/bin/dockerd": "",
            "/usr/local/bin/nvidia-ctk": "",
            "/etc/docker/daemon.json": '{"runtimes": {"nvidia": {}}}',
            "/etc/cdi/nvidia.yaml": spec,
            "/etc/cdi/other.json": '{"kind": "vendor.com/net"}',
            "/etc/cdi/readme.txt": "kind: nvidia.com/gpu",
        },
    )
    found = container_tools(root)
    assert isinstance(found, ContainerTools)
    assert (found.engines, found.toolkit, found.runtime) == (("docker",), ("/usr/local/bin/nvidia-ctk",), True)
    assert isinstance(found.cdi, tuple)
    assert [(cdi_spec.path, cdi_spec.kind, cdi_spec.versions) for cdi_spec in found.cdi] == [
        ("/etc/cdi/nvidia.yaml", "nvidia.com/gpu", ("535.183.01",))
    ]


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ("", "0.3.0"),
        ("containerEdits:\n  deviceNodes:\n  - path: /dev/nvidia0\n    hostPath: /dev/nvidia0\n", "0.5.0"),
        ("containerEdits:\n  mounts:\n  - hostPath: /usr/lib/libcuda.so.550.1\n", "0.3.0"),
        ("annotations:\n  a: b\n", "0.6.0"),
        ("devices:\n- name: all\n  containerEdits:\n    additionalGids:\n    - 44\n", "0.7.0"),
        ('{"containerEdits": {\n"additionalGids": [44]}}', "0.7.0"),
    ],
)
def test_the_cdi_version_that_a_file_needs(tmp_path: Path, fields: str, needs: str) -> None:
    spec = f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n{fields}"
    found = container_tools(plant(tmp_path, {"/usr/bin/podman": "", "/etc/cdi/nvidia.yaml": spec}))
    assert isinstance(found, ContainerTools)
    assert isinstance(found.cdi, tuple)
    assert (found.cdi[0].declares, found.cdi[0].needs) == ("0.5.0", needs)


@pytest.mark.parametrize(
    ("path", "text", "asks"),
    [
        ("/etc/docker/daemon.json", '{"features": {"cdi": true}}', True),
        ("/etc/docker/daemon.json", '{"features": {"cdi": false}}', False),
        ("/etc/nvidia-container-runtime/config.toml", '[nvidia-container-runtime]\nmode = "cdi"\n', True),
        ("/etc/nvidia-container-runtime/config.toml", '[nvidia-container-runtime]\nmode = "auto"\n', False),
        ("/etc/containerd/config.toml", "[plugins]\n  enable_cdi = true\n", True),
        ("/etc/containerd/config.toml", "[plugins]\n  # enable_cdi = true\n", False),
        ("/etc/containers/containers.conf", '[containers]\ndevices = ["nvidia.com/gpu=all"]\n', True),
        ("/etc/containers/containers.conf", '# devices = ["nvidia.com/gpu=all"]\n', False),
        ("/etc/containers/systemd/train.container", "[Container]\nAddDevice=nvidia.com/gpu=all\n", True),
        ("/etc/containers/systemd/train.container", "[Container]\nImage=x\n", False),
    ],
)
def test_settings_that_use_cdi_for_gpus(tmp_path: Path, path: str, text: str, asks: bool) -> None:
    found = container_tools(plant(tmp_path, {"/usr/bin/podman": "", path: text}))
    assert isinstance(found, ContainerTools)
    assert isinstance(found.cdi_asked_by, tuple)
    assert [fact.where for fact in found.cdi_asked_by] == ([path] if asks else [])


@pytest.mark.parametrize(("text", "runtime"), [("{}", False), ('{"runtimes": []}', False), ("[1]", False), ("{", Cause.FAILED)])
def test_any_configuration_of_docker(tmp_path: Path, text: str, runtime: bool | Cause) -> None:
    found = container_tools(plant(tmp_path, {"/usr/bin/podman": "", "/etc/docker/daemon.json": text}))
    assert isinstance(found, ContainerTools)
    assert (found.runtime.cause if isinstance(found.runtime, Missing) else found.runtime) == runtime


def test_a_host_without_engine_has_no_such_section(tmp_path: Path) -> None:
    found = container_tools(str(tmp_path))
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_limits_of_this_process_are_what_the_system_says() -> None:
    import resource  # noqa: PLC0415 -- Linux's own

    found = limits("/")
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert found.open_files == ("unlimited" if soft == resource.RLIM_INFINITY else soft)
    assert isinstance(found.memlock, int | str)
    status = os.statvfs("/dev/shm")
    assert isinstance(found.shared_memory, SharedMemory)
    assert found.shared_memory.size == status.f_blocks * status.f_frsize


def test_both_limits_of_address_space(tmp_path: Path) -> None:
    found = limits(plant(tmp_path, {"/proc/self/limits": "Max address space         2048000000           unlimited            bytes\n"}))
    assert (found.address_space, found.address_space_hard) == (2048000000, "unlimited")


def test_unlimited_or_unknown_limits(tmp_path: Path) -> None:
    found = limits(plant(tmp_path, {"/proc/self/limits": "Max locked memory   unlimited   unlimited   bytes\n"}))
    assert found.memlock == "unlimited"
    assert isinstance(found.open_files, Missing)
    assert isinstance(found.shared_memory, Missing)
    assert found.shared_memory.cause is Cause.ABSENT


JOB = {"SLURM_JOB_ID": "7"}


@pytest.mark.parametrize(
    ("environ", "scheduler", "gpus"),
    [
        ({**JOB, "SLURM_JOB_GPUS": "2,5"}, "Slurm", ("2", "5")),
        ({**JOB, "SLURM_STEP_GPUS": "2", "SLURM_JOB_GPUS": "2,5"}, "Slurm", ("2",)),
        ({**JOB, "SLURM_GPUS_ON_NODE": "2"}, "Slurm", ("0", "1")),
        ({**JOB, "CUDA_VISIBLE_DEVICES": "NoDevFiles"}, "Slurm", ()),
        ({**JOB, "SLURM_GPUS_PER_NODE": "a100:2"}, "Slurm", Cause.NOT_STATED),
        (JOB, "Slurm", ()),
        ({"PBS_JOBID": "7", "PBS_GPUFILE": "/var/gpus"}, "PBS", ("node1-gpu0", "node1-gpu3")),
        ({"PBS_JOBID": "7"}, "PBS", Cause.NOT_STATED),
        ({"LSB_JOBID": "7", "CUDA_VISIBLE_DEVICES": "1"}, "LSF", ("1",)),
        ({"LSB_JOBID": "7", "CUDA_VISIBLE_DEVICES": ""}, "LSF", ()),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "NVIDIA_VISIBLE_DEVICES": "GPU-1,GPU-2"}, "Kubernetes", ("GPU-1", "GPU-2")),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "NVIDIA_VISIBLE_DEVICES": "void"}, "Kubernetes", Cause.NOT_STATED),
    ],
)
def test_the_gpus_that_each_scheduler_assigned(
    tmp_path: Path, environ: dict[str, str], scheduler: str, gpus: tuple[str, ...] | Cause
) -> None:
    root = plant(tmp_path, {"/var/gpus": "node1-gpu0\nnode1-gpu3\n", "/proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_7\n"})
    found = gpu_allocation(root, environ)
    assert isinstance(found, Allocation)
    assert (found.scheduler, found.gpus.cause if isinstance(found.gpus, Missing) else found.gpus) == (scheduler, gpus)
    assert found.constrained is True


def test_outside_a_job(tmp_path: Path) -> None:
    found = gpu_allocation(str(tmp_path), {"SLURM_JOB_ID": "", "CUDA_VISIBLE_DEVICES": "0"})
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_the_folder_of_mps(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/tmp/nvidia-mps/control": "", "/var/mps/log": ""})
    assert mps_folder(root, {}) == Mps("/tmp/nvidia-mps", "default", control=True)
    assert mps_folder(root, {"CUDA_MPS_PIPE_DIRECTORY": "/var/mps"}) == Mps("/var/mps", "CUDA_MPS_PIPE_DIRECTORY", control=False)
    assert isinstance(mps_folder(root, {"CUDA_MPS_PIPE_DIRECTORY": "/none"}), Missing)


STATUS = (
    "Package: nvidia-driver-assistant\nStatus: install ok installed\nVersion: 0.20\n\n"
    "Package: libnvidia-compute-550\nStatus: install ok installed\nVersion: 550.163.01-0ubuntu1\n\n"
    "Package: nvidia-utils-535\nStatus: deinstall ok config-files\nVersion: 535.1\n\n"
    "Package: x\nStatus: install ok installed\nVersion: 1\nOriginal: Package: libcuda1\n"
)


def test_wsl_with_a_linux_driver(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "/dev/dxg": "",
            "/usr/lib/wsl/lib/libcuda.so.1": "",
            "/usr/lib/wsl/lib/nvidia-smi": "",
            "/etc/ld.so.conf.d/x.conf": "/usr/lib/wsl/lib/\n",
            "/var/lib/dpkg/status": STATUS,
            "/proc/meminfo": "MemTotal:  8 kB\n",
            f"{FOLDER}/libcuda.so.550.163.01": "",
        },
    )
    (tmp_path / FOLDER[1:] / "libcuda.so.1").symlink_to("libcuda.so.550.163.01")
    (tmp_path / "usr/lib64").mkdir()
    (tmp_path / "usr/lib64/libcuda.so.1").symlink_to("../lib/wsl/lib/libcuda.so.1")  # as a container toolkit makes it
    found = wsl(root)
    assert (found.device, found.libraries, found.loader_conf, found.memory) == (True, ("libcuda.so.1",), "/etc/ld.so.conf.d/x.conf", 8192)
    assert found.linux_driver == (DriverFile(f"{FOLDER}/libcuda.so.1", DRIVER),)
    assert found.packages == ("libnvidia-compute-550",)


def test_wsl_without_anything(tmp_path: Path) -> None:
    found = wsl(str(tmp_path))
    assert (found.device, found.linux_driver) == (False, ())
    for field in (found.libraries, found.packages, found.loader_conf, found.memory):
        assert isinstance(field, Missing)
        assert field.cause is Cause.ABSENT


@pytest.mark.parametrize(
    ("files", "runtime"),
    [
        ({"/run/host/container-manager": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"/dev/incus/sock": ""}, "lxc"),
        ({"/.dockerenv": "", "/run/secrets/kubernetes.io/serviceaccount/namespace": "default"}, "kubernetes"),
        ({"/proc/self/cgroup": "4:memory:/ecs/4f/4f4f\n"}, "docker"),
    ],
)
def test_more_marks_of_containers(tmp_path: Path, files: dict[str, Content], runtime: str) -> None:
    found = container(plant(tmp_path, files), {})
    assert isinstance(found, Container)
    assert found.runtime == runtime
