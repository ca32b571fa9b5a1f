"""PaddlePaddle: recognised, but no training. Read from the wheels of paddlepaddle-gpu 2.6.2 and paddlepaddle 2.6.2 to 3.3.1."""

from __future__ import annotations

from gpudoctor.frameworks.spec import BuildFile, FrameworkSpec, Names

_VERSION = "paddle/version/__init__.py"

PADDLE = FrameworkSpec(
    name="paddle",
    title="PaddlePaddle",
    vendor_image="nvcr.io/nvidia/paddlepaddle",
    distributions=("paddlepaddle-gpu", "paddlepaddle"),
    compiled=Names("paddlepaddle*"),
    related=Names("paddlepaddle*"),
    modules=("paddle",),
    version_files=dict.fromkeys(("paddlepaddle-gpu", "paddlepaddle"), (_VERSION, ("full_version",))),
    loads_system_cuda=True,
    other_builds=True,  # paddlepaddle-gpu==2.4.1.post117, which the index of PyPI lacks, is for CUDA 11.7
    mistaken={"paddle": "paddlepaddle-gpu"},  # paddle on the index is another project
    build=BuildFile(files=(_VERSION,), cuda=("cuda_version",), cudnn=("cudnn_version",), hip="hip_version", nothing="False"),
)
