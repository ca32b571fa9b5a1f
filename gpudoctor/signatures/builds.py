"""What frameworks say when a build does not fit the GPU, the platform or the other packages."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

BUILDS = (
    Signature(
        r"Torch not compiled with CUDA enabled",
        ("cpu-only-build",),
        "this is a CPU-only build of PyTorch",
        ("Torch not compiled with CUDA enabled",),
    ),
    Signature(
        r"CUDA capability sm_\d+ is not compatible with the current PyTorch installation|torch==\S{1,40} does not include kernels for this GPU",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "this build has no kernels for this GPU",
        (
            "CUDA capability sm_120 is not compatible with the current PyTorch installation",
            "CUDA capability sm_61 is not compatible with the current PyTorch installation",
            "Your installed torch==2.15.0 does not include kernels for this GPU",
        ),
    ),
    # read in torch/_inductor of 2.0.0 to 2.15.0
    Signature(
        r"too old to be supported by the triton GPU compiler",
        ("gpu-too-old-for-triton",),
        "torch.compile does not support a GPU this old",
        ("which is too old to be supported by the triton GPU compiler",),
    ),
    # read in torch/amp/autocast_mode.py and ptxas 13.0; the last is vLLM's: https://github.com/vllm-project/vllm/issues/1284
    Signature(
        r"CUDA Device does not support bfloat16|Feature '\.bf16\w{0,20}' requires \.target sm_80|[Bb]float16 is only supported on GPUs with compute capability",
        ("gpu-lacks-bf16",),
        "this GPU does not support BF16",
        (
            "Current CUDA Device does not support bfloat16",
            "Feature '.bf16' requires .target sm_80 or higher",
            "Bfloat16 is only supported on GPUs with compute capability of at least 8.0",
        ),
    ),
    Signature(
        r"it is not compatible with the installed jaxlib version|is newer than and incompatible with jax version|but this version of jax requires",
        ("jax-plugin-version-mismatch",),
        "JAX and its CUDA plugin have incompatible versions",
        ("it is not compatible with the installed jaxlib version", "is newer than and incompatible with jax version"),
    ),
    # jax/_src/xla_bridge.py of 0.12
    Signature(
        r"CUDA-enabled jaxlib is not installed",
        ("cpu-only-build",),
        "JAX is installed without its CUDA plugin",
        ("An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed",),
    ),
    # tensorflow/python/framework/test_util.py's and build_info's answers as people print them
    Signature(
        r"is_built_with_(?:cuda|gpu_support)(?:\(\))?['\"]?\s{0,3}(?::|=|->|\)|returns?)\s{0,3}False\b|'is_cuda_build': False",
        ("cpu-only-build", "no-cuda-wheel-for-platform", "windows-native-no-gpu"),
        "this is a CPU-only build of TensorFlow",
        ("tf.test.is_built_with_cuda(): False", "'is_cuda_build': False"),
    ),
    # torchvision/extension.py and torch/library.py
    Signature(
        r"operator torchvision::nms does not exist|PyTorch and torchvision were compiled with different CUDA",
        ("torch-torchvision-mismatch",),
        "torchvision does not match the installed torch",
        ("operator torchvision::nms does not exist", "PyTorch and torchvision were compiled with different CUDA major versions"),
    ),
    # torchaudio/_extension/utils.py
    Signature(
        r"PyTorch and TorchAudio were compiled with different CUDA|libtorchaudio\.so: undefined symbol",
        ("torch-torchaudio-mismatch",),
        "torchaudio does not match the installed torch",
        ("PyTorch and TorchAudio were compiled with different CUDA versions", "libtorchaudio.so: undefined symbol"),
    ),
    # glibc's dynamic loader
    Signature(
        r"undefined symbol: _ZNK?(?:2at|3c10|5torch)",
        ("extension-abi-mismatch",),
        "an extension was compiled for a different version of PyTorch",
        ("undefined symbol: _ZN3c105Error", "undefined symbol: _ZN2at", "undefined symbol: _ZN5torch"),
    ),
    # cupy/__init__.py: https://github.com/cupy/cupy/issues/8226
    Signature(
        r"Failed to import CuPy\.|CuPy failed to load lib",
        ("cupy-wheel-cuda-mismatch", "cuda-version-mismatch"),
        "CuPy did not find the CUDA libraries of its wheel",
        ("Failed to import CuPy.", "CuPy failed to load libnvrtc.so.12"),
    ),
    # https://github.com/vllm-project/vllm/issues/1284
    Signature(
        r"GPUs? with (?:CUDA |compute )capability (?:below|less than|lower than|<) ?\d\.\d[^\n]{0,20} not supported",
        ("gpu-too-old-for-build",),
        "this GPU is older than the program supports",
        ("GPUs with compute capability below 7.0 are not supported",),
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
