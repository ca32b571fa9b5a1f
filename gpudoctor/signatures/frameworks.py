"""What frameworks and programs say when they find no driver, or not the one they need."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_LONG_KNOWN_FUNCTIONS = (
    r"cu(?:Init|DriverGetVersion|DeviceGet(?:Count|Name|Attribute)?|Ctx(?:Create|Destroy|[GS]etCurrent|P(?:ush|op)Current|Synchronize)"
    r"|Module(?:Load(?:Data(?:Ex)?)?|Unload|GetFunction)|LaunchKernel|Mem(?:Alloc|Free|cpy(?:HtoD|DtoH)))(?:_v2)?\b"
)
"""Functions that libcuda has had since CUDA 4.0 at the latest: cuda.h, __CUDA_API_VERSION 4000."""

FRAMEWORKS = (
    Signature(
        r"(?i:\bdriver\b)[^\n.;]{0,40} too old ?\(found version \d+\)",
        ("driver-too-old",),
        "the driver is too old for this build's CUDA version",
        ("The NVIDIA driver on your system is too old (found version 11040)",),
    ),
    Signature(
        r"Found no NVIDIA driver on your system",
        (
            "no-driver",
            "container-no-gpu-access",
            "wsl-driver-stack-broken",
            "wsl-libcuda-not-on-path",
            "libcuda-not-on-loader-path",
            "no-gpu",
        ),
        "the framework found no NVIDIA driver",
        ("Found no NVIDIA driver on your system",),
        tells="nvidia-smi; ls -d /dev/nvidia0 /dev/dxg /.dockerenv; ldconfig -p | grep libcuda.so.1",
    ),
    # discover/gpu.go, gpu_info_cudart.c and scripts/install.sh of Ollama; server/routes.go until 0.1.20
    Signature(
        r"no compatible GPUs were discovered|gpu support may not be enabled, check that you have installed GPU drivers|No NVIDIA(?:/AMD)? GPU detected\. Ollama will run",
        (
            "no-driver",
            "container-no-gpu-access",
            "wsl-driver-stack-broken",
            "wsl-libcuda-not-on-path",
            "no-gpu",
            "uvm-broken-after-suspend",
            "cpu-only-build",
        ),
        "Ollama found no GPU",
        ("no compatible GPUs were discovered", "WARNING: No NVIDIA/AMD GPU detected. Ollama will run in CPU-only mode."),
        last=True,
        vague=True,
        tells="nvidia-smi; ls -d /dev/nvidia0 /dev/dxg /.dockerenv",
    ),
    Signature(
        r"your nvidia driver is too old or missing|msg=\"NVIDIA driver too old\"",
        ("driver-too-old", "no-driver"),
        "the driver is too old for Ollama's CUDA version, or missing",
        ("your nvidia driver is too old or missing.  If you have a CUDA GPU please upgrade to run ollama",),
    ),
    # xla/tsl/cuda/cudart_stub.cc: libcudart cannot be loaded, whether there is a driver or not
    Signature(
        r"Could not find cuda drivers on your machine",
        (
            "no-driver",
            "cuda-library-missing",
            "pip-nvidia-libs-not-on-path",
            "cuda-version-mismatch",
            "cuda-libs-not-on-loader-path",
            "container-no-gpu-access",
            "wsl-driver-stack-broken",
            "no-gpu",
        ),
        "TensorFlow cannot load libcudart: CUDA or the driver is missing",
        ("Could not find cuda drivers on your machine, GPU will not be used.",),
        last=True,  # it says so beside every other error of CUDA
        vague=True,
        tells="nvidia-smi; ldconfig -p | grep libcudart",
    ),
    # xla/stream_executor/cuda/cuda_diagnostics.cc
    Signature(
        r"kernel driver does not appear to be running on this host",
        ("no-driver", "container-no-gpu-access", "device-nodes-missing", "no-gpu"),
        "the NVIDIA kernel driver or its device files are not there",
        ("kernel driver does not appear to be running on this host (3f1c9a7be210): /proc/driver/nvidia/version does not exist",),
        tells="nvidia-smi; ls -d /dev/nvidia0 /.dockerenv; lspci -d 10de:",
    ),
    # the same file looks for device files only where the kernel driver runs
    Signature(
        r"no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        ("device-nodes-missing", "container-no-gpu-access", "no-gpu"),
        "the NVIDIA kernel driver runs, and its device files are not there",
        ("no NVIDIA GPU device is present: /dev/nvidia0 does not exist",),
        tells="ls -l /dev/nvidia*; ls -d /.dockerenv; lspci -d 10de:",
    ),
    # what the stub in TensorFlow's images answers: https://github.com/tensorflow/tensorflow/issues/41785
    Signature(
        r"cuInit: (?:UNKNOWN ERROR|CUresult) ?\(-1\)",
        ("container-no-gpu-access", "libcuda-is-stub"),
        "a container's stub of libcuda was loaded instead of the driver's",
        ("failed call to cuInit: UNKNOWN ERROR (-1)",),
    ),
    # dso_loader.cc on a Mac with an NVIDIA GPU, where CUDA's installer makes no link: https://github.com/tensorflow/tensorflow/pull/2878
    Signature(
        r"Couldn't open CUDA library libcuda[.\d]{0,4}\.dylib|Library not loaded: \S{0,60}libcuda[.\d]{0,4}\.dylib",
        ("libcuda-not-on-loader-path",),
        "the driver's library for macOS was not found",
        ("Couldn't open CUDA library libcuda.1.dylib",),
        cure="Link libcuda.dylib, in /usr/local/cuda/lib, as libcuda.1.dylib in the same folder, and name that folder in DYLD_LIBRARY_PATH.",
    ),
    # the driver's packages provide libcuda.so; below WSL only its own folder does: https://github.com/NVIDIA/cuda-python/issues/17
    Signature(
        r"[Ff]ailed to dlopen libcuda\.so(?!\.)",
        ("wsl-libcuda-not-on-path", "libcuda-not-on-loader-path", "no-driver", "container-no-gpu-access"),
        "libcuda.so was not found",
        ("RuntimeError: Failed to dlopen libcuda.so",),
    ),
    # the last but one is CUDA.jl's initialization.jl; the three before are TensorFlow 0.12's and cudarc's
    Signature(
        r"cuInit: UNKNOWN ERROR \(303\)|\(0 vs\. 303\)"
        r"|JAX was unable to load the CUDA libraries|[Ff]ailed to dlopen libcuda\.so|libcuda\.so[\d.]*(?:: cannot open shared object file| => not found| (?:was |is |could )?not (?:be )?found)"
        r"|Could not (?:load dynamic|dlopen) library 'libcuda\.so"
        r"|was unable to find libcuda\.so DSO loaded into this program|Couldn't open CUDA library libcuda(?![.\d]{0,4}dylib)|Unable to find cuda lib under the names|Unable to dynamically load the \"(?:cuda|nvcuda)\"|CUDA driver library cannot be found|\bCUDA driver not found\b|Function \"cu(?:Init|DriverGetVersion|DeviceGetCount)\" not found",
        (
            "libcuda-not-on-loader-path",
            "container-ldcache-stale",
            "container-no-gpu-access",
            "no-driver",
            "wsl-libcuda-not-on-path",
            "no-gpu",
        ),
        "libcuda.so.1 was not found",
        (
            "failed call to cuInit: UNKNOWN ERROR (303)",
            "JAX was unable to load the CUDA libraries",
            "CudaSupportError: Error at driver init: CUDA driver library cannot be found.",
            'RuntimeError: Function "cuInit" not found',
        ),
        tells="ldconfig -p | grep libcuda.so.1; ls /usr/lib/wsl/lib/libcuda.so.1; nvidia-smi",
    ),
    # what a program takes for libcuda and is none; numba's cuda/cudadrv/driver.py, for a path that the environment names
    Signature(
        rf"libcuda\.so\S{{0,40}}: undefined symbol: {_LONG_KNOWN_FUNCTIONS}|driver missing function: {_LONG_KNOWN_FUNCTIONS}",
        ("libcuda-is-stub", "libcuda-not-on-loader-path", "no-driver"),
        "what is loaded as libcuda lacks functions that the library of every driver has",
        ("/usr/lib64/libcuda.so: undefined symbol: cuDriverGetVersion", "CudaDriverError: driver missing function: cuInit."),
        tells="ldconfig -p | grep libcuda; env | grep -i cuda",
        cure="Remove that file from the loader's path, or unset the variable that names it: libcuda.so.1 comes with the driver.",
    ),
    # CUDA.jl and extensions that link no libcuda: they take the function from whatever is loaded
    Signature(
        rf"undefined symbol: {_LONG_KNOWN_FUNCTIONS}",
        ("no-driver", "libcuda-not-on-loader-path", "container-no-gpu-access", "no-gpu"),
        "no libcuda is loaded",
        ("/opt/julia/bin/julia: undefined symbol: cuDriverGetVersion",),
        vague=True,
        tells="ldconfig -p | grep libcuda.so.1; nvidia-smi",
    ),
    # https://github.com/ollama/ollama/issues/6626
    Signature(
        rf"libcuda\.so\S{{0,40}}: undefined symbol: (?!{_LONG_KNOWN_FUNCTIONS})cu\w{{3,60}}|libcuda\.so\S{{0,40}} error=\W{{0,2}}symbol lookup for cu\w{{3,60}} failed"
        # tensorflow/stream_executor/cuda/cuda_driver.cc of 1.0; numba
        rf"|Check failed: s\.ok\(\) could not find cu[A-Z]\w{{3,60}}|driver missing function: (?!{_LONG_KNOWN_FUNCTIONS})cu[A-Z]",
        ("driver-too-old",),
        "the driver's libcuda lacks a function that this build needs",
        (
            "/usr/lib64/libcuda.so.460.106.00: undefined symbol: cuCtxCreate_v3",
            "Check failed: s.ok() could not find cuDevicePrimaryCtxRetain in libcuda DSO",
        ),
    ),
    # what an extension asks of libcuda: https://docs.nvidia.com/cuda/cuda-driver-api/
    Signature(
        rf"undefined symbol: (?!{_LONG_KNOWN_FUNCTIONS})cu(?:Ctx|Device|Driver|Event|Func|Get|Graph|Green|Init|Kernel|Launch|Library|Link|Mem|Module|Multicast|Occupancy|Pointer|Stream|TensorMap)\w{{0,40}}",
        ("driver-too-old", "libcuda-not-on-loader-path"),
        "the driver's libcuda lacks a function that this build needs, or is not loaded",
        ("sgl_kernel/spatial_ops.abi3.so: undefined symbol: cuGreenCtxDestroy",),
    ),
    Signature(
        r"libcuda\.so(?:\.1)?: wrong ELF class",
        ("libcuda-wrong-architecture",),
        "the loader finds a libcuda for another architecture",
        ("ImportError: libcuda.so.1: wrong ELF class: ELFCLASS32",),
    ),
    Signature(
        r"kernel version [\d.]+ does not match DSO version [\d.]+",
        ("driver-library-mismatch",),
        "libcuda and the kernel driver have different versions",
        ("kernel version 535.183.1 does not match DSO version 550.54.14",),
    ),
)
