"""GPUs in TensorFlow's log."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Nvml
from tests.read.reading import read

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
