"""What frameworks and the loader say when CUDA, cuDNN or NCCL libraries are missing, damaged or do not match."""

from __future__ import annotations

import msgspec

from gpudoctor.signatures.cudnn_releases import CUDNN_RELEASES
from gpudoctor.signatures.missing_libraries import MISSING_CUDA_CAUSES, MISSING_CUDNN_CAUSES, MISSING_LIBRARIES
from gpudoctor.signatures.signature import Signature

_CUDA_FILE = r"lib(?:cudart|cublas\w{0,40}|cufft\w{0,20}|curand|cusolver\w{0,20}|cusparse\w{0,40}|nvrtc[\w-]{0,20}|nvJitLink|nvToolsExt|nvshmem_host|cufile|cupti|cutensor|npp\w{0,20}|nccl(?!-))"
_DLL = r"(?:cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc)64_\d{1,3}(?:_\d)?\.dll"


def _missing_cuda_signature(pattern: str, *lines: str) -> Signature:
    return Signature(pattern, MISSING_CUDA_CAUSES, "a CUDA library was not found", lines)


def _missing_cudnn_signature(pattern: str, *lines: str) -> Signature:
    return Signature(pattern, MISSING_CUDNN_CAUSES, "cuDNN or one of its libraries was not found", lines)


# tensorflow/compiler/jit/xla_gpu_device.cc of 1.14 to 2.3: XLA's device needs only the driver, TensorFlow's own needs every library
_ONLY_XLA_DEVICES = r"(?:available devices (?:are|:)|\[PhysicalDevice\()(?![^\n]{0,400}device:GPU:\d)[^\n]{0,300}device:XLA_GPU:\d|(?i:\b(?:only|just)\b[^\n.]{0,40}\bXLA_GPU\b|\bXLA_GPU\b[^\n.]{0,24}\b(?:instead of|rather than|(?:but )?not?) (?:a |the |any )?(?:normal |plain )?GPUs?\b|\b(?:gpus?|devices?|type)\b[^\n.]{0,12}\b(?:is|are|as)\b[^\n.]{0,16}\bXLA_GPU\b)"
_WITHOUT_GPU_DEVICE = "the driver works, and TensorFlow's own GPU device is missing: a CUDA library or cuDNN did not load"

LIBRARIES = (
    Signature(
        _ONLY_XLA_DEVICES,
        ("cuda-version-mismatch",),
        _WITHOUT_GPU_DEVICE,
        ("only XLA_GPU:0 is listed",),
        vague=True,
        needs_support=True,
    ),
    Signature(
        _ONLY_XLA_DEVICES,
        (*MISSING_CUDA_CAUSES, *MISSING_CUDNN_CAUSES),
        _WITHOUT_GPU_DEVICE,
        ("the devices are XLA_GPU instead of GPU",),
        vague=True,
        tells="ldconfig -p | grep -E 'cudart|cublas|cudnn'",
    ),
    *CUDNN_RELEASES,
    # the first is cuDNN 8's: https://github.com/pytorch/pytorch/issues/104591; JAX's plugin
    _missing_cudnn_signature(
        r"Could not load library libcudnn(?![^\n]{0,300}undefined symbol)(?![^\n]{0,300}Error:(?: /|$| libcuda\.so))|Couldn't open CUDA library (?:libcudnn|cudnn64)|Unable to load cuDNN DSO|Unable to load any of \{libcudnn|\blibcudnn\b[^\n]{0,12} not found\b|libcudnn\S{0,200} => not found|Unable to load cuDNN\.(?: Is it installed| \(Set TF_CPP_MIN_LOG_LEVEL|$)",
        "Could not load library libcudnn_cnn_infer.so.8",
        "Unable to load cuDNN. Is it installed?",
    ),
    # glibc's loader, which has then looked in every folder: no copy of cuDNN is before another
    Signature(
        r"libcudnn\S{0,200}: cannot open shared object file",
        tuple(cause for cause in MISSING_CUDNN_CAUSES if cause != "cudnn-shadowed-by-system"),
        "cuDNN or one of its libraries was not found",
        ("libcudnn.so.9: cannot open shared object file",),
    ),
    # XLA, for a cuDNN that it could not load or start: https://github.com/jax-ml/jax/issues/4920
    Signature(
        r"DNN library is not found",
        (*MISSING_CUDNN_CAUSES, "cudnn-version-mismatch", "gpu-memory-preallocation"),
        "XLA could not load or start cuDNN",
        ("UNIMPLEMENTED: DNN library is not found.",),
        vague=True,
        last=True,
    ),
    # tensorflow's dso_loader.cc and self_check.py, ONNX Runtime
    _missing_cudnn_signature(
        r"Could not (?:load dynamic|dlopen) library 'cudnn64_|Could not (?:find|load) 'cudnn64_|WinDLL\(build_info\.cudnn_dll_name\)|which depends on \\?\"cudnn64_\d{1,2}\.dll|dynamic library \((?:lib)?cudnn[\w.;]{1,40}\) that \w{2,20} depends on",
        "Could not load dynamic library 'cudnn64_8.dll'",
        "The third-party dynamic library (libcudnn.so) that Paddle depends on is not configured correctly.",
    ),
    # what cuDNN prints before it aborts, on Windows too, and its status in cudnn_graph.h
    _missing_cudnn_signature(
        r"Could not (?:locate|load library) (?:cudnn|zlibwapi)\w{0,60}\.dll|\bcudnn_\w{2,40}64_\d{1,2}\.dll\b['\"]? (?:(?:is|was) )?(?:not found|missing)|CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED|CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING|Cannot load symbol cudnn[A-Z]|Cannot load cudnn shared library",
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
        "Could not locate zlibwapi.dll. Please make sure it is in your library path!",
        "cudnn_ops64_9.dll is not found",
        "Cannot load symbol cudnnCreateTensorDescriptor",
        "(PreconditionNotMet) Cannot load cudnn shared library. Cannot invoke method cudnnGetVersion.",
    ),
    # CuPy's own modules: https://docs.cupy.dev/en/stable/install.html
    Signature(
        r"\bcupy(?:_backends)?/\S{1,200}\.so: undefined symbol: cu[a-z]{0,10}[A-Z]\w{1,80}",
        ("cupy-wheel-cuda-mismatch", "ld-library-path-shadowing"),
        "CuPy's wheel is built for a newer CUDA than the one that is loaded",
        ("cupy_backends/cuda/api/runtime.cpython-310-x86_64-linux-gnu.so: undefined symbol: cudaMallocAsync",),
    ),
    # one library of a CUDA release beside another of an older one: https://github.com/pytorch/pytorch/issues/111469 and /issues/88869
    Signature(
        r"undefined symbol: _{0,2}(?:nvJitLink|nvrtc|cublas|cusparse|cusolver|cufft|curand|cupti|cuda)[A-Z]\w{1,80}"
        r"|symbol \w{1,80},? version lib(?:cu|nv)\S{1,60} not defined in file|undefined symbol: \w{1,80}, version lib(?:cublas|cusparse|cusolver|cufft|curand|cupti|cudart)",
        (
            "ld-library-path-shadowing",
            "nvidia-wheel-version-conflict",
            "cuda-mixed-versions",
            "mixed-conda-pip",
            "cupy-wheel-cuda-mismatch",
        ),
        "libraries of two CUDA releases are loaded together",
        (
            "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
            "symbol cublasLtGetStatusString version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference",
            "libtorch_cpu.so: undefined symbol: cuptiActivityEnableDriverApi, version libcupti.so.12",
        ),
    ),
    # jaxlib 0.4, and jax_plugins/cuda/__init__.py since
    Signature(
        r"Found (?:CUDA|cuBLAS|cuFFT|cuPTI|cuSOLVER|cuSPARSE) version \d{2,6}, but JAX was built against|Outdated (?:CUDA|cuBLAS|cuFFT|cuPTI|cuSOLVER|cuSPARSE) installation found",
        ("cuda-version-mismatch", "ld-library-path-shadowing"),
        "the loaded CUDA libraries are older than JAX needs",
        ("Found CUDA version 12010, but JAX was built against version 12020", "Outdated cuSPARSE installation found."),
    ),
    # glibc's loader, as TensorFlow, PyTorch, ONNX Runtime and others pass it on
    _missing_cuda_signature(
        rf"{_CUDA_FILE}\.so[\d.]*(?:: ?cannot open shared object file| => not found)|(?i:\bImportError): {_CUDA_FILE}\.so[.\d]{{1,10}}:?\s{{0,4}}$",
        "libcudart.so.12: cannot open shared object file",
        "libcublas.so.12 => not found",
        "ImportError: libcublas.so.9.0",
    ),
    _missing_cuda_signature(
        rf"Could not load library {_CUDA_FILE}(?![^\n]{{0,300}}undefined symbol)|OSError: library (?:nvrtc|cudart|cu[bfrs]\w{{2,8}}) not found|libcudart\.so not found in any environmental path|No libcudart\.so found! Install CUDA",
        "Could not load library libcublasLt.so.12.",
    ),
    # numba/cuda/cudadrv/nvvm.py
    msgspec.structs.replace(
        _missing_cuda_signature(
            r"libNVVM cannot be found|OSError: library nvvm not found",
            "NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`",
        ),
        tells="python -m numba -s | grep -A12 CUDA; echo $CUDA_HOME",
        cure="Install the NVVM that Numba needs from conda-forge, cuda-nvcc with cuda-nvrtc (CUDA 11: cudatoolkit), or set CUDA_HOME to the folder of an installed toolkit.",
    ),
    # tensorflow's dso_loader.cc, gpu_device.cc and self_check.py
    _missing_cuda_signature(
        r"Could not (?:load dynamic|dlopen) library '(?!libnvinfer|libcudnn|libcuda\.|cudnn64|nvcuda|nvinfer)|[Cc]annot open dynamic library '?lib(?:cu|nv)|\bcuda[A-Z]\w{3,40} symbol not found|Couldn't open CUDA library (?:lib(?!cudnn|cuda\.)\w{1,40}\.so|cu(?!dnn)\w{1,20}64_)",
        "Could not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found",
    ),
    # which library it is stands in lines above
    Signature(
        r"Cannot dlopen (?:some GPU|all CUDA) libraries|^\W{0,4}Skipping registering GPU devices",
        (*MISSING_CUDA_CAUSES, "cudnn-missing", "container-no-gpu-access"),
        "a CUDA library was not found",
        ("Cannot dlopen some GPU libraries",),
        last=True,
    ),
    _missing_cuda_signature(
        rf"Could not (?:find|load) '{_DLL}'|WinDLL\(build_info\.cudart_dll_name\)|which depends on \\?\"{_DLL}|Library {_DLL} is not found or cannot be loaded|dynamic library \((?:lib)?cu(?!dnn)[\w.;]{{2,40}}\) that \w{{2,20}} depends on",
        "Library cublas64_12.dll is not found or cannot be loaded",
    ),
    # ctypes of Windows since Python 3.8: https://github.com/cupy/cupy/blob/v13.6.0/cupy_backends/cuda/_softlink.pyx
    _missing_cuda_signature(
        rf"(?:Could not find module '[^'\n]{{0,200}}|\bfailed to load ){_DLL}",
        "CuPy failed to load nvrtc64_120_0.dll: FileNotFoundError: Could not find module 'nvrtc64_120_0.dll' (or one of its dependencies).",
    ),
    # CTranslate2, torch/__init__.py since 2.0, NVRTC, Numba
    _missing_cuda_signature(
        rf"Library {_CUDA_FILE}\S{{0,20}} is not found or cannot be loaded|{_CUDA_FILE}\.so\.\S{{1,12}} not found in the system path"
        r"|failed to open (?:lib)?nvrtc-builtins|nvrtc: error: failed to load builtins",
        "failed to open libnvrtc-builtins.so.12.4",
        "nvrtc: error: failed to load builtins",
    ),
    # dyld of macOS, for builds with CUDA until 2018
    _missing_cuda_signature(
        r"Library not loaded: \S{0,60}lib(?:cudart|cublas|cufft|curand|cusolver|cusparse)[.\d]{1,8}\.dylib|Couldn't open CUDA library lib(?!cudnn|cuda\.)\w{1,40}[.\d]{1,8}\.dylib",
        "Library not loaded: @rpath/libcublas.9.1.dylib",
    ),
    _missing_cudnn_signature(r"Library not loaded: \S{0,60}libcudnn[.\d]{1,8}\.dylib", "Library not loaded: @rpath/libcudnn.7.dylib"),
    *MISSING_LIBRARIES,
    # jax_plugins/cuda/__init__.py and jaxlib/cuda/versions_helpers.cc: https://github.com/jax-ml/jax/issues/29042
    Signature(
        r"Unable to load cu(?:BLAS|FFT|PTI|SOLVER|SPARSE)\b|Unable to load CUDA\.(?: Is it installed| \(Set TF_CPP_MIN_LOG_LEVEL|$)|The cu(?:BLAS|FFT|PTI|SOLVER|SPARSE) library was not found",
        ("cuda-library-missing", "ld-library-path-shadowing"),
        "JAX cannot load a CUDA library",
        (
            "Unable to load cuSPARSE. Is it installed?",
            "CUDA backend failed to initialize: Unable to load cuSOLVER. (Set TF_CPP_MIN_LOG_LEVEL=0",
        ),
    ),
    Signature(
        r"operation cu(?:blas|fft|pti|solver|sparse|Sparse)Get\w{3,20}\([^\n]{0,80}\) failed:",
        ("ld-library-path-shadowing", "cuda-version-mismatch", "cuda-library-missing"),
        "the CUDA library that was loaded is not JAX's own",
        ("jaxlib/cuda/versions_helpers.cc:72: operation cublasGetVersion( nullptr, &version) failed: cuBlas internal error",),
    ),
    # onnxruntime/core/session/provider_bridge_ort.cc and onnxruntime_pybind_state.cc
    Signature(
        r"Failed to create CUDAExecutionProvider|\berror 126\b[^\n]{0,200}onnxruntime_providers_cuda|(?i:\b(?:win32|LoadLibrary|loading|load)\b[^\n]{0,30}\berror 126\b)(?=[^\n]{0,200}(?i:cuda))",
        ("cuda-library-missing", "cuda-version-mismatch", "cudnn-missing"),
        "ONNX Runtime did not find the CUDA or cuDNN release that it is built for",
        ("Failed to create CUDAExecutionProvider.",),
        vague=True,
        tells="python -m pip list | grep -E '^(onnxruntime|nvidia|torch)'; ldconfig -p | grep -E 'libcudart|libcudnn'",
    ),
    Signature(
        r"libdevice not found at|Can't find libdevice directory|libdevice(?:\.10\.bc)? is required by this HLO module|could not find libdevice\.10\.bc",
        ("libdevice-not-found",),
        "XLA cannot find libdevice",
        (
            "libdevice not found at ./libdevice.10.bc",
            "Can't find libdevice directory",
            "libdevice.10.bc is required by this HLO module",
        ),
    ),
    Signature(
        r"\bptxas:? not found|\bptxas: No such file|Couldn't (?:get ptxas/nvlink version|get ptxas version|find a suitable version of ptxas|invoke ptxas)"
        r"|No PTX compilation provider is available|Failed to launch ptxas|Cannot find ptxas|Running ptxas --version returned \d",
        ("ptxas-not-found", "ptxas-too-old"),
        "XLA cannot run ptxas",
        (
            "./bin/ptxas not found",
            "Couldn't get ptxas/nvlink version",
            "Couldn't find a suitable version of ptxas",
            "Couldn't invoke ptxas --version",
            "No PTX compilation provider is available",
            "Failed to launch ptxas",
        ),
    ),
    # it ran, and its own message says why it failed
    Signature(
        r"ptxas exited with non-zero error code",
        ("ptxas-too-old", "ptxas-not-found"),
        "XLA's ptxas failed",
        ("ptxas exited with non-zero error code 65280, output: ",),
        last=True,
        vague=True,
    ),
    Signature(
        r"ptxas too old\.|Invoking ptxas with version [\d.]{3,12}, which corresponds to a CUDA version|ptxas does not support CC|ptxas [\d.]{1,20} has a bug that|You are using ptxas [\dx.]{1,20}, (?:which is older than|but TF requires)",
        ("ptxas-too-old",),
        "XLA's ptxas is too old",
        (
            "ptxas too old.",
            "ptxas 12.3.103 has a bug that we think can affect XLA.",
            "ptxas does not support CC",
            "You are using ptxas 10.1.243, which is older than 11.1",
            "*** WARNING *** Invoking ptxas with version 12.5.40, which corresponds to a CUDA version <=12.6.2.",
        ),
    ),
    # what LLVM in Triton and Numba says of an architecture that it does not know
    Signature(
        r"'sm_\d{2,3}\w?' is not a recognized processor for this target|Triton only supports CUDA \d{1,2}\.\d or higher, but got CUDA version",
        ("triton-ptxas-too-old",),
        "the compiler in Triton or Numba does not know this GPU",
        (
            "'sm_120' is not a recognized processor for this target (ignoring processor)",
            "RuntimeError: Triton only supports CUDA 10.0 or higher, but got CUDA version: 12.8",
        ),
    ),
    Signature(
        r"(?i)(?:triton|ptxas-blackwell)[^\n]{0,200}(?:Value 'sm_\d{2,3}\w?' is not defined for option|Unsupported \.version)",
        ("triton-ptxas-too-old",),
        "Triton's ptxas is too old for this GPU",
        ("triton/backends/nvidia/bin/ptxas fatal: Value 'sm_121' is not defined for option 'gpu-name'",),
    ),
    # the driver's own compiler, which names its input so: https://github.com/numba/numba/issues/7006
    Signature(
        r"ptxas application ptx input[^\n]{0,80}Unsupported \.version",
        ("driver-too-old",),
        "the driver is too old for this PTX version",
        ("ptxas application ptx input, line 9; fatal   : Unsupported .version 8.4; current version is '8.0'",),
        despite_versions=True,  # the driver may run that CUDA release's machine code and not compile its PTX
    ),
    Signature(
        r"Value 'sm_\d+\w?' is not defined for option 'gpu-name'|Unsupported \.version \d\.\d; current version is|PTX \.version \d\.\d does not support \.target sm_",
        ("ptxas-too-old", "triton-ptxas-too-old"),
        "ptxas is too old for this GPU",
        ("Value 'sm_120' is not defined for option 'gpu-name'", "Unsupported .version 8.7; current version is '8.2'"),
    ),
    # two frameworks in one process: https://github.com/jax-ml/jax/issues/19004
    Signature(
        r"(?i)\b(?:cudnn|cublas|cuda|dnn library)\b[^\n]{0,80}\b(?:after|if|once)\b[^\n]{0,30}\b(?:import(?:ing|ed)?|load(?:ing|ed)?)\b\W{0,3}(?:torch|pytorch|tensorflow|jax|cupy|paddle)\b",
        ("nvidia-wheel-version-conflict", "cudnn-version-mismatch", "gpu-memory-preallocation"),
        "two frameworks in one process load libraries of different CUDA or cuDNN releases",
        ("cuDNN fails to initialise after importing torch",),
        vague=True,
    ),
    Signature(
        r"undefined symbol:? \W?p?nccl[A-Z]\w{1,80}"
        # gcc and nvcc, for functions that came with NCCL 2.4 to 2.19: https://github.com/horovod/horovod/issues/3791
        r"|\W(?:ncclComm(?:GetAsyncError|InitRankConfig|Finalize|Split|Register)|ncclMemAlloc|ncclConfig_t)\W{1,3}(?:was not declared|is undefined|undeclared|has not been declared)",
        ("nccl-version-conflict",),
        "NCCL is older than this build needs",
        (
            "undefined symbol: ncclCommRegister",
            'undefined symbol: "ncclCommSplit"',
            "error: 'ncclCommGetAsyncError' was not declared in this scope",
        ),
    ),
    # read in libnccl 2.32.3 and in NCCL's sources of 2.30.7
    Signature(
        r"Mismatched NCCL (?:git )?versions? detected",
        ("nccl-version-conflict",),
        "the job's processes loaded different NCCL versions",
        ("Mismatched NCCL version detected",),
    ),
    # torch/backends/cudnn/__init__.py of 2.15; the status is in cudnn.h
    Signature(
        r"cuDNN version \d{1,9} is not compatible with devices with SM|CUDNN_STATUS_ARCH_MISMATCH|CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
        ("cudnn-drops-gpu",),
        "cuDNN has no kernels for this GPU",
        ("cuDNN version 91100 is not compatible with devices with SM < 7.5", "CUDNN_STATUS_ARCH_MISMATCH"),
    ),
    # the empty files onto which NVIDIA's runtime mounts the driver's libraries stay in an image that was committed
    Signature(
        r"lib(?:cuda|nvidia-[a-z]{2,20})\.so[\d.]{0,40}: file too short",
        ("cuda-library-damaged", "container-no-gpu-access"),
        "the driver's library is an empty file",
        ("ImportError: /usr/lib/x86_64-linux-gnu/libcuda.so.1: file too short",),
        tells="ls -lL /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1; ls /.dockerenv /dev/nvidiactl",
    ),
    Signature(
        r"(?<![\w.-])lib(?!(?:cuda|nvidia-[a-z]{2,20})\.so[\d.]{0,40}: file too)[^\s/]{1,200}\.so[\d.]{0,40}: (?:file too short|invalid ELF header|ELF load command|cannot read file data)",
        ("cuda-library-damaged", "framework-files-damaged"),
        "a library file is damaged",
        ("libcublas.so.12: file too short", "libtorch_cuda.so: invalid ELF header"),
    ),
)
