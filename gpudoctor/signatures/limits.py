"""What glibc's loader and OpenBLAS say where a limit or a setting of the system stops them."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

LIMITS = (
    # elf/dl-load.c of glibc: https://github.com/pytorch/pytorch/issues/123054 and 91005, for modules that were compiled into a cache
    Signature(
        r"(?:/tmp/|/dev/shm/|\.triton/|torchinductor|cuda_utils|__triton_launcher|torch_extensions)[^\n:]{0,200}: failed to map segment from shared object|failed to map segment from shared object: Operation not permitted",
        ("cuda-library-damaged",),
        "the loader may not run a library from its folder, which is mounted noexec",
        (
            "ImportError: /tmp/torchinductor_ana/triton/0/cuda_utils.so: failed to map segment from shared object",
            "libtorch_cpu.so: failed to map segment from shared object: Operation not permitted",
        ),
        cure="Mount the file system of that folder without noexec, or move the environment to another; for caches set TMPDIR and TRITON_CACHE_DIR.",
    ),
    # https://github.com/pytorch/pytorch/issues/16558
    Signature(
        r"failed to map segment from shared object: Cannot allocate memory",
        ("address-space-limited",),
        "the loader has too little address space for a library",
        ("libtorch_cuda.so: failed to map segment from shared object: Cannot allocate memory",),
        cure="Raise the limit of address space (`ulimit -v unlimited`), or the memory limit of the job or container.",
    ),
    Signature(
        r"failed to map segment from shared object",
        ("framework-import-fails", "address-space-limited", "cuda-library-damaged"),
        "the loader cannot map a library: its address space is limited, or the folder is mounted noexec",
        ("ImportError: libtorch_cuda.so: failed to map segment from shared object",),
        tells="ulimit -v; free -m; findmnt -n -o TARGET,OPTIONS -T .",
        cure="Raise the limit of address space and memory (`ulimit -v unlimited`), or move the environment to a file system mounted without noexec.",
    ),
    # driver/others/blas_server.c of OpenBLAS, which NumPy loads
    Signature(
        r"blas_thread_init: pthread_create failed[^\n]{0,60}: Operation not permitted",
        ("framework-import-fails",),
        "the container's seccomp profile refuses OpenBLAS its threads",
        ("OpenBLAS blas_thread_init: pthread_create failed for thread 1 of 32: Operation not permitted",),
        last=True,
        cure="Update Docker to 20.10.10 or newer: the seccomp profile of older ones refuses clone3, which newer images call.",
    ),
    Signature(
        r"blas_thread_init: (?:pthread_create failed|RLIMIT_NPROC)",
        ("framework-import-fails",),
        "OpenBLAS cannot start its threads: the limit of processes is reached",
        ("OpenBLAS blas_thread_init: pthread_create failed for thread 12 of 64: Resource temporarily unavailable",),
        last=True,
        cure="Raise the limit of processes (`ulimit -u`, in Docker --pids-limit), or start fewer threads with OPENBLAS_NUM_THREADS=1.",
    ),
)
