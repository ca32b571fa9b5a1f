"""The table of signatures, on lines that frameworks really wrote.

provoked.tsv holds, of TensorFlow 2.21, PyTorch 2.15 and JAX 0.10.2 over a libcuda whose cuInit answers so (-1: there is none, 0: it answers
and a library of the framework is missing), the line that tells; recorded with tests.seams.Cuda(calls={"cuInit": "return N"}).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpudoctor.diagnose.rules import RULES
from gpudoctor.signatures import harmless_reason, hinted_causes, recognised_signatures
from gpudoctor.signatures.hints import HINTS
from gpudoctor.signatures.noise import HARMLESS
from gpudoctor.signatures.signature import Hint
from gpudoctor.signatures.table import SIGNATURES
from tests.seams.every import every


def test_listed_symptoms_are_recognised() -> None:
    for signature in SIGNATURES:
        for line in signature.lines:
            assert re.search(signature.pattern, line), line


def test_a_symptom_of_a_page_points_to_that_page_first() -> None:
    for signature in SIGNATURES:
        for line in signature.lines:
            first = recognised_signatures(line)[0].signature
            assert first.causes[0] == signature.causes[0] or first.pattern == signature.pattern, line


PROVOKED = [line.split("\t") for line in Path(__file__).with_name("provoked.tsv").read_text(encoding="utf-8").splitlines()[1:]]
CAUSES = {
    -1: "libcuda-not-on-loader-path",
    0: "cuda-library-missing",
    2: "gpu-memory-insufficient",
    34: "libcuda-is-stub",
    46: "exclusive-compute-mode",
    100: "cuda-init-fails",
    101: "cuda-visible-devices-masked",
    218: "libcuda-not-on-loader-path",
    304: "cuda-init-fails",
    802: "fabric-manager-missing",
    803: "driver-library-mismatch",
    804: "forward-compat-unsupported-hw",
    805: "mps-misconfigured",
    999: "uvm-broken-after-suspend",
}
BY_FRAMEWORK = {("torch", -1): "no-driver"}
"""PyTorch says that there is no driver; the others only that libcuda was not found."""
OTHERS = [
    # read in public reports: pytorch/pytorch#104591, NVIDIA/nccl#342
    ("Could not load library libcudnn_cnn_infer.so.8. Error: libcudnn_cnn_infer.so.8: cannot open shared object file", "cudnn-missing"),
    (
        "include/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-recv-250a7cc850ba9298-0-1-3 (size 9637888)",
        "container-shm-too-small",
    ),
    # read in public reports: 2noise/ChatTTS#341, vllm-project/vllm#1284
    (
        "RuntimeError: Found NVIDIA GeForce GTX 1080 Ti which is too old to be supported by the triton GPU compiler, which is used as the backend.",
        "gpu-too-old-for-triton",
    ),
    ("ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has", "gpu-lacks-bf16"),
    # what ptxas 13.0 says of fma.bf16 for sm_75
    ("ptxas a.ptx, line 5; error   : Feature '.bf16' requires .target sm_80 or higher", "gpu-lacks-bf16"),
    # what libnccl 2.32.3 writes
    (
        "NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl-x (size 4096), error: No space left",
        "container-shm-too-small",
    ),
    ("init.cc:1043 NCCL WARN Mismatched NCCL version detected : rank 0 version 22105 rank 1 version 23203", "nccl-version-conflict"),
    ("transport/p2p.cc:355 NCCL WARN failed to peer with device 1(=c1000): 217 peer access is not supported", "nccl-p2p-acs-iommu"),
    ("bootstrap.cc:126 NCCL WARN Bootstrap : no socket interface found", "all-reduce-failed"),
    # provoked: cuInit answers 3; JAX's plug-in without its cuDNN
    ("RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu.", "cuda-init-fails"),
    ("RuntimeError: Unable to load cuDNN. Is it installed?", "cudnn-missing"),
    # provoked on the CPU, with ulimit -v
    (
        (
            "OP_REQUIRES failed at bias_op.cc:128 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[2000,12,12,32] and type float on "
            "/job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu"
        ),
        "host-memory-insufficient",
    ),
    ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 24.5 MiB for an array", "host-memory-insufficient"),
    ("  what():  std::bad_alloc", "host-memory-insufficient"),
    # provoked on the CPU
    ("AssertionError: Torch not compiled with CUDA enabled", "cpu-only-build"),
    # what libcudart and the driver's header call the statuses that no shim of ours can bring about in a framework
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "gpu-too-new-for-build"),
    ("CUDA_ERROR_NO_BINARY_FOR_GPU", "gpu-too-new-for-build"),
    ("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version", "driver-too-old"),
    ("CUDA error: uncorrectable ECC error encountered", "ecc-hardware-error"),
    ("CUDA error: the provided PTX was compiled with an unsupported toolchain.", "driver-too-old"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity", "gpu-memory-insufficient"),
]


@pytest.mark.parametrize(("framework", "code", "line"), PROVOKED, ids=[f"{row[0]}-{row[1]}" for row in PROVOKED])
def test_real_log_lines_name_their_cause(framework: str, code: str, line: str) -> None:
    found = recognised_signatures(f"noise before\n{line}\nnoise after")
    assert found, framework
    assert found[0].signature.causes[0] == BY_FRAMEWORK.get((framework, int(code)), CAUSES[int(code)])
    assert found[0].line in line


@pytest.mark.parametrize(("line", "cause"), OTHERS)
def test_other_messages_name_their_cause(line: str, cause: str) -> None:
    assert recognised_signatures(line)[0].signature.causes[0] == cause


@pytest.mark.parametrize("framework", ["tensorflow", "torch", "jax"])
def test_every_status_was_provoked_in_every_framework(framework: str) -> None:
    assert {int(code) for name, code, _ in PROVOKED if name == framework} >= set(CAUSES) - {0}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "I0000 00:00:1795236129.329778 2170 port.cc:153] oneDNN custom operations are on. You may see slightly different numerical results",
        "E0000 00:00:1.2   345 cuda_dnn.cc:8310] Unable to register cuDNN factory: one has already been registered",
        "LookupError: TensorFlow lists 0 GPUs, so none has the index 0.",
        "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7",
        "error 803 of my own program",
        "Detected 2: out of memory bounds",
    ],
)
def test_meaningless_lines_are_not_recognised(line: str) -> None:
    assert recognised_signatures(line) == ()


def test_every_cause_has_a_page_and_every_pattern_compiles() -> None:
    names = {rule.name for rule in RULES}
    for signature in SIGNATURES:
        assert set(signature.causes) <= names
        assert re.compile(signature.pattern)
        assert not signature.meaning.endswith(".")


def test_a_long_line_is_cut_around_its_match() -> None:
    found = recognised_signatures("x" * 5000 + " CUDA_ERROR_STUB_LIBRARY")
    assert found[0].line.endswith("CUDA_ERROR_STUB_LIBRARY")
    assert len(found[0].line) == 300


@every("hint", HINTS)
def test_a_hint_is_found_and_names_a_cause_that_some_signature_has(hint: Hint) -> None:
    assert hinted_causes(f"before\n{hint.line}\nafter")[hint.cause] == hint.line
    assert not hint.cause or any(hint.cause in signature.causes for signature in SIGNATURES)


@pytest.mark.parametrize(
    "line",
    [
        "docker run --gpus all --rm nvidia/cuda:12.4.0-base nvidia-smi",
        "the amigo library",
        "We assume a container of type list",
        "Memory: 16 GB",
    ],
)
def test_other_words_are_no_hint(line: str) -> None:
    assert hinted_causes(line) == {}


@pytest.mark.parametrize(
    "line",
    [
        "E0000 00:00:1700000000.1   99 cuda_fft.cc:477] Unable to register cuFFT factory: Attempting to register factory for plugin cuFFT",
        "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node",
        "W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
        "Could not load dynamic library 'libnvinfer_plugin.so.7'; dlerror: libnvinfer_plugin.so.7: cannot open shared object file",
        "This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
    ],
)
def test_what_looks_like_an_error_and_is_none_is_known(line: str) -> None:
    assert harmless_reason(line)
    assert recognised_signatures(line) == ()
    assert len({pattern for pattern, _ in HARMLESS}) == len(HARMLESS)
