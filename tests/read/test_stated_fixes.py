"""The fix of a cause that only a log names has the versions that its message, or the text beside it, states."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.advice.message_fixes import MESSAGE_FIXES
from gpudoctor.diagnose.rules import FAMILY_OF
from gpudoctor.findings import FixKind, Policy
from gpudoctor.matrix import Matrix
from tests.read.reading import read

MESSAGES = {
    "CUDA error: no CUDA-capable device is detected\nWe updated the kernel and have not rebooted": "Reboot into the new kernel",
    'pacman -S ollama\nmsg="no compatible GPUs were discovered"\nDriver Version: 565.77': "ollama-cuda",
    "CUDA out of memory\nanother process uses 20 GiB, and nvidia-smi lists no process": "fuser -v /dev/nvidia",
    "FATAL: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_unlock_strict'": "a driver release that supports this kernel",
    'c10/util/TypeIndex.h:10:2: error: #error "You\'re trying to build PyTorch with a too old version of GCC. We need GCC 9 or later."': "Build with GCC 9",
    "Resolving Linux kernel version...\nCould not resolve Linux kernel version": "a repository with the headers of the node's kernel",
    "The detected CUDA version (12.4) mismatches the version that was used to compile PyTorch (11.8)": "CUDA 11.8 toolkit",
    "Installed CUDA version 12.2 does not match the version torch was compiled with 11.7": "PyTorch for CUDA 12.2",
    "error: unsupported GNU version! gcc versions later than 11 are not supported!": "Install gcc 11",
    "The current installed version of g++ (13.2.0) is greater than the maximum required version by CUDA 11.8. "
    "Please make sure to use an adequate version of g++ (>=6.0.0, <12.0).": "a g++ older than 12, as CUDA 11.8 needs",
    "/lib64/libm.so.6: version `GLIBC_2.27' not found\n/lib64/libc.so.6: version `GLIBC_2.34' not found": "glibc 2.34 or newer",
    "Loaded runtime CuDNN library: 7.1.4 (compatibility version 7100) but source was compiled with 7.4.1 (compatibility version 7400).": "cuDNN 7.4.1 or a newer 7.x",
    "Loaded runtime CuDNN library: 5005 (compatibility version 5000) but source was compiled with 5103 (compatibility version 5100).": "cuDNN 5.1 in place of the one that is loaded (5005)",
    "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.": "cuDNN 8.1.0 or a newer 8.x in place of 8.0.5",
    "cuDNN version incompatibility: PyTorch was compiled  against (8, 5, 0) but found runtime version (8, 2, 4).": "cuDNN 8.2.4 from LD_LIBRARY_PATH",
    "libcudnn.so.8: cannot open shared object file: No such file or directory": "nstall cuDNN 8",
    "You are using ptxas 10.1.243, which is older than 11.1.": "CUDA 11.1 or newer",
    "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi": "uild flash-attn again",
    "ImportError: /venv/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEi": "nstall vLLM again",
    "xFormers was built for:\nPyTorch 2.0.0+cu118 with CUDA 1108 (you have 1.13.1+cu117)": "built for torch 1.13.1+cu117",
    "ERROR: Could not find a version that satisfies the requirement torch==1.15.0 (from versions: 1.5.1, 1.6.0)": "torch==1.6.0",
    "VersionError: Detected incompatible Protobuf Gencode/Runtime versions: gencode 6.31.1 runtime 5.29.4.": "protobuf 6.31.1 or newer",
    "ImportError: cannot import name 'builder' from 'google.protobuf.internal'": "protobuf>=3.20",
    "ImportError: cannot import name 'runtime_version' from 'google.protobuf'": "protobuf>=5.27",
    "AttributeError: partially initialized module 'torch' has no attribute 'cuda'": "Rename the file or folder",
    "TypeError: Descriptors cannot be created directly.": "protobuf 3.20",
    "Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*. Please install all dependencies": "CUDA 12 and cuDNN 9",
    "tcc: error: include file 'Python.h' not found": "include and libs",
    "RuntimeError: module compiled against API version 0xf but this version of numpy is 0xe": "--upgrade 'numpy<2'",
    "RuntimeError: module compiled against API version 0x12 but this version of numpy is 0x10": "--upgrade numpy",
    "AttributeError: module 'numpy' has no attribute 'bool'.": "'numpy<1.24'",
    "cuDNN version mismatch: PyTorch was compiled against 7102 but linked against 7600": "cuDNN 7600 from LD_LIBRARY_PATH",
    "cuDNN compiled (8204) and runtime (8005) versions mismatch": "cuDNN 8005 from LD_LIBRARY_PATH",
    "The installed Paddle is compiled with CUDNN 8.4, but CUDNN version in your machine is 8.2": "nstall cuDNN 8.4",
    "Found cuDNN version 8600, but JAX was built against version 8904": "nstall cuDNN 8904 or newer",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 300.00 MiB is free. "  # words: ok
    "Process 512 has 2.10 GiB memory in use. Process 4711 has 20.90 GiB memory in use.": "sudo kill 4711",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nI ran prime-select intel for the battery last week": "prime-select on-demand",
    "Unit nvidia-fabricmanager.service could not be found.": 'cut -d. -f1)=$v-*"',
    "Could not load library cudnn_ops_infer64_8.dll. Error code 126": "zlibwapi.dll",
    "cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'": "apt install gcc-12",
    "Failed to initialize NVML: Insufficient Permissions\ncrw-rw---- 1 root render 195, 1 May  3 12:00 /dev/nvidia1": 'usermod -aG render "$USER"',
    "fabric manager NVIDIA GPU driver interface version 550.90.07 don't match with driver version 550.107.02.": "fabric manager 550.107.02",
    "host_config.h(153): fatal error C1189: #error: -- unsupported Microsoft Visual Studio version! "
    "Only the versions between 2017 and 2022 (inclusive) are supported!": "14.39",
    "nvcc fatal   : nvcc cannot find a supported version of Microsoft Visual Studio. "
    "Only the versions between 2017 and 2019 (inclusive) are supported!": "Visual Studio 2019",
    "ptxas-blackwell fatal   : Value 'sm_110a' is not defined for option 'gpu-name'": "TRITON_PTXAS_BLACKWELL_PATH=",
    "triton/backends/nvidia/bin/ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'": "a CUDA toolkit that knows sm_121a",
}
BESIDE = {
    "libcudnn.so.8: cannot open shared object file: No such file or directory\n#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n": "nstall cuDNN 8",
    "the provided PTX was compiled with an unsupported toolchain.\ntorch 2.4.0+cu124\ndriver 525.85.12\n": "550.54.14 or newer",
    "the provided PTX was compiled with an unsupported toolchain.\nCUDA: 11.2\ndriver 450.102.04\n": "460.27.03 or newer",
    "the provided PTX was compiled with an unsupported toolchain.\nDriver Version: 450.102.04\n": "Update the NVIDIA driver",
    "RuntimeError: Found no NVIDIA driver on your system.\nIt is a notebook in Colab.\n": "Runtime > Change runtime type",
    "torch.cuda.is_available() is False with my Radeon RX 7900 XTX on Windows 11.\ntorch 2.4.0+cu121\n": "AMD's build of PyTorch for Windows",
    "Fedora 40\nModule build for kernel 6.10.6 was skipped since the kernel headers for this kernel do not seem to be installed.\n": "kernel-devel-$(uname -r)",
    "Arch, GTX 970, nvidia-open 590.48.01\nNVRM: installed in this system is not supported by open\n": "nvidia-580xx-dkms",
    "cudart64_101.dll not found\nWindows 10, after pip install tensorflow (2.3.0)\n": "CUDA 10.1",
    "import cupy\nImportError: libnvrtc.so.11.2: cannot open shared object file\ncupy-cuda11x 12.3.0\nCuda compilation tools, release 12.4, V12.4.131\n": "install cupy-cuda12x",
    "Remapped Rows\n    Pending : Yes\n": "--gpu-reset -i INDEX",
    'could not select device driver "cdi" with capabilities: []\n': "daemon.json",
    "main.c:4:10: fatal error: Python.h: No such file or directory\nCommand '['gcc', '-shared', '-I/usr/include/python3.11']' returned non-zero": "python3.11-dev",
    "main.c:4:10: fatal error: Python.h: No such file or directory\nFedora Linux 40, Python 3.12.4\n": "dnf install python3.12-devel",
    "operator torchvision::nms does not exist\ntorch 2.3.1+cu121\n": "torchvision==0.18.1+cu121",
    "libtorchaudio.so: undefined symbol: _ZNK3c1010TensorImpl4sizeEv\ntorch 2.5.1\n": "torchaudio==2.5.1",
    "CUDA_HOME environment variable is not set\ntorch 2.1.0+cu118\n": "CUDA_HOME=/usr/local/cuda-11.8",
    "libcudart.so.12: cannot open shared object file\nimport flash_attn_2_cuda\ntorch 2.1.0+cu118\n": "torch 2.1.0+cu118 and its CUDA 11.8",
    "OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory\n/opt/cuda-11.8/lib64/libcudart.so.11.0 is there\n": "LD_LIBRARY_PATH=/opt/cuda-11.8/lib64",
    "Couldn't install torch.\nCommand: D:\\webui\\venv\\Scripts\\python.exe -m pip install torch==2.1.2 torchvision==0.16.2\nPython 3.12.4\n": "Python 3.11",
    "GeForce GT 710 with CUDA capability sm_35 is not compatible with the current PyTorch installation.\n"
    "The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 sm_75.": "Install torch 1.",
    "jaxlib version 0.4.30 is newer than and incompatible with jax version 0.4.26\n": "'jax[cuda12]==0.4.26'",
    "libcublas.so.9.0: cannot open shared object file\n": "CUDA 9.0, whose libraries",
    "ERROR: Could not find a version that satisfies the requirement tensorflow==2.13.0 (from versions: 2.16.1, 2.21.0rc0)\n": "Python 3.11, the newest",
}


def first_fix(text: str, matrix: Matrix) -> str:
    """The first fix of the first cause: its title and command."""
    fixes = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0].fixes
    return next((f"{fix.title} {fix.command}" for fix in fixes if fix.kind is FixKind.FIX), "")


@pytest.mark.parametrize(("text", "stated"), [*MESSAGES.items(), *BESIDE.items()])
def test_a_fix_has_what_the_text_states(text: str, stated: str, matrix: Matrix) -> None:
    assert stated in first_fix(text, matrix)


def test_every_message_is_tried_and_fills_its_fix() -> None:
    for fix in MESSAGE_FIXES:
        assert FAMILY_OF.keys() >= set(fix.causes)
        found = [match for message in MESSAGES if (match := fix.message.search(message))]
        assert found, fix.title
        assert "{" not in f"{fix.title} {fix.command}".format(**found[0].groupdict())
