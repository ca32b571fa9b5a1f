"""Texts whose cause is a container, WSL, Windows, a Jetson or a scheduler, and texts that only look as if it were."""

from __future__ import annotations

from typing import Final

from tests.read.causes.driver import NO_DRIVER

CASES: Final = (
    ("container-toolkit-missing", 'Error response from daemon: could not select device driver "nvidia" with capabilities: [[gpu]]\n'),
    ("container-toolkit-missing", "docker: Error response from daemon: unknown or invalid runtime name: nvidia.\n"),
    ("container-toolkit-missing", 'Failed to create pod sandbox: failed to get sandbox runtime: no runtime for "nvidia" is configured\n'),
    ("container-toolkit-missing", "E0714 factory.go:113] If this is a GPU node, did you configure the NVIDIA Container Toolkit?\n"),
    ("container-no-gpu-access", "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"),
    ("container-no-gpu-access", "nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup\n"),
    ("container-no-gpu-access", "$ docker run --rm my/image python -c 'import torch'\nFound no NVIDIA driver on your system.\n"),
    ("container-no-gpu-access", "I cuda_diagnostics.cc:163] no NVIDIA GPU device is present: /dev/nvidia0 does not exist\nIt runs inside a container.\n"),
    ("container-no-gpu-access", "E cuda_driver.cc:318] failed call to cuInit: UNKNOWN ERROR (-1)\n"),
    ("container-cdi-spec-missing", "docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all.\n"),
    ("container-cdi-spec-missing", "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=0\n"),
    ("container-cdi-spec-missing", 'docker: Error response from daemon: could not select device driver "cdi" with capabilities: [].\n'),
    ("container-cdi-spec-stale", 'failed to inject devices: failed to stat CDI host device "/dev/dri/card2": no such file or directory\n'),
    ("container-cdi-spec-stale", "Error: crun: error stat'ing file `/usr/lib64/libcuda.so.545.23.08`: no such file or directory\n"),
    ("container-cdi-spec-stale", "Error: statfs /usr/lib/x86_64-linux-gnu/libEGL_nvidia.so.525.105.17: no such file or directory\n"),
    ("container-cdi-spec-incompatible", "$ podman --version\npodman version 3.4.4\nError: stat nvidia.com/gpu=all: no such file or directory\n"),
    ("container-cgroup-device-lost", "# systemctl daemon-reload\nroot@5d0c8e1f2a3b:/workspace# nvidia-smi\nFailed to initialize NVML: Unknown Error\n"),
    ("container-cgroup-device-lost", "It worked for two days inside the container, then: Failed to initialize NVML: Unknown Error\n"),
    ("container-cgroup-device-lost", "(container) $ nvidia-smi -L\nFailed to initialize NVML: Unknown Error\n(host) $ nvidia-smi -L\nGPU 0: NVIDIA L4\n"),
    ("scheduler-gpu-not-allocated", "0/5 nodes are available: 2 node(s) had untolerated taint, 3 Insufficient nvidia.com/gpu.\n"),
    ("scheduler-gpu-not-allocated", "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification\n"),
    ("scheduler-gpu-not-allocated", "$ srun --pty python train.py\nRuntimeError: No CUDA GPUs are available\n"),
    ("scheduler-gpu-not-allocated", "I am on the login node.\n" + NO_DRIVER),
    ("wsl-driver-stack-broken", "Kernel: 5.15.167.4-microsoft-standard-WSL2\nFailed to initialize NVML: GPU access blocked by the operating system\n"),
    ("wsl-driver-stack-broken", "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found: unknown\n"),
    ("wsl-driver-stack-broken", "WSL 2, Ubuntu 24.04\n" + NO_DRIVER),
    ("wsl-linux-driver-installed", "$ sudo apt install nvidia-utils-535\nFailed to initialize NVML: GPU access blocked by the operating system\n"),
    ("wsl-libcuda-not-on-path", "Running in WSL2.\nOSError: libcuda.so.1: cannot open shared object file: No such file or directory\n"),
    ("wsl-libcuda-not-on-path", 'WSL: Unable to find cuda lib under the names ["cuda", "nvcuda"]\n'),
    ("wsl-libcuda-not-on-path", "RuntimeError: Failed to dlopen libcuda.so\n"),
    ("wsl1", "$ wsl -l -v\nThis distribution is WSL 1.\n" + NO_DRIVER),
    ("jetson-needs-vendor-wheel", "Jetson Orin Nano with JetPack 6.0\nAssertionError: Torch not compiled with CUDA enabled\n"),
    ("jetson-needs-vendor-wheel", "PyTorch version: 2.5.1\nCUDA used to build PyTorch: None\nOS: Ubuntu 20.04.6 LTS (aarch64)\nPython version: 3.8.10 (64-bit runtime)\nPython platform: Linux-5.10.104-tegra-aarch64-with-glibc2.31\nIs CUDA available: False\n"),
    ("jetson-needs-vendor-wheel", "uname -a: Linux nano 4.9.337-tegra aarch64\nAssertionError: Torch not compiled with CUDA enabled\n"),
    ("msvc-redistributable-missing", "Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.\n"),
    ("msvc-redistributable-missing", 'OSError: [WinError 126] Das angegebene Modul wurde nicht gefunden. Error loading "D:\\\\sd\\\\venv\\\\lib\\\\site-packages\\\\torch\\\\lib\\\\c10.dll" or one of its dependencies.\n'),
    ("msvc-redistributable-missing", "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module could not be found.\n"),
    ("msvc-redistributable-missing", "ImportError: Could not find the DLL(s) 'msvcp140_1.dll'. TensorFlow requires that these DLLs be installed\n"),
    ("msvc-redistributable-missing", "ImportError: DLL load failed while importing libtriton: A dynamic link library (DLL) initialization routine failed.\n"),
    ("python-32bit", "Python 3.7.9 (tags/v3.7.9:13c94747c7, Aug 17 2020, 18:01:55) [MSC v.1900 32 bit (Intel)] on win32\nERROR: No matching distribution found for tensorflow\n"),
    ("python-32bit", "C:\\Users\\x\\AppData\\Local\\Programs\\Python\\Python39-32\\python.exe -m pip install torch\nERROR: No matching distribution found for torch\n"),
    ("python-32bit", ">>> platform.architecture()\n('32bit', 'WindowsPE')\nERROR: Could not find a version that satisfies the requirement tensorflow\n"),
    ("no-driver", "Could not load dynamic library 'nvcuda.dll'; dlerror: nvcuda.dll not found\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("wsl-driver-stack-broken", "I nvc.c:393] attempting to load dxcore to see if we are running under Windows Subsystem for Linux (WSL)\nnvidia-container-cli: initialization error: nvml error: driver not loaded\n"),
    ("scheduler-gpu-not-allocated", "#SBATCH --gres=gpu:1\nsrun python train.py\nRuntimeError: No CUDA GPUs are available\n"),
    ("container-no-gpu-access", "$ docker run --gpus all my/image python train.py\nFound no NVIDIA driver on your system.\n"),
    ("python-32bit", "Python 3.8.10 [MSC v.1928 64 bit (AMD64)] on win32\nERROR: No matching distribution found for tensorflow\n"),
    ("msvc-redistributable-missing", "error: Microsoft Visual C++ 14.0 or greater is required. Get it with Microsoft C++ Build Tools\nRuntimeError: No CUDA GPUs are available\n"),
    ("msvc-redistributable-missing", "ImportError: DLL load failed while importing _C: The specified procedure could not be found.\nRuntimeError: No CUDA GPUs are available\n"),
    ("container-cdi-spec-stale", "cp: cannot stat 'model.pt': No such file or directory\nRuntimeError: No CUDA GPUs are available\n"),
    ("jetson-needs-vendor-wheel", "Ubuntu 22.04 aarch64, Grace Hopper\nAssertionError: Torch not compiled with CUDA enabled\n"),
    ("wsl1", "WSL 2 with Ubuntu\n" + NO_DRIVER),
    ("container-cgroup-device-lost", "NVIDIA A100, bare metal, Slurm\nFailed to initialize NVML: Driver/library version mismatch\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
