"""What libraries say if TensorFlow or JAX, which take most GPU memory at start, leave them none."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

# cuDNN, cuBLAS and cuSOLVER cannot start without memory: https://docs.jax.dev/en/latest/faq.html
STARVED = (
    Signature(
        r"(?i:could not create cudnn handle)|Failed to determine best cudnn convolution algorithm|Blas \w{0,10}GEM[MV]\w{0,20} launch failed|Failed to get convolution algorithm|RET_CHECK failure [^\n]{0,120}\bdnn != nullptr"
        r"|operation cusolverDnCreate\(&handle\) failed|failed to create (?:cublas|cusolver) handle",
        ("gpu-memory-preallocation", "cudnn-version-mismatch", "gpu-memory-insufficient", "gpu-memory-held-by-other-process"),
        "cuDNN or cuBLAS failed to initialise, usually because the framework holds all GPU memory or another cuDNN was loaded",
        (
            "Could not create cudnn handle",
            "Failed to determine best cudnn convolution algorithm",
            "Failed to get convolution algorithm. This is probably because cuDNN failed to initialize",
            "failed to create cublas handle",
        ),
        vague=True,
    ),
    # XLA, whose cuDNN may have no code for an old GPU: https://github.com/jax-ml/jax/issues/15361
    Signature(
        r"DNN library initialization failed",
        (
            "gpu-memory-preallocation",
            "cudnn-version-mismatch",
            "gpu-memory-insufficient",
            "gpu-memory-held-by-other-process",
            "gpu-too-old-for-build",
            "driver-too-old",
        ),
        "cuDNN failed to initialise, usually because the framework holds all GPU memory or another cuDNN was loaded",
        ("FAILED_PRECONDITION: DNN library initialization failed. Look at the errors above for more details.",),
        vague=True,
    ),
    # aten/src/ATen/native/cudnn/Conv_v7.cpp and Conv_v8.cpp, which pass over what needs more memory than there is; TensorFlow's conv_ops_gpu.cc
    Signature(
        r"(?i:unable to find a valid cudnn algorithm to run convolution|no (?:valid )?convolution algorithms? available in cudnn)|GET was unable to find an engine to execute this computation|No algorithm worked!",
        ("gpu-memory-insufficient", "gpu-memory-held-by-other-process", "cudnn-version-mismatch", "gpu-too-old-for-build"),
        "cuDNN found no way to compute a convolution, usually because too little GPU memory is left",
        (
            "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
            "GET was unable to find an engine to execute this computation",
            "NotFoundError: No algorithm worked!",
        ),
        vague=True,
        guess=True,
    ),
    # xla/pjrt/gpu, which has set aside every GPU; jax/_src/xla_bridge.py adds that memory may be the reason
    Signature(
        r"no supported devices found for platform CUDA",
        (
            "gpu-memory-preallocation",
            "gpu-memory-held-by-other-process",
            "mig-one-instance-per-process",
            "gpu-too-old-for-build",
            "cuda-init-fails",
        ),
        "XLA could use none of the GPUs, usually because no memory is left on them",
        ("INTERNAL: no supported devices found for platform CUDA",),
        vague=True,
        last=True,
    ),
    # tensorflow/core/util/cuda_solvers.cc and gpu_solvers.h: https://github.com/tensorflow/tensorflow/issues/22105
    Signature(
        r"Failed to create cuSolverDN instance",
        ("gpu-memory-preallocation", "gpu-memory-insufficient"),
        "cuSOLVER failed to initialise, usually because no GPU memory is left",
        ("Failed to create cuSolverDN instance.",),
        vague=True,
    ),
    # https://github.com/jax-ml/jax/issues/21950
    Signature(
        r"gpusolverDnCreate(?:\(&handle\))? failed|cuSolver internal error|cuSolver has not been initialized",
        ("nvidia-wheel-version-conflict", "gpu-memory-preallocation", "ld-library-path-shadowing"),
        "cuSOLVER failed to initialise, usually because its parts are of different releases or no memory is left",
        ("operation gpusolverDnCreate(&handle) failed: cuSolver internal error",),
        vague=True,
    ),
)
