"""The table of what is read where: a regular expression finds a fact on one line. Its group "value" is the fact, "name" completes the key."""

from __future__ import annotations

import re
from typing import NamedTuple

from gpudoctor.read.statements import Rank

_VERSION = r"(?P<value>\d{1,6}(?:\.\d{1,12}){1,5})"
_RELEASE = r"(?P<value>\d{1,6}(?:\.\w{1,20}){1,5}(?:[+]\w[\w.]{0,40})?)"
_PACKAGE = r"(?P<name>[A-Za-z][\w.-]{1,60})"


class Pattern(NamedTuple):
    """A line's form: which reader knows it, what it states, and how directly."""

    reader: str
    what: str
    rank: Rank
    form: re.Pattern[str]


def _pattern(reader: str, what: str, form: str, rank: Rank = Rank.TOOL) -> Pattern:
    return Pattern(reader, what, rank, re.compile(form))


PATTERNS: tuple[Pattern, ...] = (
    # torch.utils.collect_env, whose keys vLLM, SGLang and xformers use too
    _pattern("collect_env", "package:torch", rf"^\s*PyTorch version: {_RELEASE}"),
    _pattern("collect_env", "torch cuda", r"^\s*CUDA used to build PyTorch: (?P<value>\d+(?:\.\d+)*|None|Could not collect)"),
    _pattern("collect_env", "torch rocm", r"^\s*(?:ROCM|ROCm|HIP).{0,12}used to build PyTorch: (?P<value>\d[\w.-]*)"),
    _pattern("collect_env", "os", r"^\s*OS: (?P<value>.{3,120})"),
    _pattern("collect_env", "python", r"^\s*Python version: (?P<value>\d+\.\d+(?:\.\d+)?)"),
    _pattern("collect_env", "bits", r"^\s*Python version: .{0,80}\((?P<value>32|64)-bit runtime\)"),
    _pattern("collect_env", "kernel platform", r"^\s*Python platform: (?P<value>\S{5,160})"),
    _pattern("collect_env", "cuda available", r"^\s*Is CUDA available: (?P<value>True|False)"),
    _pattern("collect_env", "toolkit", rf"^\s*CUDA runtime version: {_VERSION}"),
    _pattern("collect_env", "gpu", r"^\s*(?:GPU models and configuration: ?)?GPU (?P<name>\d{1,2}): (?P<value>[^(\n]{3,80})"),
    _pattern("collect_env", "gpu", r"^\s*GPU models and configuration: (?!GPU \d|Could not|No CUDA)(?P<value>[A-Z][^(\n]{3,80})"),
    _pattern("collect_env", "driver", rf"^\s*Nvidia driver version: {_VERSION}"),
    _pattern("collect_env", "cudnn", r"^\s*cuDNN version: .{0,200}?libcudnn\.so\.(?P<value>\d+\.\d+(?:\.\d+)?)"),
    _pattern("collect_env", "package", rf"^\s*\[pip3?\] {_PACKAGE}==(?P<value>[\w.+!]{{1,60}})", Rank.LISTING),
    _pattern("collect_env", "conda", r"^\s*\[conda\] (?P<name>[\w.-]{2,60}) +(?P<value>\S+(?: +\S+){0,2})", Rank.LISTING),
    # https://docs.nvidia.com/deploy/nvidia-smi/
    _pattern("nvidia-smi", "driver", rf"Driver Version\s*: *{_VERSION}"),
    _pattern("nvidia-smi", "cuda served", rf"CUDA (?:UMD )?Version\s*: *{_VERSION}"),
    _pattern("nvidia-smi", "gpu", r"^\|\s{1,4}(?P<name>\d{1,2})\s{1,3}(?P<value>[A-Z][^|]{4,60}?)(?:\s{2,}(?:On|Off|N/A|WDDM|TCC|MCDM)\b[^|]*|\s{3,}[^|]*|\s*)\|"),
    _pattern("nvidia-smi", "memory", r"\|[^|]{0,60}?\b(?P<value>\d{1,7}MiB\s{0,4}/\s{0,4}\d{1,7}MiB)\b"),
    _pattern("nvidia-smi", "compute mode", r"MiB\s{0,4}/[^\n]{0,80}?\s(?P<value>E\. Process|E\. Thread|Prohibited|Default)\s{0,20}\|"),
    _pattern("nvidia-smi", "nvml error", r"(?P<value>Failed to initialize NVML: [^\n]{3,80}|NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver)"),
    _pattern("nvidia-smi", "libraries", rf"NVML library version: {_VERSION}"),
    # kernel log, https://docs.nvidia.com/deploy/xid-errors/
    _pattern("kernel log", "xid", r"NVRM: Xid \((?:PCI:)?(?P<name>[0-9A-Fa-f:.]{1,20})[^)]{0,100}\): (?P<value>\d+(?:, .{0,300})?)"),
    _pattern("kernel log", "sxid", r"SXid \((?:PCI:)?(?P<name>[0-9A-Fa-f:.]{1,20})\): (?P<value>\d+(?:, .{0,300})?)"),
    _pattern("kernel log", "nvml error", r"(?P<value>NVRM: API mismatch)"),
    _pattern("kernel log", "module", rf"this kernel module has the version {_VERSION}"),
    _pattern("kernel log", "libraries", rf"API mismatch: the client has the version {_VERSION}"),
    _pattern("kernel log", "module", rf"NVRM version: NVIDIA UNIX .{{0,60}}?Kernel Module .{{0,30}}?{_VERSION}"),
    _pattern("TensorFlow log", "module", rf"kernel reported version is: {_VERSION}", Rank.LOG),
    _pattern("TensorFlow log", "libraries", rf"libcuda reported version is: {_VERSION}", Rank.LOG),
    _pattern("TensorFlow log", "gpu", r"physical GPU \(device: (?P<name>\d{1,2}), name: (?P<value>[^,]{3,80}),", Rank.LOG),
    # what programs and people print
    _pattern("command output", "package", r"\b(?P<name>torch|tensorflow|jax|jaxlib|numpy|torchvision|torchaudio|keras)\.__version__[)'\"]{0,2}\s*[:=]{0,2}\s*['\"]?" + _RELEASE, Rank.TOOL),
    _pattern("command output", "torch cuda", r"torch\.version\.cuda\)?\s*[:=]{0,2}\s*['\"]?(?P<value>\d+\.\d+|None)"),
    _pattern("command output", "toolkit", rf"(?:Cuda compilation tools, release|\bnvcc[: ].{{0,40}}?release) {_VERSION}"),
    _pattern("command output", "python", r"^(?:\$ python.{0,20})?\s*Python (?P<value>[23]\.\d{1,2}\.\d{1,2})\b"),
    _pattern("command output", "kernel platform", r"^\s*(?P<value>Linux \S{1,80} \d+\.\S{1,80} .{0,200})"),
    _pattern("command output", "libc", rf"^ldd \(.{{0,60}}\) {_VERSION}"),
    _pattern("pip list", "package", rf"^\s*{_PACKAGE}==(?P<value>\d[\w.+!]{{0,60}})\s*$", Rank.LISTING),
    _pattern("pip list", "package", r"^\s*(?P<name>torch\w{0,8}|tensorflow[\w-]{0,12}|jax[\w-]{0,20}|keras|numpy|nvidia-[\w-]{2,40}|triton|xformers|vllm|flash[-_]attn|bitsandbytes|protobuf|cupy[\w-]{0,12})\s{1,40}(?P<value>\d+\.\d[\w.+!]{0,40})(?:[\s,;].{0,60})?$", Rank.LISTING),
    _pattern("shell", "variable", r"^\s*(?:\$ ?)?(?:export |set |-e )?(?P<name>CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH|LD_PRELOAD|CUDA_HOME|NVIDIA_VISIBLE_DEVICES|NCCL_[A-Z_0-9]{2,40}|JAX_PLATFORMS|XLA_FLAGS)=['\"]?(?P<value>[^'\"\n]{0,400})"),
    _pattern("shell", "variable", r"os\.environ\[['\"](?P<name>CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH)['\"]\]\s*=\s*['\"](?P<value>[^'\"]{0,100})"),
    _pattern("command output", "tensorflow cuda", r"(?:is_built_with_cuda|is_cuda_build)(?:\(\))?['\"]?\)?\s{0,3}(?::|=|->|returns?)?\s{0,3}(?P<value>False)\b"),
    _pattern("path", "toolkit", r"/usr/local/cuda-(?P<value>\d{1,2}\.\d)\b", Rank.LOG),
    _pattern("field", "toolkit", r"(?i)^\W{0,4}cuda(?:[ /]{1,3}cudnn)?(?: toolkit)?(?: version)?\W{0,4}(?:cuda )?(?P<value>\d{1,2}\.\d)(?:\.\d{1,4})?(?![^\n]{0,80}(?:smi|driver))", Rank.PROSE),
    _pattern("field", "cudnn", r"(?i)\bcudnn(?: version)?\W{1,4}v?(?P<value>\d\.\d(?:\.\d{1,3})?)\b", Rank.PROSE),
    _pattern("TensorFlow log", "capability", r"(?i)compute ?capability:? {0,3}(?P<value>\d{1,2}\.\d)\b", Rank.LOG),
    _pattern("field", "driver", rf"(?i)^\W{{0,4}}(?:nvidia |gpu )?driver(?: version)?\W{{1,4}}{_VERSION}", Rank.PROSE),
    _pattern("field", "gpu", r"(?i)^\W{0,4}(?:gpu|graphics card)(?: model| name)?\W{1,4}(?P<value>(?:nvidia|geforce|rtx|gtx|tesla|quadro|a100|h100|v100)\b.{0,50})", Rank.PROSE),
    _pattern("field", "os", r"(?i)^\W{0,4}(?:os|operating system|platform)(?: platform and distribution.{0,40})?\W{1,4}(?P<value>(?:linux|ubuntu|debian|windows|mac ?os|centos|rhel|red hat|fedora|arch).{0,60})", Rank.PROSE),
    _pattern("field", "python", r"(?i)^\W{0,4}python(?: version)?\W{1,4}v?(?P<value>[23]\.\d{1,2}(?:\.\d{1,2})?)\b", Rank.PROSE),
    _pattern("field", "package", r"(?i)^\W{0,4}(?P<name>torch|pytorch|tensorflow(?:-gpu|-cpu)?|jax|jaxlib)(?: version)?\W{1,4}v?" + _RELEASE, Rank.PROSE),
)  # fmt: skip
"""In order: the first pattern of a key on a line that matches is used."""

COUNTED = ("gpu", "memory", "compute mode")
"""What is stated once for each GPU: without a number of its own, the next one's."""
