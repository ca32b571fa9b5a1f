"""Texts whose cause is a build that does not fit, and texts that only look as if one did not."""

from __future__ import annotations

from typing import Final

_KERNEL: Final = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
_REFUSED: Final = "{gpu} with CUDA capability {sm} is not compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities {code}.\n"
_RANGE: Final = "    Found GPU{index} {gpu} which is of cuda capability {place}.\n    Minimum and Maximum cuda capability supported by this version of PyTorch is\n    ({least}) - ({most})\n"
_XFORMERS: Final = "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n    PyTorch {built} with CUDA {cuda} (you have {here})\n    Python  3.11.9 (you have 3.11.9)\n"

CASES: Final = (
    ("gpu-too-new-for-build", "GPU: NVIDIA GeForce RTX 5070\n'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_HANDLE'\n"),
    ("gpu-too-new-for-build", _REFUSED.format(gpu="NVIDIA RTX PRO 6000 Blackwell Server Edition", sm="sm_120", code="sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90") + _KERNEL),
    ("gpu-too-new-for-build", "12:01:44 node7 trainer[811]: " + _REFUSED.format(gpu="NVIDIA L40S", sm="sm_89", code="sm_37 sm_50 sm_60 sm_70")),
    ("gpu-too-new-for-build", _RANGE.format(index=0, gpu="NVIDIA B200", place="10.0", least="5.0", most="9.0")),
    ("gpu-too-new-for-build", "PyTorch version: 2.1.0a0+git1\nCUDA used to build PyTorch: 11.7\nGPU 0: NVIDIA GeForce RTX 4080\nRuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR\n"),
    ("gpu-too-new-for-build", "LLVM ERROR: PTX version 8.4 does not support target 'sm_120a'. Minimum required PTX version is 8.7\n"),
    ("gpu-too-old-for-build", "TensorFlow 2.4.1, GeForce 940M (compute capability 5.0)\nno kernel image is available for execution on the device\n"),
    ("gpu-too-old-for-build", "NotImplementedError: GPUs with compute capability below 8.0 are not supported\n"),
    ("gpu-too-old-for-build", _REFUSED.format(gpu="Tesla P40", sm="sm_61", code="sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120")),
    ("gpu-too-old-for-build", _RANGE.format(index=1, gpu="NVIDIA GeForce GTX 1070", place="6.1", least="7.5", most="12.0")),
    ("gpu-too-old-for-build", "    Found GPU0 Tesla V100-PCIE-32GB which is of compute capability (CC) 7.0.\nYour installed torch==2.11.0+cu128 does not include kernels for this GPU.\n"),
    ("gpu-too-old-for-build", "    Found GPU0 Quadro K620 which is of cuda capability 5.0.\n    PyTorch no longer supports this GPU because it is too old.\n"),
    ("gpu-below-framework-minimum", "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 86.\n"),
    ("gpu-below-framework-minimum", "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"),
    ("gpu-below-framework-minimum", "[pip3] vllm==0.9.2\n[pip3] torch==2.7.0+cu118\nGPU 0: Tesla P100-PCIE-16GB\n"),
    ("gpu-too-old-for-triton", "RuntimeError: Found Quadro P5000 which is too old to be supported by the triton GPU compiler\n"),
    ("extension-missing-arch", "torch==2.7.1+cu128\nGPU 0: NVIDIA GeForce RTX 5060 Ti\n    out = flash_attn_gpu.fwd(q, k, v)\n" + _KERNEL),
    ("extension-missing-arch", 'PyTorch version: 2.8.0+cu129\nGPU 0: NVIDIA RTX PRO 4000 Blackwell\n  File "mamba_ssm/ops/selective_scan.py"\n' + _KERNEL),
    ("extension-missing-arch", "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n    requires device with capability <= (9, 0) but your GPU has capability (12, 0) (too new)\n"),
    ("extension-abi-mismatch", "`fa2F@v2.6.3` is not supported because:\n    xFormers wasn't build with CUDA support\n    operator wasn't built - see `python -m xformers.info` for more info\n"),
    ("cpu-only-build", "TensorFlow version: 2.15.0\n>>> tf.test.is_built_with_cuda()\nis_built_with_cuda: False\n"),
    ("cpu-only-build", "ValueError: This CTranslate2 package was not compiled with CUDA support\n"),
    ("cpu-only-build", _XFORMERS.format(built="2.3.1+cu118", cuda="1108", here="2.3.1+cpu")),
    ("cpu-only-build", "xgboost.core.XGBoostError: [10:12:01] XGBoost version not compiled with GPU support.\n"),
    ("cpu-only-build", "ImportError: detectron2/_C.so: libc10_cuda.so: cannot open shared object file: No such file or directory\n"),
    ("extension-built-for-other-cuda", _XFORMERS.format(built="2.4.0+cu118", cuda="1108", here="2.4.0+cu124")),
    ("extension-built-for-other-cuda", "RuntimeError: Detected that PyTorch and torch_sparse were compiled with different CUDA versions.\n"),
    ("extension-built-for-other-cuda", "Could not find the bitsandbytes CUDA binary at PosixPath('/venv/bitsandbytes/libbitsandbytes_cuda131.so')\n"),
    ("extension-abi-mismatch", _XFORMERS.format(built="2.6.0+cu124", cuda="1204", here="2.5.1+cu124")),
    ("extension-abi-mismatch", "ImportError: deform_conv.so: undefined symbol: _ZNK2at10TensorBase8data_ptrIfEEPT_v\n"),
    ("extension-abi-mismatch", "NotFoundError: _text_ops.so: undefined symbol: _ZN10tensorflow8OpKernel11TraceStringERKNS_15OpKernelContextEb\n"),
    ("two-copies-of-framework", "ImportError: /env/lib/python3.9/site-packages/torch/lib/libtorch_python.so: undefined symbol: _ZN5torch8autograd12isFwGradDefined\n"),
    ("torch-torchvision-mismatch", "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.\n"),
    ("torch-torchvision-mismatch", "RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision versions are incompatible\n"),
    ("nvcc-framework-cuda-mismatch", "DeepSpeed Op Builder: Installed CUDA version 11.5 does not match the version torch was compiled with 12.1, unable to compile\n"),
    ("nvcc-framework-cuda-mismatch", "nvcc fatal   : Unsupported gpu architecture 'compute_89'\nninja: build stopped: subcommand failed.\n"),
    ("nvcc-framework-cuda-mismatch", "RuntimeError: Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile Pytorch binaries.\n"),
    ("nvcc-toolkit-missing", "      fatal error: cublas_v2.h: No such file or directory\n"),
    ("nvcc-toolkit-missing", "error: [Errno 2] No such file or directory: '/usr/local/cuda-12.4/bin/nvcc'\n"),
    ("nvcc-toolkit-missing", "CMake Error: No CMAKE_CUDA_COMPILER could be found.\n"),
    ("host-compiler-unsupported", "RuntimeError: The current installed version of c++ (14.2.1) is greater than the maximum required version by CUDA 12.4\n"),
    ("host-compiler-unsupported", "host_config.h(169): fatal error C1189: #error:  -- unsupported Microsoft Visual Studio version! Only the versions between 2017 and 2022\n"),
    ("host-compiler-unsupported", "/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded with '...':\n"),
    ("broken-release", "CUDA SETUP: Loading binary D:\\ai\\venv\\Lib\\site-packages\\bitsandbytes\\libbitsandbytes_cpu.so...\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("gpu-too-new-for-build", _RANGE.format(index=0, gpu="NVIDIA GB10", place="12.1", least="8.0", most="12.0")),
    ("gpu-too-new-for-build", "    Found GPU0 NVIDIA GB10 which is of compute capability (CC) 12.1.\nYour installed torch==2.13.0+cu130 does not include kernels for this GPU.\n"),
    ("gpu-too-new-for-build", _REFUSED.format(gpu="NVIDIA GeForce RTX 3090", sm="sm_86", code="sm_70 sm_75 sm_80")),
    ("gpu-too-old-for-build", _REFUSED.format(gpu="NVIDIA H200", sm="sm_90", code="sm_50 sm_60 sm_70 sm_75 sm_80 sm_86")),
    ("gpu-too-new-for-build", "torch==2.7.1+cu128\nGPU 0: NVIDIA GeForce RTX 5060 Ti\n" + _KERNEL),
    ("cpu-only-build", _XFORMERS.format(built="2.1.0+cu121", cuda="1201", here="2.1.0+rocm5.6")),
    ("cpu-only-build", "jax==0.6.2\njax-cuda12-plugin==0.6.2\njaxlib==0.6.2\nRuntimeError: Unable to load cuFFT. Is it installed?\nAn NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed.\n"),
    ("nvcc-framework-cuda-mismatch", "Installed CUDA version 12.3 does not match the version torch was compiled with 12.1 but since the APIs are compatible, accepting this combination\ntorch==2.3.0\n"),
    ("broken-release", 'torch==2.4.1\nOS: Microsoft Windows 11 Pro\nError loading "C:\\v\\Lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.\n'),
    ("gpu-below-framework-minimum", "[pip3] vllm==0.9.2\n[pip3] torch==2.7.0+cu126\nGPU 0: Tesla T4\n"),
    ("extension-abi-mismatch", "ImportError: my_module.so: undefined symbol: _ZN7myspace5solveEv\nnumpy==1.26.4\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
