"""Causes from solved reports: nova, HMM, CDI, preloads, Triton's tools, processors, Jetson, shared memory, expiring licences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.elf.test_fatbin import SASS, entry, fat
from tests.machines.elf_library import Library
from tests.machines.packages import Package, tensorflow_cpu
from tests.machines.recipes.base import NOT_LOADED, Recipe, cards, healthy
from tests.machines.recipes.gpus import VIRTUAL, ill, noted, of
from tests.machines.recipes.kernel import DRIVER, MODULES, cuda_fails, driven, kmsg, modules
from tests.machines.recipes.surroundings import FOLDER, TOOLKIT, specification
from tests.machines.wheels import BESIDE, SYSTEM, Files, cuda_wheels
from tests.machines.wheels import torch as torch_wheel
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree

BOUND = kmsg("NVRM: GPU 0000:07:00.0 is already bound to NovaCore.", "NVRM: No NVIDIA devices probed.")
NOVA: dict[str, Recipe] = {
    "nova-holds-the-gpu": healthy(
        about="the kernel's nova took the GPU; the NVIDIA driver is installed, its module finds nothing to drive",
        tree=Tree(pci=cards(1, "NovaCore"), modules=("nova_core",), files={**modules(), **BOUND}),
        libraries=NOT_LOADED,
        verdict="broken",
        roots=("nova-loaded",),
        folded=("no-driver", "cuda-init-fails"),
    ),
    "nova-holds-one-of-two": replace(
        MODULES["nouveau-holds-one-of-two"],
        about="nova took one of two A100 before the NVIDIA driver came",
        tree=Tree(pci=[cards(1)[0], cards(2, "nova_core")[1]], kernel_driver=DRIVER, modules=("nova_core", "nova_drm")),
        roots=("nova-loaded",),
    ),
}

HMM = kmsg("nvidia-uvm: uvm_pmm_gpu.c:3176 devmem_alloc_pagemap[pid:92821] request_free_mem_region() err -34")
UVM: dict[str, Recipe] = {
    "hmm-finds-no-addresses": cuda_fails(
        "cuInit answers 3 under the open modules, and the kernel's log names HMM", 3, "uvm-hmm-init-failure", open_module=True, files=HMM
    ),
    "hmm-and-an-unreadable-log": cuda_fails(
        "the same with a log that says nothing",
        3,
        "uvm-hmm-init-failure",
        open_module=True,
        files={"sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "N\n", "proc/cmdline": "root=/dev/sda1 quiet\n"},
    ),
    "hmm-is-off-and-cuda-fails": cuda_fails(
        "cuInit answers 3 with HMM switched off: the reason is another",
        3,
        "cuda-init-fails",
        folded=(),
        open_module=True,
        files={"sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "Y\n"},
    ),
}

QUADLET = {"etc/containers/systemd/train.container": "[Container]\nImage=example\nAddDevice=nvidia.com/gpu=all\n"}
PODMAN = {"usr/bin/podman": "", **TOOLKIT}
DPKG = "Package: podman\nStatus: install ok installed\nVersion: 4.9.3+ds1-1ubuntu0.2\n\n"
FOR_NEWER = specification(DRIVER) + "  deviceNodes:\n  - path: /dev/nvidia0\n  additionalGids:\n  - 44\n"


def hosting(about: str, files: Mapping[str, str], **changes: Any) -> Recipe:
    """A host with a healthy A100, Podman and the container toolkit."""
    return healthy(about=about, tree=Tree(pci=cards(1), kernel_driver=DRIVER, files={**PODMAN, **files}), **changes)


CDI: dict[str, Recipe] = {
    "cdi-wanted-and-no-specification": hosting(
        "a Podman unit asks for nvidia.com/gpu, and nobody generated a specification",
        QUADLET,
        verdict="broken",
        roots=("container-cdi-spec-missing",),
    ),
    "cdi-wanted-and-of-the-former-driver": hosting(
        "a Podman unit asks for nvidia.com/gpu, whose specification names the driver before the upgrade",
        {**QUADLET, "etc/cdi/nvidia.yaml": specification("535.183.01")},
        verdict="broken",
        roots=("container-cdi-spec-stale",),
    ),
    "cdi-wanted-and-in-order": hosting(
        "a Podman unit asks for nvidia.com/gpu, whose specification fits driver and Podman",
        {**QUADLET, "etc/cdi/nvidia.yaml": specification(DRIVER), "var/lib/dpkg/status": DPKG},
    ),
    "cdi-wanted-and-too-new-for-podman": hosting(
        "Podman 4.9 and a specification with a field that it does not know",
        {**QUADLET, "etc/cdi/nvidia.yaml": FOR_NEWER, "var/lib/dpkg/status": DPKG},
        verdict="broken",
        roots=("container-cdi-spec-incompatible",),
    ),
    "cdi-too-new-and-not-used": hosting(
        "the same where no configuration uses it",
        {"etc/cdi/nvidia.yaml": FOR_NEWER, "var/lib/dpkg/status": DPKG},
        notes=("container-cdi-spec-incompatible",),
    ),
}

FAKE = Library("libvgpu.so", defines=("cuInit", "cuMemAlloc_v2", "cuMemGetInfo_v2", "nvmlInit_v2"))
PRELOADED = {"etc/ld.so.preload": f"{FOLDER}/libvgpu.so\n"}
SHARING = Files(libraries={f"{SYSTEM}/libvgpu.so": FAKE})
HARMLESS = Files(libraries={f"{SYSTEM}/libvgpu.so": Library("libjemalloc.so.2", defines=("mallctl",))})


def preloading(about: str, *packages: Package, code: int = 0, **changes: Any) -> Recipe:
    """A server that preloads a library into every process, with cuInit's answer."""
    library = Nvml(gpus=1)
    cuda = Cuda(gpus=library.gpus, calls={"cuInit": f"return {code}"} if code else {})
    tree = Tree(pci=cards(1), kernel_driver=DRIVER, files=PRELOADED)
    whole = healthy(about=about, tree=tree, libraries=(library, cuda), **changes)
    return replace(whole, packages=(*whole.packages, *packages))


PRELOADS: dict[str, Recipe] = {
    "preloaded-library-refuses-cuda": preloading(
        "a library for GPU sharing is preloaded, and cuInit fails",
        SHARING,
        code=999,
        verdict="broken",
        roots=("preloaded-library-intercepts-cuda",),
        folded=("cuda-init-fails",),
    ),
    "preloaded-library-lets-cuda-through": preloading(
        "a library for GPU sharing is preloaded, and CUDA works", SHARING, notes=("preloaded-library-intercepts-cuda",)
    ),
    "preloaded-allocator": preloading("an allocator is preloaded", HARMLESS),
}

SPARK = NvmlGpu(
    name="NVIDIA GB10", pci_device_id=0x2E1210DE, compute_capability=(12, 1), memory_total=None, mig=None, ecc=None, ecc_corrected=None,
    ecc_uncorrected=None, remapped=None, sram=None, nvlinks=None, fabric=None, recovery_action=None, pcie_gen=(1, 5), pcie_width=(1, 16),
    power_limits=None, facts={"attribute.18": 1},
)  # fmt: skip


def triton(ptxas: str, newer: str = "", version: str = "3.5.1") -> Package:
    """Triton with assemblers that state their version like NVIDIA's."""
    place = "triton/backends/nvidia/bin"
    text = "\x7fELF\x01 Cuda compilation tools, release {short}, V{whole}\n"
    tools = {"ptxas": ptxas, **({"ptxas-blackwell": newer} if newer else {})}
    files = {f"{place}/{name}": text.format(short=release.rpartition(".")[0], whole=release) for name, release in tools.items()}
    return Package("triton", version, {"triton/__init__.py": "", **files})


GCC = Files(programs=(f"{BESIDE}root/usr/bin/gcc",), files={f"{BESIDE}root/usr/lib/gcc/x86_64-linux-gnu/12/cc1": ""})
PTXAS_13 = f"{BESIDE}root/usr/local/cuda-13.0/bin/ptxas"
TOOLKIT_13 = Files(files={f"{BESIDE}root/usr/local/cuda-13.0/version.json": '{"cuda": {"version": "13.0.1"}}'}, programs=(PTXAS_13,))
TORCH_WHEELS = tuple(
    wheel
    for wheel in cuda_wheels()
    if wheel.name.removeprefix("nvidia_").removesuffix("_cu12") in {"cuda_runtime", "cublas", "cudnn", "nccl"}
)


def compiling(about: str, *packages: Package, gpu: NvmlGpu | None = None, **changes: object) -> Recipe:
    """A server with PyTorch, its libraries and a GPU that its build supports."""
    library = Nvml(gpus=[gpu or NvmlGpu()], driver="580.95.05", cuda="13.0")
    whole = Recipe(
        about=about,
        tree=Tree(pci=[PciCard.of(card) for card in library.cards], kernel_driver="580.95.05", open_module=True),
        libraries=(library, Cuda(gpus=library.gpus, cuda="13.0")),
        packages=(replace(torch_wheel(), requires=(), tags=("cp311-cp311-manylinux_2_28_x86_64",)), *TORCH_WHEELS, *packages),
        verdict="ready",
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


HOPPER = NvmlGpu(name="NVIDIA H100 80GB HBM3", pci_device_id=0x233010DE, compute_capability=(9, 0))
TRITON: dict[str, Recipe] = {
    "triton-has-all-it-needs": compiling("an H100 and all that torch.compile needs", triton("12.8.93"), GCC, gpu=HOPPER),
    "triton-does-not-know-the-gpu": compiling(
        "an H100, and TRITON_PTXAS_PATH names the assembler of CUDA 11.2",
        triton("12.8.93"),
        GCC,
        Files(files={f"{BESIDE}root/opt/old/ptxas": "Cuda compilation tools, release 11.2, V11.2.152\n"}),
        gpu=HOPPER,
        environment={"TRITON_PTXAS_PATH": "/opt/old/ptxas"},
        verdict="degraded",
        roots=("triton-ptxas-too-old",),
    ),
    "triton-without-a-c-compiler": compiling(
        "a slim image: PyTorch and Triton, and no compiler",
        triton("12.8.93"),
        gpu=HOPPER,
        verdict="degraded",
        roots=("c-compiler-missing",),
    ),
}

OLD_CPU = {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU X5690 @ 3.47GHz\nflags\t\t: fpu sse4_1 sse4_2\n\n"}
TEGRA = Cuda(gpus=[NvmlGpu(name="Orin", compute_capability=(8, 7), memory_total=32 << 30, facts={"attribute.18": 1})], cuda="12.6")


_KERNELS = "torch/lib/libtorch_cuda.so"
FOR_ORIN = {**torch_wheel().libraries, _KERNELS: replace(torch_wheel().libraries[_KERNELS], code=fat(entry(SASS, 87)))}


def on_jetson(about: str, *packages: Package, **changes: object) -> Recipe:
    """A Jetson AGX Orin with JetPack 6."""
    whole = Recipe(
        about=about,
        tree=Tree(platform="jetson", kernel="5.15.148-tegra", nodes=("nvhost-gpu", "nvmap")),
        libraries=(TEGRA,),
        packages=packages,
        verdict="ready",
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


BOARDS: dict[str, Recipe] = {
    "processor-without-avx": healthy(
        about="TensorFlow on a Westmere processor, which has no AVX",
        tree=Tree(pci=cards(1), kernel_driver=DRIVER, files=OLD_CPU),
        verdict="broken",
        roots=("cpu-lacks-avx",),
    ),
    "memory-is-the-hosts": replace(
        driven("a GB10, whose memory NVML does not know and whose PCIe link means nothing", SPARK, driver="580.95.05", cuda="13.0"),
        libraries=(
            Nvml(gpus=[SPARK], driver="580.95.05", cuda="13.0"),
            Cuda(gpus=[replace(Nvml(gpus=[SPARK]).cards[0], memory_total=119 << 30)], cuda="13.0"),
        ),
        arguments=("--level", "look", "--require", "memory>=64GiB"),
        verdict="broken",
        roots=("gpu-too-new-for-build",),
    ),
    "jetson-with-a-generic-wheel": on_jetson(
        "an Orin and the index's TensorFlow for ARM",
        tensorflow_cpu("2.18.0"),
        verdict="broken",
        roots=("jetson-needs-vendor-wheel",),
        folded=("cpu-only-build",),
    ),
    "jetson-with-its-own-build": on_jetson(
        "an Orin and a PyTorch that has kernels for it", replace(torch_wheel(), requires=(), libraries=FOR_ORIN), *TORCH_WHEELS
    ),
}

SERVER: dict[str, int | str] = {"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 1}
LICENCES: dict[str, Recipe] = {
    "vgpu-licence-over": ill(
        of(replace(VIRTUAL, facts={**SERVER, "licence_seconds": -600}), about="a vGPU whose licence has expired"),
        "vgpu-licence-expiring",
    ),
    "vgpu-licence-nearly-over": noted(
        of(replace(VIRTUAL, facts={**SERVER, "licence_seconds": 1800}), about="a vGPU whose licence ends in half an hour"),
        "vgpu-licence-expiring",
    ),
    "vgpu-licence-for-a-day": of(
        replace(VIRTUAL, facts={**SERVER, "licence_seconds": 80_000}), about="a vGPU whose licence lasts most of a day"
    ),
}

CONDA: dict[str, Recipe] = {
    "conda-told-of-a-newer-cuda": healthy(
        about="CONDA_OVERRIDE_CUDA names a CUDA that driver 550 does not serve",
        environment={"CONDA_OVERRIDE_CUDA": "13.0"},
        notes=("conda-cuda-override-wrong",),
    ),
    "conda-told-of-the-drivers-cuda": healthy(
        about="CONDA_OVERRIDE_CUDA names a CUDA that the driver serves", environment={"CONDA_OVERRIDE_CUDA": "12.4"}
    ),
}

RECIPES: dict[str, Recipe] = {**NOVA, **UVM, **CDI, **PRELOADS, **TRITON, **BOARDS, **LICENCES, **CONDA}
