"""What container engines, tools and libraries say that only pasted text shows: gpudoctor's own training cannot meet these."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

PASTED = (
    # https://github.com/NVIDIA/nvidia-docker/issues/1034; the other is the kernel's answer to a missing program
    Signature(
        r"could not select device driver \"\" with capabilities: \[\[gpu\]\]|nvidia-container-runtime: no such file or directory",
        ("container-toolkit-missing",),
        "the container engine has no NVIDIA runtime",
        (
            'could not select device driver "" with capabilities: [[gpu]]',
            "fork/exec /usr/bin/nvidia-container-runtime: no such file or directory",
        ),
    ),
    # https://github.com/NVIDIA/nccl/issues/525
    Signature(
        r"Call to posix_fallocate failed",
        ("container-shm-too-small",),
        "NCCL could not allocate shared memory",
        ("NCCL WARN Call to posix_fallocate failed : No space left on device",),
    ),
    # DeepSpeed: https://github.com/microsoft/DeepSpeed/issues/2772; the shell
    Signature(
        r"CUDA_HOME does not exist, unable to compile CUDA|nvcc: (?:command )?not found|No such file or directory: '[^'\n]{0,200}nvcc'",
        ("nvcc-toolkit-missing",),
        "a build found no CUDA compiler",
        ("CUDA_HOME does not exist, unable to compile CUDA op(s)", "nvcc: command not found"),
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
)
