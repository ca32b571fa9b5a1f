"""TensorFlow, by 2.21's tsl/platform/default/dso_loader.cc and dlopen_checker.cc."""

from __future__ import annotations

from gpudoctor.children.own.xray.components import soname
from gpudoctor.children.own.xray.patient import Around, Patient
from gpudoctor.children.own.xray.wanted import WantedFramework
from gpudoctor.children.own.xray.wanted.cudnn import open_cudnn
from gpudoctor.elf.loader import LoadedObject
from gpudoctor.elf.symbols import has_symbol_mentioning

_NEEDED_COMPONENTS = ("cudart", "cublas", "cublaslt", "cufft", "curand", "cusolver", "cusparse")
"""In the order of TryDlopenCUDALibraries, cuDNN last. Without one of them TensorFlow registers no GPU."""


def load(wish: WantedFramework, around: Around) -> tuple[Patient, list[str]]:
    """The process and the framework's own relevant files. libtensorflow_framework opens the names, so its RUNPATH applies.

    Up to 1.13 they are linked. 1.15 to 2.1 are in tensorflow_core, and 1.14 to 2.0 say 10 for 10.0.
    """
    disk = around.disk
    home = next((place for place in (f"{wish.home}_core", wish.home) if "python" in disk.names(place)), wish.home)
    release = "10.0" if wish.cuda == "10" else wish.cuda
    patient = Patient(around, home)
    entry = f"{home}/python/_pywrap_tensorflow_internal.so"
    patient.load(entry)
    framework = next((library for library in patient.loader.objects if library.name.startswith("libtensorflow_framework.so")), None)
    own = [entry, *(f"{home}/{name}" for name in sorted(disk.names(home)) if name.startswith("libtensorflow_") and ".so" in name)]
    caller = framework or patient.loader.loaded(entry)
    if caller is None or any(use["asking"] == "linked" and use["asked_by"] == entry for use in patient.uses.values()):
        return patient, own
    patient.open("libcuda.so.1", caller, vital=True)
    for part in _NEEDED_COMPONENTS:
        wanted = soname(part, release)
        if (
            wanted is not None
            and (part != "curand" or (_major_version(release) < 12 and _is_curand_needed(around, caller)))
            and (part != "cublaslt" or _major_version(release) > 10)
        ):
            patient.open(wanted, caller, vital=True)
    if wish.cudnn:
        open_cudnn(patient, caller, wish.cudnn.partition(".")[0])
    if _major_version(release) > 11:
        for wanted in (soname("cupti", release), "libnccl.so.2" if "nvidia/nccl" in (caller.elf.runpath or "") else None):
            if wanted is not None:
                patient.open(wanted, caller, vital=False)
    return patient, own


def _major_version(release: str) -> int:
    digits = release.partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


def _is_curand_needed(around: Around, caller: LoadedObject) -> bool:
    """Whether the library still has the function that opens it: removed in 2.15, the first release with CUDA 12."""
    return has_symbol_mentioning(around.system.place(caller.path), caller.elf, b"GetCurandDsoHandle")
