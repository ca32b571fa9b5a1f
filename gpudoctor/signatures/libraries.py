"""What frameworks and the loader say when CUDA, cuDNN or NCCL libraries are missing, damaged or do not match."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

LIBRARIES = (
    Signature(
        r"Loaded runtime CuDNN library: \S{1,100} but source was compiled with|cuDNN version incompatibility: PyTorch was compiled",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the loaded cuDNN is older than this build needs",
        (
            "Loaded runtime CuDNN library: 8.9.4 but source was compiled with: 9.1.0",
            "cuDNN version incompatibility: PyTorch was compiled",
        ),
    ),
    Signature(
        # the first is cuDNN 8's: https://github.com/pytorch/pytorch/issues/104591
        r"Could not load library libcudnn|Unable to load any of \{libcudnn|libcudnn\S{0,200}: cannot open shared object file"
        r"|Unable to load cuDNN\. Is it installed",
        ("cudnn-missing", "pip-nvidia-libs-not-on-path", "cudnn-wrong-major"),
        "cuDNN or one of its libraries was not found",
        (
            "Could not load library libcudnn_cnn_infer.so.8",
            "libcudnn.so.9: cannot open shared object file",
            "Unable to load cuDNN. Is it installed?",
        ),
    ),
    Signature(
        r"lib(?:cudart|cublas\w{0,40}|cufft|curand|cusolver|cusparse\w{0,40}|nvrtc|nvJitLink|cupti|nccl)\.so[\d.]*: cannot open shared object file"
        r"|Could not load dynamic library '(?!libnvinfer|libcudnn|libcuda\.)|Cannot dlopen (?:some GPU|all CUDA) libraries",
        ("cuda-library-missing", "pip-nvidia-libs-not-on-path", "cuda-version-mismatch"),
        "a CUDA library was not found",
        (
            "libcudart.so.12: cannot open shared object file",
            "libcublas.so.12: cannot open shared object file",
            "Cannot dlopen some GPU libraries",
            "Cannot dlopen all CUDA libraries",
        ),
    ),
    Signature(
        r"libdevice not found at|Can't find libdevice directory",
        ("libdevice-not-found",),
        "XLA cannot find libdevice",
        (
            "libdevice not found at ./libdevice.10.bc",
            "Can't find libdevice directory",
        ),
    ),
    Signature(
        r"\bptxas not found|Couldn't (?:get ptxas/nvlink version|find a suitable version of ptxas)|No PTX compilation provider is available",
        ("ptxas-not-found", "ptxas-too-old"),
        "XLA cannot run ptxas",
        (
            "./bin/ptxas not found",
            "Couldn't get ptxas/nvlink version",
            "Couldn't find a suitable version of ptxas",
            "No PTX compilation provider is available",
        ),
    ),
    Signature(
        r"ptxas too old\.|ptxas does not support CC",
        ("ptxas-too-old",),
        "XLA's ptxas is too old for this GPU",
        ("ptxas too old.", "ptxas does not support CC"),
    ),
    Signature(
        r"Value 'sm_\d+\w?' is not defined for option 'gpu-name'",
        ("ptxas-too-old", "triton-ptxas-too-old"),
        "ptxas is too old for this GPU",
        ("Value 'sm_120' is not defined for option 'gpu-name'",),
    ),
    Signature(
        r"undefined symbol: nccl\w+",
        ("nccl-version-conflict",),
        "the loaded NCCL is older than this build needs",
        ("undefined symbol: ncclCommRegister",),
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
        r"cuDNN version \d{1,9} is not compatible with devices with SM|CUDNN_STATUS_ARCH_MISMATCH",
        ("cudnn-drops-gpu",),
        "cuDNN has no kernels for this GPU",
        ("cuDNN version 91100 is not compatible with devices with SM < 7.5", "CUDNN_STATUS_ARCH_MISMATCH"),
    ),
    Signature(
        r"lib\S{1,200}\.so[\d.]{0,40}: (?:file too short|invalid ELF header)",
        ("cuda-library-damaged", "framework-files-damaged"),
        "a library file is damaged",
        ("libcublas.so.12: file too short", "libtorch_cuda.so: invalid ELF header"),
    ),
)
