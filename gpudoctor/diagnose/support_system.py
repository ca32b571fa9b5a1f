"""What a text shows of the system that speaks for one cause of an error: modules, device files, services, Docker's runtimes, /dev/shm."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, known_or_none, require_known
from gpudoctor.derive.device_nodes import UVM_FILE, is_used_to_compute
from gpudoctor.diagnose.cause_exclusion import NO_SWITCH, SHARED_MEMORY, is_about_other_module, lacks_nvlink_5_switches
from gpudoctor.diagnose.platform_causes import amd_gpu_line, wsl_evidence
from gpudoctor.diagnose.rules.platform.container import NO_GPU_VALUES
from gpudoctor.diagnose.text_evidence import EvidenceByCause, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.signatures.phrases import DEVICES_PASSED_BY_HAND, DKMS_FAILURE, PINNING_CALL
from gpudoctor.snapshot import Fact, Platform


def _modules_without_uvm(machine: MachineView, _: str) -> Iterator[Evidence]:
    modules = require_known(machine.kernel_driver.modules)
    if "nvidia" in modules and "nvidia_uvm" not in modules:
        yield Evidence("loaded modules", ", ".join(modules), "lsmod")


def _files_without_uvm(machine: MachineView, _: str) -> Iterator[Evidence]:
    paths = [node.path for node in machine.device_nodes.nodes]
    if paths and UVM_FILE not in paths:
        yield Evidence("device files", ", ".join(paths), "/dev")


def _stopped_fabric_manager(machine: MachineView, _: str) -> Iterator[Evidence]:
    manager = known_or_none(machine.observed.fabric_manager)
    if manager is None or manager.running is False:
        yield Evidence("nvidia-fabricmanager.service", "not running" if manager else "not installed", "systemctl")


def _manager_without_switch(machine: MachineView, text: str) -> Iterator[Evidence]:
    if lacks_nvlink_5_switches(machine) and (found := NO_SWITCH.search(text)):
        yield TextEvidence("fabric manager", found[0], "the log")


def _docker_without_runtime(machine: MachineView, _: str) -> Iterator[Evidence]:
    if machine.container_tools.runtime is False:
        yield Evidence("Docker's runtimes", "no nvidia among them", "docker info")


def _small_shared_memory(machine: MachineView, _: str) -> Iterator[Evidence]:
    size = require_known(machine.limits.shared_memory).size
    if size < SHARED_MEMORY:
        yield Evidence("size of /dev/shm", f"{size >> 20} MiB", "df")


def _absent_device_files(machine: MachineView, _: str) -> Iterator[Evidence]:
    if not machine.device_nodes.nodes:
        yield Evidence("device files", "none", "/dev")


_READ_WRITE_FOR_OTHERS = 0o006


def _restricted_device_files(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a device file that not every user may open, and the text does not show that this one may."""
    for node in machine.device_nodes.nodes:
        shut = isinstance(node.mode, str) and int(node.mode, 8) & _READ_WRITE_FOR_OTHERS != _READ_WRITE_FOR_OTHERS
        if shut and node.accessible is not True and is_used_to_compute(node):
            yield Evidence(node.path, f"mode {node.mode}", "/dev")


def _container_start_without_gpu(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield how a container was started without a GPU."""
    start = machine.log.gpu_requests.get("none")
    if start:
        yield Evidence("started without a GPU", start.value, start.where)


_DEVICES_PASSED_BY_HAND = expression(DEVICES_PASSED_BY_HAND)
_NO_LIBCUDA = expression(r"libcuda\.so\.1[^\n]{0,40}cannot open shared object|Couldn't open CUDA library libcuda\.so")


def _devices_without_libraries(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how a container was given device files alone, if it lacks libcuda."""
    if _NO_LIBCUDA.search(text) and (found := _DEVICES_PASSED_BY_HAND.search(text)):
        yield TextEvidence("device files without the driver's libraries", found[0], "the log")


def _request_for_no_gpu(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the variable by which a container asks NVIDIA's runtime for no GPU."""
    devices = require_known(machine.observed.variables).values.get("NVIDIA_VISIBLE_DEVICES")
    if devices in NO_GPU_VALUES:
        yield Evidence("NVIDIA_VISIBLE_DEVICES", devices or '""', "the environment")


def _container_without_device_files(machine: MachineView, text: str) -> Iterator[Evidence]:
    if machine.site.container:
        yield from _absent_device_files(machine, text)


_FINDS_NO_NVML = expression(r"NVIDIA-SMI couldn't find libnvidia-ml")


def _container_start_with_gpu(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how a container was started with a GPU, if nvidia-smi finds no NVML: NVIDIA's runtime mounts both, so the loader's cache is old."""
    start = machine.log.gpu_requests.get("requested")
    if start and _FINDS_NO_NVML.search(text):
        yield Evidence("started with a GPU", start.value, start.where)


_DKMS_FAILURE = expression(DKMS_FAILURE)


def _dkms_failure(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that DKMS could not build a module, unless the log names only modules that are not NVIDIA's."""
    if (found := _DKMS_FAILURE.search(text)) and not is_about_other_module(machine):
        yield Evidence("DKMS", found[0], "dkms")


_PINNING_CALL = expression(PINNING_CALL)


def _pinned_memory_in_wsl(machine: MachineView, text: str) -> Iterator[Evidence]:
    if wsl_evidence(machine, text.splitlines()) and (found := _PINNING_CALL.search(text)):
        yield Evidence("page-locked memory in WSL 2", found[0], "a call")


_MISSING_MODULE = expression(r"No module named ['\"]?(?P<name>torch|tensorflow|jax)\b")
_LEAST_LISTED_PACKAGES = 3
"""Packages that a list has; fewer may be all that somebody mentions."""
_ALLOCATORS = expression(r"(?:malloc|gomp|iomp|stdc\+\+|asan|tsan)")


_GPU_SHARING_LIBRARY = expression(r"/\S{0,200}lib(?:vgpu|cuda-control)\.so|\[HAMI-core Msg")
"""What HAMi, 4paradigm's plugin and Tencent's vcuda preload to divide a GPU."""


def _preloaded_libraries(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield what LD_PRELOAD names, unless it is an allocator or a language's runtime, or a library that divides GPUs."""
    if found := _GPU_SHARING_LIBRARY.search(text):
        yield TextEvidence("preloaded library", found[0], "the log")
    if (value := machine.variable("LD_PRELOAD")) and not _ALLOCATORS.search(value):
        yield Evidence("LD_PRELOAD", value, "the environment")


def _list_without_framework(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that the text lists the packages of the Python that lacks the framework, and the framework is not among them."""
    listed, missing = require_known(machine.observed.packages).distributions, _MISSING_MODULE.search(text)
    if missing and len(listed) >= _LEAST_LISTED_PACKAGES:
        names = {distribution.name for distribution in listed}
        if missing["name"] not in names:
            yield Evidence("installed packages", f"no {missing['name']} among {len(names)}", listed[0].where)


def _framework_of_other_python(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the release of a framework that the text states and that cannot be imported: another Python has it."""
    missing = _MISSING_MODULE.search(text)
    for framework in machine.frameworks if missing else ():
        if missing and framework.name == missing["name"] and isinstance(framework.observed.version, Fact):
            yield Evidence("installed for another Python", framework.label, framework.observed.version.where)


_GPU_FOUND = "/physical_device:GPU:0"


def _wsl_platform(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the platform, unless a framework in the text has found the GPU there."""
    if machine.site.platform == Platform.WSL2 and _GPU_FOUND not in text:
        yield Evidence("platform", "WSL 2", "the text")


def _wsl1_platform(machine: MachineView, _: str) -> Iterator[Evidence]:
    if machine.site.platform == Platform.WSL1:
        yield Evidence("platform", "WSL 1", "the text")


_ROCM_BUILD_ERROR = expression(r"\bhip(?:Error|Get)[A-Z]|\bHIP (?:GPUs|error|initialization)\b|\bROCm-capable\b")
"""What only a build for ROCm says."""


def _amd_gpu(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the line that names an AMD GPU, if the text names no NVIDIA GPU and no build for ROCm."""
    rocm = _ROCM_BUILD_ERROR.search(text) or any(framework.observed.rocm_build is True for framework in machine.frameworks)
    if not rocm and (line := amd_gpu_line(machine, text.splitlines())):
        yield TextEvidence("GPU", line, "the text")


SYSTEM_FACTS: EvidenceByCause = {
    "kernel-module-not-built": (_dkms_failure,),
    "preloaded-library-intercepts-cuda": (_preloaded_libraries,),
    "uvm-not-loaded": (_modules_without_uvm, _files_without_uvm),
    "fabric-manager-missing": (_stopped_fabric_manager,),
    "fabric-prerequisites-missing": (_manager_without_switch,),
    "container-toolkit-missing": (_docker_without_runtime,),
    "container-no-gpu-access": (
        _container_start_without_gpu,
        _request_for_no_gpu,
        _container_without_device_files,
        _devices_without_libraries,
    ),
    "container-shm-too-small": (_small_shared_memory,),
    "container-ldcache-stale": (_container_start_with_gpu,),
    "device-nodes-missing": (_absent_device_files,),
    "device-permission-denied": (_restricted_device_files,),
    "wsl-pinned-memory-limit": (_pinned_memory_in_wsl,),
    "framework-missing": (_list_without_framework,),
    "wrong-python-environment": (_framework_of_other_python,),
    "wsl1": (_wsl1_platform,),
    "amd-gpu-unsupported": (_amd_gpu,),
    "wsl-driver-stack-broken": (_wsl_platform,),
    "wsl-libcuda-not-on-path": (_wsl_platform,),
}
