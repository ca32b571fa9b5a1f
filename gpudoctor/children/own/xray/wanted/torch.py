"""PyTorch, by following the installed torch/__init__.py."""

from __future__ import annotations

from gpudoctor.children.own.xray.patient import Around, Patient
from gpudoctor.children.own.xray.script import Unknown
from gpudoctor.children.own.xray.torch_start import TorchStart
from gpudoctor.children.own.xray.wanted import WantedFramework
from gpudoctor.children.own.xray.wanted.cudnn import open_parts


def load(wish: WantedFramework, around: Around) -> tuple[Patient, list[str]]:
    """Global dependencies, what torch/__init__.py preloads, then the library behind torch._C; linear algebra and NVRTC on demand."""
    disk = around.disk
    patient = Patient(around, wish.home)
    lib = f"{wish.home}/lib"
    try:
        TorchStart(patient, wish.home, wish.cuda).follow()
    except Unknown as unknown:
        patient.unknown = f"how torch/__init__.py loads its libraries is unknown: {unknown}"
    for name in sorted(disk.names(wish.home)):
        if name.startswith("_C.") and name.endswith(".so"):
            patient.load(f"{wish.home}/{name}")
    kernels = patient.loader.loaded("libtorch_cuda.so")
    if "libtorch_cuda.so" in disk.names(lib):  # even if it is not reached: cuBLAS, loaded earlier, opens it too
        patient.open("libcuda.so.1", kernels or patient.main, vital=True)
    if kernels is not None:
        for name in ("libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so"):
            if name in disk.names(lib):
                patient.open(name, kernels, vital=False)
    for major in ("9", "8"):
        open_parts(patient, patient.loader.loaded(f"libcudnn.so.{major}"), major)
    return patient, [
        f"{lib}/{name}" for name in sorted(disk.names(lib)) if name.startswith(("libtorch_cuda", "libc10_cuda", "libtorch.so"))
    ]
