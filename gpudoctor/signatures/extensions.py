"""What extensions of a framework say when they do not fit it or the GPU: xFormers, bitsandbytes, torchvision and others."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

EXTENSIONS = (
    # https://github.com/microsoft/tensorflow-directml-plugin/issues/331, which is built for TensorFlow 2.9 and 2.10; the loaders of Linux and macOS
    Signature(
        r"\btfdml_plugin\.(?:dll|so)\b[^\n]{0,40}(?:not found|undefined symbol)|(?:\btensorflow-plugins/\S{1,80}|\blibmetal_plugin)\.(?:so|dylib)\b[^\n]{0,20}: (?i:undefined symbol|symbol not found|library not loaded)"
        r"|(?i:symbol not found)[^\n]{0,160}\blibmetal_plugin\.dylib",
        ("extension-abi-mismatch",),
        "a plugin of TensorFlow is built for another release of it",
        (
            "C:\\venv\\Lib\\site-packages\\tensorflow-plugins\\tfdml_plugin.dll not found",
            "tensorflow-plugins/libmetal_plugin.dylib, 0x0006): Symbol not found: __ZN3tsl8internal10LogMessageC1EPKcii",
        ),
    ),
    # xformers/_cpp_lib.py, glibc's loader
    Signature(
        r"PyTorch \S{3,40} with CUDA \w{2,6} \(you have \d[\w.]{1,30}\+cpu\)|lib(?:c10|torch)_cuda\.so: cannot open shared object file",
        ("cpu-only-build",),
        "an extension is built for CUDA and this PyTorch is not",
        ("PyTorch 2.4.0+cu121 with CUDA 1201 (you have 2.4.0+cpu)", "libc10_cuda.so: cannot open shared object file"),
        despite_versions=True,  # the release has builds with CUDA too
    ),
    Signature(
        r"PyTorch [\w.]{3,30}\+cu(\d{2,3}) with CUDA \d{2,6} \(you have \d[\w.]{1,30}\+cu(?!\1\b)\d{2,3}\)",
        ("extension-built-for-other-cuda",),
        "xFormers is built for another CUDA release than PyTorch",
        ("PyTorch 2.1.0+cu118 with CUDA 1108 (you have 2.1.0+cu121)",),
    ),
    # what it cannot load is seen, and a requirement that another release breaks is only its reason
    Signature(
        r"PyTorch (\d{1,2}\.\d{1,2}\.\d{1,2})\S{0,20} with CUDA \d{2,6} \(you have (?!\1\b)\d",
        ("extension-abi-mismatch",),
        "xFormers is built for another release of PyTorch",
        ("PyTorch 2.2.0+cu121 with CUDA 1201 (you have 2.3.1+cu121)",),
    ),
    Signature(
        r"PyTorch [\w.+]{3,40} with CUDA \d{2,6} \(you have \d|xFormers can't load C\+\+/CUDA extensions|xFormers wasn't build with CUDA support|xFormers was built for a different version of PyTorch",
        ("extension-abi-mismatch", "extension-built-for-other-cuda"),
        "xFormers is built for another release of PyTorch",
        ("xFormers can't load C++/CUDA extensions. xFormers was built for:",),
        vague=True,
    ),
    # xformers/ops/fmha/common.py
    Signature(
        r"requires device with capability <=? \(\d{1,2}, \d\) but your GPU has capability \(\d{1,2}, \d\) \(too new\)",
        ("extension-missing-arch",),
        "xFormers has no kernels for this GPU",
        ("requires device with capability <= (9, 0) but your GPU has capability (12, 0) (too new)",),
    ),
    # torch_geometric's extensions, op_builder/builder.py of DeepSpeed
    Signature(
        r"PyTorch and torch_\w{2,20} were compiled with different CUDA|PyTorch has CUDA version [\d.]{3,5} (?:and|whereas|while|but) (?:the )?torch_\w{2,20} has CUDA version \d"
        r"|CUDA version mismatch! DeepSpeed ops",
        ("extension-built-for-other-cuda",),
        "an extension is built for another CUDA release than PyTorch",
        (
            "Detected that PyTorch and torch_scatter were compiled with different CUDA versions.",
            "PyTorch has CUDA version 12.1 and torch_cluster has CUDA version 11.8.",
            "CUDA version mismatch! DeepSpeed ops were compiled and installed with a different version",
        ),
    ),
    # the sources of detectron2, PyTorch3D and PyG's extensions; mmcv's pytorch_device_registry.hpp, before that each operator of mmdet/ops
    Signature(
        r"\bNot compiled with (?:GPU|CUDA) support|\bimplementation for device cuda(?::\d{1,2})? not found"
        r"|(?:\bRuntimeError: |^\W{0,3})(?!(?i:(?:py)?torch|tensorflow|jax|paddle|xgboost|lightgbm|opencv|faiss|llama)\b)\w{2,40} is not compiled with GPU support",
        ("extension-built-for-other-cuda", "nvcc-toolkit-missing"),
        "an extension is compiled without CUDA",
        (
            "RuntimeError: Not compiled with GPU support",
            "RuntimeError: roi_align_forward_impl: implementation for device cuda:0 not found.",
            "RuntimeError: nms is not compiled with GPU support",
        ),
        despite_versions=True,
        cure="Install the extension's wheel for this torch and CUDA, or build it again with nvcc on the PATH and FORCE_CUDA=1.",
    ),
    # bitsandbytes/cextension.py and cuda_setup/main.py
    Signature(
        r"Could not find the bitsandbytes CUDA binary|Configured (?:CUDA|GPU) binary not found at|(?:Required library version not found: |No such file[^\n]{0,200})libs?bitsandbytes_cuda\d|libbitsandbytes_cuda\d{2,3}\w{0,12}\.(?:so|dll)['`\"]?(?: is)? (?:not found|missing)",
        ("extension-built-for-other-cuda",),
        "bitsandbytes has no library for this CUDA version",
        (
            "Could not find the bitsandbytes CUDA binary at PosixPath('/opt/venv/lib/python3.12/site-packages/bitsandbytes/libbitsandbytes_cuda132.so')",
            "CUDA SETUP: Required library version not found: libbitsandbytes_cuda117.so.",
        ),
        cure="Install a newer bitsandbytes: python -m pip install --upgrade --force-reinstall --no-deps bitsandbytes; its wheel has a library for each CUDA release, a source folder that is not compiled has none.",
    ),
    # sageattention/core.py of 2.0 to 2.2, and its forks
    Signature(
        r"\bSM\d{2,3} kernel is not available|Unsupported CUDA architecture: sm_?\d",
        ("extension-missing-arch",),
        "SageAttention has no kernels for this GPU",
        ("AssertionError: SM89 kernel is not available. Make sure you GPUs with compute capability 8.9.",),
    ),
    # csrc/quantization of vLLM and SGLang's kernels; the kernels that xFormers and PyTorch generate, which run where the build was for an older GPU
    Signature(
        r"No compiled \w{3,60} for (?:a )?(?:CUDA device|compute) capability|FATAL: kernel `\w{3,200}` is for sm\d{2,3}(?:-sm\d{2,3})?, but was built for sm\d{2,3}",
        ("extension-missing-arch", "gpu-too-new-for-build", "gpu-too-old-for-build"),
        "an extension has no kernels for this GPU",
        (
            "No compiled cutlass_scaled_mm for CUDA device capability: 120. Required capability: 90 or 100",
            "FATAL: kernel `fmha_cutlassF_f32_aligned_64x64_rf_sm80` is for sm80-sm100, but was built for sm37",
        ),
    ),
    Signature(
        r"(?i)\b(?:flash[-_]attn|xformers|bitsandbytes|torch[-_]scatter|mamba[-_]ssm|apex|vllm)\b[^\n]{0,200}\bundefined symbol",
        ("extension-abi-mismatch",),
        "an extension was compiled for another release of PyTorch",
        ("the wheel of flash_attn fails to import with an undefined symbol error",),
        vague=True,
    ),
    # CUDA_CHECK_RETURN in bitsandbytes/csrc/ops.cuh
    Signature(
        r"Error (?:named symbol not found|invalid device function) at line \d{1,5} in file \S{0,200}\bcsrc/\w{2,20}\.cuh?\b",
        ("extension-missing-arch",),
        "bitsandbytes has no kernels for this GPU",
        ("Error named symbol not found at line 81 in file /src/csrc/ops.cu",),
        vague=True,
    ),
    Signature(
        r"CUDA SETUP: WARNING! libcuda\.so not found",
        ("libcuda-not-on-loader-path", "no-driver", "wsl-libcuda-not-on-path", "container-no-gpu-access"),
        "bitsandbytes did not find libcuda",
        ("CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed?",),
        vague=True,
        last=True,
        tells="ldconfig -p | grep libcuda.so; nvidia-smi",
    ),
    Signature(
        r"installed version of bitsandbytes was compiled without GPU support|CUDA Setup failed despite GPU being available",
        ("cuda-library-missing", "extension-built-for-other-cuda", "cpu-only-build"),
        "bitsandbytes did not find a CUDA runtime that it has a library for",
        ("CUDA Setup failed despite GPU being available.",),
        vague=True,
        last=True,
        tells="python -m bitsandbytes",
        cure="Update bitsandbytes (0.43 or newer has libraries for Windows too, and finds those of PyTorch), beside a PyTorch with CUDA.",
    ),
)
COMPILED_FOR_A_FRAMEWORK = (
    # torchvision/extension.py and torch/library.py
    Signature(
        r"operator torchvision::\w{2,30} does not exist|(?:No such|[Nn]ot find the) operator torchvision::\w{2,30}|PyTorch and torchvision were compiled with different CUDA|\bCouldn't load custom C\+\+ ops\b"
        r"|Could not run 'torchvision::\w{2,20}' with arguments from the 'CUDA' backend|torchvision/(?:_C|image)\S{0,60}: undefined symbol: _Z"
        r"|module 'torchvision' has no attribute 'extension'",
        ("torch-torchvision-mismatch",),
        "torchvision does not match the installed torch",
        ("operator torchvision::nms does not exist", "PyTorch and torchvision were compiled with different CUDA major versions"),
        despite_versions=True,  # releases that belong together exist for several CUDAs
    ),
    # torchaudio/_extension/utils.py; an operator that only the CPU build has
    Signature(
        r"Could not run 'torchaudio::|PyTorch and TorchAudio were compiled with different CUDA|(?:(?:lib|_)torchaudio\w{0,20}(?:\.abi3)?|\b_torch_sox\.[\w-]{1,60})\.so: undefined symbol"
        r"|\btorchaudio\\{1,4}lib\\{1,4}\w{2,30}\.(?:pyd|dll)",
        ("torch-torchaudio-mismatch",),
        "torchaudio does not match the installed torch",
        ("PyTorch and TorchAudio were compiled with different CUDA versions", "libtorchaudio.so: undefined symbol"),
    ),
    # PyTorch 1.8 to 1.13 split libtorch_cuda; the words tell which package was built for such a release
    Signature(
        r"\blibtorch_cuda_c(?:u|pp)\.so: cannot open shared object file",
        ("extension-abi-mismatch", "torch-torchaudio-mismatch", "torch-torchvision-mismatch", "two-copies-of-framework"),
        "an extension was compiled for a different version of the framework",
        ("OSError: libtorch_cuda_cpp.so: cannot open shared object file: No such file or directory",),
    ),
    # glibc's dynamic loader: PyTorch's own libraries lack a symbol only if one of them does not match the others
    Signature(
        r"/torch/(?:lib/lib\w{3,30}|_C\S{0,40})\.so[\d.]{0,8}: undefined symbol: _Z\w{0,40}(?:N2at|N3c10|N5torch|N6caffe2)",
        ("two-copies-of-framework", "framework-files-damaged"),
        "the libraries of two PyTorch releases are mixed in one folder",
        ("site-packages/torch/lib/libtorch_python.so: undefined symbol: _ZN2at",),
    ),
    Signature(
        r"(?:(?:\bu\w{3,9}ed |^ {0,8})symbol:? |Symbol not found: _)_Z\w{0,120}(?:N2at|NK2at|N3c10|NK3c10|N5torch|NK5torch|N6caffe2|N10tensorflow|NK10tensorflow|N3tsl|N4absl"
        # RAPIDS, MXNet, PaddlePaddle: https://github.com/rapidsai/cudf/issues/8404
        r"|N4cudf|NK4cudf|N5cudf|N3rmm|N4raft|N5mxnet|N6paddle|N3phi|10rmm)\w|(?:undefined symbol: |Symbol not found: _)TFE?_[A-Z]\w"
        r"|(?:\bcpython-\d{2,3}\S{0,40}|\bNotFoundError: \S{1,200})\.so: undefined symbol:?\W{0,3}$|PyTorch version mismatch! DeepSpeed ops",
        ("extension-abi-mismatch", "two-copies-of-framework"),
        "an extension was compiled for a different version of the framework",
        (
            "undefined symbol: _ZN3c105Error",
            "undefined symbol: _ZN2at4_ops",
            "undefined symbol: _ZN5torch3jit",
            "undefined symbol: _ZN10tensorflow12OpDefBuilder",
            "libcudf.so: undefined symbol: _ZN3rmm6Logger6record",
            "PyTorch version mismatch! DeepSpeed ops were compiled and installed with a different version",
        ),
    ),
    # horovod/common/exceptions.py; the loaders of Linux and macOS, of a name that TensorFlow 1.14 and 2 changed
    Signature(
        r"\bHorovodVersionMismatchError\b|\bFramework \w{2,20} installed with version \S{1,40} but found version"
        r"|\blibtensorflow_(?:framework|cc)\.(?:so|dylib)[.\d]{0,8}: cannot open shared object file|Library not loaded: \S{0,80}\blibtensorflow_(?:framework|cc)\.",
        ("extension-abi-mismatch",),
        "an extension was compiled for a different version of the framework",
        (
            "HorovodVersionMismatchError: Framework pytorch installed with version 1.13.1 but found version 2.0.1.",
            "libtensorflow_framework.so.1: cannot open shared object file: No such file or directory",
        ),
        vague=True,
    ),
    # tensorflow_addons/utils/resource_loader.py
    Signature(
        r"has compiled its custom ops against TensorFlow \d",
        ("extension-abi-mismatch",),
        "TensorFlow Addons was compiled for a different version of TensorFlow",
        ("TensorFlow Addons has compiled its custom ops against TensorFlow 2.4.0, and there are no compatibility guarantees",),
        vague=True,
        last=True,
    ),
    # glibc's loader: an extension that is imported without the PyTorch it was compiled for
    Signature(
        r"\blibc10\.so: cannot open shared object file",
        ("extension-abi-mismatch", "wrong-python-environment"),
        "an extension was loaded without PyTorch's libraries",
        ("ImportError: libc10.so: cannot open shared object file: No such file or directory",),
        vague=True,
    ),
)
"""What a framework lacks whose release does not match that of an extension."""

_EXTENSION = r"flash[-_]?att|flashinfer|xformers|/apex/|/csrc/|third_party|sageattention|spconv|pytorch3d|nvdiffrast|diff_gaussian|tinycudann|exllama|torch_scatter|mmcv"
"""A compiled extension, by its name or by the folder of its sources."""
TORCH_KERNEL_FOLDERS = r"(?:THC|THCUNN|[aA][tT]en)"
"""Folders of PyTorch's own kernels."""
_INVALID_FUNCTION = r"invalid device function"
"""cudaErrorInvalidDeviceFunction, 8 and since CUDA 10.1 98: a kernel that is not compiled for the GPU. Frameworks build for many; HIP gives it too, of frameworks."""
# before the status that the same line has: csrc/flash_attn of flash-attn and xFormers, which print the place of the failed launch;
# a program's own check of a launch, such as that of NVIDIA's samples
MISSING_KERNELS = (
    Signature(
        rf"(?i)(?:{_EXTENSION})[^\n]{{0,200}}no kernel image|no kernel image[^\n]{{0,160}}(?:{_EXTENSION})"
        rf"|\b(?:error in \w{{2,60}}|CUDA kernel failed ): (?:no kernel image|{_INVALID_FUNCTION})|(?i:CUDA error \([^)\n]{{0,160}}(?:{_EXTENSION})[^)\n]{{0,160}}\): {_INVALID_FUNCTION})"
        r"|(?<![/\\\w.-])[\w-]{2,40}\.cuh?[:(, ]{1,3}(?:line )?\d{1,5}[^\n]{0,60}no kernel image"
        r"|\b(?:cudaCheckError\(\)|checkCudaErrors\(\)|GPUassert)[^\n]{0,40}no kernel image|\bcudaError_t \d{1,3} : \"no kernel image|Failed to launch \w{1,40} kernel \(error code no kernel image",
        ("extension-missing-arch",),
        "a compiled extension or program has no kernels for this GPU",
        (
            "CUDA Error: no kernel image is available for execution on the device (209) /root/.cache/flashinfer/0.2.5/csrc/norm.cu: line 88",
            "CUDA error (/src/third_party/flash-attention/hopper/flash_fwd_launch_template.h:175): no kernel image is available",
            "GPUassert: no kernel image is available for execution on the device blur.cu 41",
            "error in ms_deformable_im2col_cuda: invalid device function",
            "cudaError_t 48 : \"no kernel image is available for execution on the device\" returned from 'cudaGetLastError()'",
        ),
    ),
    # dlib's gpu_data.cpp, Caffe's CUDA_CHECK, Kaldi's cu-common.h and what programs make of the status
    Signature(
        rf"\.(?:cuh?|cpp)\b[^\n]{{0,80}}{_INVALID_FUNCTION}|{_INVALID_FUNCTION}(?! at \S{{0,200}}/{TORCH_KERNEL_FOLDERS}/)(?: \((?:8|98)\)|:? (?:in |at )?\S{{0,200}}\.cuh?\b)|\bError text: {_INVALID_FUNCTION}"
        rf"|(?:cudaCheckError\(\)|checkCudaErrors\(\)|GPUassert|cudaSuccess|Cuda kernel failed\.|\bcode: (?:8|98), reason|\bcudaError_t (?:8|98) :)[^\n]{{0,60}}{_INVALID_FUNCTION}",
        ("extension-missing-arch",),
        "a compiled extension or program has no kernels for this GPU",
        (
            "cuda_utils.h:164. code: 98, reason: invalid device function",
            "roi_pooling_layer.cu:91] Check failed: error == cudaSuccess (8 vs. 0)  invalid device function",
            "cudaCheckError() failed : invalid device function",
            "Error text: invalid device function",
            "cudaError_t 98 : \"invalid device function\" returned from 'cudaGetLastError()'",
        ),
    ),
    # TensorRT's runtime.cpp
    Signature(
        r"engine plan file is generated on an incompatible device",
        ("extension-missing-arch",),
        "a TensorRT engine was built for another GPU than this one",
        ("The engine plan file is generated on an incompatible device, expecting compute 6.1 got compute 7.5, please rebuild.",),
        cure="Delete the engine or plan file and build it again on the GPU that will run it.",
    ),
)
