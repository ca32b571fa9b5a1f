"""Reads what TensorFlow's C++ code logs about the driver and the GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "TensorFlow log"
_RUNTIME_DLL = expression(r"opened (?:dynamic|CUDA) library cudart64_(?P<major>[5-9]|10)(?P<minor>\d)\.dll")
"""Until CUDA 10 the file's name has the whole release."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for line in lines:
        if found := _RUNTIME_DLL.search(line.text):
            yield Statement("tensorflow cuda", f"{found['major']}.{found['minor']}", _NAME, line.number, Directness.LOG)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("module", rf"kernel reported version is: {VERSION_FORM}", Directness.LOG),
        StatementForm("module", rf"possibly insufficient driver version: {VERSION_FORM}", Directness.LOG),
        StatementForm("libraries", rf"libcuda reported version is: {VERSION_FORM}", Directness.LOG),
        StatementForm(
            "tensorflow opens",
            r"(?P<value>Loaded runtime CuDNN library|Successfully opened dynamic library (?:lib(?:cud|cub)\w{2,8}\.so|cu(?:dart|blas|dnn)64_\d))",
            Directness.LOG,
        ),
        # what only a build with CUDA can fail at: its errors come after it has a GPU
        StatementForm(
            "tensorflow opens",
            r"(?P<value>Blas [GSDCZ]EM[MV] launch failed|cuDNN launch failure|Failed to get convolution algorithm|Could not create cudnn handle|failed to create cublas handle"
            r"|failed to run cuBLAS routine|failed to allocate [^\n]{1,60} from device: CUDA_ERROR|CUDA_ERROR_OUT_OF_MEMORY|cudaGetDevice\(\) failed"
            r"|Adding visible gpu devices: \d|Created TensorFlow device \([^)\n]{0,200}device:GPU:\d|Created device \S{0,60}/device:GPU:\d(?! with 0 MB))",
            Directness.LOG,
        ),
        StatementForm("gpu", r"(?:GPU \(|-> {1,3}\(?)device: (?P<name>\d{1,2}), name: (?P<value>[^,]{3,80}),", Directness.LOG),
        # until CUDA 10 the soname has the whole version
        StatementForm(
            "tensorflow cuda", r"opened (?:dynamic|CUDA) library lib(?:cudart|cublas)\.so\.(?P<value>\d\.\d|10\.[0-2])\b", Directness.LOG
        ),
        StatementForm("gpu", r"^\s{0,4}name: (?P<value>[A-Z][^,\n]{3,60}?) major: \d{1,2} minor: \d", Directness.LOG),
        StatementForm(
            "gpu", r"StreamExecutor device \((?P<name>\d{1,2})\): (?P<value>(?!Host|<)[^,]{3,80}), Compute Capability", Directness.LOG
        ),
        # Apple's plugin; a device of CUDA may still fail
        StatementForm(
            "tensorflow devices", r"Created TensorFlow device \([^)\n]{0,200}\) -> physical (?P<value>PluggableDevice) \(", Directness.LOG
        ),
        # tensorflow/core/common_runtime/placer.cc and colocation_graph.cc of 1.0 to 2.21
        StatementForm(
            "tensorflow devices",
            r"(?i)(?:because no devices matching that specification are registered in this process; available devices:|but available devices are|All available devices)"
            r"(?![^\n]{0,200}device:(?:XLA_)?GPU)[^\n]{0,200}[/:](?P<value>cpu):0",
            Directness.LOG,
        ),
        # tensorflow/core/common_runtime/direct_session.cc of 1.x, and the repr of what list_devices() and list_local_devices() return
        StatementForm("tensorflow devices", r"\bDevice mapping: (?P<value>no known devices)", Directness.LOG),
        StatementForm(
            "tensorflow devices",
            r"\[_DeviceAttributes\((?![^\n]{0,600}device:GPU:)[^()\n]{0,80}/device:(?P<value>CPU):0,",
            Directness.LOG,
        ),
        StatementForm("capability", r"(?i)compute ?capability:? {0,3}(?P<value>\d{1,2}\.\d)\b", Directness.LOG),
    ),
    blocks=_statements,
    cues=("cudart64_",),
)
