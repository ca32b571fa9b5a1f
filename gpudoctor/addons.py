"""The packages beside a framework that compute on the GPU: data, so that looking into one more is a line here."""

from __future__ import annotations

EXTENSIONS = {
    "torchvision": ("torchvision", "torch"),
    "torchaudio": ("torchaudio", "torch"),
    "torchtext": ("torchtext", "torch"),
    "torchcodec": ("torchcodec", "torch"),
    "torchao": ("torchao", "torch"),
    "flash-attn": ("", "torch"),
    "flash-attn-3": ("", "torch"),
    "xformers": ("xformers", "torch"),
    "bitsandbytes": ("bitsandbytes", "torch"),
    "apex": ("", "torch"),
    "causal-conv1d": ("", "torch"),
    "mamba-ssm": ("", "torch"),
    "deepspeed": ("deepspeed/ops", "torch"),
    "transformer-engine-torch": ("", "torch"),
    "vllm": ("vllm", "torch"),
    "auto-gptq": ("", "torch"),
    "autoawq-kernels": ("", "torch"),
    "exllamav2": ("", "torch"),
    "natten": ("natten", "torch"),
    "sageattention": ("sageattention", "torch"),
    "flashinfer-python": ("flashinfer", "torch"),
    "torch-scatter": ("torch_scatter", "torch"),
    "torch-sparse": ("torch_sparse", "torch"),
    "torch-cluster": ("torch_cluster", "torch"),
    "torch-spline-conv": ("torch_spline_conv", "torch"),
    "pytorch3d": ("pytorch3d", "torch"),
    "detectron2": ("detectron2", "torch"),
    "mmcv": ("mmcv", "torch"),
    "tensorflow-addons": ("tensorflow_addons/custom_ops", "tensorflow"),
    "tensorflow-text": ("tensorflow_text/python/ops", "tensorflow"),
}
"""By distribution: the folder of its compiled files, and the framework that they are of; an empty one: they lie beside the packages."""
MAIN = {
    "vllm": ("_C.", "_C_stable_libtorch."),
    "xformers": ("_C.",),
    "torchvision": ("_C.",),
    "torchaudio": ("libtorchaudio.", "_torchaudio.", "_libtorchaudio."),
    "sageattention": ("_fused.", "_qattn"),
    "natten": ("libnatten.",),
}
"""How the library is called that stands for an add-on, where it has several; others serve one kind of GPU (vllm's _flashmla_C Hopper)."""
UNREAD = ("onnxruntime-gpu", "onnxruntime-training", "paddlepaddle-gpu", "mxnet-cu", "pycuda", "rmm-cu", "cudf-cu", "cuml-cu", "cugraph-cu")
"""How the names of those begin that no rule looks into on a machine, though they compute on the GPU without TensorFlow, PyTorch or JAX."""
