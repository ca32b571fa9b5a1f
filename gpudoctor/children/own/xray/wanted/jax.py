"""JAX, by following the __init__.py of its installed plugin."""

from __future__ import annotations

from gpudoctor.children.own.xray.components import soname
from gpudoctor.children.own.xray.patient import Around, Patient
from gpudoctor.children.own.xray.script import Failure, Program, Unknown
from gpudoctor.children.own.xray.wanted import WantedFramework
from gpudoctor.children.own.xray.wanted.cudnn import open_cudnn
from gpudoctor.elf.loader import LoadedObject

_NEEDED_COMPONENTS = ("cudart", "cublas", "cublaslt", "cufft", "cusparse")
_OF_JAXLIB = ("xla_extension.", "_jax.")
"""How the names of jaxlib's own extension module begin: until 0.6, and since."""


def load(wish: WantedFramework, around: Around) -> tuple[Patient, list[str]]:
    """jaxlib's extension module, what the plugin's __init__.py loads from NVIDIA's wheels, then the plugin, whose RPATH applies to what it opens by name."""
    disk = around.disk
    patient = Patient(around, wish.home)
    own: list[str] = []
    library = next((f"{site}/jaxlib" for site in disk.path if "jaxlib" in disk.names(site)), "")
    for name in disk.names(library) if library else ():
        if name.startswith(_OF_JAXLIB) and name.endswith(".so"):
            for lookup in patient.load(f"{library}/{name}", note=False).missing:
                patient.note_broken(lookup)
    for site in disk.path:
        for name in sorted(disk.names(f"{site}/jax_plugins")):
            plugin = f"{site}/jax_plugins/{name}/xla_cuda_plugin.so"
            if name.startswith("xla_cuda") and disk.exists(plugin):
                _load_plugin(patient, f"{site}/jax_plugins/{name}", plugin, wish)
                return patient, [plugin]
    return patient, own


def _load_plugin(patient: Patient, folder: str, plugin: str, wish: WantedFramework) -> None:
    name = f"{folder.rpartition('/')[2]}/__init__.py"
    try:
        for path in _preloaded_files(patient.around, f"{folder}/__init__.py"):
            patient.load(path, why=f"preloaded by {name}", note=False)
    except Unknown as unknown:
        patient.unknown = f"how {name} loads its libraries is unknown: {unknown}"
    patient.load(plugin)
    caller = patient.loader.loaded(plugin)
    if caller is None:
        return
    patient.open("libcuda.so.1", caller, vital=True)
    release = folder.rpartition("xla_cuda")[2]
    for part in _NEEDED_COMPONENTS:
        _open_named(patient, soname(part, release), caller, vital=True)
    disk = patient.around.disk
    solver = next((path for site in disk.path if disk.exists(path := f"{site}/jax_cuda{release}_plugin/_solver.so")), "")
    if solver:
        patient.load(solver)
        _open_named(patient, soname("cusolver", release), patient.loader.loaded(solver), vital=True)
    open_cudnn(patient, caller, "9" if not wish.cudnn else wish.cudnn.partition(".")[0])
    for wanted in (soname("cupti", release), "libnccl.so.2"):
        _open_named(patient, wanted, caller, vital=False)


def _open_named(patient: Patient, wanted: str | None, caller: LoadedObject | None, *, vital: bool) -> None:
    if wanted is not None and caller is not None:
        patient.open(wanted, caller, vital=vital)


def _preloaded_files(around: Around, source: str) -> list[str]:
    """The files that _load_nvidia_libraries finds in the first folder nvidia/NAME of sys.path; releases up to 0.6 lack the function.

    Raises Unknown if its code cannot be followed.
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
