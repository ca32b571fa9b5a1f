"""The table of root causes and consequences: which finding explains which."""

from __future__ import annotations

import enum

import msgspec


class Join(str, enum.Enum):
    """What cause and effect must share."""

    GPU = "same GPU"
    FRAMEWORK = "same framework"
    MACHINE = "machine"


class Explains(msgspec.Struct, frozen=True):
    """Where `cause` is found, `effect` follows from it."""

    cause: str
    effect: str
    join: Join = Join.MACHINE


def _explains(cause: str, *effects: str, join: Join = Join.MACHINE) -> tuple[Explains, ...]:
    return tuple(Explains(cause, effect, join) for effect in effects)


_GONE = ("gpu-fell-off-bus", "gpu-not-responding")
"""A GPU that no longer answers takes CUDA on the others with it, mostly by error 999."""
_UNLISTED = (
    *_GONE,
    "gsp-firmware-failure",
    "power-cable-missing",
    "inforom-corrupt",
    "gpu-requires-reset",
    "ecc-hardware-error",
    "mig-no-instances",
    "compute-prohibited",
    "vgpu-unlicensed",
)
"""CUDA leaves out a GPU in such a state."""
_SMOKE = ("smoke-ran-on-cpu", "smoke-crashed", "smoke-hung")
_REFUSE_WORK = (
    "power-cable-missing",
    "inforom-corrupt",
    "gpu-requires-reset",
    "vgpu-unlicensed",
    "confidential-computing-not-ready",
    "exclusive-compute-mode",
    "compute-prohibited",
    "mig-no-instances",
)
"""A GPU in such a state is there, and no program may or can use it."""
_AROUND = (
    "container-toolkit-missing",
    "container-cgroup-device-lost",
    "container-ldcache-stale",
    "wsl-libcuda-not-on-path",
    "wsl-driver-stack-broken",
    "wsl-linux-driver-installed",
    "wsl1",
    "scheduler-gpu-not-allocated",
)
"""The name of the container, platform or scheduler is the closer one: each of these leaves a process without a GPU that is in order."""
_LIBCUDA = (
    "forward-compat-unsupported-hw",
    "cuda-compat-lib-conflict",
    "libcuda-not-on-loader-path",
    "libcuda-is-stub",
    "libcuda-wrong-architecture",
    "mps-misconfigured",
    "preloaded-library-intercepts-cuda",
    "uvm-hmm-init-failure",
)
"""The library is at fault, or the service that it is sent to."""
_NO_MODULE = (
    "driver-too-new-for-gpu",
    "gpu-too-new-for-driver",
    "kernel-module-not-built",
    "nouveau-loaded",
    "secure-boot-unsigned-module",
    "vfio-bound",
    "nova-loaded",
)
"""Why no NVIDIA driver is at work, more exactly than that none is."""
_UNREACHED = (
    "device-nodes-missing",
    "uvm-not-loaded",
    "uvm-broken-after-suspend",
    "fabric-manager-missing",
    "fabric-manager-version-mismatch",
    "fabric-prerequisites-missing",
    "fabric-not-ready",
)
"""The driver is at work, and CUDA does not reach it."""
_UNUSABLE = (
    "numpy2-abi-mismatch",
    "protobuf-mismatch",
    "keras3-mismatch",
    "jax-plugin-version-mismatch",
    "two-copies-of-framework",
    "framework-files-damaged",
    "glibc-too-old",
    "cpu-lacks-avx",
)
"""With each of these the framework's import fails, or leaves its CUDA half out."""
_MIXED = ("mixed-conda-pip", "two-copies-of-framework")
"""What an environment became by two hands, of which unmet requirements are a consequence."""
_BUILD = (
    "gpu-too-new-for-build",
    "gpu-too-old-for-build",
    "slow-ptx-jit",
    "cudnn-wrong-major",
    "cudnn-version-mismatch",
    "cudnn-drops-gpu",
)
"""What a framework brings, or takes, does not fit the GPU."""
_TRITON = ("triton-ptxas-too-old", "c-compiler-missing", "python-headers-missing")
"""What torch.compile lacks to make kernels."""
_NOT_LOADED = (
    "cuda-library-missing",
    "cudnn-missing",
    "cuda-libs-not-on-loader-path",
    "pip-nvidia-libs-not-on-path",
    "cuda-library-damaged",
)
"""The framework does not get a library that it needs."""
_SHADOWED = ("cudnn-version-mismatch", "cudnn-wrong-major", "cudnn-drops-gpu")
"""What follows from another copy of cuDNN than the one that was installed for the framework."""
_LOSE_GPUS = (
    *_NO_MODULE,
    *_UNREACHED,
    "gsp-firmware-failure",
    "pci-bar-not-assigned",
    "amd-gpu-unsupported",
    *_AROUND,
    *_LIBCUDA,
    "no-gpu",
    "no-driver",
    "driver-library-mismatch",
    "device-permission-denied",
    "driver-hung",
    "container-no-gpu-access",
    *_GONE,
    "gpu-count-mismatch",
    "gpu-missing-from-cuda",
    "libcuda-not-installed",
    "cuda-init-fails",
    "cuda-visible-devices-masked",
    *_REFUSE_WORK,
    *_SMOKE,
)
"""After each of these fewer GPUs are usable than there are."""
_HELD_BACK = (
    "power-throttled",
    "thermal-throttled",
    "hw-slowdown",
    "pcie-link-degraded",
    "gpu-memory-held-by-other-process",
    "application-clocks-lowered",
)
"""Each of these makes a GPU slow."""
_APART = (
    "nccl-p2p-acs-iommu",
    "nvlink-inactive",
    "nvlink-errors",
    "fabric-unhealthy",
    "container-shm-too-small",
    "wsl-multi-gpu-limit",
    *_GONE,
    "gpu-computes-wrong",
    "ecc-hardware-error",
    "driver-hung",
)
"""With each of these several GPUs do not work together."""
_SLOW = ("gpu-slower-than-expected", "gpu-not-faster-than-cpu")

CAUSALITY: tuple[Explains, ...] = (
    *_explains("no-gpu", "no-driver", "cuda-init-fails", "cuda-visible-devices-masked", *_SMOKE),
    *_explains("no-driver", "driver-library-mismatch", "device-permission-denied", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("driver-library-mismatch", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("device-permission-denied", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("driver-hung", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("container-no-gpu-access", "no-driver", "device-permission-denied", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *(row for cause in _GONE for row in _explains(cause, "gpu-count-mismatch", join=Join.GPU)),
    *(row for cause in _GONE for row in _explains(cause, "cuda-init-fails", "uvm-broken-after-suspend", "uvm-not-loaded", *_SMOKE)),
    *_explains("gpu-count-mismatch", "cuda-init-fails", *_SMOKE),
    *_explains("gpu-missing-from-cuda", *_SMOKE),
    *(row for cause in _UNLISTED for row in _explains(cause, "gpu-missing-from-cuda", join=Join.GPU)),
    *_explains("device-permission-denied", "gpu-missing-from-cuda"),
    *_explains("container-cgroup-device-lost", "gpu-missing-from-cuda"),
    *(row for cause in _UNREACHED[3:] for row in _explains(cause, "gpu-missing-from-cuda")),
    *_explains("libcuda-not-installed", *_SMOKE),
    *_explains("cuda-visible-devices-masked", "cuda-init-fails", *_SMOKE),
    *_explains("cuda-init-fails", *_SMOKE),
    *_explains("power-cable-missing", "gpu-count-mismatch", join=Join.GPU),
    *_explains("inforom-corrupt", "gpu-count-mismatch", join=Join.GPU),
    *_explains("gpu-requires-reset", "gpu-count-mismatch", join=Join.GPU),
    *(row for cause in _REFUSE_WORK for row in _explains(cause, "cuda-init-fails", *_SMOKE)),
    *_explains("ecc-hardware-error", "row-remap-pending", "pages-retirement-pending", "gpu-requires-reset", join=Join.GPU),
    *_explains("gpu-memory-held-by-other-process", *_SMOKE),
    *(row for cause in _GONE for row in _explains(cause, "nvlink-inactive")),
    *(row for cause in _AROUND for row in _explains(cause, "cuda-init-fails", "gpu-count-mismatch", *_SMOKE)),
    *_explains(
        "scheduler-gpu-not-allocated", "no-gpu", "cuda-visible-devices-masked", "container-no-gpu-access", "device-permission-denied"
    ),
    *_explains("container-toolkit-missing", "container-no-gpu-access", "container-cdi-spec-missing"),
    *_explains("container-cgroup-device-lost", "device-permission-denied"),
    *_explains("wsl1", "wsl-driver-stack-broken", "wsl-libcuda-not-on-path", "container-no-gpu-access"),
    *_explains("wsl-linux-driver-installed", "wsl-driver-stack-broken", "driver-library-mismatch"),
    *_explains("wsl-driver-stack-broken", "wsl-libcuda-not-on-path", "libcuda-not-on-loader-path"),
    *_explains("wsl-libcuda-not-on-path", "libcuda-not-on-loader-path"),
    *(row for cause in _LIBCUDA for row in _explains(cause, "cuda-init-fails", *_SMOKE)),
    *_explains("libcuda-not-on-loader-path", "container-no-gpu-access"),
    *_explains("libcuda-wrong-architecture", "container-no-gpu-access"),
    *_explains("container-ldcache-stale", "libcuda-not-on-loader-path"),
    *_explains("driver-library-mismatch", "cuda-compat-lib-conflict"),
    *_explains("cuda-visible-devices-uuid-unsupported", "cuda-visible-devices-masked", "cuda-init-fails", *_SMOKE),
    *_explains("gpu-memory-held-by-other-process", "gpu-memory-insufficient", join=Join.GPU),
    *_explains("gpu-memory-insufficient", *_SMOKE),
    *_explains("ecc-hardware-error", "gpu-computes-wrong", join=Join.GPU),
    *_explains("ecc-hardware-error", "cuda-init-fails"),
    *_explains("gpu-computes-wrong", "smoke-wrong-result", "smoke-did-not-learn", "smoke-loss-not-finite", *_SMOKE),
    *_explains("smoke-wrong-result", "smoke-did-not-learn", "smoke-loss-not-finite", join=Join.FRAMEWORK),
    *_explains("host-memory-insufficient", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("env-hides-gpu", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("smoke-ran-on-cpu", "smoke-crashed", join=Join.FRAMEWORK),
    *_explains("cpu-only-build", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("driver-too-old", *_SMOKE, join=Join.FRAMEWORK),
    *(row for cause in _BUILD for row in _explains(cause, *_SMOKE, join=Join.FRAMEWORK)),
    *_explains("gpu-too-old-for-triton", "smoke-crashed", join=Join.FRAMEWORK),
    *(row for cause in _TRITON for row in _explains(cause, "smoke-crashed", join=Join.FRAMEWORK)),
    *_explains("jetson-needs-vendor-wheel", "cpu-only-build", *_BUILD, *_NOT_LOADED, *_SMOKE, join=Join.FRAMEWORK),
    *_explains("gpu-too-old-for-triton", *_TRITON, join=Join.FRAMEWORK),
    *_explains("cudnn-wrong-major", "cudnn-drops-gpu", join=Join.FRAMEWORK),
    *_explains("cuda-version-mismatch", "cupy-wheel-cuda-mismatch", *_SMOKE),
    *_explains("cuda-mixed-versions", *_SMOKE),
    *_explains("ld-library-path-shadowing", "cudnn-shadowed-by-system", "nccl-version-conflict", *_SHADOWED, *_SMOKE, join=Join.FRAMEWORK),
    *_explains("ld-library-path-shadowing", "cuda-version-mismatch", "cuda-mixed-versions"),
    *_explains("cudnn-shadowed-by-system", *_SHADOWED, *_SMOKE, join=Join.FRAMEWORK),
    *(row for cause in _NOT_LOADED for row in _explains(cause, *_SMOKE, join=Join.FRAMEWORK)),
    *_explains("cuda-library-damaged", "cuda-library-missing", "cudnn-missing", join=Join.FRAMEWORK),
    *_explains("framework-files-damaged", *_NOT_LOADED, join=Join.FRAMEWORK),
    *_explains("cuda-library-missing", "cudnn-missing", "libdevice-not-found", "ptxas-not-found", join=Join.FRAMEWORK),
    *_explains("cuda-version-mismatch", *_NOT_LOADED),
    *_explains("cudnn-wrong-major", "cudnn-missing", join=Join.FRAMEWORK),
    *_explains("libdevice-not-found", "ptxas-not-found", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("ptxas-not-found", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("ptxas-too-old", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("nccl-version-conflict", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("nvidia-wheel-version-conflict", "nccl-version-conflict"),
    *(row for cause in _APART for row in _explains(cause, "all-reduce-failed")),
    *_explains("nccl-version-conflict", "all-reduce-failed", join=Join.FRAMEWORK),
    *_explains("extension-built-for-other-cuda", "extension-abi-mismatch", join=Join.FRAMEWORK),
    *_explains("torch-torchvision-mismatch", "extension-built-for-other-cuda", "extension-abi-mismatch"),
    *_explains("torch-torchaudio-mismatch", "extension-built-for-other-cuda", "extension-abi-mismatch"),
    *_explains("gpu-too-old-for-build", "extension-missing-arch", join=Join.FRAMEWORK),
    *_explains("gpu-too-new-for-build", "extension-missing-arch", join=Join.FRAMEWORK),
    *_explains("driver-too-old", "gpu-too-new-for-driver"),
    *(row for cause in _NO_MODULE for row in _explains(cause, "no-driver", "driver-library-mismatch", "cuda-init-fails", *_SMOKE)),
    *(row for cause in _NO_MODULE[:2] for row in _explains(cause, "nouveau-loaded", "kernel-module-not-built")),
    *(row for cause in _NO_MODULE[:2] for row in _explains(cause, "gpu-count-mismatch", join=Join.GPU)),
    *_explains("kernel-module-not-built", "nouveau-loaded", "nova-loaded"),
    *_explains("secure-boot-unsigned-module", "nouveau-loaded", "nova-loaded"),
    *_explains("gsp-firmware-failure", "gpu-count-mismatch", *_GONE, "gpu-requires-reset", join=Join.GPU),
    *_explains("gsp-firmware-failure", "driver-hung", "cuda-init-fails", *_SMOKE),
    *(row for cause in _UNREACHED for row in _explains(cause, "cuda-init-fails", *_SMOKE)),
    *_explains("device-nodes-missing", "uvm-not-loaded"),
    *_explains("device-nodes-missing", "gpu-count-mismatch", "gpu-missing-from-cuda", join=Join.GPU),
    *_explains("device-permission-denied", "uvm-not-loaded"),
    *_explains("cuda-visible-devices-masked", "uvm-not-loaded"),
    *_explains("fabric-manager-version-mismatch", "fabric-manager-missing", "fabric-not-ready"),
    *_explains("fabric-prerequisites-missing", "fabric-manager-missing", "fabric-not-ready"),
    *_explains("fabric-unhealthy", "nvlink-inactive", join=Join.GPU),
    *_explains("nvlink-errors", "nvlink-inactive", join=Join.GPU),
    *(row for cause in _UNREACHED[3:] for row in _explains(cause, "nvlink-inactive")),
    *_explains("amd-gpu-unsupported", "no-gpu", "no-driver", "cuda-init-fails", *_SMOKE),
    *_explains("rocm-arch-unsupported", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("metal-plugin-missing", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("windows-native-no-gpu", "no-cuda-wheel-for-platform", "cpu-only-build", join=Join.FRAMEWORK),
    *_explains("windows-native-no-gpu", "package-not-installable"),
    *_explains("no-cuda-wheel-for-platform", "cpu-only-build", *_SMOKE, join=Join.FRAMEWORK),
    *(row for cause in _UNUSABLE for row in _explains(cause, *_SMOKE, join=Join.FRAMEWORK)),
    *(row for cause in _MIXED for row in _explains(cause, "package-requirement-conflict", "nvidia-wheel-version-conflict")),
    *(row for cause in _MIXED for row in _explains(cause, "torch-torchvision-mismatch", "torch-torchaudio-mismatch")),
    *_explains("wrong-python-environment", "framework-missing"),
    *(row for cause in _HELD_BACK for row in _explains(cause, "gpu-behind-its-siblings", *_SLOW, join=Join.GPU)),
    *_explains("gpu-behind-its-siblings", *_SLOW, join=Join.GPU),
    *_explains("row-remap-failed", "row-remap-pending", "spare-rows-exhausted", join=Join.GPU),
    *_explains("pci-bar-not-assigned", "gpu-count-mismatch", join=Join.GPU),
    *_explains("pci-bar-not-assigned", "no-driver", "device-nodes-missing", "cuda-init-fails", *_SMOKE),
    *_explains("nvswitch-fatal-error", "nvlink-inactive", "cuda-init-fails", "all-reduce-failed", "gpu-errors-logged", *_SMOKE),
    *_explains("gpu-slower-than-expected", "gpu-not-faster-than-cpu", join=Join.GPU),
    *_explains("smoke-ran-on-cpu", *_SLOW),
    *(row for cause in _LOSE_GPUS for row in _explains(cause, "required-gpus-missing")),
)
"""The table; a test proves that it has no cycle and names only rules that exist."""
