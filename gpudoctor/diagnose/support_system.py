"""What a text shows of the system that speaks for one cause of an error: modules, device files, services, Docker's runtimes, /dev/shm."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, known, or_none
from gpudoctor.derive.device_nodes import UVM, is_used_to_compute
from gpudoctor.diagnose.excluded import NO_SWITCH, SHARED_MEMORY, of_another_module, sees_no_fifth_switch
from gpudoctor.diagnose.platforms import named_amd, named_wsl
from gpudoctor.diagnose.rules.platform.container import NO_DEVICES
from gpudoctor.diagnose.text_facts import Asks, Words
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.signatures.phrases import DEVICES_BY_HAND, DKMS_FAILS, PINS_MEMORY
from gpudoctor.snapshot import Fact, Platform


def _uvm_is_not_loaded(machine: MachineView, _: str) -> Iterator[Evidence]:
    modules = known(machine.kernel_driver.modules)
    if "nvidia" in modules and "nvidia_uvm" not in modules:
        yield Evidence("loaded modules", ", ".join(modules), "lsmod")


def _uvm_has_no_device_file(machine: MachineView, _: str) -> Iterator[Evidence]:
    paths = [node.path for node in machine.device_nodes.nodes]
    if paths and UVM not in paths:
        yield Evidence("device files", ", ".join(paths), "/dev")


def _fabric_manager_is_down(machine: MachineView, _: str) -> Iterator[Evidence]:
    manager = or_none(machine.observed.fabric_manager)
    if manager is None or manager.running is False:
        yield Evidence("nvidia-fabricmanager.service", "not running" if manager else "not installed", "systemctl")


def _manager_sees_no_switch(machine: MachineView, text: str) -> Iterator[Evidence]:
    if sees_no_fifth_switch(machine) and (found := NO_SWITCH.search(text)):
        yield Words("fabric manager", found[0], "the log")


def _docker_lacks_the_runtime(machine: MachineView, _: str) -> Iterator[Evidence]:
    if machine.container_tools.runtime is False:
        yield Evidence("Docker's runtimes", "no nvidia among them", "docker info")


def _shared_memory_is_small(machine: MachineView, _: str) -> Iterator[Evidence]:
    size = known(machine.limits.shared_memory).size
    if size < SHARED_MEMORY:
        yield Evidence("size of /dev/shm", f"{size >> 20} MiB", "df")


def _has_no_device_files(machine: MachineView, _: str) -> Iterator[Evidence]:
    if not machine.device_nodes.nodes:
        yield Evidence("device files", "none", "/dev")


_OTHERS_READ_AND_WRITE = 0o006


def _is_shut_to_others(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a device file that not every user may open, and the text does not show that this one may."""
    for node in machine.device_nodes.nodes:
        shut = isinstance(node.mode, str) and int(node.mode, 8) & _OTHERS_READ_AND_WRITE != _OTHERS_READ_AND_WRITE
        if shut and node.accessible is not True and is_used_to_compute(node):
            yield Evidence(node.path, f"mode {node.mode}", "/dev")


def _started_without_a_gpu(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield how a container was started without a GPU."""
    start = machine.log.gpu_requests.get("none")
    if start:
        yield Evidence("started without a GPU", start.value, start.where)


_BY_HAND = expression(DEVICES_BY_HAND)
_NO_LIBCUDA = expression(r"libcuda\.so\.1[^\n]{0,40}cannot open shared object|Couldn't open CUDA library libcuda\.so")


def _has_devices_without_libraries(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how a container was given device files alone, if it lacks libcuda."""
    if _NO_LIBCUDA.search(text) and (found := _BY_HAND.search(text)):
        yield Words("device files without the driver's libraries", found[0], "the log")


def _container_was_given_none(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the variable by which a container asks NVIDIA's runtime for no GPU."""
    devices = known(machine.observed.variables).values.get("NVIDIA_VISIBLE_DEVICES")
    if devices in NO_DEVICES:
        yield Evidence("NVIDIA_VISIBLE_DEVICES", devices or '""', "the environment")


def _container_has_no_device_files(machine: MachineView, text: str) -> Iterator[Evidence]:
    if machine.site.container:
        yield from _has_no_device_files(machine, text)


_FINDS_NO_NVML = expression(r"NVIDIA-SMI couldn't find libnvidia-ml")


def _runtime_mounted_nvidia_smi(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how a container was started with a GPU, if nvidia-smi finds no NVML: NVIDIA's runtime mounts both, so the loader's cache is old."""
    start = machine.log.gpu_requests.get("requested")
    if start and _FINDS_NO_NVML.search(text):
        yield Evidence("started with a GPU", start.value, start.where)


_DKMS_FAILS = expression(DKMS_FAILS)


def _dkms_fails(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that DKMS could not build a module, unless the log names only modules that are not NVIDIA's."""
    if (found := _DKMS_FAILS.search(text)) and not of_another_module(machine):
        yield Evidence("DKMS", found[0], "dkms")


_PINNED = expression(PINS_MEMORY)


def _pins_memory_in_wsl(machine: MachineView, text: str) -> Iterator[Evidence]:
    if named_wsl(machine, text.splitlines()) and (found := _PINNED.search(text)):
        yield Evidence("page-locked memory in WSL 2", found[0], "a call")


_NOT_IMPORTED = expression(r"No module named ['\"]?(?P<name>torch|tensorflow|jax)\b")
_A_LIST = 3
"""Packages that a list has; fewer may be all that somebody mentions."""
_OF_ALLOCATORS = expression(r"(?:malloc|gomp|iomp|stdc\+\+|asan|tsan)")


_SHARES_GPUS = expression(r"/\S{0,200}lib(?:vgpu|cuda-control)\.so|\[HAMI-core Msg")
"""What HAMi, 4paradigm's plugin and Tencent's vcuda preload to divide a GPU."""


def _preloads_a_library(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield what LD_PRELOAD names, unless it is an allocator or a language's runtime, or a library that divides GPUs."""
    if found := _SHARES_GPUS.search(text):
        yield Words("preloaded library", found[0], "the log")
    if (value := machine.variable("LD_PRELOAD")) and not _OF_ALLOCATORS.search(value):
        yield Evidence("LD_PRELOAD", value, "the environment")


def _is_not_listed(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that the text lists the packages of the Python that lacks the framework, and the framework is not among them."""
    listed, missing = known(machine.observed.packages).distributions, _NOT_IMPORTED.search(text)
    if missing and len(listed) >= _A_LIST:
        names = {distribution.name for distribution in listed}
        if missing["name"] not in names:
            yield Evidence("installed packages", f"no {missing['name']} among {len(names)}", listed[0].where)


def _is_there_in_another(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the release of a framework that the text states and that cannot be imported: another Python has it."""
    missing = _NOT_IMPORTED.search(text)
    for framework in machine.frameworks if missing else ():
        if missing and framework.name == missing["name"] and isinstance(framework.observed.version, Fact):
            yield Evidence("installed for another Python", framework.label, framework.observed.version.where)


_GPU_SEEN = "/physical_device:GPU:0"


def _is_wsl(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the platform, unless a framework in the text has found the GPU there."""
    if machine.site.platform == Platform.WSL2 and _GPU_SEEN not in text:
        yield Evidence("platform", "WSL 2", "the text")


def _is_wsl1(machine: MachineView, _: str) -> Iterator[Evidence]:
    if machine.site.platform == Platform.WSL1:
        yield Evidence("platform", "WSL 1", "the text")


_CALLS_HIP = expression(r"\bhip(?:Error|Get)[A-Z]|\bHIP (?:GPUs|error|initialization)\b|\bROCm-capable\b")
"""What only a build for ROCm says."""


def _names_amd(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the line that names an AMD GPU, if the text names no NVIDIA GPU and no build for ROCm."""
    rocm = _CALLS_HIP.search(text) or any(framework.observed.rocm_build is True for framework in machine.frameworks)
    if not rocm and (line := named_amd(machine, text.splitlines())):
        yield Words("GPU", line, "the text")


SYSTEM: Asks = {
    "kernel-module-not-built": (_dkms_fails,),
    "preloaded-library-intercepts-cuda": (_preloads_a_library,),
    "uvm-not-loaded": (_uvm_is_not_loaded, _uvm_has_no_device_file),
    "fabric-manager-missing": (_fabric_manager_is_down,),
    "fabric-prerequisites-missing": (_manager_sees_no_switch,),
    "container-toolkit-missing": (_docker_lacks_the_runtime,),
    "container-no-gpu-access": (
        _started_without_a_gpu,
        _container_was_given_none,
        _container_has_no_device_files,
        _has_devices_without_libraries,
    ),
    "container-shm-too-small": (_shared_memory_is_small,),
    "container-ldcache-stale": (_runtime_mounted_nvidia_smi,),
    "device-nodes-missing": (_has_no_device_files,),
    "device-permission-denied": (_is_shut_to_others,),
    "wsl-pinned-memory-limit": (_pins_memory_in_wsl,),
    "framework-missing": (_is_not_listed,),
    "wrong-python-environment": (_is_there_in_another,),
    "wsl1": (_is_wsl1,),
    "amd-gpu-unsupported": (_names_amd,),
    "wsl-driver-stack-broken": (_is_wsl,),
    "wsl-libcuda-not-on-path": (_is_wsl,),
}
