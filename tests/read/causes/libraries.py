"""Texts whose cause is a CUDA, cuDNN or NCCL library, and texts that only look as if one were."""

from __future__ import annotations

from typing import Final

_JAX: Final = "ERROR:2025-09-02 10:11:12,013:jax._src.xla_bridge:475: Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()\n"
_CPU_ONLY: Final = "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]\n"

CASES: Final = (
    ("uvm-broken-after-suspend", 'level=WARN msg="unknown error initializing cuda driver library /usr/lib64/libcuda.so.1: cuda driver library init failure: 999."\n'),
    ("libcuda-not-on-loader-path", "Tesla T4\n/usr/bin/ld: cannot find -lcuda\ncollect2: error: ld returned 1 exit status\n"),
    ("libcuda-not-on-loader-path", "torch==2.1.0+cu121\nAssertionError: libcuda.so cannot found!\nPossible files are located at ['/lib64/libcuda.so.1'].\n"),
    ("cuda-version-mismatch", "CUDA: 11.8\nImportError: libcublas.so.12: cannot open shared object file: No such file or directory\n"),
    ("cuda-version-mismatch", "ls /usr/local/cuda-10.2/lib64\nImportError: libcudart.so.10.1: cannot open shared object file: No such file\n"),
    ("cuda-version-mismatch", "CUDA: 10.1\nCould not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n"),
    ("cuda-version-mismatch", "Cuda compilation tools, release 13.0, V13.0.88\n[E:onnxruntime:Default] Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot open shared object file\n"),
    ("cuda-version-mismatch", "OS: Linux\nTensorFlow version: 2.4.1\nPython version: 3.8\nCUDA: 10.1\n" + _CPU_ONLY),
    ("cuda-version-mismatch", "CUDA backend failed to initialize: Found CUDA version 12010, but JAX was built against version 12030, which is newer.\n"),
    ("cuda-library-missing", "CUDA: 12.2\nImportError: libcublas.so.12: cannot open shared object file: No such file or directory\n"),
    ("cuda-library-missing", "RuntimeError: Library cublas64_12.dll is not found or cannot be loaded\n"),
    ("cuda-library-missing", "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`:\n"),
    ("cuda-library-missing", "nvrtc: error: failed to open libnvrtc-builtins.so.12.6.\n  Make sure that libnvrtc-builtins.so.12.6 is installed correctly.\n"),
    ("cuda-library-missing", _JAX + "RuntimeError: Unable to load cuBLAS. Is it installed?\n"),
    ("ld-library-path-shadowing", "$ export LD_LIBRARY_PATH=/opt/cuda-12.2/lib64:$LD_LIBRARY_PATH\n" + _JAX + "RuntimeError: Unable to load cuSOLVER. Is it installed?\n"),
    ("ld-library-path-shadowing", "ImportError: /venv/lib/python3.11/site-packages/nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkCreate_12_8, version libnvJitLink.so.12\n"),
    ("ld-library-path-shadowing", "OSError: libcublas.so.11: symbol cublasLtHSHMatmulAlgoInit version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference\n"),
    ("pip-nvidia-libs-not-on-path", "nvidia-cudnn-cu12==9.5.1.17\nUnable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}\nlibcudnn_ops.so.9: cannot open shared object file\n"),
    ("pip-nvidia-libs-not-on-path", "nvidia-cublas-cu12==12.4.5.8\nRuntimeError: Library libcublas.so.12 is not found or cannot be loaded\n"),
    ("pip-nvidia-libs-not-on-path", "nvidia-cuda-runtime-cu12   12.6.77\nOSError: libcudart.so.12: cannot open shared object file: No such file or directory\n"),
    ("cuda-libs-not-on-loader-path", "$ find / -name 'libcufft*'\n/opt/nvidia/cuda/lib64/libcufft.so.11\nImportError: libcufft.so.11: cannot open shared object file: No such file or directory\n"),
    ("cuda-libs-not-on-loader-path", "/apps/cuda/11.4/lib64/libcusolver.so.11\nCould not load dynamic library 'libcusolver.so.11'; dlerror: libcusolver.so.11: cannot open shared object file\n"),
    ("cuda-libs-not-on-loader-path", "$ ls /home/me/miniconda3/lib/libcudart.so.11.0\n/home/me/miniconda3/lib/libcudart.so.11.0\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file\n"),
    ("extension-built-for-other-cuda", "torch==2.9.0+cu130\nImportError: /venv/lib/python3.12/site-packages/vllm/_C.abi3.so: libcudart.so.12: cannot open shared object file: No such file or directory\n"),
    ("cudnn-wrong-major", "cuDNN: 9.1.0\nCould not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file\n"),
    ("cudnn-wrong-major", "cuDNN: 7.6.5\nCould not load dynamic library 'cudnn64_8.dll'; dlerror: cudnn64_8.dll not found\n"),
    ("cudnn-wrong-major", "nvidia-cudnn-cu12==8.9.2.26\nFailed to load library libonnxruntime_providers_cuda.so with error: libcudnn.so.9: cannot open shared object file\n"),
    ("cudnn-wrong-major", "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file\n$ ldconfig -p | grep cudnn_ops\n        libcudnn_ops.so.9 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcudnn_ops.so.9\n"),
    ("cuda-version-mismatch", "$ ls /home/me/miniconda3/lib/libcudart.so.10.1\n/home/me/miniconda3/lib/libcudart.so.10.1\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file\n"),
    ("cudnn-missing", "Could not load dynamic library 'libcudnn.so.7'; dlerror: libcudnn.so.7: cannot open shared object file\n"),
    ("cudnn-missing", "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!\nInvalid handle. Cannot load symbol cudnnCreateTensorDescriptor\n"),
    ("cudnn-missing", "ImportError: Could not find 'cudnn64_6.dll'. TensorFlow requires that this DLL be installed in a directory that is named in your %PATH%\n"),
    ("cudnn-shadowed-by-system", "LD_LIBRARY_PATH=/sw/cudnn/8.4/lib64\ncuDNN version incompatibility: PyTorch was compiled  against (8, 9, 2)\n"),
    ("cudnn-shadowed-by-system", "but found runtime version (8, 4, 1). PyTorch already comes bundled with cuDNN. Looks like your LD_LIBRARY_PATH contains incompatible version of cudnn\n"),
    ("cudnn-shadowed-by-system", "Could not load library libcudnn_ops_train.so.8. Error: /usr/local/cuda/lib64/libcudnn_ops_train.so.8: undefined symbol: _ZN5cudnn3ops26JIT, version libcudnn_ops_infer.so.8\n"),
    ("cudnn-version-mismatch", "E cuda_dnn.cc:378] Loaded runtime CuDNN library: 7102 (compatibility version 7100) but source was compiled with 7005 (compatibility version 7000).\n"),
    ("cudnn-version-mismatch", "CUDA backend failed to initialize: Found cuDNN version 8500, but JAX was built against version 8904, which is newer.\n"),
    ("cudnn-version-mismatch", _JAX + "RuntimeError: Outdated cuDNN installation found.\nVersion JAX was built against: 90800\n"),
    ("cudnn-version-mismatch", "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH\n"),
    ("cudnn-drops-gpu", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH\n"),
    ("cudnn-drops-gpu", "RuntimeError: cuDNN version 91200 is not compatible with devices with SM < 7.5.\n"),
    ("libdevice-not-found", "W gpu_backend_lib.cc:326] libdevice is required by this HLO module but was not found at ./libdevice.10.bc\nINTERNAL: libdevice not found at ./libdevice.10.bc\n"),
    ("libdevice-not-found", "error: Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice\n"),
    ("ptxas-not-found", "W redzone_allocator.cc:314] INTERNAL: Failed to launch ptxas\nRelying on driver to perform ptx compilation.\n"),
    ("ptxas-not-found", "Couldn't invoke ptxas --version\n"),
    ("ptxas-too-old", "*** WARNING *** You are using ptxas 11.0.194, which is older than 11.1. ptxas before 11.1 is known to miscompile XLA code\n"),
    ("ptxas-too-old", "ptxas /tmp/x.ptx, line 9; fatal   : Unsupported .version 8.3; current version is '8.0'\n"),
    ("triton-ptxas-too-old", "'sm_121' is not a recognized processor for this target (ignoring processor)\n"),
    ("triton-ptxas-too-old", "triton/backends/nvidia/bin/ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n"),
    ("nccl-version-conflict", "ImportError: /env/lib/libtorch_cuda.so: undefined symbol: ncclMemAlloc\n"),
    ("nccl-version-conflict", "init.cc:940 NCCL WARN Mismatched NCCL version detected : rank 0 version 22005 rank 4 version 21805\n"),
    ("cuda-library-damaged", "OSError: /venv/nvidia/cublas/lib/libcublasLt.so.12: ELF load command past end of file\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("libcuda-not-on-loader-path", "/usr/bin/ld: cannot find -lcudart\n"),
    ("cuda-library-missing", "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file\n"),
    ("cuda-version-mismatch", "OS: Linux\nTensorFlow version: 2.4.1\nCUDA: 11.0\nCould not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open\n"),
    ("cuda-version-mismatch", "torch==2.6.0+cu124\nPython 3.11.9\nCUDA: 11.8\n[]\n"),
    ("pip-nvidia-libs-not-on-path", "nvidia-cudnn-cu12==8.9.2.26\nlibcudnn.so.9: cannot open shared object file\n"),
    ("cuda-libs-not-on-loader-path", "/usr/local/cuda/lib64/libcudart.so.11.0\nImportError: libcudart.so.12: cannot open shared object file\n"),
    ("ld-library-path-shadowing", "$ export LD_LIBRARY_PATH=/usr/local/cuda/lib64\nImportError: libcudart.so.12: cannot open shared object file\n"),
    ("nccl-version-conflict", "ImportError: my_nccl_tests.so: undefined symbol: run_nccl_benchmark\nnumpy==1.26.4\n"),
    ("cudnn-version-mismatch", "Successfully opened dynamic library libcudnn.so.8\nLoaded cuDNN version 8902\nTensorFlow version: 2.13.0\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
