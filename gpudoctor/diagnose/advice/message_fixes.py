"""What fixes a cause that only a log names, with the versions that its message states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Fix
from gpudoctor.versions import parse_version


class _StatedFix(NamedTuple):
    """Causes that have a message, and the title and command of the fix; groups of the message fill them."""

    causes: tuple[str, ...]
    message: re.Pattern[str]
    title: str
    command: str = ""


_TOOLKIT = (
    "Install the CUDA {built} toolkit, with which PyTorch was built, and set CUDA_HOME to it; or install PyTorch for CUDA {nvcc}",
    "export CUDA_HOME=/usr/local/cuda-{built}",
)
_OTHER_CUDNN = "Reinstall the package with its own cuDNN ({built}), and take the folder of cuDNN {found} from LD_LIBRARY_PATH"
_NEWER_NUMPY = "Update NumPy: a module was compiled for a newer release than the installed one"
MESSAGE_FIXES = (
    # the modules are built for the new kernel, and the old one runs
    _StatedFix(
        ("kernel-module-not-built",),
        expression(r"(?i)\b(?:not|n't) (?:yet )?(?:re-?boot|restart)ed\b|\b(?:without|no) (?:a |any )?reboot\b"),
        "Reboot into the new kernel; if it has no module either, install its headers and run `sudo dkms autoinstall`",
    ),
    # https://archlinux.org/packages/extra/x86_64/ollama-cuda/
    _StatedFix(
        ("cpu-only-build",),
        expression(r"(?i)\b(?:pacman|extra)\b[^\n]{0,24}\bollama\b(?!-cuda)|\bollama\b[^\n]{0,60}\bpacman\b"),
        "Install the distribution's package of Ollama with CUDA (Arch Linux: ollama-cuda), or Ollama with its own installer",
    ),
    _StatedFix(
        ("gpu-memory-held-by-other-process",),
        expression(r"(?i)\bno (?:running |such )?process|\bkill -9\b|\bfuser\b|\bdefunct\b|\bzombie"),
        "List the processes that have the GPU open, also those that nvidia-smi does not show, then end those that are left over",
        "sudo fuser -v /dev/nvidia*",
    ),
    # https://github.com/NVIDIA/gpu-driver-container, which has the node's kernel and not its packages
    _StatedFix(
        ("kernel-module-not-built",),
        expression(r"Could not resolve Linux kernel version"),
        "Give the driver container a repository with the headers of the node's kernel, use a precompiled driver image, or install the driver on the node and set driver.enabled=false",
    ),
    # what the kernel's build says of sources that are older than the kernel
    _StatedFix(
        ("kernel-module-not-built",),
        expression(r"GPL-incompatible module nvidia|\b(?:nvidia(?:-\w{2,8})?|common/inc)/[\w-]{2,60}\.[ch]:\d{1,6}:\d{1,4}: error:"),
        "Install a driver release that supports this kernel, or boot a kernel that the installed driver supports",
    ),
    # torch/utils/cpp_extension.py, op_builder/builder.py of DeepSpeed
    _StatedFix(
        ("nvcc-framework-cuda-mismatch",),
        expression(
            r"detected CUDA version \((?P<nvcc>\d{1,2}\.\d)[\d.]{0,5}\) mismatches the version that was used to compile\s{1,4}PyTorch \((?P<built>\d{1,2}\.\d)"
        ),
        *_TOOLKIT,
    ),
    _StatedFix(
        ("nvcc-framework-cuda-mismatch",),
        expression(
            r"Installed CUDA version (?P<nvcc>\d{1,2}\.\d)[\d.]{0,5} does not match the version torch was compiled with (?P<built>\d{1,2}\.\d)"
        ),
        *_TOOLKIT,
    ),
    # crt/host_config.h of the toolkit
    _StatedFix(
        ("host-compiler-unsupported",),
        expression(r"gcc versions later than (?P<last>\d{1,2}) are not supported"),
        "Install gcc {last}, the newest that this nvcc supports (Debian, Ubuntu), and make nvcc use it",
        "sudo apt install g++-{last} && export NVCC_PREPEND_FLAGS='-ccbin g++-{last}'",
    ),
    # c10/util/TypeIndex.h and other headers of PyTorch
    _StatedFix(
        ("host-compiler-unsupported",),
        expression(r"too old version of (?P<name>GCC|Clang)\. We need \w{3,5} (?P<least>\d{1,2})"),
        "Build with {name} {least} or newer, and name it in CC and CXX",
    ),
    # crt/host_config.h takes MSVC by its build: https://github.com/pytorch/vision/pull/8492, https://github.com/kokkos/kokkos/pull/7064
    _StatedFix(
        ("host-compiler-unsupported",),
        expression(r"[Oo]nly the versions between 2017 and 2022 \(inclusive\)"),
        "Build with the MSVC toolset 14.39 or older of Visual Studio 2022, or with CUDA 12.4 or newer, which accepts 14.40",
    ),
    _StatedFix(
        ("host-compiler-unsupported",),
        expression(r"[Oo]nly the versions between 20\d\d and (?P<last>20\d\d) \(inclusive\)"),
        "Install the C++ build tools of Visual Studio {last}, the newest that this nvcc supports, and build in their command prompt",
    ),
    # torch/utils/cpp_extension.py
    _StatedFix(
        ("host-compiler-unsupported",),
        expression(r"than the maximum required version by CUDA (?P<cuda>\d{1,2}\.\d)[^\n]{0,120}<(?P<below>\d{1,2})\.\d"),
        "Install a g++ older than {below}, as CUDA {cuda} needs, and name it in NVCC_PREPEND_FLAGS (-ccbin)",
    ),
    # glibc's loader
    _StatedFix(
        ("glibc-too-old",),
        expression(r"version [`']?GLIBC_(?P<wanted>2\.\d{1,3})'? not found"),
        "Use a system or a container image with glibc {wanted} or newer, or an older release of the package",
    ),
    # tensorflow/compiler/xla/stream_executor/cuda/cuda_dnn.cc
    _StatedFix(
        ("cudnn-version-mismatch",),
        expression(
            r"Loaded runtime CuDNN library: (?P<found>\d{1,2}\.\d{1,2}\.\d{1,3})(?: \(compatibility version \d{4,5}\))? but source was compiled with:? (?P<built>(?P<major>\d{1,2})\.\d{1,2}\.\d{1,3})"
        ),
        "Install cuDNN {built} or a newer {major}.x in place of {found}",
    ),
    _StatedFix(
        ("cudnn-version-mismatch",),
        expression(
            r"Loaded runtime CuDNN library: (?P<found>\d{4}) \(compatibility version \d{4}\) but source was compiled with (?P<built>(?P<major>\d)(?P<minor>\d)\d\d)"
        ),
        "Install cuDNN {major}.{minor} in place of the one that is loaded ({found}): this TensorFlow was compiled with {built} and takes no other minor version",
    ),
    # torch/backends/cudnn/__init__.py
    _StatedFix(
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        expression(
            r"PyTorch was compiled\s{1,4}against \((?P<built>\d{1,2}, \d{1,2}, \d{1,3})\) but found runtime version \((?P<found>\d{1,2}, \d{1,2}, \d{1,3})\)"
        ),
        "Remove the folder of cuDNN {found} from LD_LIBRARY_PATH: PyTorch brings {built}",
        "unset LD_LIBRARY_PATH",
    ),
    # the same until 1.12, and caffe2/core/common_cudnn.h
    _StatedFix(
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        expression(r"PyTorch was compiled\s{1,4}against (?P<built>\d{4,6}) but linked against (?P<found>\d{4,6})"),
        _OTHER_CUDNN,
    ),
    _StatedFix(
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        expression(r"cuDNN compiled \((?P<built>\d{4,6})\) and runtime \((?P<found>\d{4,6})\) versions mismatch"),
        _OTHER_CUDNN,
    ),
    # paddle/phi/backends/gpu/gpu_resources.cc
    _StatedFix(
        ("cudnn-version-mismatch",),
        expression(r"compiled with CUDNN (?P<built>\d{1,2}\.\d{1,2}), but CUDNN version in your machine is (?P<found>\d{1,2}\.\d{1,2})"),
        "Install cuDNN {built} for this CUDA, and put its folder before that of cuDNN {found} on LD_LIBRARY_PATH (Windows: PATH)",
    ),
    # jax/_src/xla_bridge.py
    _StatedFix(
        ("cudnn-version-mismatch",),
        expression(r"Found cuDNN version (?P<found>\d{4,6}), but JAX was built against version (?P<built>\d{4,6})"),
        "Install cuDNN {built} or newer (same major version) in place of {found}, which JAX found",
    ),
    # nv-fabricmanager
    _StatedFix(
        ("fabric-manager-version-mismatch",),
        expression(
            r"driver interface version (?P<manager>\d{3}\.[\d.]{2,9}\d) do\S{1,4} match with driver version (?P<driver>\d{3}\.[\d.]{2,9}\d)"
        ),
        "Install fabric manager {driver}, the driver's version, in place of {manager}, then restart nvidia-fabricmanager",
    ),
    # c10/cuda/CUDACachingAllocator.cpp
    _StatedFix(
        ("gpu-memory-held-by-other-process",),
        expression(r"\bProcess (?=\d{1,9} has (?P<size>\d{1,4}\.\d{1,2} GiB) memory in use)(?P<pid>\d{1,9})\b"),
        "End process {pid}, which holds {size}, if it is no longer needed",
        "sudo kill {pid}",
    ),
    # Ubuntu's nvidia-prime
    _StatedFix(
        ("no-driver",),
        expression(r"\bprime-select intel\b"),
        "Select the NVIDIA GPU again, since `prime-select intel` keeps its driver from loading, then reboot (Ubuntu)",
        "sudo prime-select on-demand",
    ),
    # ls of one device file; a list of all is read as such
    _StatedFix(
        ("device-permission-denied",),
        expression(
            r"c[rwx-]{6}-{3}[.+]? {1,4}\d{1,3} \S{1,40} {1,8}(?P<group>(?!root\b)[\w.-]{1,40}) {1,8}\d{1,4}, {1,8}\d{1,7} [^\n]{4,40} /dev/nvidia"
        ),
        "Join group {group}, which owns the device files, then log in again",
        'sudo usermod -aG {group} "$USER"',
    ),
    # gcc before 12, on the flags of a kernel that a newer one built: https://gcc.gnu.org/gcc-12/changes.html
    _StatedFix(
        ("kernel-module-not-built",),
        expression(r"unrecogni[sz]ed command[- ]line option .{0,3}-(?:ftrivial-auto-var-init|mharden-sls)"),
        "Install the compiler that built the kernel (/proc/version names it), then build the module with it (Debian, Ubuntu)",
        "sudo apt install gcc-12 && sudo CC=gcc-12 dkms autoinstall && sudo modprobe nvidia",
    ),
    # systemctl, where the package is not installed
    _StatedFix(
        ("fabric-manager-missing",),
        expression(r"nvidia-fabricmanager(?:\.service)?(?: could not be found|\W{1,4}not(?:-| )found)"),
        "Install the fabric manager in exactly the driver's version, then start it (Ubuntu, Debian)",
        'v=$(cat /sys/module/nvidia/version); sudo apt install "nvidia-fabricmanager-$(echo $v | cut -d. -f1)=$v-*" && sudo systemctl enable --now nvidia-fabricmanager',
    ),
    # https://docs.nvidia.com/deeplearning/cudnn/archives/cudnn-890/install-guide/index.html#install-zlib-windows
    _StatedFix(
        ("cudnn-missing",),
        expression(r"\bcudnn\w{3,24}64_8\.dll\b[^\n]{0,20}Error code 126"),
        "Put the folders of cuDNN 8 and of zlibwapi.dll, which it loads, on PATH: NVIDIA's installation guide of cuDNN 8 links to it",
    ),
    # the loader, on a file of cuDNN
    _StatedFix(
        ("cudnn-missing",),
        expression(r"\blibcudnn\w{0,24}\.so\.(?P<major>\d{1,2})\b"),
        "Install cuDNN {major}: reinstall a framework that brings it, or add the folder of NVIDIA's build for the framework's CUDA to LD_LIBRARY_PATH",
    ),
    _StatedFix(
        ("cudnn-missing",),
        expression(r"\bcudnn\w{0,40}64_8\.dll\b"),
        "Install cuDNN 8 for the program's CUDA and add its bin folder to PATH; if the file is there already, add zlibwapi.dll, which cuDNN 8 loads",
    ),
    _StatedFix(
        ("cudnn-missing", "cudnn-wrong-major"),
        expression(r"\bcudnn\w{0,40}64_(?P<major>\d{1,2})\.dll\b"),
        "Install cuDNN {major} for the program's CUDA, and add its bin folder to PATH",
    ),
    _StatedFix(
        ("cudnn-wrong-major",),
        expression(r"\blibcudnn\w{0,24}\.so\.(?P<major>\d{1,2})\b"),
        "Install cuDNN {major} for this CUDA, which the program opens, and put its folder on LD_LIBRARY_PATH",
    ),
    # onnxruntime/python/onnxruntime_pybind_state.cc
    _StatedFix(
        ("cuda-library-missing", "cuda-version-mismatch", "cudnn-missing"),
        expression(r"Require cuDNN (?P<cudnn>\d{1,2})\.\* and CUDA (?P<cuda>\d{1,2})\."),
        "Install CUDA {cuda} and cuDNN {cudnn}, which this ONNX Runtime needs, and put their folders on PATH (Linux: LD_LIBRARY_PATH)",
    ),
    # xla/stream_executor/gpu/asm_compiler.cc
    _StatedFix(
        ("ptxas-too-old",),
        expression(r"\bptxas (?P<found>\d{1,2}\.\d)[\d.]{0,5}, which is older than (?P<wanted>\d{1,2}\.\d)"),
        "Take the folder of ptxas {found} from PATH, and install the nvcc package of CUDA {wanted} or newer",
    ),
    # Triton's own assemblers, triton/backends/nvidia/bin
    _StatedFix(
        ("triton-ptxas-too-old",),
        expression(r"ptxas-blackwell\s{0,4}fatal[^\n]{0,20}Value '(?P<target>sm_\d{2,3}\w?)' is not defined"),
        "Make Triton use the ptxas of a CUDA toolkit that knows {target}, or install a newer PyTorch",
        "export TRITON_PTXAS_BLACKWELL_PATH=/usr/local/cuda/bin/ptxas",
    ),
    _StatedFix(
        ("triton-ptxas-too-old",),
        expression(r"ptxas(?!-blackwell)\S{0,12}\s{0,4}fatal[^\n]{0,20}Value '(?P<target>sm_\d{2,3}\w?)' is not defined"),
        "Set TRITON_PTXAS_PATH to the ptxas of a CUDA toolkit that knows {target}, or install a newer PyTorch; unset it if it names an older one",
    ),
    # modules of extensions that are compiled against one release of PyTorch
    _StatedFix(
        ("extension-abi-mismatch",),
        expression(r"\bflash_attn_2_cuda\b[^\n]{0,200}undefined symbol"),
        "Build flash-attn again, against this PyTorch",
        "python -m pip install --force-reinstall --no-deps --no-build-isolation --no-cache-dir flash-attn",
    ),
    _StatedFix(
        ("extension-abi-mismatch",),
        expression(r"\bvllm/_\w{1,20}C?\.[^\n]{0,200}undefined symbol"),
        "Install vLLM again, which requires the PyTorch that it was built with",
        "python -m pip install --force-reinstall vllm",
    ),
    # xformers/_cpp_lib.py
    _StatedFix(
        ("extension-built-for-other-cuda", "extension-abi-mismatch"),
        expression(r"PyTorch (?P<built>\d[\d.]{1,9}\+cu\d{2,3}) with CUDA \d{3,4} \(you have (?P<have>\d[\d.]{1,9}\+\w{2,8})\)"),
        "Install the xFormers that was built for torch {have}, or torch {built}",
    ),
    # the compilers for Windows; https://github.com/woct0rdho/triton-windows#special-notes-for-comfyui-with-embeded-python
    _StatedFix(
        ("python-headers-missing",),
        expression(r"include file '?Python\.h'? not found|\bC1083\b[^\n]{0,100}Python\.h"),
        "Copy the folders include and libs of an installed Python of this version beside python.exe: an embedded Python has neither",
    ),
    # numpy/core/src/multiarray/multiarraymodule.c; numpyconfig.h has 0x11 for NumPy 1.25, 1's last, and 0x12 for 2.0
    _StatedFix(
        ("package-requirement-conflict", "numpy2-abi-mismatch"),
        expression(
            r"compiled against (?:API|ABI) version \(?0x(?:[0-9a-f]|1[01])\b[^\n]{0,12} but this version of numpy is 0x1?[0-9a-f]\b"
        ),
        _NEWER_NUMPY,
        "python -m pip install --upgrade 'numpy<2'",
    ),
    _StatedFix(
        ("package-requirement-conflict", "numpy2-abi-mismatch"),
        expression(r"compiled against (?:API|ABI) version \(?0x1[2-9a-f]\b[^\n]{0,12} but this version of numpy is 0x1?[0-9a-f]\b"),
        _NEWER_NUMPY,
        "python -m pip install --upgrade numpy",
    ),
    # https://numpy.org/doc/stable/release/1.24.0-notes.html#expired-deprecations
    _StatedFix(
        ("package-requirement-conflict",),
        expression(r"module 'numpy' has no attribute '(?:bool|object|int|float|complex|typeDict)'"),
        "Install NumPy before 1.24, which removed this name, or a newer release of the package that uses it",
        "python -m pip install 'numpy<1.24'",
    ),
    # pip/_internal/resolution/resolvelib/factory.py
    _StatedFix(
        ("package-not-installable",),
        expression(r"the requirement (?P<name>[a-z][\w-]{0,40})={2,3}\S{1,30} \(from versions: [^()\n]{0,3000} (?P<last>\d[\d.]{0,12})\)"),
        "Install a release that pip offers, such as {name} {last}",
        "python -m pip install {name}=={last}",
    ),
    # it is in the wheel of 3.20.0 and not in that of 3.19.6
    _StatedFix(
        ("protobuf-mismatch",),
        expression(r"cannot import name '?builder'?(?: from 'google\.protobuf| \(|$)"),
        "Install protobuf 3.20 or newer, for which the code was generated",
        "python -m pip install 'protobuf>=3.20'",
    ),
    # it is in the wheel of 5.27.0 and not in that of 5.26.1
    _StatedFix(
        ("protobuf-mismatch",),
        expression(r"cannot import name '?runtime_version'?(?: from 'google\.protobuf| \(|$)"),
        "Install protobuf 5.27 or newer, for which the code was generated",
        "python -m pip install 'protobuf>=5.27'",
    ),
    # google/protobuf/runtime_version.py since 5.27
    _StatedFix(
        ("protobuf-mismatch",),
        expression(r"\bgencode (?P<gencode>\d{1,2}\.\d{1,3}\.\d{1,3}) runtime \d{1,2}\.\d{1,3}\.\d{1,3}"),
        "Install protobuf {gencode} or newer, for which the code was generated",
        "python -m pip install 'protobuf>={gencode}'",
    ),
    # google/protobuf/descriptor.py since 4
    _StatedFix(
        ("protobuf-mismatch",),
        expression(r"Descriptors cannot (?:not )?be created directly|Downgrade the protobuf package to 3\.20"),
        "Install protobuf 3.20, the last that takes code from before protoc 3.19, or newer releases of the packages that bring that code",
        "python -m pip install 'protobuf<3.21'",
    ),
)


def usual_fixes(machine: MachineView, cause: str) -> tuple[Fix, ...]:
    """Return what fixes a cause that only a log names: with what its message states, otherwise what usually does."""
    return next(fixes_from_message(machine, cause), remedy(cause))


def log_match(machine: MachineView, message: re.Pattern[str]) -> re.Match[str] | None:
    """Return where a line of the text says this, of several the one with the highest versions."""
    found = [match for line in machine.log.lines for match in message.finditer(line.value)]
    return max(found, key=lambda match: [parse_version(text or "") or () for text in match.groups()], default=None)


def fixes_from_message(machine: MachineView, cause: str) -> Iterator[tuple[Fix, ...]]:
    """Yield what fixes a cause by a message that states its versions."""
    for fix in MESSAGE_FIXES:
        if cause in fix.causes and (found := log_match(machine, fix.message)):
            stated = {name: text.replace(", ", ".") for name, text in found.groupdict().items()}
            title, command = fix.title.format(**stated), fix.command.format(**stated)
            yield (Fix(title if command else f"{title}.", command, action=Action.INVESTIGATE),)
