"""What builds, compilers and CUDA libraries say of a GPU that they have no kernels for."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_WORDS = r"(?:[^\n.;]|\.(?=\d))"
_LACKS_KERNELS = (
    rf"\b(?:py)?(?:torch|triton|tensorflow|jax|xformers|build|wheels?|release|installation)\b{_WORDS}{{0,24}}(?:n't|\bnot|\bcannot|\bunable to)\b"
    rf"{_WORDS}{{0,16}}\b(?:support|generate|know|include|have|contain|compil|built|emit)\w{{0,4}}\b{_WORDS}{{0,24}}\b(?:sm|compute)[_ ]?"
)
"""A sentence that says that a build lacks kernels, up to the compute capability."""
_WITHOUT_SUCCESS = r"\b(?![^\n.]{0,60}\?)(?![^\n]{0,80}\b(?:PTX|(?:works?|runs?|trains?)(?: now| fine| well)?)\b)"
"""No question follows, and the text does not say that the program runs anyway or with another build."""

ARCHITECTURES = (
    # torch/cuda/__init__.py of 0.4 to 2.15
    Signature(
        r"CUDA capability sm_\d+\w? is not compatible with the current PyTorch installation|torch==\S{1,40} does not include kernels for this GPU"
        r"|current PyTorch install(?:ation)? supports CUDA capabilities sm_|but your PyTorch was compiled with CUDA_VERSION \d",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "this build has no kernels for this GPU",
        (
            "CUDA capability sm_120 is not compatible with the current PyTorch installation",
            "CUDA capability sm_61 is not compatible with the current PyTorch installation",
            "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.",
            "Your installed torch==2.15.0 does not include kernels for this GPU",
        ),
    ),
    Signature(
        r"PyTorch no longer supports this GPU because it is too old|cuda capability supported by this library is \d|(?i:\b(?:torch|build|wheels?|image|default)\b[^\n.]{0,40}\b(?:has|have|had|ships?|contains?) no sm_?[3-7]\d\b)",
        ("gpu-too-old-for-build",),
        "this build has no kernels for a GPU this old",
        ("PyTorch no longer supports this GPU because it is too old.",),
    ),
    # as people say it of a build or a compiler, and of the compute capability that it lacks
    Signature(
        rf"(?i){_LACKS_KERNELS}(?:8[69]|9\d|1[0-2]\d){_WITHOUT_SUCCESS}",
        ("gpu-too-new-for-build", "triton-ptxas-too-old"),
        "this build has no kernels for a GPU this new",
        ("Triton does not support sm_120 yet", "PyTorch can't generate code for sm120"),
        vague=True,
        said=True,
        despite_versions=True,  # it may be another build than the stated one
    ),
    Signature(
        rf"(?i){_LACKS_KERNELS}[3-7]\d{_WITHOUT_SUCCESS}",
        ("gpu-too-old-for-build", "gpu-too-old-for-triton"),
        "this build has no kernels for a GPU this old",
        ("this PyTorch does not support sm_61",),
        vague=True,
        said=True,
        despite_versions=True,
    ),
    # paddle/phi/backends/gpu/gpu_resources.cc of 2.6 to 3.2, and what else lists the architectures of a build beside the GPU's
    Signature(
        r"(?i)\bmismatched gpu architecture\b|\b(?:compiled|built) for [\d ,smcoputearch_.]{2,100}[^\n]{0,24}\bgpu is (?:sm_?)?\d{2,3}\b|\bgpu architecture\b[^\n]{0,80} not compatible with\b[^\n]{0,40}\barch\b",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "this build has no kernels for this GPU",
        (
            "Mismatched GPU Architecture: The installed PaddlePaddle package was compiled for 75 80 86 89 ,but your current GPU is 120",
            "The GPU architecture in your current machine is Ampere, which is not compatible with Paddle installation with arch: 60 61 70 75",
        ),
    ),
    # backend/memory_management.py of Stable Diffusion WebUI Forge, whose first tensor on the GPU failed
    Signature(
        r"Your device does not support the current version of Torch/CUDA",
        ("gpu-too-new-for-build", "gpu-too-old-for-build", "driver-too-old"),
        "this build cannot compute on this GPU",
        ("RuntimeError: Your device does not support the current version of Torch/CUDA! Consider download another version:",),
    ),
    # gpu/gpu.go of Ollama, whose libraries leave out what is older than its own minimum
    Signature(
        r"CUDA GPU is too old\. (?:Falling back to CPU|Compute Capability)",
        ("gpu-too-old-for-build", "gpu-below-framework-minimum"),
        "Ollama does not support a GPU this old",
        ("CUDA GPU is too old. Falling back to CPU mode. Compute Capability detected: 3.5",),
        despite_versions=True,  # its minimum is its own
    ),
    # candle-kernels' and text-embeddings-inference's compute_cap.rs: an image is built for one generation
    Signature(
        r"[Rr]untime compute cap (?:[5-7]\d|8\d (?=is not compatible with compile time compute cap (?:9\d|1\d\d)))",
        ("gpu-too-old-for-build", "extension-missing-arch"),
        "this image is built for newer GPUs than this one",
        ("Could not start backend: Runtime compute cap 75 is not compatible with compile time compute cap 80",),
        despite_versions=True,  # the program's own kernels, not a framework's
    ),
    Signature(
        r"[Rr]untime compute cap (?:8\d is not compatible with compile time compute cap [5-7]|9\d is not compatible with compile time compute cap [5-8]|1\d\d is not compatible with compile time compute cap [5-9])\d\b",
        ("gpu-too-new-for-build", "extension-missing-arch"),
        "this image is built for older GPUs than this one",
        ("Runtime compute cap 120 is not compatible with compile time compute cap 90",),
        despite_versions=True,
    ),
    # ggml-cuda/common.cuh of llama.cpp
    Signature(
        r"has no device code compatible with CUDA arch \d|ggml-cuda\.cu was compiled for: \d",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "this build has no kernels for this GPU",
        ("ERROR: CUDA kernel flash_attn_ext_f16 has no device code compatible with CUDA arch 700. ggml-cuda.cu was compiled for: 890",),
    ),
    # cublas_api.h: a build's libraries, unlike its kernels, know only the GPUs of their time
    Signature(
        r"CUBLAS_STATUS_ARCH_MISMATCH|CUSOLVER_STATUS_ARCH_MISMATCH|CUSPARSE_STATUS_ARCH_MISMATCH",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "a CUDA library has no kernels for this GPU",
        ("CUBLAS_STATUS_ARCH_MISMATCH",),
    ),
    Signature(
        r"CUFFT_INTERNAL_ERROR|CUBLAS_STATUS_EXECUTION_FAILED|CUBLAS_STATUS_NOT_SUPPORTED|CUDNN_STATUS_EXECUTION_FAILED|CUDNN_STATUS_MAPPING_ERROR|[Ii]nvalid device function|cudaErrorInvalidDeviceFunction|device kernel image is invalid|cudaErrorInvalidKernelImage|CUDA_ERROR_INVALID_IMAGE",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "a CUDA library or kernel failed on this GPU",
        ("CUFFT_INTERNAL_ERROR", "CUBLAS_STATUS_EXECUTION_FAILED", "cudaErrorInvalidDeviceFunction"),
        vague=True,
        needs_support=True,
    ),
    # TensorFlow refuses a GPU that is older than its build before it computes on it
    Signature(
        r"Blas \w{0,10}GEM[MV]\w{0,20} launch failed",
        ("gpu-too-new-for-build",),
        "a CUDA library or kernel failed on this GPU",
        ("Blas GEMM launch failed",),
        vague=True,
        needs_support=True,
    ),
    # PyTorch 0.4 and 1.0 for CUDA 9.0 on Turing: https://github.com/pytorch/pytorch/issues/17334
    Signature(
        r"cublas runtime error : the GPU program failed to execute|THCGeneral\.cpp line=\d{1,5} error=11 : invalid argument",
        ("gpu-too-new-for-build",),
        "a CUDA library does not know this GPU",
        ("cublas runtime error : the GPU program failed to execute at /pytorch/aten/src/THC/THCBlas.cu:249",),
        needs_support=True,
        despite_versions=True,  # kernels for an older GPU of the same generation run on it
    ),
    # the NVRTC of the build's CUDA, which compiles PyTorch's fused kernels
    Signature(
        r"nvrtc: error: invalid value for --gpu-architecture",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "the build's run-time compiler does not know this GPU",
        ("nvrtc: error: invalid value for --gpu-architecture (-arch)",),
        despite_versions=True,  # kernels for an older GPU of the same generation run on it
    ),
    # read in torch/_inductor of 2.0.0 to 2.15.0
    Signature(
        r"too old to be supported by the triton GPU compiler|Triton only supports devices of CUDA Capability",
        ("gpu-too-old-for-triton",),
        "torch.compile does not support a GPU this old",
        ("which is too old to be supported by the triton GPU compiler",),
    ),
    # the entry point of NVIDIA's images, entrypoint.d/50-gpu-driver-check.sh
    Signature(
        r"GPU, which is (?:not|no longer) supported by this container",
        ("gpu-too-old-for-build",),
        "the image no longer supports a GPU this old",
        ("ERROR: Detected NVIDIA Tesla K80 GPU, which is not supported by this container",),
        despite_versions=True,  # the image, not the framework's release, lacks the kernels
    ),
    # as people say it, of a GPU that has none
    Signature(
        r"(?i)\b(?:refus\w{1,3}|fail\w{0,3}|crash\w{0,3}|won't|cannot|can't|not|n't|unsupported|error)\b[^\n.]{0,40}\b(?:bf16|bfloat16)\b|\b(?:bf16|bfloat16)\b[^\n.]{0,40}(?:n't|\b(?:not|unsupported|fail\w{0,3}|crash\w{0,3}|errors?|refus\w{1,3}|slow|lacks?|missing))\b",
        ("gpu-lacks-bf16",),
        "this GPU does not support BF16",
        ("the model does not start in bf16",),
        vague=True,
        needs_support=True,
        last=True,
    ),
    # read in torch/amp/autocast_mode.py and ptxas 13.0; the last is vLLM's: https://github.com/vllm-project/vllm/issues/1284
    Signature(
        r"CUDA Device does not support bfloat16|Feature '\.bf16\w{0,20}' requires \.target sm_80|(?i:bfloat16 is only supported on gpus with compute capability)|setup doesn't support bf16/gpu|bf16/gpu\. You need|[Bb]f16 is only supported on A100",
        ("gpu-lacks-bf16",),
        "this GPU does not support BF16",
        (
            "Current CUDA Device does not support bfloat16",
            "Feature '.bf16' requires .target sm_80 or higher",
            "Bfloat16 is only supported on GPUs with compute capability of at least 8.0",
        ),
    ),
    # c10/cuda and aten/src/ATen/cuda/CUDABlas.cpp
    Signature(
        r"\bCUBLAS_STATUS_NOT_SUPPORTED\b[^\n]{0,200}\bCUDA_R_16BF\b",
        ("gpu-lacks-bf16",),
        "cuBLAS has no matmul in BF16 for this GPU",
        ("CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx( handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda)`",),
        needs_support=True,
    ),
    # aten/src/ATen/native/transformers/cuda/attention.cu: https://github.com/QwenLM/Qwen3/issues/710
    Signature(
        r"\bcutlass[FB]: no kernel found to launch",
        ("gpu-lacks-bf16", "gpu-too-new-for-build"),
        "PyTorch's attention has no kernel for this GPU in this type, usually BF16",
        ("RuntimeError: cutlassF: no kernel found to launch!",),
        vague=True,
        guess=True,
        tells="nvidia-smi --query-gpu=name,compute_cap --format=csv",
    ),
    # src/transformers/training_args.py: TF32 came with BF16
    Signature(
        r"--tf32 requires Ampere",
        ("gpu-lacks-bf16",),
        "this GPU does not support TF32",
        ("ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11 and torch>=1.7",),
        cure="Turn TF32 off (--tf32 False); if BF16 is on, train in FP16 too.",
    ),
)
