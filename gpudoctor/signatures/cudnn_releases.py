"""What programs and the loader say when cuDNN does not match: it is not the release that they need, or parts of two are loaded."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

CUDNN_RELEASES = (
    # torch/backends/cudnn/__init__.py since 1.13
    Signature(
        r"Looks like your LD_LIBRARY_PATH contains incompatible version of cudnn",
        ("cudnn-shadowed-by-system",),
        "LD_LIBRARY_PATH leads to another cuDNN than the one in PyTorch's wheel",
        ("Looks like your LD_LIBRARY_PATH contains incompatible version of cudnn",),
    ),
    # TensorRT, which goes on with another cuDNN than its own
    Signature(
        r"TensorRT was linked against cuDNN [\d.]{3,12} but loaded cuDNN",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the loaded cuDNN is not the one that TensorRT was built with",
        ("[W] [TRT] TensorRT was linked against cuDNN 8.2.1 but loaded cuDNN 8.0.5",),
        vague=True,
        last=True,
    ),
    # PaddlePaddle's hl_cuda_cudnn.cc
    Signature(
        r"libcudnn v\d{1,2} with header v\d{1,2} unmatched|bindings are for CUDNN [^\n]{3,80} while the loaded CuDNN is version",
        ("cudnn-wrong-major",),
        "the loaded cuDNN has another major version than the one that PaddlePaddle was compiled with",
        ("[cudnn init] libcudnn v7 with header v5 unmatched!",),
    ),
    # glibc's loader on the parts of two cuDNN releases: https://github.com/pytorch/pytorch/issues/119989
    Signature(
        r"libcudnn\S{0,200}: undefined symbol: _ZN5cudnn|undefined symbol: \S{1,300}, version libcudnn\w{0,40}\.so",
        ("cudnn-shadowed-by-system", "cudnn-version-mismatch"),
        "libraries of two cuDNN releases are loaded together",
        ("libcudnn_cnn_train.so.8: undefined symbol: _ZN5cudnn3cnn",),
    ),
    # cudnn_graph.h of cuDNN 9
    Signature(
        r"CUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system", "nvidia-wheel-version-conflict"),
        "libraries of two cuDNN releases are loaded together",
        ("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",),
    ),
    # the third is of jaxlib 0.4, the fourth of jax_plugins/cuda/__init__.py since, the last of PaddlePaddle's gpu_resources.cc
    Signature(
        r"Loaded runtime CuDNN library: (?!\d{4} \()[^\n]{1,100} but source was compiled with|cuDNN version incompatibility: PyTorch was compiled"
        r"|Found cuDNN version \d{4,6}, but JAX was built against|Outdated cuDNN installation found|installed Paddle is compiled with CUDNN \d"
        # theano/gpuarray/dnn.py and theano/sandbox/cuda/dnn.py
        r"|(?i:cuDNN version is too old\. Update to v\d)",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the loaded cuDNN is older than this build needs",
        (
            "Loaded runtime CuDNN library: 8.9.4 but source was compiled with: 9.1.0",
            "cuDNN version incompatibility: PyTorch was compiled",
            "Found cuDNN version 8600, but JAX was built against version 8904",
            "Outdated cuDNN installation found.",
            "cuDNN version is too old. Update to v5, was 4007.",
            "The installed Paddle is compiled with CUDNN 8.4, but CUDNN version in your machine is 8.2",
        ),
    ),
    # torch/backends/cudnn/__init__.py until 1.12, caffe2/core/common_cudnn.h: neither older nor newer will do
    Signature(
        r"cuDNN version mismatch: PyTorch was compiled|cuDNN compiled \(\d{4,6}\) and runtime \(\d{4,6}\) versions mismatch",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the loaded cuDNN is not the one that this build was compiled with",
        (
            "RuntimeError: cuDNN version mismatch: PyTorch was compiled against 7102 but linked against 7600",
            "cuDNN compiled (7102) and runtime (7005) versions mismatch",
        ),
    ),
    # tensorflow/stream_executor/cuda/cuda_dnn.cc until 1.12, which took only the minor version that it was compiled with
    Signature(
        r"Loaded runtime CuDNN library: \d{4} \(compatibility version \d{4}\) but source was compiled with",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the loaded cuDNN is not the release that this build needs",
        (
            "Loaded runtime CuDNN library: 5005 (compatibility version 5000) but source was compiled with 5110 (compatibility version 5100).",
        ),
    ),
    Signature(
        r"Mixed dnn version\. The header is",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "Theano is compiled with the header of another cuDNN release than the library that it loads",
        ("Mixed dnn version. The header is version 5105 while the library is version 7005.",),
    ),
    Signature(
        r"(?<!_)undefined symbol: cudnn[A-Z]\w{1,80}|(?<!Could not load library )libcudnn\S{0,200}: undefined symbol",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the loaded cuDNN is older than this build needs",
        ("undefined symbol: cudnnGetVersion",),
    ),
)
