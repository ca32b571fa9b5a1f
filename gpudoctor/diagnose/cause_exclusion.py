"""The causes of an error that facts of a text exclude: a service that runs, a module that is loaded, a file that is there."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpudoctor.derive import CouldNotTell, MachineView, NotApplicable, require_known
from gpudoctor.derive.device_nodes import CONTROL_FILE, UVM_FILE, is_used_to_compute
from gpudoctor.derive.fabric import fabric_of, has_nvlink_5
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.derive.views.fabric import REGISTERED
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.installer_facts import has_wheel_for_python
from gpudoctor.diagnose.other_platforms import WSL_CAUSES, causes_of_other_platforms, names_wsl
from gpudoctor.diagnose.slurm import UNDER_SLURM, requests_gpu
from gpudoctor.diagnose.support_builds import are_gpus_long_supported
from gpudoctor.diagnose.support_without_cuda import had_cuda_on_windows
from gpudoctor.expressions import expression
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.signatures import hinted_causes, recognised_signatures
from gpudoctor.signatures.cures import CURE_DID_NOT_HELP, CURE_HELPED
from gpudoctor.signatures.phrases import NVIDIA_SMI_WORKS, USES_GPU_ELSEWHERE, meant
from gpudoctor.snapshot import Fact, KernelDriver, Nvml, Platform, Status, TextLog
from gpudoctor.status_codes import NvmlError

Question = Callable[[MachineView], bool]
"""Whether a fact of a text is so."""
SHARED_MEMORY = 1 << 30
"""The smallest /dev/shm that NVIDIA's framework images recommend, in bytes."""
_ABOUT_USERS = expression(r"(?i)\broot\b|\bsudo\b|\bsuper-?user\b|\bpermission|/dev/nvidia")


def excluded_causes(machine: MachineView) -> frozenset[str]:
    """Return the causes that cannot be, by what the text states."""
    facts = {cause for cause, facts in _EXCLUDING_FACTS.items() if any(_is_known_true(fact, machine) for fact in facts)}
    return causes_of_other_platforms(machine) | facts


def _is_known_true(fact: Question, machine: MachineView) -> bool:
    """Return whether a fact is known to be so."""
    try:
        return fact(machine)
    except (CouldNotTell, NotApplicable):
        return False


_GPU_USED_ELSEWHERE = expression(USES_GPU_ELSEWHERE)
_NOT_LOADED = expression(
    r"ERROR: NVIDIA driver is not loaded|Loading of (?:unsigned module|module with unavailable key) is rejected|unsigned module loading is restricted|Key was rejected by service"
)
"""What nvidia-settings and the kernel say, beside which a version in the text is only of a package."""


def _is_driver_loaded(machine: MachineView) -> bool:
    """Return whether the driver answered or is listed; a driver that only refuses to answer may be another one."""
    driver, nvml = machine.observed.kernel_driver, machine.observed.nvml
    if isinstance(driver, KernelDriver) and isinstance(driver.version, Fact):
        return True
    if isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and nvml.init.code == NvmlError.DRIVER_NOT_LOADED:
        return False
    if machine.log.has_line_with(_NOT_LOADED):
        return False
    if _is_smi_said_to_work(machine):
        return True
    return _has_module(machine, "nvidia") or (isinstance(nvml, Nvml) and isinstance(nvml.driver_version, str))


_SMI_WORKS = expression(NVIDIA_SMI_WORKS)
_SMI_FAILS = expression(r"NVIDIA-SMI has failed|Failed to initiali[sz]e NVML|No devices were found|nvidia-smi: (?:command )?not found")


def _is_smi_said_to_work(machine: MachineView) -> bool:
    """Return whether a sentence says that nvidia-smi answers, and no line shows that it fails."""
    said = (_SMI_WORKS.search(line.value) for line in machine.log.lines)
    return any(hit and meant(hit, said=True) for hit in said) and not machine.log.has_line_with(_SMI_FAILS)


def _is_nvidia_bound(machine: MachineView) -> bool:
    """Return whether NVIDIA's driver has every NVIDIA GPU on the PCI bus, and there are some."""
    gpus = [device for device in require_known(machine.observed.pci).devices if device.is_nvidia_gpu]
    return bool(gpus) and all(gpu.driver == "nvidia" for gpu in gpus)


def _is_bound_outside_slurm(machine: MachineView) -> bool:
    return _is_nvidia_bound(machine) and not machine.log.has_line_with(UNDER_SLURM)


def _is_gpu_seen(machine: MachineView) -> bool:
    return any(framework.observed.sees_gpu is True for framework in machine.frameworks)


def _is_unrelated_to_wsl(machine: MachineView) -> bool:
    """Return whether nothing in a text is about WSL, neither a word nor an error that only WSL has: a driver for Linux is at home on Linux."""
    log = machine.observed.text_log
    if not isinstance(log, TextLog) or machine.site.platform == Platform.WSL2 or names_wsl(machine):
        return False
    return all(sign.signature.causes[0] not in WSL_CAUSES for sign in recognised_signatures(log.text))


def _is_gpu_seen_without(words: re.Pattern[str]) -> Question:
    """Return a question: whether a framework sees the GPU, and no line says what may give it to one process and not to another."""

    def ask(machine: MachineView) -> bool:
        return _is_gpu_seen(machine) and not machine.log.has_line_with(words)

    return ask


def _is_gpu_seen_partly(machine: MachineView) -> bool:
    """Return whether one framework sees the GPU and another none, with no variable in the text that hides it from a program."""
    seen = {framework.observed.sees_gpu for framework in machine.frameworks}
    return {True, False} <= seen and not machine.variable(MASK_VARIABLE)


def _has_module(machine: MachineView, name: str) -> bool:
    driver = machine.observed.kernel_driver
    return isinstance(driver, KernelDriver) and isinstance(driver.modules, tuple) and name in driver.modules


NO_SWITCH = expression(r"\bNV_WARN_NOTHING_TO_DO\b")


_WAITS_FOR_FABRIC = expression(r"CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady|(?i:system not yet initialized)|\b802\b")


def _has_no_switch(machine: MachineView) -> bool:
    """Return whether the fabric manager says so, or all GPUs are GeForce, which none connects.

    It says so too without NVLSM, which shows it the switches of NVLink 5: https://github.com/siderolabs/extensions/pull/717
    """
    names = [gpu.name for gpu in machine.hardware]
    geforce = bool(names) and all(isinstance(name, str) and "GeForce" in name for name in names)
    attached = any(fabric_of(gpu) for gpu in machine.hardware) or machine.log.has_line_with(_WAITS_FOR_FABRIC)
    return geforce or (machine.log.has_line_with(NO_SWITCH) and not attached)


_NVLINK_5_GPUS = expression(r"\bG?B[23]00\b|\bB100\b")


def lacks_nvlink_5_switches(machine: MachineView) -> bool:
    """Return whether the fabric manager finds nothing to do on a machine with NVLink 5, whose switches it sees through NVLSM."""
    attached = any(fabric_of(gpu) and has_nvlink_5(gpu) for gpu in machine.hardware)
    named = any(isinstance(gpu.name, str) and _NVLINK_5_GPUS.search(gpu.name) for gpu in machine.hardware)
    return (attached or named or machine.log.has_line_with(_NVLINK_5_GPUS)) and machine.log.has_line_with(NO_SWITCH)


def _is_fabric_registered(machine: MachineView) -> bool:
    """Return whether NVML says of every GPU on the fabric that it is registered, so CUDA does not wait for the fabric."""
    fabrics = [fabric for gpu in machine.hardware if (fabric := fabric_of(gpu))]
    return bool(fabrics) and all(one.state == REGISTERED for one in fabrics)


_HAS_AVX = expression(r"\bAVX\w{0,8}\b[^\n]{0,60} these are available on your machine\b|\buse available CPU instructions\b")
"""What TensorFlow says of a CPU that has AVX: core/platform/cpu_feature_guard.cc."""
_WITH_BF16 = 8
"""The major compute capability that brought BF16."""


def _computes_bf16(machine: MachineView) -> bool:
    capabilities = [compute_capability(gpu, machine.matrix) for gpu in machine.hardware]
    return bool(capabilities) and all(one is not None and one.major >= _WITH_BF16 for one in capabilities)


_NONE_FOUND = expression(r"NVRM: No NVIDIA (?:GPU|PCI devices) found")
"""A GPU that another driver holds is found, and counted as one that was not probed."""


def _log_says(line: re.Pattern[str]) -> Question:
    """Return a question: whether a line of the log says this."""
    return lambda machine: machine.log.has_line_with(line)


def _text_hints(cause: str) -> Question:
    """Return a question: whether something in the text hints at a cause."""
    return lambda machine: cause in hinted_causes(machine.log.text)


def _has_device_files(machine: MachineView) -> bool:
    return {CONTROL_FILE, UVM_FILE, "/dev/nvidia0"} <= {node.path for node in machine.device_nodes.nodes}


def _can_open_devices(machine: MachineView) -> bool:
    """Return whether the text shows that its user may open every listed device file."""
    nodes = machine.device_nodes.nodes
    return bool(nodes) and all(node.accessible is True for node in nodes if is_used_to_compute(node))


_WORKS_INSIDE = expression(
    r"(?i)\bnvidia-smi\b[^\n.]{0,16}\b(?:works?|runs?|shows?|lists?|is fine)\b(?!\W{1,3}not)[^\n.]{0,24}\b(?:in|inside|within) (?:the |my |a |this )?(?:\w{1,12} )?(?:container|pod|docker|image)\b"
)


_VIRTUAL_GPU = expression(r"(?i)\bGRID\b|\bvGPU\b|-\d{1,2}[ABCQ]\b")
"""How virtual GPUs are called: GRID T4-4Q, NVIDIA A40-48Q."""


def _are_gpus_physical(machine: MachineView) -> bool:
    """Return whether all GPUs have names, none that of a virtual GPU."""
    names = [gpu.name for gpu in machine.hardware]
    return bool(names) and all(isinstance(name, str) and not _VIRTUAL_GPU.search(name) for name in names)


_UNVERSIONED_LIBCUDA = expression(r"libcuda\.so(?![.\d])[^\n]{0,40}(?:cannot open|not found)|dlopen libcuda\.so(?![.\d])|find -lcuda\b")


def _is_libcuda_cached(machine: MachineView) -> bool:
    """Return whether the loader's cache has libcuda.so.1, and no program asks for it by another name."""
    files = require_known(machine.observed.loader_cache).driver_files
    return not machine.log.has_line_with(_UNVERSIONED_LIBCUDA) and any(path.endswith("/libcuda.so.1") for path in files)


_MEMORY_USAGE = expression(r"Memory usage: (\d{1,15}) bytes free, (\d{1,15}) bytes total")


def _has_free_memory(machine: MachineView) -> bool:
    """Return whether XLA logged that most of the GPU's memory was free when a library failed."""
    found = [_MEMORY_USAGE.search(line.value) for line in machine.log.lines]
    return any(int(match[1]) > int(match[2]) / 2 for match in found if match)


_POWER_BRAKE = expression(r"Power Brake Slowdown\s{0,40}: Active")


def _has_default_power(machine: MachineView) -> bool:
    """Return whether every GPU has its default power limit, which limits the clocks of any GPU under full load, and no power brake is active."""
    gpus = machine.gpus
    return bool(gpus) and all(gpu.power_limit >= gpu.power_limit_default for gpu in gpus) and not machine.log.has_line_with(_POWER_BRAKE)


_OTHER_MODULE = expression(
    r"could not insert (?:module )?'?(?:[^\s']{0,80}/)?(?!nvidia)[a-z][\w-]{2,30}(?:\.ko)?'?: |/var/lib/dkms/(?!nvidia)[a-z]|\bdkms\b[^\n]{0,80}\s(?!nvidia)[a-z][\w-]{2,30}/v?\d|^\s{0,4}(?!nvidia)[a-z][\w-]{2,30}/v?\d|DKMS module:? '?(?!nvidia)[a-z]"
)
_OWN_MODULE = expression(r"(?i)\bnvidia")


def is_about_other_module(machine: MachineView) -> bool:
    """Return whether the log of DKMS or modprobe is about a module that is not NVIDIA's."""
    return machine.log.has_line_with(_OTHER_MODULE) and not machine.log.has_line_with(_OWN_MODULE)


_PIP_CONFLICT = expression(r"(?m)^\W{0,8}(?P<name>\S{2,60}) \S{1,30} requires \S[^\n]{0,120}, (?:but you have|which is not installed)")
_COLAB_PACKAGE = "google-colab"
"""Colab's package pins what its image contains; nothing that trains imports it."""


def _is_colab_conflict_only(machine: MachineView) -> bool:
    """Return whether Colab's own package is the only one that pip names with another release than it requires."""
    return {found["name"] for line in machine.log.lines for found in _PIP_CONFLICT.finditer(line.value)} == {_COLAB_PACKAGE}


def _allocates_as_needed(machine: MachineView) -> bool:
    """Return whether a framework is set to take memory as it needs it, and no line says that this helped."""
    specs = [framework.spec for framework in machine.frameworks] or CATALOGUE
    is_set = any(machine.variable(spec.preallocates[0]) == spec.preallocates[1] for spec in specs if spec.preallocates)
    return is_set and not _text_hints("gpu-memory-preallocation")(machine)


def _cure_did_not_help(cause: str) -> Question:
    """Return whether the text says that what cures a cause did not help, and of nothing else that cures it that it did."""
    failed, helped = expression(CURE_DID_NOT_HELP[cause]), expression(CURE_HELPED[cause])
    return lambda machine: machine.log.has_line_with(failed) and not machine.log.has_line_with(helped)


_TRIED_CUDA = expression(r"Unable to initialize backend '(?:cuda|gpu)'")
"""What JAX says of a platform that it tried, so no setting kept it to the CPU."""
_STARTS_CUDA = expression(r"\bggml_cuda_init: ")
"""What only a build of llama.cpp with CUDA says: ggml/src/ggml-cuda/ggml-cuda.cu."""
_ARM_WHEEL = expression(r"_aarch64\.whl is not a supported wheel")
"""What pip says of a wheel for Jetson's architecture: it is for another Python."""
_FABRIC_IS_MANAGED = (lambda machine: require_known(machine.observed.fabric_manager).running is True, _has_no_switch, _is_fabric_registered)
_EXCLUDING_FACTS: dict[str, tuple[Question, ...]] = {
    "wsl-linux-driver-installed": (_is_unrelated_to_wsl,),
    "no-gpu": (_is_gpu_seen, _is_nvidia_bound, _is_smi_said_to_work),
    "no-driver": (_is_driver_loaded, _is_gpu_seen, _log_says(_GPU_USED_ELSEWHERE)),
    # GKE mounts the driver's libraries into a container that is given a GPU, in a folder that the loader does not search
    "container-no-gpu-access": (_is_gpu_seen, _text_hints("libcuda-not-on-loader-path"), _log_says(_WORKS_INSIDE)),
    "scheduler-gpu-not-allocated": (_is_gpu_seen_without(UNDER_SLURM), requests_gpu, _is_bound_outside_slurm),
    "cpu-only-build": (_log_says(_STARTS_CUDA),),
    "windows-native-no-gpu": (had_cuda_on_windows,),
    "device-permission-denied": (_is_gpu_seen_without(_ABOUT_USERS), _can_open_devices),
    "cuda-visible-devices-masked": (_is_gpu_seen_partly, _cure_did_not_help("cuda-visible-devices-masked")),
    "ld-library-path-shadowing": (_cure_did_not_help("ld-library-path-shadowing"),),
    "nccl-p2p-acs-iommu": (_cure_did_not_help("nccl-p2p-acs-iommu"),),
    "kernel-module-not-built": (
        lambda machine: bool(require_known(machine.kernel_modules.installed)),
        _is_driver_loaded,
        is_about_other_module,
    ),
    "vfio-bound": (_is_nvidia_bound,),
    "nova-loaded": (_is_nvidia_bound,),
    "nouveau-loaded": (_is_driver_loaded, _log_says(_NONE_FOUND)),
    "secure-boot-unsigned-module": (lambda machine: machine.kernel_modules.secure_boot is False, _is_driver_loaded, is_about_other_module),
    "uvm-not-loaded": (lambda machine: _has_module(machine, "nvidia_uvm"),),
    "device-nodes-missing": (_has_device_files,),
    "fabric-manager-missing": (*_FABRIC_IS_MANAGED, _text_hints("fabric-prerequisites-missing"), lacks_nvlink_5_switches),
    "fabric-manager-version-mismatch": _FABRIC_IS_MANAGED,
    "fabric-prerequisites-missing": _FABRIC_IS_MANAGED,
    "container-shm-too-small": (lambda machine: require_known(machine.limits.shared_memory).size >= SHARED_MEMORY,),
    "container-toolkit-missing": (lambda machine: machine.container_tools.runtime is True,),
    "libcuda-not-on-loader-path": (_is_libcuda_cached,),
    "wsl-libcuda-not-on-path": (_is_libcuda_cached,),
    "vgpu-unlicensed": (_are_gpus_physical,),
    # a driver for Linux hides the Windows driver's libraries
    "wsl-driver-stack-broken": (_text_hints("wsl-linux-driver-installed"),),
    "power-throttled": (_has_default_power,),
    "gpu-too-new-for-build": (are_gpus_long_supported,),
    "gpu-too-new-for-driver": (_text_hints("pci-bar-not-assigned"),),
    "gpu-lacks-bf16": (_computes_bf16,),
    "cpu-lacks-avx": (_log_says(_HAS_AVX),),
    "gpu-memory-preallocation": (_has_free_memory, _allocates_as_needed, _cure_did_not_help("gpu-memory-preallocation")),
    "env-hides-gpu": (_log_says(_TRIED_CUDA),),
    "jetson-needs-vendor-wheel": (_log_says(_ARM_WHEEL),),
    "package-requirement-conflict": (_is_colab_conflict_only,),
    "nvidia-wheel-version-conflict": (_is_colab_conflict_only,),
    "python-version-unsupported": (has_wheel_for_python,),
    "gpu-memory-insufficient": (_has_free_memory,),
    "gpu-memory-held-by-other-process": (_has_free_memory,),
}
"""Causes, and facts that exclude each: one is enough."""
