"""Machines on which our own kernel ran or could not, with the wrong libcuda, or with settings that hide a GPU."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.machines.packages import Package, jax_plugin, torch
from tests.machines.recipes.base import Recipe, cards, healthy
from tests.seams import Cuda, Nvml, NvmlGpu, Tree

TOUCH = ("--level", "touch")
GONE = "GPU-deadbeef-0000-0000-0000-000000000000"
NO_PIPES = "/srv/mps"
DEBIAN_LIBRARIES = "usr/lib/x86_64-linux-gnu"
JAX = Package(
    "jax",
    "0.4.38",
    {"jax/__init__.py": "", "jax/version.py": "_version = '0.4.38'\n_release_version: str | None = None\n__version__ = '0.4.38'\n"},
)
JAX_CUDA = (JAX, Package("jaxlib", "0.4.38"), jax_plugin("0.4.38"))


def elf(bits: int, machine: int) -> bytes:
    """The header of a shared library for a class and e_machine, without content."""
    return b"\x7fELF" + bytes((bits // 32, 1, 1)) + bytes(9) + (3).to_bytes(2, "little") + machine.to_bytes(2, "little") + bytes(44)


@dataclass(frozen=True, kw_only=True)
class CudaAt(Cuda):
    """Our libcuda as the file `place`, the target of the loader's link."""

    place: str

    def install(self, directory: Path) -> dict[str, str]:
        variables = super().install(directory)
        link = directory / self.SONAME
        file = directory / self.place
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(link.resolve(), file)
        link.unlink()
        link.symlink_to(file)
        return variables


@dataclass(frozen=True, kw_only=True)
class NotForThisProcess(Cuda):
    """A file that the loader finds and refuses: a 32-bit library."""

    def install(self, directory: Path) -> dict[str, str]:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / self.SONAME).write_bytes(elf(32, 3))
        return {"LD_LIBRARY_PATH": str(directory)}


def on_disk(files: Mapping[str, bytes]) -> Tree:
    return Tree(pci=cards(1), kernel_driver="550.163.01", files=files)


def refused(about: str, calls: Mapping[str, str], roots: tuple[str, ...] = ("cuda-init-fails",), gpus: int = 1) -> Recipe:
    """A server with A100s whose last one refuses our kernel."""
    nvml = Nvml(gpus=gpus)
    libraries = (nvml, Cuda(gpus=nvml.gpus, calls=calls))
    return healthy(gpus, about=about, libraries=libraries, arguments=TOUCH, verdict="broken", roots=roots)


def compat(about: str, release: str, code: int, root: str) -> Recipe:
    """A libcuda of cuda-compat over the kernel driver 550.163.01."""
    place = f"cuda-12.8/compat/libcuda.so.{release}"
    library = CudaAt(gpus=1, cuda="12.8", place=place, calls={"cuInit": f"return {code}"} if code else {})
    roots, folded = ((root,), ("cuda-init-fails",)) if code else ((), ())
    verdict = "broken" if code else "ready"
    return healthy(about=about, libraries=(Nvml(gpus=1), library), verdict=verdict, roots=roots, folded=folded)


def masked(about: str, value: str, **changes: object) -> Recipe:
    nvml = Nvml(gpus=2)
    return healthy(2, about=about, libraries=(nvml, Cuda(gpus=nvml.gpus)), environment={"CUDA_VISIBLE_DEVICES": value}, **changes)


FULL = NvmlGpu(memory_used=79 << 30)

RECIPES: dict[str, Recipe] = {
    "kernel-ran-on-eight": healthy(8, about="eight A100 on each of which our own kernel ran", arguments=TOUCH),
    "kernel-refused-on-one-of-eight": refused(
        "the fourth of eight A100 refuses a context with 46, and nothing says why", {"cuDevicePrimaryCtxRetain.3": "return 46"}, gpus=8
    ),
    "kernel-without-ptx-compiler": refused("a container without the driver's PTX compiler", {"cuModuleLoadData": "return 221"}),
    "kernel-crashes": refused("the process dies when it loads our kernel", {"cuModuleLoadData": "crash"}),
    "kernel-meets-ecc-error": refused("the kernel ends with an uncorrectable memory error", {"cuCtxSynchronize": "return 214"}),
    "kernel-computes-wrong": healthy(
        about="one bit of 8192 results is wrong",
        libraries=(Nvml(gpus=1), Cuda(gpus=[NvmlGpu(facts={"wrong_element": 4711})])),
        arguments=TOUCH,
        verdict="broken",
        roots=("gpu-computes-wrong",),
    ),
    "kernel-finds-no-memory": healthy(
        about="all of the GPU's memory is held by processes that nobody sees, and a context does not find room",
        libraries=(Nvml(gpus=[FULL]), Cuda(gpus=[FULL], calls={"cuDevicePrimaryCtxRetain": "return 2"})),
        arguments=TOUCH,
        verdict="broken",
        roots=("gpu-memory-held-by-other-process",),
        folded=("gpu-memory-insufficient",),
    ),
    "kernel-leaves-a-gpu-in-use-alone": healthy(
        about="the GPU is computed on by another process: level touch leaves it alone",
        libraries=(Nvml(gpus=[NvmlGpu(compute_processes=[(4711, 1 << 30)])]), Cuda(gpus=1)),
        arguments=TOUCH,
        verdict="unknown",
    ),
    "compat-libcuda-works": compat("a compat libcuda 570 of CUDA 12.8 over driver 550 on a card that may", "570.124.06", 0, ""),
    "compat-libcuda-on-a-card-that-may-not": compat(
        "the same on a card that may not: 804", "570.124.06", 804, "forward-compat-unsupported-hw"
    ),
    "compat-libcuda-older-than-the-driver": compat(
        "a compat libcuda 535 left in an image, over driver 550: 803", "535.183.01", 803, "cuda-compat-lib-conflict"
    ),
    "libcuda-of-another-installation": healthy(
        about="the libcuda of a driver 535 from NVIDIA's installer lies before the 550 of the packages",
        libraries=(Nvml(gpus=1), CudaAt(gpus=1, place="old/libcuda.so.535.183.01", calls={"cuInit": "return 803"})),
        verdict="broken",
        roots=("driver-library-mismatch",),
        folded=("cuda-init-fails",),
    ),
    "libcuda-is-the-stub": healthy(
        about="LD_LIBRARY_PATH puts a toolkit's stubs first",
        tree=on_disk({f"{DEBIAN_LIBRARIES}/libcuda.so.1": elf(64, 62)}),
        libraries=(Nvml(gpus=1), CudaAt(gpus=1, place="cuda-12.4/lib64/stubs/libcuda.so", calls={"cuInit": "return 34"})),
        verdict="broken",
        roots=("libcuda-is-stub",),
        folded=("cuda-init-fails",),
    ),
    "libcuda-outside-the-loaders-path": healthy(
        about="libcuda.so.1 lies in /usr/local/nvidia/lib64, which the loader was not told of",
        tree=on_disk({"usr/local/nvidia/lib64/libcuda.so.1": elf(64, 62)}),
        libraries=(Nvml(gpus=1),),
        verdict="broken",
        roots=("libcuda-not-on-loader-path",),
    ),
    "libcuda-not-installed": healthy(
        about="a driver without its libcuda: only NVML's package is installed",
        libraries=(Nvml(gpus=1),),
        verdict="broken",
        roots=("libcuda-not-installed",),
    ),
    "libcuda-for-32-bit-only": healthy(
        about="only the 32-bit libcuda is installed, and the loader finds it",
        tree=on_disk({"usr/lib/i386-linux-gnu/libcuda.so.1": elf(32, 3)}),
        libraries=(Nvml(gpus=1), NotForThisProcess()),
        verdict="broken",
        roots=("libcuda-wrong-architecture",),
    ),
    "libcuda-for-another-processor": healthy(
        about="the only libcuda on the disk is for aarch64, which the loader passes over in silence",
        tree=on_disk({"usr/lib64/libcuda.so.1": elf(64, 183)}),
        libraries=(Nvml(gpus=1),),
        verdict="broken",
        roots=("libcuda-wrong-architecture",),
    ),
    "mps-daemon-does-not-answer": healthy(
        about="the pipes of the Multi-Process Service are there and its daemon is gone",
        tree=Tree(pci=cards(1), kernel_driver="550.163.01", files={"tmp/nvidia-mps/control": ""}),
        libraries=(Nvml(gpus=1), Cuda(gpus=1, calls={"cuInit": "return 805"})),
        verdict="broken",
        roots=("mps-misconfigured",),
        folded=("cuda-init-fails",),
    ),
    "mps-folder-without-daemon": healthy(
        about="CUDA_MPS_PIPE_DIRECTORY names a folder without pipes; programs run without MPS",
        environment={"CUDA_MPS_PIPE_DIRECTORY": NO_PIPES},
        tree=Tree(pci=cards(1), kernel_driver="550.163.01", files={f"{NO_PIPES[1:]}/log": ""}),
        notes=("mps-misconfigured",),
    ),
    "mask-names-a-gpu-that-is-gone": masked(
        "CUDA_VISIBLE_DEVICES names the UUID of a card that was replaced",
        GONE,
        verdict="broken",
        roots=("cuda-visible-devices-uuid-unsupported",),
        folded=("cuda-init-fails", "cuda-visible-devices-masked"),
    ),
    "mask-names-gpus-by-uuid": masked("CUDA_VISIBLE_DEVICES names one of two cards by its UUID", str(Nvml(gpus=2).cards[1].uuid)),
    "jax-told-to-use-the-cpu": healthy(
        about="JAX_PLATFORMS=cpu with JAX and its CUDA plugin installed, and no other framework",
        packages=JAX_CUDA,
        environment={"JAX_PLATFORMS": "cpu"},
        verdict="broken",
        roots=("env-hides-gpu",),
    ),
    "jax-told-to-use-cuda": healthy(
        about="JAX_PLATFORMS=cuda,cpu is as it should be",
        packages=JAX_CUDA,
        environment={"JAX_PLATFORMS": "cuda,cpu"},
    ),
    "accelerate-told-to-use-the-cpu": healthy(
        about="ACCELERATE_USE_CPU=true with PyTorch",
        packages=(torch("2.6.0+cu124", "12.4"),),
        environment={"ACCELERATE_USE_CPU": "true"},
        verdict="degraded",
        roots=("env-hides-gpu",),
    ),
    "launch-blocking-left-on": healthy(
        about="CUDA_LAUNCH_BLOCKING=1 and CUDA_CACHE_DISABLE=1 are left from debugging",
        environment={"CUDA_LAUNCH_BLOCKING": "1", "CUDA_CACHE_DISABLE": "1"},
        verdict="degraded",
        roots=("env-slows-gpu",),
        notes=("env-slows-gpu",),
    ),
    "launch-blocking-turned-off": healthy(about="CUDA_LAUNCH_BLOCKING=0 is the default", environment={"CUDA_LAUNCH_BLOCKING": "0"}),
}
