"""What frameworks, packages and people say of a build without CUDA."""

from __future__ import annotations

from gpudoctor.signatures.phrases import CUDA_BUILD_FUNCTION
from gpudoctor.signatures.signature import Signature

_FRAMEWORK = r"\b(?:(?:py)?torch|tensorflow|tf|jax(?:lib)?)\b"
_GOT_INSTALLED = (
    r"\b(?:installs|installed|(?:keeps?|is|always|insists on) installing|gets|got|(?:I|we|you|they|people|always|still|only) get|g[ia]ves?"
    r"|(?:pick|replac|downgrad|pull|obtain|download|resolv)e?[sd]|chooses|chose|takes|took|brings|brought|end(?:s|ed)? up with)"
)
"""Verbs of what was done. Bare infinitives and imperatives tell what to do."""
_WITHOUT_CUDA = r"\b(?:(?:cpu(?:[- ]only)?|non-gpu)[- ](?:version|build|variant|package|wheel|one|版)|(?:plain|cpu(?:[- ]only)?|non-gpu) (?:py)?(?:torch|tensorflow|jaxlib)|(?:py)?(?:torch|tensorflow|jaxlib)[- ](?:cpu|(?:without|w/o|minus) (?:the )?(?:cuda|gpu)(?: version| support)?))\b"
_WAS_INSTALLED = r"(?:is|was|gets|got|are|were|being) (?:\w{1,12} )?(?:installed|pulled|chosen|picked|downloaded)\b"
_RUNS_ON_GPU = r"\b(?:runs?|trains?|works?|running|training)(?: \w{1,8})? on (?:the |my |its )?gpu\b"
"""What somebody says whose build has CUDA."""

CPU_BUILDS = (
    Signature(
        r"Torch not compiled with CUDA enabled"
        rf"|module 'torch\._C' has no attribute '{CUDA_BUILD_FUNCTION}",
        ("cpu-only-build",),
        "this is a CPU-only build of PyTorch",
        ("Torch not compiled with CUDA enabled", "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"),
        despite_versions=True,  # the release has builds with CUDA too
    ),
    Signature(
        rf"(?i){_FRAMEWORK} (?:(?:is|was|got|gets|has been) )?(?:installed|built|compiled) without (?:any |the )?(?:cuda|gpu)\b"
        rf"|\bcpu\b[^\n.]{{0,40}}\b(?:wrong|incorrect|other) (?:version|build|variant) of (?:py)?(?:torch|tensorflow)\b|\b(?:wrong|incorrect) (?:version|build|variant) of (?:py)?(?:torch|tensorflow)\b[^\n.]{{0,40}}\bcpu\b",
        ("cpu-only-build",),
        "this is a build without CUDA",
        ("pytorch was installed without CUDA", "it ran on the CPU: I had the wrong version of torch"),
        vague=True,
        said=True,
    ),
    # pip's and uv's warnings; JAX's extras for CUDA are for Linux, and for newer releases than the one that was chosen
    Signature(
        r"package `jax==\S{1,20}` does not have an extra named `cuda|\bjax \S{1,20} does not provide the extra 'cuda",
        ("cpu-only-build", "no-cuda-wheel-for-platform"),
        "the installed release of JAX has no such extra, and came without CUDA",
        (
            "WARNING: jax 0.4.6 does not provide the extra 'cuda12-pip'",
            "warning: The package `jax==0.4.21` does not have an extra named `cuda12`",
        ),
        vague=True,
    ),
    # diffusers' models/attention_processor.py, InvokeAI's ldm/generate.py and api_app.py, kohya_ss's setup/setup_common.py, SD.Next's installer.py
    Signature(
        r"Using (?:device_type|torch device:?) (?i:cpu)\b|Torch reports CUDA not available|torch\.cuda\.is_available\(\) should be True but is False",
        ("cpu-only-build", "amd-gpu-unsupported", "no-driver"),
        "the program runs on the CPU because PyTorch offers no GPU",
        (">> Using device_type cpu", "Using torch device: CPU", "Torch reports CUDA not available"),
        vague=True,
        tells="python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'",
    ),
    # op_builder/builder.py of DeepSpeed, which asks whether a GPU is there and whether nvcc is of PyTorch's CUDA
    Signature(
        r"\b\w{2,30} cuda is missing or is incompatible with installed torch, only cpu ops can be compiled",
        ("cpu-only-build", "nvcc-toolkit-missing", "nvcc-framework-cuda-mismatch"),
        "DeepSpeed compiles nothing for the GPU: PyTorch is without CUDA, or nvcc is missing or of another CUDA",
        ("[WARNING]  cpu_adam cuda is missing or is incompatible with installed torch, only cpu ops can be compiled!",),
        vague=True,
        guess=True,
        tells="python -c 'import torch; print(torch.__version__)'; nvcc --version",
    ),
    # aten/src/ATen/native/cpu: what computes in half precision was meant for a GPU; accelerate, transformers, yolov5
    Signature(
        r"\"\w{0,40}(?:_cpu_?|KernelImpl|_out_frame)\" not implemented for 'Half'|\bfp16 mixed precision requires a GPU \(not 'cpu'\)"
        r"|\(`--fp16_full_eval`\)[^\n]{0,40} can only be used on CUDA|CUDA unavailable, invalid device [\w,]{1,20} requested",
        ("cpu-only-build", "no-driver", "container-no-gpu-access"),
        "what a GPU should compute runs on the CPU, usually because PyTorch sees no GPU",
        (
            "RuntimeError: \"LayerNormKernelImpl\" not implemented for 'Half'",
            "\"addmm_impl_cpu_\" not implemented for 'Half'",
            "ValueError: fp16 mixed precision requires a GPU (not 'cpu').",
        ),
        vague=True,
        guess=True,
        last=True,
        tells="python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'",
    ),
    Signature(
        r"(?i)\b(?:torch|tensorflow|jax)\b[^\n]{0,40}\b(?:without (?:any )?(?:the )?|no )nvidia[-_*\w]{0,12} packages",
        ("cpu-only-build",),
        "no CUDA packages are installed with the framework",
        ("torch is installed without nvidia packages",),
        vague=True,
    ),
    # as people say it
    Signature(
        rf"(?i)^(?=[^\n]{{0,400}}{_FRAMEWORK})(?![^\n]{{0,400}}{_RUNS_ON_GPU})[^\n]{{0,400}}?({_GOT_INSTALLED}\b[^\n]{{0,60}}{_WITHOUT_CUDA}|{_WITHOUT_CUDA}[^\n]{{0,40}}\b{_WAS_INSTALLED})"
        rf"|(?:{_GOT_INSTALLED}\b[^\n]{{0,20}}{_WITHOUT_CUDA}|{_WITHOUT_CUDA} {_WAS_INSTALLED})[^\n]{{0,40}}\b(?:instead of|rather than|and not)\b[^\n]{{0,20}}\b(?:cuda|gpu)\b"
        r"|(?i:\b(?:instead of|rather than)\b[^\n]{0,40}\b(?:cuda|gpu)\b[^\n]{0,30}\binstall\w{0,3}\b[^\n]{0,40}\bcpu\b)"
        r"|(?i:\bcpu(?:[- ]only)? installed (?:instead of|rather than|and not) (?:the )?(?:cuda|gpu)\b)"
        # the build that a list of versions names, or conda's
        r"|(?i:\b(?:py)?(?:torch|tensorflow|jaxlib)\b[^\n]{0,60}\b\d{1,2}\.\d{1,2}\.\d{1,2}\W{1,3}cpu[- ]only\b|\b(?:pytorch|tensorflow|jaxlib)\b[^\n]{0,30}[= ]py\d\.?\d{1,2}_cpu_\d)"
        r"|(?i:\binstall(?:s|ed)?\b[^\n]{0,20}\b(?:pytorch|torch|tensorflow)[_-]cpu\b[^\n]{0,10}\b(?:rather than|instead of|and not|not)\b)",
        ("cpu-only-build",),
        "an installer chose the build without CUDA",
        (
            "conda installs the CPU version of PyTorch instead of the CUDA one",
            "our environment.yml gives people the cpu build of pytorch",
            "my pytorch was replaced with a CPU version",
            "this command installs the cpu version instead of cuda",
            "pytorch=1.9.1=py3.8_cpu_0",
        ),
        vague=True,
        said=True,
        despite_versions=True,  # the release has builds with CUDA too
        last=True,
    ),
    # what other packages say without CUDA: Paddle, MXNet, XGBoost, LightGBM, DGL, CTranslate2, llama.cpp, PyG, faiss, ONNX Runtime
    Signature(
        r"you have installed CPU version PaddlePaddle|Compile with USE_CUDA=1 to enable GPU usage|\.cc:\d{1,4}: (?:GPU is not enabled|Please compile with CUDA enabled)|\b(?:built|(?<!bitsandbytes was )(?<!llama\.cpp was )compiled) without (?:CUDA|GPU) support\b|XGBoost version not compiled with GPU support|(?:GPU|CUDA) Tree Learner was not enabled in this build|(?i:\brecompile with CMake option) -DUSE_(?:GPU|CUDA)"
        r"|Device API cuda is not enabled\. Please install the cuda version|package was not compiled with CUDA support"
        r"|module 'faiss' has no attribute 'StandardGpuResources'|provider 'CUDAExecutionProvider' is not in available provider names"
        r"|PyTorch was compiled without CUDA support|Torch was not compiled with CUDA|CUDA execution provider is not enabled in this build",
        ("cpu-only-build",),
        "this package is built without CUDA",
        (
            "Specified provider 'CUDAExecutionProvider' is not in available provider names.Available providers: 'CPUExecutionProvider'",
            "storage.cc:118: Compile with USE_CUDA=1 to enable GPU usage",
            "This CTranslate2 package was not compiled with CUDA support",
            "XGBoost version not compiled with GPU support",
            "Device API cuda is not enabled. Please install the cuda version of dgl.",
        ),
        cure="Install the package's build with CUDA in place of this one.",
    ),
    # onnxruntime.get_available_providers(), as it is printed
    Signature(
        r"(?:^|[Aa]vailable providers:? ?|get_(?:available_)?providers\(\)\W{0,12})\s{0,6}\[(?:'AzureExecutionProvider', ?)?'CPUExecutionProvider'\]\s{0,4}$",
        ("cpu-only-build", "two-copies-of-framework"),
        "the ONNX Runtime that is imported has no CUDA provider: onnxruntime without CUDA, or beside onnxruntime-gpu",
        ("Available providers: ['AzureExecutionProvider', 'CPUExecutionProvider']",),
        vague=True,
        last=True,
    ),
    # common/arg.cpp of llama.cpp: it says so too if CUDA failed to start. src/llama-model.cpp counts layers only in a build that can offload them,
    # and 0 of them as the program asked; Ollama counts them in any build
    Signature(
        r"not compiled with GPU offload support|no usable GPU found, --|llama\.cpp was compiled without (?:GPU|CUDA) support|(?<!load_tensors: )offloaded 0/\d{1,4} layers to GPU|\bBLAS ?= ?0\b",
        ("cpu-only-build", "no-driver", "container-no-gpu-access"),
        "llama.cpp found no GPU, or was compiled without CUDA",
        (
            "not compiled with GPU offload support, --gpu-layers option will be ignored",
            "warning: no usable GPU found, --gpu-layers option will be ignored",
            "AVX = 1 | AVX2 = 1 | FMA = 1 | F16C = 1 | BLAS = 0 | SSE3 = 1 |",
        ),
        vague=True,
        last=True,
        tells="nvidia-smi -L",
        # docs/build.md of llama.cpp, README.md of llama-cpp-python
        cure="If nvidia-smi lists the GPU, build llama.cpp with -DGGML_CUDA=ON; for Python: CMAKE_ARGS=-DGGML_CUDA=on python -m pip install --force-reinstall --no-cache-dir llama-cpp-python.",
    ),
)
