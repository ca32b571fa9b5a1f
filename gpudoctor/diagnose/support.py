"""What speaks for one cause of an error that has several: facts of the machine, and words elsewhere in its log.

The rules of these causes do not say it: they need facts that a text rarely states, and end as not asked or not applicable without them.
Here one fact, or a word, orders the causes of a line that is in the log; alone it is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.derive import MachineView, require_known
from gpudoctor.derive.preallocation import preallocated_memory
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.notebooks import COLAB
from gpudoctor.diagnose.installer_facts import missing_release_evidence, other_python_evidence
from gpudoctor.diagnose.platform_causes import desktop_vm_line
from gpudoctor.diagnose.slurm import missing_request_evidence, too_small_request_evidence
from gpudoctor.diagnose.support_builds import BUILD_FACTS
from gpudoctor.diagnose.support_driver import DRIVER_FACTS
from gpudoctor.diagnose.support_libraries import LIBRARY_FACTS
from gpudoctor.diagnose.support_packages import PACKAGE_FACTS
from gpudoctor.diagnose.support_system import SYSTEM_FACTS
from gpudoctor.diagnose.support_without_cuda import CPU_BUILD_FACTS
from gpudoctor.diagnose.text_evidence import EvidenceByCause, EvidenceSource, HintEvidence, TextEvidence, first_evidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.signatures import hinted_causes
from gpudoctor.signatures.memory import LISTED_PROCESS
from gpudoctor.signatures.packages import WANTS_GLIBC
from gpudoctor.signatures.phrases import NO_NVIDIA_SMI
from gpudoctor.snapshot import Fact, Host, Nvml, Platform, Python, Status, TextLog
from gpudoctor.status_codes import NvmlError

_NEARLY_ALL_MEMORY, _MOST_MEMORY = 0.8, 0.5
"""Shares of a GPU's memory in use: what leaves no room for training, and what no driver takes for itself where no process is listed."""


def supported_causes(machine: MachineView, log: TextLog) -> dict[str, Evidence]:
    """Return the causes that something else in the text speaks for, with that."""
    text = log.text
    found: dict[str, Evidence] = {
        cause: HintEvidence("log", line, _line_source(line, log)) for cause, line in hinted_causes(text).items() if cause
    }
    for cause, asks in _FACTS_BY_CAUSE.items():
        evidence = first_evidence(asks, machine, text)
        if evidence is not None:
            found[cause] = evidence
    return found


def _line_source(line: str, log: TextLog) -> str:
    return next((fact.where for fact in log.lines if line in fact.value), "the text")


_NO_GPU_ALLOCATED = "NoDevFiles"
"""What Slurm sets for a job that asked for no GPU: https://slurm.schedmd.com/gres.html"""


def _mask_value(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield what the variable is set to, unless its first GPU is the one that every machine with a GPU has."""
    value = machine.variables.values.get(MASK_VARIABLE, _NO_GPU_ALLOCATED)
    if value != _NO_GPU_ALLOCATED and not value.startswith("MIG-") and value.partition(",")[0].strip() != "0":
        yield Evidence(MASK_VARIABLE, value or '""', "the text")


_NONE_HERE = expression(r"No CUDA GPUs are available")
"""What PyTorch says where the driver works and shows this process no GPU."""


def _seen_elsewhere(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the framework that sees the GPU in one process of a text in which another process sees none."""
    if _NONE_HERE.search(text):
        for framework in machine.frameworks:
            if framework.observed.sees_gpu is True:
                yield TextEvidence("sees the GPU in another process", framework.label, "the text")


_NO_PROGRAM = expression(NO_NVIDIA_SMI)
_NO_LIBCUDA = expression(r"UNKNOWN ERROR \(303\)|libcuda\.so\.1: cannot open shared object")
_NO_LIBCUDART = expression(r"Could not find cuda drivers on your machine")


def _missing_nvidia_smi(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that the program is not there, and no container leaves it out."""
    if not machine.site.container and "container-no-gpu-access" not in hinted_causes(text) and (found := _NO_PROGRAM.search(text)):
        for framework in machine.frameworks:  # a machine without any may need no driver
            if framework.observed.sees_gpu is False and isinstance(framework.observed.version, Fact):
                yield Evidence("sees no GPU", framework.label, framework.observed.version.where)
        yield TextEvidence("nvidia-smi", found[0], "the log")


def _missing_libraries_of_tensorflow(machine: MachineView, text: str) -> Iterator[Evidence]:
    if machine.site.platform != Platform.WSL2 and _NO_LIBCUDA.search(text) and (neither := _NO_LIBCUDART.search(text)):
        yield TextEvidence("neither libcuda nor libcudart", neither[0], "the log")


def _colab_notebook(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield that a program runs in a notebook of Google's, whose runtime has no GPU unless its type says so; nothing if the text shows one."""
    nvml = machine.observed.nvml
    answered = isinstance(nvml, Nvml) and isinstance(nvml.driver_version, str)
    named = any(isinstance(gpu.name, str) for gpu in machine.observed.listed_gpus)
    if not named and not answered and "no-gpu" not in hinted_causes(text) and (found := COLAB.search(text)):
        yield TextEvidence("notebook", found[0], "the text")


def _has_gpu_without_device_files(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the GPU on the bus of a machine without any of the driver's device files, which a container may lack for other reasons."""
    if not machine.site.container and not machine.device_nodes.nodes:
        yield from (Evidence("GPU without device files", device.address, "lspci") for device in machine.pci_devices if device.is_nvidia_gpu)


def _driver_not_loaded_answer(machine: MachineView, _: str) -> Iterator[Evidence]:
    init = require_known(machine.observed.nvml).init
    if isinstance(init, Status) and init.code == NvmlError.DRIVER_NOT_LOADED:
        yield TextEvidence("nvidia-smi", init.text, "the text")


_POOL_EXHAUSTED = expression(r"OOM when allocating tensor|\bGPU_\d{1,2}_bfc\b")
"""What TensorFlow says when its own pool is used up, for which it takes nearly all memory at its start."""


def _memory_in_use(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU whose memory is in use; by the program itself, if that has a pool and no process is listed."""
    for gpu in machine.observed.listed_gpus:
        if _POOL_EXHAUSTED.search(text) and not (isinstance(gpu.compute_processes, tuple) and gpu.compute_processes):
            continue
        share = _MOST_MEMORY if gpu.compute_processes == () and not machine.site.container else _NEARLY_ALL_MEMORY
        if isinstance(gpu.memory_used, int) and isinstance(gpu.memory_total, int) and gpu.memory_used > share * gpu.memory_total:
            yield Evidence("memory in use", f"{gpu.memory_used >> 20} of {gpu.memory_total >> 20} MiB", "nvidia-smi")


_UNITS_IN_MIB = {"B": 1 / (1 << 20), "bytes": 1 / (1 << 20), "KiB": 1 / 1024, "MiB": 1.0, "MB": 1.0, "GiB": 1024.0, "GB": 1024.0}
_SIZE = r"(\d{1,15}(?:\.\d{1,6})?) ?(B|bytes|KiB|MiB|MB|GiB|GB)\b"
# torch/c10 CUDACachingAllocator.cpp, as it was until 2.0 and since
_TOTAL_MEMORY = expression(
    rf"(?:total capaci?ty of {_SIZE}|{_SIZE} total capaci?ty|[Tt]otal ?[Mm]emory: {_SIZE}|bytes free, {_SIZE} total)"
)
_FREE_MEMORY = expression(
    rf"(?:of which {_SIZE} is free|; {_SIZE} free;|[Ff]ree ?[Mm]emory: {_SIZE}|Memory usage: {_SIZE} free)"  # words: ok
)
_REQUESTED_MEMORY = expression(rf"Tried to allocate {_SIZE}")
_OWN_MEMORY = expression(
    rf"(?:this process has {_SIZE} memory in use|{_SIZE} reserved in total by PyTorch|{_SIZE} already allocated|{_SIZE} cached|Of the allocated memory {_SIZE} is allocated by PyTorch)"
)


_POOL_USAGE = expression(r"Memory usage: \d{1,15} bytes free, \d{1,15} bytes total")
"""xla/stream_executor/cuda/cuda_dnn.cc, after the framework took its pool: the log does not tell that from what others hold."""
_SHARE_LEFT_BY_POOL = 0.25
"""JAX takes 75 % of all memory, TensorFlow nearly all that is free: xla/pjrt/gpu/gpu_helpers.cc"""


def _memory_of_others(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the memory that others hold, if a log accounts for it: what is neither free nor the program's own."""
    total, free = _size_in_mib(_TOTAL_MEMORY, text), _size_in_mib(_FREE_MEMORY, text)
    if total is None or free is None or _POOL_USAGE.search(text):
        return
    others = total - free - (_size_in_mib(_OWN_MEMORY, text) or 0)
    if others > total / 2:
        yield TextEvidence("memory that other programs hold", f"{others:.0f} of {total:.0f} MiB", "the log")


def _own_memory(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the memory that the program itself holds and asks for, if a log accounts for it and it is most of the GPU's."""
    total, own, asked = _size_in_mib(_TOTAL_MEMORY, text), _size_in_mib(_OWN_MEMORY, text), _size_in_mib(_REQUESTED_MEMORY, text)
    if total and own and own + (asked or 0) > _NEARLY_ALL_MEMORY * total:
        yield TextEvidence("memory that the program holds and asks for", f"{own + (asked or 0):.0f} of {total:.0f} MiB", "the log")


def _memory_beside_pool(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how much memory TensorFlow or JAX left, if that is what it leaves after it took its pool."""
    total, free = _size_in_mib(_TOTAL_MEMORY, text), _size_in_mib(_FREE_MEMORY, text)
    if total and free is not None and _POOL_USAGE.search(text) and free < _SHARE_LEFT_BY_POOL * total:
        yield TextEvidence("memory left beside the framework's pool", f"{free:.0f} of {total:.0f} MiB", "the log")


_DESKTOP_MEMORY = 2048
"""MiB that no desktop takes."""


def _memory_of_listed_processes(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how much memory the processes hold that a text lists by number, if it is most of the GPU's."""
    sizes = [int(found["size"]) for found in LISTED_PROCESS.finditer(text)]
    totals = [gpu.memory_total >> 20 for gpu in machine.observed.listed_gpus if isinstance(gpu.memory_total, int)]
    if len(sizes) > 1 and sum(sizes) > max(_DESKTOP_MEMORY, _MOST_MEMORY * max(totals, default=0)):
        yield TextEvidence("memory that listed processes hold", f"{sum(sizes)} MiB", "the log")


def _size_in_mib(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    number, unit = filter(None, found.groups()) if found else ("", "")
    return float(number) * _UNITS_IN_MIB[unit] if number else None


def _compute_mode(*wanted: str) -> EvidenceSource:
    def ask(machine: MachineView, _: str) -> Iterator[Evidence]:
        for gpu in machine.observed.listed_gpus:
            if gpu.compute_mode in wanted:
                yield Evidence("compute mode", str(gpu.compute_mode), "nvidia-smi")

    return ask


_NO_MEMORY_TO_START = expression(r"cudaGetDeviceCount\(\)[^\n]{0,200} Error 2: out of memory")


def _gpus_in_mig_mode(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a GPU in MIG mode whose instances, if any, the text does not show."""
    for gpu in machine.observed.listed_gpus:
        if gpu.mig_enabled is True and not (isinstance(gpu.mig_instances, tuple) and gpu.mig_instances):
            yield Evidence("MIG mode", "enabled", "nvidia-smi")


def _mig_instances(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield how many MIG instances the text lists, or a GPU in MIG mode: a process uses one instance."""
    count = sum(len(gpu.mig_instances) for gpu in machine.observed.listed_gpus if isinstance(gpu.mig_instances, tuple))
    if count > 1:
        yield TextEvidence("MIG instances", str(count), "the text")
    yield from (Evidence("MIG mode", "enabled", "nvidia-smi") for gpu in machine.observed.listed_gpus if gpu.mig_enabled is True)


_SEVERAL_GPUS = expression(r"(?i)\bNCCL\b|\bDDP\b|\bDataParallel\b|\bmulti-?gpu\b|\btensor[- _]parallel\b|\ball_?reduce\b")


_MANY_GPUS = expression(r"\b(?:[4-9]|1[0-6]) ?[x\u00d7] ?(?:NVIDIA |GeForce |Quadro )?(?:RTX|GTX|TITAN|[AHLVT]\d{1,3}\b)")
"""As many GPUs as WSL 2 often cannot start at once, as people count them."""


def _gpus_in_wsl(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how many GPUs WSL 2 has, or that CUDA fails as it does with many."""
    count, host = len(machine.observed.listed_gpus), machine.observed.host
    if not (isinstance(host, Host) and host.platform is Platform.WSL2):
        return
    if count > 1:
        yield TextEvidence("GPUs in WSL 2", str(count), "the text")
    elif _SEVERAL_GPUS.search(text):
        yield TextEvidence("several GPUs", "in WSL 2", "the text")
    elif many := _MANY_GPUS.search(text):
        yield TextEvidence("GPUs in WSL 2", many[0], "the text")
    if _NO_MEMORY_TO_START.search(text):
        yield Evidence("platform", "WSL 2", "the text")


_WANTED_GLIBC = expression(rf"(?i){WANTS_GLIBC}")
_LDD = expression(r"(?i)\bldd\b[^\n]{0,60}?\b2\.(\d{1,2})\b")
_HOST_TAG = expression(r"(?:on Linux \(`|platform tag: ?)manylinux_2_(\d{1,3})_")
_GLIBC = expression(r"glibc 2\.(\d{1,3})")
_WHEEL_TAG = expression(r"manylinux_2_(\d{1,3})_")


def _old_glibc(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the glibc of this system, if the wheels that an installer names are built for newer ones."""
    python = machine.observed.python
    stated = python.libc if isinstance(python, Python) and isinstance(python.libc, str) else ""
    own = _HOST_TAG.search(text) or _GLIBC.fullmatch(stated) or _LDD.search(text)
    if own is None:
        return
    named = (*_WHEEL_TAG.findall(text), *(found["wanted"].partition(".")[2] for found in _WANTED_GLIBC.finditer(text)))
    others = {int(tag) for tag in named} - {int(own[1])}
    if others and min(others) > int(own[1]):
        yield TextEvidence("glibc", f"2.{own[1]}, and the package needs 2.{min(others)}", "the log")


def _mask_set_by_program(machine: MachineView, _: str) -> Iterator[Evidence]:
    yield from (Evidence("program", fact.value, fact.where) for fact in machine.log.set_by_program.values())


def _mask_with_uuid(machine: MachineView, _: str) -> Iterator[Evidence]:
    if (value := machine.variable(MASK_VARIABLE)).startswith(("MIG-", "GPU-")):
        yield Evidence(MASK_VARIABLE, value, "the text")


_SHARE_VARIABLE = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_WHOLE_SHARE = expression(r"1(?:\.0{1,3})?|0?\.9[5-9]\d?")
"""A share that leaves CUDA's own libraries nothing: https://docs.jax.dev/en/latest/gpu_memory_allocation.html"""


def _preallocated_memory(machine: MachineView, _: str) -> Iterator[Evidence]:
    fraction = machine.variable(_SHARE_VARIABLE)
    if _WHOLE_SHARE.fullmatch(fraction):
        yield Evidence(_SHARE_VARIABLE, fraction, "the text")
    if found := preallocated_memory(machine):
        yield Evidence("memory in use", f"{found.used >> 20} of {found.total >> 20} MiB", "nvidia-smi")


def _listed_gpu_names(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the GPU that a setting keeps from use."""
    yield from (Evidence("GPU", gpu.name, "the text") for gpu in machine.observed.listed_gpus if isinstance(gpu.name, str))


def _desktop_vm(machine: MachineView, text: str) -> Iterator[Evidence]:
    if found := desktop_vm_line(machine, text.splitlines()):
        yield Evidence("platform", "desktop virtual machine", found)


_FACTS_BY_CAUSE: EvidenceByCause = {
    "env-hides-gpu": (_listed_gpu_names,),
    "cuda-visible-devices-masked": (_mask_value, _seen_elsewhere),
    "no-driver": (_missing_nvidia_smi, _missing_libraries_of_tensorflow, _driver_not_loaded_answer, _has_gpu_without_device_files),
    "no-gpu": (_colab_notebook, _desktop_vm),
    "scheduler-gpu-not-allocated": (missing_request_evidence, too_small_request_evidence),
    "gpu-memory-held-by-other-process": (_memory_in_use, _memory_of_others, _memory_of_listed_processes),
    "cuda-visible-devices-set-too-late": (_mask_set_by_program,),
    "cuda-visible-devices-uuid-unsupported": (_mask_with_uuid,),
    "gpu-memory-preallocation": (_preallocated_memory, _memory_beside_pool),
    "gpu-memory-insufficient": (_own_memory,),
    "python-version-unsupported": (other_python_evidence,),
    "package-not-installable": (missing_release_evidence,),
    "exclusive-compute-mode": (_compute_mode("exclusive-process", "exclusive-thread"),),
    "compute-prohibited": (_compute_mode("prohibited"),),
    "mig-no-instances": (_gpus_in_mig_mode,),
    "mig-one-instance-per-process": (_mig_instances,),
    "wsl-multi-gpu-limit": (_gpus_in_wsl,),
    "glibc-too-old": (_old_glibc,),
    **LIBRARY_FACTS,
    **PACKAGE_FACTS,
    **CPU_BUILD_FACTS,
    **BUILD_FACTS,
    **DRIVER_FACTS,
    **SYSTEM_FACTS,
}
