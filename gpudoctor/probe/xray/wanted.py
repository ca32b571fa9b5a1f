"""What each framework asks the loader for when it is imported and when it first meets a GPU, in its own order.

Known from the frameworks' own sources and from LD_DEBUG=libs of their wheels: tensorflow 2.21 (tsl/platform/default/dso_loader.cc and
dlopen_checker.cc), torch 2.15 (torch/__init__.py, read from the installed copy), jax 0.10 (its plugin's __init__.py, likewise).
"""

from __future__ import annotations

from typing import Any

from gpudoctor.elf.loader import Object
from gpudoctor.elf.system import Refused
from gpudoctor.probe.xray.components import cudnn_parts, soname
from gpudoctor.probe.xray.patient import Around, Patient
from gpudoctor.probe.xray.script import Failure, Program, Unknown
from gpudoctor.probe.xray.torch_start import TorchStart

_TENSORFLOW_NEEDS = ("cudart", "cublas", "cublaslt", "cufft", "curand", "cusolver", "cusparse")
"""In the order of TryDlopenCUDALibraries; cuDNN is the last. Without one of them no GPU is registered."""
_JAX_NEEDS = ("cudart", "cublas", "cublaslt", "cufft", "cusparse")


class Wish:
    """One framework of the environment, as the parent knows it."""

    __slots__ = ("cuda", "cudnn", "home", "name")

    def __init__(self, name: str, home: str, cuda: str, cudnn: str) -> None:
        self.name = name
        self.home = home
        """The folder of its package."""
        self.cuda = cuda
        """The CUDA that it was built with, as it says; empty where it does not."""
        self.cudnn = cudnn


def tensorflow(wish: Wish, around: Around) -> tuple[Patient, list[str]]:
    """What happened, and the framework's own files that matter. The names are opened by libtensorflow_framework, whose RUNPATH counts.

    Up to 1.13 they are linked. 1.15 to 2.1 lie in tensorflow_core, and 1.14 to 2.0 say 10 where they mean 10.0.
    """
    disk = around.disk
    home = next((place for place in (f"{wish.home}_core", wish.home) if "python" in disk.names(place)), wish.home)
    release = "10.0" if wish.cuda == "10" else wish.cuda
    patient = Patient(around, home)
    entry = f"{home}/python/_pywrap_tensorflow_internal.so"
    patient.load(entry)
    framework = next((one for one in patient.loader.objects if one.name.startswith("libtensorflow_framework.so")), None)
    own = [entry, *(f"{home}/{name}" for name in sorted(disk.names(home)) if name.startswith("libtensorflow_") and ".so" in name)]
    caller = framework or patient.loader.loaded(entry)
    if caller is None or any(one["asking"] == "linked" and one["asked_by"] == entry for one in patient.uses.values()):
        return patient, own
    patient.open("libcuda.so.1", caller, vital=True)
    for part in _TENSORFLOW_NEEDS:
        wanted = soname(part, release)
        if (
            wanted is not None
            and (part != "curand" or (_major(release) < 12 and _asks_for_curand(around, caller)))
            and (part != "cublaslt" or _major(release) > 10)
        ):
            patient.open(wanted, caller, vital=True)
    if wish.cudnn:
        _cudnn(patient, caller, wish.cudnn.partition(".")[0])
    if _major(release) > 11:
        for wanted in (soname("cupti", release), "libnccl.so.2" if "nvidia/nccl" in (caller.elf.runpath or "") else None):
            if wanted is not None:
                patient.open(wanted, caller, vital=False)
    return patient, own


def _major(release: str) -> int:
    digits = release.partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


def _asks_for_curand(around: Around, caller: Object) -> bool:
    """Whether the library still has the function that opens it: gone since 2.15, the first release with CUDA 12."""
    from gpudoctor.elf.symbols import mentions  # noqa: PLC0415 -- only for TensorFlow

    return mentions(around.system.place(caller.path), caller.elf, b"GetCurandDsoHandle")


def _cudnn(patient: Patient, caller: Object, major: str) -> None:
    """The library and its parts, which it opens itself."""
    opening = patient.open(f"libcudnn.so.{major}", caller, vital=True)
    _cudnn_parts(patient, None if opening.missing else opening.resolutions[0].found, major)


def _cudnn_parts(patient: Patient, library: Object | None, major: str) -> None:
    for part in cudnn_parts(major) if library is not None else ():
        patient.open(part, library, vital=part.startswith(("libcudnn_ops", "libcudnn_cnn", "libcudnn_graph")))  # type: ignore[arg-type]


def torch(wish: Wish, around: Around) -> tuple[Patient, list[str]]:
    """Global dependencies, what torch/__init__.py preloads, then the library behind torch._C; at need linear algebra and NVRTC."""
    disk = around.disk
    patient = Patient(around, wish.home)
    lib = f"{wish.home}/lib"
    try:
        TorchStart(patient, wish.home, wish.cuda).follow()
    except Unknown as unknown:
        patient.unknown = f"how torch/__init__.py loads its libraries is not known: {unknown}"
    for name in sorted(disk.names(wish.home)):
        if name.startswith("_C.") and name.endswith(".so"):
            patient.load(f"{wish.home}/{name}")
    kernels = patient.loader.loaded("libtorch_cuda.so")
    if "libtorch_cuda.so" in disk.names(lib):  # also where it is not reached: cuBLAS, loaded before it, opens it too
        patient.open("libcuda.so.1", kernels or patient.main, vital=True)
    if kernels is not None:
        for name in ("libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so"):
            if name in disk.names(lib):
                patient.open(name, kernels, vital=False)
    for major in ("9", "8"):
        _cudnn_parts(patient, patient.loader.loaded(f"libcudnn.so.{major}"), major)
    return patient, [
        f"{lib}/{name}" for name in sorted(disk.names(lib)) if name.startswith(("libtorch_cuda", "libc10_cuda", "libtorch.so"))
    ]


def jax(wish: Wish, around: Around) -> tuple[Patient, list[str]]:
    """What the plugin's __init__.py loads from NVIDIA's wheels, then the plugin, whose RPATH counts for what it opens by name."""
    disk = around.disk
    patient = Patient(around, wish.home)
    own: list[str] = []
    for site in disk.path:
        for name in sorted(disk.names(f"{site}/jax_plugins")):
            plugin = f"{site}/jax_plugins/{name}/xla_cuda_plugin.so"
            if name.startswith("xla_cuda") and disk.exists(plugin):
                _jax_plugin(patient, f"{site}/jax_plugins/{name}", plugin, wish)
                return patient, [plugin]
    return patient, own


def _jax_plugin(patient: Patient, folder: str, plugin: str, wish: Wish) -> None:
    name = f"{folder.rpartition('/')[2]}/__init__.py"
    try:
        for path in _jax_preloads(patient.around, f"{folder}/__init__.py"):
            patient.load(path, why=f"preloaded by {name}", note=False)
    except Unknown as unknown:
        patient.unknown = f"how {name} loads its libraries is not known: {unknown}"
    patient.load(plugin)
    caller = patient.loader.loaded(plugin)
    if caller is None:
        return
    patient.open("libcuda.so.1", caller, vital=True)
    release = folder.rpartition("xla_cuda")[2]
    for part in _JAX_NEEDS:
        _open_named(patient, soname(part, release), caller, vital=True)
    disk = patient.around.disk
    solver = next((path for site in disk.path if disk.exists(path := f"{site}/jax_cuda{release}_plugin/_solver.so")), "")
    if solver:
        patient.load(solver)
        _open_named(patient, soname("cusolver", release), patient.loader.loaded(solver), vital=True)
    _cudnn(patient, caller, "9" if not wish.cudnn else wish.cudnn.partition(".")[0])
    for wanted in (soname("cupti", release), "libnccl.so.2"):
        _open_named(patient, wanted, caller, vital=False)


def _open_named(patient: Patient, wanted: str | None, caller: Object | None, *, vital: bool) -> None:
    if wanted is not None and caller is not None:
        patient.open(wanted, caller, vital=vital)


def _jax_preloads(around: Around, source: str) -> list[str]:
    """The files that _load_nvidia_libraries finds in the first folder nvidia/NAME of sys.path; up to 0.6 it does not exist.

    Raises Unknown where its text cannot be followed.
    """
    disk = around.disk
    text = disk.text(source)
    if "_load_nvidia_libraries" not in text:
        if "ctypes" in text:
            raise Unknown("it loads libraries in another way")
        return []
    found: list[str] = []

    def load(module: str, names: list[str]) -> None:
        home = next((place for site in disk.path if disk.exists(place := f"{site}/nvidia/{module}")), "")
        found.extend(f"{home}/lib/{name}" for name in names if name in disk.names(f"{home}/lib"))

    try:
        Program(text, {"_load": load}, {}).call("_load_nvidia_libraries")
    except (Failure, TypeError) as error:
        raise Unknown(str(error)) from None
    return found


FRAMEWORKS: dict[str, Any] = {"tensorflow": tensorflow, "torch": torch, "jax": jax}

__all__ = ["FRAMEWORKS", "Refused", "Wish"]
