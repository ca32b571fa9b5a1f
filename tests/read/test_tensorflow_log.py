"""GPUs in TensorFlow's log."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Nvml
from tests.read.reading import causes, read

PREFIX = "2024-05-14 10:11:13.131415: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1928] "


@pytest.mark.parametrize(
    "line",
    [
        "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 9600 MB memory) -> physical GPU (device: 0, name: Tesla T4, pci bus id: 0000:00:1e.0, compute capability: 7.5)",
        "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 13949 MB memory:  -> device: 0, name: Tesla T4, pci bus id: 0000:00:1e.0, compute capability: 7.5",
        "  StreamExecutor device (0): Tesla T4, Compute Capability 7.5",
    ],
)
def test_the_name_and_the_compute_capability_of_a_gpu(line: str, matrix: Matrix) -> None:
    nvml = read(f"{PREFIX}{line}\n", matrix).nvml
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.gpus, tuple)
    assert [(gpu.name, gpu.compute_capability) for gpu in nvml.gpus] == [("Tesla T4", "7.5")]


def test_the_cpu_of_stream_executor_is_no_gpu(matrix: Matrix) -> None:
    assert "Host" not in str(read(f"{PREFIX}  StreamExecutor device (0): Host, Default Version\ntensorflow 2.16.1\n", matrix).nvml)


@pytest.mark.parametrize("name", ["tensorflow 2.0", "tensorflow 1.14", "tensorflow==2.0.0", "tensorflow==1.14.0"])
@pytest.mark.parametrize(
    "error",
    [
        "InternalError: Blas GEMM launch failed : a.shape=(32, 784), b.shape=(784, 128), m=32, n=128, k=784",
        "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
        "failed to allocate 2.50G (2684354560 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version",
        "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize",
    ],
)
def test_what_fails_on_a_gpu_is_built_with_cuda(name: str, error: str, matrix: Matrix) -> None:
    assert "cpu-only-build" not in causes(f"{name}\n{error}\n", matrix)


def test_a_name_without_the_whole_version_may_be_of_tensorflow_gpu(matrix: Matrix) -> None:
    assert "cpu-only-build" not in causes("tensorflow 1.14\nfailed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error\n", matrix)
    assert causes("tensorflow 1.14\nNum GPUs Available: 0\n", matrix)[:1] == ["cpu-only-build"]
