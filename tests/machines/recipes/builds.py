"""Machines whose framework has kernels for their GPU or not, whose cuDNN matches or not, and whose CUDA is the linked one or not."""

from __future__ import annotations

from dataclasses import replace

from tests.machines.packages import Package, tensorflow, torch
from tests.machines.recipes.base import TF, Recipe, cards, healthy
from tests.machines.recipes.gpus import V100
from tests.machines.recipes.kernel import GTX_1080, RTX_5090, driven
from tests.seams import NvmlGpu, Tree

H100 = NvmlGpu(name="NVIDIA H100 80GB HBM3", pci_device_id=0x233010DE, compute_capability=(9, 0))
CUDNN = "nvidia_cudnn_cu12"
AND_CUDA = replace(TF, requires=('nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"',))


def on(gpu: NvmlGpu, about: str, *packages: Package, driver: str = "580.65.06", cuda: str = "13.0", roots: tuple[str, ...] = ()) -> Recipe:
    """One card under a driver that supports it, healthy except for these packages; the roots are errors."""
    whole = driven(about, gpu, driver=driver, cuda=cuda, open_module=gpu is RTX_5090)
    notes = ("gpu-lacks-bf16",) if gpu.compute_capability and gpu.compute_capability < (8, 0) else ()
    return replace(whole, packages=packages, roots=roots, notes=notes, verdict="broken" if roots else "ready")


def with_toolkit(about: str, *packages: Package, roots: tuple[str, ...] = (), folded: tuple[str, ...] = ()) -> Recipe:
    """A server with NVIDIA's toolkit 12.4 and these packages; the roots are warnings."""
    files = {"usr/local/cuda-12.4/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}\n'}
    tree = Tree(pci=cards(1), kernel_driver="550.163.01", files=files)
    return healthy(about=about, tree=tree, packages=(TF, *packages), roots=roots, folded=folded, verdict="degraded" if roots else "ready")


RECIPES: dict[str, Recipe] = {
    "torch-older-than-the-gpu": on(
        RTX_5090, "an RTX 5090 and a PyTorch from before Blackwell", torch("2.6.0+cu124", "12.4"), roots=("gpu-too-new-for-build",)
    ),
    "torch-with-code-for-the-gpu": on(RTX_5090, "an RTX 5090 and a PyTorch with code for it", torch("2.8.0+cu128", "12.8")),
    "torch-dropped-the-gpu": on(
        GTX_1080, "a GTX 1080 and a PyTorch that begins at Volta", torch("2.8.0+cu128", "12.8"), roots=("gpu-too-old-for-build",)
    ),
    "torch-dropped-one-of-two": replace(
        driven("a GTX 1080 beside an A100, and a PyTorch that begins at Volta", NvmlGpu(), GTX_1080, driver="580.65.06", cuda="13.0"),
        packages=(torch("2.8.0+cu128", "12.8"),),
        roots=("gpu-too-old-for-build",),
        notes=("gpu-lacks-bf16", "mixed-gpu-models"),
        verdict="degraded",
    ),
    "ptx-newer-than-the-driver": on(
        H100,
        "TensorFlow 2.15 has only PTX of CUDA 12.2 for an H100, and the driver serves 12.0",
        tensorflow("2.15.1", "12.2", "8"),
        driver="525.85.12",
        cuda="12.0",
        roots=("driver-too-old",),
    ),
    "cudnn-of-another-major": on(
        NvmlGpu(), "TensorFlow 2.18 beside the wheel of cuDNN 8", AND_CUDA, Package(CUDNN, "8.9.7.29"), roots=("cudnn-wrong-major",)
    ),
    "cudnn-that-another-framework-pinned": on(
        NvmlGpu(),
        "TensorFlow 2.18 beside the cuDNN that an older PyTorch requires",
        AND_CUDA,
        Package(CUDNN, "9.1.0.70"),
        roots=("cudnn-version-mismatch",),
    ),
    "cudnn-that-fits": on(NvmlGpu(), "TensorFlow 2.18 beside a cuDNN that it accepts", AND_CUDA, Package(CUDNN, "9.10.2.21")),
    "cudnn-without-volta": on(
        V100, "a V100 and the first cuDNN without code for it", AND_CUDA, Package(CUDNN, "9.11.0.98"), roots=("cudnn-drops-gpu",)
    ),
    "cudnn-with-volta": on(V100, "a V100 and the last cuDNN with code for it", AND_CUDA, Package(CUDNN, "9.10.2.21")),
    "cupy-for-an-older-toolkit": with_toolkit(
        "CuPy for CUDA 11 beside the toolkit 12.4",
        Package("cupy_cuda11x", "13.6.0"),
        roots=("cupy-wheel-cuda-mismatch",),
        folded=("cuda-version-mismatch",),
    ),
    "cupy-for-the-toolkit": with_toolkit("CuPy for CUDA 12 beside the toolkit 12.4", Package("cupy_cuda12x", "13.6.0")),
}
