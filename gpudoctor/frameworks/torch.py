"""PyTorch."""

from __future__ import annotations

from gpudoctor.frameworks.spec import BuildFile, FrameworkSpec, HidingVariable, Names

TORCH = FrameworkSpec(
    name="torch",
    title="PyTorch",
    distributions=("torch",),
    parts=Names("torchvision", "torchaudio"),
    compiled=Names("torch*"),
    related=Names("torch*", "xformers*", "vllm*"),
    tabled=("torch", "torchvision", "torchaudio"),
    companions=("torchvision", "torchaudio"),
    modules=("torch", "torchvision", "torchaudio", "triton"),
    version_files={"torch": ("torch/version.py", ("__version__",))},
    build=BuildFile(files=("torch/version.py",), cuda=("cuda",), hip="hip", rocm_kernels="torch/lib/rocblas/library"),
    brings_cuda=True,
    wheel_index="https://download.pytorch.org/whl",
    conda=("pytorch-gpu",),
    conda_names={"pytorch": "torch", "torch": "torch"},
    debian="python3-torch",
    mistaken={"pytorch": "torch", "pytorch-gpu": "torch", "torch-gpu": "torch"},
    hidden_by=(
        HidingVariable("ACCELERATE_USE_CPU", values=Names("1", "true", "yes", "y", "on", "t")),
        HidingVariable("KERAS_TORCH_DEVICE", values=Names("cpu*")),
    ),
    jetson_page="https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html",
    xrayed=True,
    trains=True,
    triton=True,
)
