"""What frameworks say when a build does not fit the GPU, the platform or the other packages."""

from __future__ import annotations

from gpudoctor.signatures.architectures import ARCHITECTURES
from gpudoctor.signatures.cpu_builds import CPU_BUILDS
from gpudoctor.signatures.extensions import COMPILED_FOR_A_FRAMEWORK, EXTENSIONS, TORCH_KERNEL_FOLDERS
from gpudoctor.signatures.no_gpu import NO_GPU_ANSWERS, STILL_NO_GPU
from gpudoctor.signatures.signature import Signature

GPU_LEFT_UNUSED = (
    r"(?i)\b(?:jax|tensorflow|torch|pytorch|ollama)\b[^\n]{0,30}\b(?:falls?|falling|fell) back to (?:the )?cpu\b"
    r"|\bollama\b[^\n]{0,40}(?:n't|\bnot|\bunable to)\b[^\n]{0,16}\b(?:find|use|see|detect|recogni[sz]e)\b[^\n]{0,16}\bgpus?\b"
)
"""What people say of a program that leaves the GPU alone: no kernel need have failed."""
BUILDS = (
    *CPU_BUILDS,
    *EXTENSIONS,
    *ARCHITECTURES,
    Signature(
        r"it is not compatible with the installed jaxlib version|is newer than and incompatible with jax version|but this version of jax requires|Mismatched PJRT plugin PJRT API version"
        r"|register_custom_call_target\(\): incompatible function arguments|Unexpected PJRT_\w{2,60}_Args size: expected \d",
        ("jax-plugin-version-mismatch",),
        "JAX and its CUDA plugin have incompatible versions",
        (
            "it is not compatible with the installed jaxlib version",
            "is newer than and incompatible with jax version",
            "Mismatched PJRT plugin PJRT API version (0.54) and framework PJRT API version 0.51)",
        ),
        despite_versions=True,  # jax and jaxlib may fit each other beside a plugin whose version is not stated
    ),
    # jaxlib before 0.5.3 loads a CUDA plugin of any version: https://github.com/jax-ml/jax/issues/24901
    Signature(
        r"\bSegmentation fault\b|\bSIGSEGV\b|\bexit(?:ed with)? code 139\b",
        ("jax-plugin-version-mismatch",),
        "Python crashed, as it does where jaxlib loads a newer CUDA plugin",
        ("Segmentation fault (core dumped)",),
        vague=True,
        needs_support=True,
    ),
    # jax/lib/xla_bridge.py before 0.4.14, which had no plugins
    Signature(
        r"No GPU/TPU found, falling back to CPU",
        ("cpu-only-build", "cuda-version-mismatch", "cuda-library-missing", "cudnn-version-mismatch"),
        "jaxlib is built without CUDA, or does not find its libraries",
        ("UserWarning: No GPU/TPU found, falling back to CPU.",),
        vague=True,
        last=True,
        about_packages=True,
    ),
    # jax/_src/xla_bridge.py of 0.4.14 to 0.12: it says so too if the plugin is installed and failed to start
    Signature(
        r"CUDA-enabled jaxlib is not installed",
        ("cpu-only-build", "jax-plugin-version-mismatch", "cuda-library-missing", "cudnn-version-mismatch"),
        "JAX is installed without a CUDA plugin that starts",
        ("An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed",),
        vague=True,
        last=True,
        about_packages=True,
    ),
    # modules/launch_utils.py of stable-diffusion-webui; unsloth/models/_utils.py; Lightning's accelerator connector and its parser of device ids
    Signature(
        r"Torch is not able to use GPU|No supported gpu backend found|\bBut your machine only has: \[\]|[Cc]annot find any torch accelerator"
        r"|\b(?:CUDA|GPU)Accelerator\W{1,2}can ?not run on your system since the accelerator is not available",
        (
            "cpu-only-build",
            "no-driver",
            "driver-too-old",
            "scheduler-gpu-not-allocated",
            "container-no-gpu-access",
            "device-permission-denied",
        ),
        "PyTorch sees no GPU",
        ("RuntimeError: Torch is not able to use GPU; add --skip-torch-cuda-test",),
        vague=True,
        tells="python -c 'import torch; print(torch.version.cuda)'; nvidia-smi",
    ),
    # lightning/pytorch/accelerators/cuda.py and its parser of device ids
    Signature(
        r"\bBut your machine only has: \[\d",
        ("cuda-visible-devices-masked", "scheduler-gpu-not-allocated", "mig-one-instance-per-process", "gpu-count-mismatch"),
        "the program asks for more GPUs than this process sees",
        ("But your machine only has: [0]",),
        tells='nvidia-smi -L; echo "[$CUDA_VISIBLE_DEVICES]"',
    ),
    # vllm/config of 0.6 to 0.20
    Signature(
        r"RuntimeError: Failed to infer device type|No platform detected, vLLM is running on UnspecifiedPlatform",
        ("no-driver", "cpu-only-build", "container-no-gpu-access"),
        "vLLM found no GPU",
        ("RuntimeError: Failed to infer device type",),
        vague=True,
    ),
    # jax/_src/xla_bridge.py of 0.2 to 0.12, for a platform that somebody asked for
    Signature(
        r"Unknown backend:? '?(?:gpu|cuda)|no platforms that are instances of (?:gpu|cuda) are present|Backend '(?:gpu|cuda)' failed to initialize|Unable to initialize backend '(?:gpu|cuda)'(?!: (?:NOT_FOUND|INVALID_ARGUMENT): (?:Could not find registered platform|.{0,40}'TpuPlatform)|: FAILED_PRECONDITION: No visible GPU)",  # the plugin for CUDA says that
        ("cpu-only-build", "jax-plugin-version-mismatch", "no-driver", "cuda-visible-devices-masked", "no-gpu"),
        "JAX has no CUDA backend that starts",
        (
            "RuntimeError: Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. Platforms present are: cpu",
            "Unable to initialize backend 'cuda'",
        ),
        last=True,  # CUDA's own error stands in the same line
        vague=True,
    ),
    # jax/_src/xla_bridge.py: the plugin's own error ends the traceback below
    Signature(
        r"Exception when calling jax_plugins\.\w{2,40}\.initialize\(\)|Jax plugin configuration error",
        ("jax-plugin-version-mismatch", "cuda-library-missing", "cudnn-version-mismatch"),
        "JAX's CUDA plugin does not start",
        ("Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()",),
        vague=True,
        last=True,
    ),
    # jax/_src/xla_bridge.py of 0.3 and 0.4 with the jaxlib of PyPI
    Signature(
        r"(?<!RuntimeError: Unable to initialize backend 'rocm': )module 'jaxlib\.xla_extension' has no attribute '(?:GpuAllocatorConfig|get_gpu_client)'",
        ("cpu-only-build", "no-cuda-wheel-for-platform"),
        "jaxlib is built without CUDA",
        ("Unable to initialize backend 'cuda': module 'jaxlib.xla_extension' has no attribute 'GpuAllocatorConfig'",),
    ),
    # jax/_src/lib of 0.3 to 0.7 with another jaxlib
    Signature(
        r"(?<!backend 'tpu': )(?<!backend 'tpu_driver': )module 'jax(?:lib|\._src\.lib)(?:\.\w{2,30}){0,3}' has no attribute(?! '(?:GpuAllocatorConfig|get_gpu_client)')|cannot import name '\w{1,40}' from 'jax(?:lib|\._src\.lib\b)",
        ("jax-plugin-version-mismatch",),
        "jax, jaxlib and the CUDA plugin do not match",
        (
            "AttributeError: module 'jaxlib.xla_client' has no attribute 'Device'",
            "ImportError: cannot import name 'xla_client' from 'jaxlib'",
        ),
        despite_versions=True,  # a newer CUDA plugin asks an older jaxlib for it, which jax may fit
    ),
    # as scripts label what torch.backends.cuda.is_built() and others answer
    Signature(
        r"\bbuilt with CUDA(?: support)?\W{1,16}False\b",
        ("cpu-only-build", "no-cuda-wheel-for-platform", "windows-native-no-gpu"),
        "the framework is built without CUDA",
        ("PyTorch built with CUDA:         False",),
    ),
    # tensorflow/python/framework/test_util.py's and build_info's answers as people print them
    Signature(
        r"is_built_with_(?:cuda|gpu_support)(?:\(\))?['\"]?\s{0,3}(?::|=|->|\)|#|returns?)\s{0,3}False\b|'is_cuda_build': False"
        # tensorflow/core/common_runtime/placer_test.cc of 1.13
        r"|The requested device appears to be a GPU, but CUDA is not enabled",
        ("cpu-only-build", "no-cuda-wheel-for-platform", "windows-native-no-gpu"),
        "this is a CPU-only build of TensorFlow",
        (
            "tf.test.is_built_with_cuda(): False",
            "'is_cuda_build': False",
            "The requested device appears to be a GPU, but CUDA is not enabled.",
        ),
    ),
    # kernels that TensorFlow has for GPUs only: core/framework/op_kernel.cc, keras/layers/cudnn_recurrent.py
    Signature(
        r"No (?:OpKernel was registered to support Op|registered) '?Cudnn\w{2,30}'?",
        ("cpu-only-build", "cuda-library-missing", "no-driver"),
        "TensorFlow sees no GPU, which the layer needs",
        ("No OpKernel was registered to support Op 'CudnnRNN'", "No registered 'CudnnRNN' OpKernel for CPU devices compatible with node"),
        vague=True,
        last=True,
    ),
    *COMPILED_FOR_A_FRAMEWORK,
    # cupy/_environment.py, which warns of it
    Signature(
        r"multiple CuPy packages are installed",
        ("two-copies-of-framework", "cupy-wheel-cuda-mismatch"),
        "several packages of CuPy are installed over each other",
        ("CuPy may not function correctly because multiple CuPy packages are installed in your environment",),
    ),
    # NVRTC, for which CuPy's kernels include CUDA's headers: https://docs.cupy.dev/en/stable/install.html
    Signature(
        r"cannot open source file \"(?:cuda\w{0,30}|cooperative_groups|vector_types|curand\w{0,20})(?:\.h|\")|Failed to auto-detect CUDA root directory",
        ("nvcc-toolkit-missing",),
        "the headers of the CUDA toolkit are missing, which kernels compiled at run time include",
        ('catastrophic error: cannot open source file "cuda_fp16.h"', "RuntimeError: Failed to auto-detect CUDA root directory."),
    ),
    # cupy/__init__.py: https://github.com/cupy/cupy/issues/8226
    Signature(
        r"Failed to import CuPy\.|CuPy failed to load lib|CuPy is not correctly installed",
        ("cupy-wheel-cuda-mismatch", "cuda-version-mismatch", "cuda-library-missing"),
        "CuPy did not find the CUDA libraries of its wheel",
        ("Failed to import CuPy.", "CuPy failed to load libnvrtc.so.12"),
    ),
    # vLLM's setup.py: https://github.com/vllm-project/vllm/issues/1284
    Signature(
        r"GPUs? with (?:CUDA |compute )?[Cc]apability (?:below|less than|lower than|<) ?\d\.\d[^\n]{0,20} not supported",
        ("gpu-too-old-for-build", "gpu-below-framework-minimum"),
        "this GPU is older than the program supports",
        ("GPUs with compute capability below 7.0 are not supported",),
    ),
    # vLLM's model_loader, FlashAttention, TensorRT, RAPIDS
    Signature(
        r"is not supported for the current GPU\. Minimum capability: \d|\bassert is_fa_version_supported\(|FlashAttention(?:-\d)? only supports (?:Ampere|Hopper) GPUs or newer"
        # aten/src/ATen/native/transformers/cuda/attention_backward.cu, whose backward pass needs the shared memory of 8.0 or 9.0
        r"|Expected (?:\w+ == )?is_sm\d\w{1,2}(?: \|\| is_sm\d\w{1,2}){0,3} to be true, but got false"
        r"|Target GPU SM \d{2,3} is not supported by this TensorRT|\bUnsupported SM: 0x\d{3,4}|\(Compute Capability \d\.\d\) or newer architecture is required|(?i:\bneed a GPU with NVIDIA [a-z]{5,9}\W{0,4}) or newer architecture|missing the necessary PTX files that are <="
        # aten/src/ATen/native/cuda/Blas.cpp, Triton's semantic.py
        r"|(?<!loat16 is )only supported on (?:\w{1,8} ){0,2}(?:GPUs|devices) with compute capability (?:>=|of at least) ?\d\.\d|not supported in this architecture\. The supported fp8 dtypes",
        ("gpu-below-framework-minimum",),
        "this GPU is older than the program supports",
        (
            "The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: 70.",
            "FlashAttention only supports Ampere GPUs or newer.",
            "RuntimeError: Expected is_sm80 || is_sm90 to be true, but got false.",
            "Target GPU SM 61 is not supported by this TensorRT release.",
            "Internal Error (Unsupported SM: 0x601)",
        ),
    ),
    # a wheel for Linux on Windows; what the extra and-cuda of TensorFlow 2.15.0 requires
    Signature(
        r"[A-Z]:\\[^\n]{0,300}bitsandbytes\\libbitsandbytes_cpu\.so|argument of type 'WindowsPath' is not iterable|requirement tensorrt[-_]libs==8\.|No matching distribution found for tensorrt[-_]libs==8\.",
        ("broken-release",),
        "the published wheel lacks a part that it needs",
        (
            "CUDA SETUP: Loading binary C:\\venv\\Lib\\site-packages\\bitsandbytes\\libbitsandbytes_cpu.so",
            "No matching distribution found for tensorrt-libs==8.6.1",
        ),
    ),
    # PyTorch 2.4.0 on Windows: https://github.com/pytorch/pytorch/issues/131662
    Signature(
        r"torch\\lib\\fbgemm\.dll\"? or one of its dependencies",
        ("broken-release",),
        "a library of PyTorch's wheel needs one that the wheel lacks",
        ('Error loading "C:\\venv\\Lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies',),
        needs_support=True,
    ),
    # LLVM in XLA and Triton
    Signature(
        r"PTX version \d\.\d does not support target 'sm_\d",
        ("gpu-too-new-for-build", "triton-ptxas-too-old"),
        "the build's compiler does not know this GPU",
        ("LLVM ERROR: PTX version 8.5 does not support target 'sm_120'.",),
    ),
    *NO_GPU_ANSWERS,
    STILL_NO_GPU,
    # tensorflow/core/common_runtime/gpu/gpu_device.cc: "Cuda multiprocessor count" in older releases, "core count" in newer ones
    Signature(
        r"Ignoring (?:visible )?gpu device \(device: [^\n]{0,240}(?:multiprocessor|core) count: \d{1,3}\. The minimum required count is",
        ("gpu-below-framework-minimum",),
        "TensorFlow ignores a GPU with fewer multiprocessors than it asks for",
        (
            "Ignoring gpu device (device: 1, name: Quadro K620) with Cuda multiprocessor count: 3. The minimum required count is 8.",
            "Ignoring visible gpu device (device: 1, name: Quadro P400, compute capability: 6.1) with core count: 2. The minimum required count is 8.",
        ),
        despite_versions=True,
        cure="Set TF_MIN_GPU_MULTIPROCESSOR_COUNT to the count of the smaller GPU to use it too; otherwise use the larger one.",
    ),
    # as people say it
    Signature(
        GPU_LEFT_UNUSED,
        ("gpu-too-old-for-build", "cpu-only-build"),
        "the framework uses the CPU",
        ("jax always falls back to the CPU",),
        vague=True,
        needs_support=True,
        last=True,
    ),
    Signature(
        r"(?i)\brequires?\b[^\n]{0,12}\b(?:cuda |compute )?capability \d\.\d\b[^\n]{0,6}\bor (?:higher|newer|above|later|greater)\b",
        ("gpu-below-framework-minimum",),
        "this GPU is older than the program supports",
        ("the container requires compute capability 6.0 or higher",),
        vague=True,
        needs_support=True,
    ),
    # as people say it of programs whose minimum is their own
    Signature(
        r"(?i)\b(?:kepler|maxwell|pascal|volta|turing)\b(?:-generation)?(?: (?:gpus?|cards?|architecture|series|generation)){0,2} (?:is|are|was|were)(?: not| no longer|n't) supported (?:by|on|in|with) [^\n.]{0,24}\b(?:rapids|cu(?:df|ml|graph|spatial|vs)|vllm|sglang|flash[- ]?attention|tensorrt|bitsandbytes|xformers)\b"
        r"|\b(?:rapids|cu(?:df|ml|graph|spatial|vs)|vllm|sglang|flash[- ]?attention|tensorrt|bitsandbytes|xformers)\b[^\n]{0,40}?\b(?:(?:does not|doesn't|no longer|do not|don't) supports?|dropp?(?:ed|s)(?: support for)?|needs?|requires?) (?:an? )?(?:nvidia )?(?:kepler|maxwell|pascal|volta|turing|ampere)\b(?: gpus?| architecture)?(?: or (?:newer|later|better))?",
        ("gpu-below-framework-minimum",),
        "this GPU is older than the program supports",
        ("Pascal GPUs are not supported by RAPIDS on WSL 2", "cuML no longer supports Pascal GPUs"),
        vague=True,
        said=True,
    ),
    # PyTorch's own kernels before 1.5, and NCCL's, which a framework brings
    Signature(
        rf"invalid device function at \S{{0,200}}/{TORCH_KERNEL_FOLDERS}/|Cuda failure (?:\d{{1,3}} )?'(?:invalid device function|named symbol not found)'",
        ("gpu-too-new-for-build", "gpu-too-old-for-build", "extension-missing-arch"),
        "this build has no kernels for this GPU",
        (
            "cuda runtime error (8) : invalid device function at /pytorch/torch/lib/THC/THCTensorCopy.cu:204",
            "NCCL WARN Cuda failure 'invalid device function'",
            "NCCL WARN Cuda failure 500 'named symbol not found'",
        ),
    ),
    # TensorFlow's PTX for older GPUs does not run on Blackwell: https://github.com/tensorflow/tensorflow/issues/99592
    Signature(
        r"CUDA_ERROR_INVALID_HANDLE",
        ("gpu-too-new-for-build",),
        "a kernel of this build cannot run on this GPU",
        ("'cuLaunchKernel(...)' failed with 'CUDA_ERROR_INVALID_HANDLE'",),
        needs_support=True,
    ),
)
