"""What container engines, tools and libraries say that only pasted text shows: gpudoctor's own training cannot meet these."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

PASTED = (
    # https://github.com/NVIDIA/nccl/issues/525
    Signature(
        r"Call to posix_fallocate failed",
        ("container-shm-too-small",),
        "NCCL could not allocate shared memory",
        ("NCCL WARN Call to posix_fallocate failed : No space left on device",),
    ),
    # Python, and transformers 4
    Signature(
        r"No module named 'tf_keras'|is Keras 3, but this is not yet supported in Transformers",
        ("keras3-mismatch",),
        "a package needs Keras 2 and Keras 3 is installed",
        (
            "ModuleNotFoundError: No module named 'tf_keras'",
            "Your currently installed version of Keras is Keras 3, but this is not yet supported in Transformers",
        ),
    ),
    # Python's int() on an entry of CUDA_VISIBLE_DEVICES: https://github.com/vllm-project/vllm/issues/13815
    Signature(
        r"invalid literal for int\(\) with base 10: '(?:MIG|GPU)-",
        ("cuda-visible-devices-uuid-unsupported",),
        "a program reads CUDA_VISIBLE_DEVICES as numbers, and it holds UUIDs",
        ("ValueError: invalid literal for int() with base 10: 'MIG-",),
    ),
    # aten/src/ATen/cuda/CUDAContext.cpp: https://github.com/pytorch/pytorch/issues/130181
    Signature(
        r"device >= 0 && device < num_gpus",
        ("cuda-visible-devices-masked", "mig-one-instance-per-process"),
        "PyTorch was asked for a GPU that CUDA does not show it",
        ("device >= 0 && device < num_gpus INTERNAL ASSERT FAILED",),
    ),
    # the kernel's and the shell's words for SIGILL
    Signature(
        r"Illegal instruction(?: \(core dumped\)|: 4|$)|trap invalid opcode",
        ("cpu-lacks-avx",),
        "the CPU lacks an instruction that the build uses",
        ("Illegal instruction (core dumped)", "traps: python3[4242] trap invalid opcode ip:7f3c"),
    ),
    # NVIDIA/cuda-samples; what the IOMMU does to them: https://github.com/NVIDIA/nccl/issues/257
    Signature(
        r"p2pBandwidthLatencyTest[^\n]{0,80}\b(?:hang|hung|stuck|freez|never)|simpleP2P[^\n]{0,200}(?:Verification error|FAILED)",
        ("nccl-p2p-acs-iommu",),
        "transfers between two GPUs hang or are wrong",
        ("p2pBandwidthLatencyTest hangs",),
    ),
)
