"""Environments with the files that identify a framework's build, laid out like the published wheels."""

from __future__ import annotations

import venv
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement

from gpudoctor.children.own.xray.components import cudnn_parts, soname
from tests.machines.elf_library import Library


@dataclass(frozen=True)
class Package:
    """A distribution in site-packages: its metadata folder and a few of its files."""

    name: str
    version: str
    files: dict[str, str] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    libraries: dict[str, Library] = field(default_factory=dict)
    """By path from site-packages."""
    tags: tuple[str, ...] = field(default=(), kw_only=True)
    """From its wheel: cp311-cp311-manylinux_2_28_x86_64."""

    def install(self, site: Path) -> None:
        metadata = site / f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        metadata.mkdir()
        requires = "".join(f"Requires-Dist: {one}\n" for one in self.requires)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n{requires}\nA description.\n"
        )
        if self.tags:
            (metadata / "WHEEL").write_text("Wheel-Version: 1.0\n" + "".join(f"Tag: {tag}\n" for tag in self.tags))
        for path, text in self.files.items():
            place = site / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        for path, library in self.libraries.items():
            library.put(site / path)


TORCH_INIT = Path(__file__).parent.parent / "environments/torch_text/2.6.0.txt"
"""The functions of torch/__init__.py that load libraries."""
TENSORFLOW_OPENS = ("cudart", "cublas", "cublaslt", "cufft", "cusolver", "cusparse")
FOLDERS = {"cudart": "cuda_runtime", "cublaslt": "cublas", "nvtx": "nvtx"}
"""Of nvidia/, if its name differs from the component's."""


def cuda_libraries(cuda: str, components: tuple[str, ...], cudnn: str = "") -> dict[str, Library]:
    """Libraries where NVIDIA's packages for a CUDA version place them, under the names that its builds request."""
    names = {part: name for part in components if (name := soname(part, cuda)) is not None}
    found = {f"nvidia/{FOLDERS.get(part, part)}/lib/{name}": Library(name, rpath="$ORIGIN") for part, name in names.items()}
    whole = (f"libcudnn.so.{cudnn}", *cudnn_parts(cudnn)) if cudnn else ()
    return found | {f"nvidia/cudnn/lib/{name}": Library(name, rpath="$ORIGIN") for name in whole}


def _named(libraries: dict[str, Library], up: str) -> str:
    """The folders of these libraries in an RPATH from `up` levels above."""
    return ":".join(dict.fromkeys(f"$ORIGIN/{up}{path.rpartition('/')[0]}" for path in libraries))


def tensorflow(version: str, cuda: str, cudnn: str, *, distribution: str = "tensorflow") -> Package:
    """A TensorFlow with CUDA and a build_info.py as in TensorFlow 2.5 and later."""
    info = (
        "import collections\n"
        f"build_info = collections.OrderedDict([('cuda_version', '{cuda}'), ('cudnn_version', '{cudnn}'), "
        "('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', True)])\n"
    )
    cuda_files = cuda_libraries(cuda, TENSORFLOW_OPENS, cudnn.partition(".")[0])
    framework = "libtensorflow_framework.so.2"
    own = {
        f"tensorflow/{framework}": Library(framework, runpath=_named(cuda_files, "../")),
        "tensorflow/python/_pywrap_tensorflow_internal.so": Library(needs=(framework,), runpath="$ORIGIN/.."),
    }
    files = {"tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": info}
    return Package(distribution, version, files, (), own | cuda_files)


def tensorflow_1(version: str, distribution: str = "tensorflow-gpu") -> Package:
    """A TensorFlow 1.14 with CUDA 10.0 in the environment's lib, like conda's. Its build_info.py only has major versions."""
    info = "is_cuda_build = True\n\ncuda_version_number = '10'\ncudnn_version_number = '7'\n"
    names = [soname(part, "10.0") for part in (*TENSORFLOW_OPENS, "curand") if part != "cublaslt"]
    cuda_files = {f"../../{name}": Library(name) for name in (*names, "libcudnn.so.7") if name}
    framework = "libtensorflow_framework.so.1"
    own = {
        f"tensorflow/{framework}": Library(framework, runpath="$ORIGIN/../../.."),
        "tensorflow/python/_pywrap_tensorflow_internal.so": Library(needs=(framework,), runpath="$ORIGIN/.."),
    }
    files = {"tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": info}
    return Package(distribution, version, files, (), own | cuda_files)


def tensorflow_cpu(version: str) -> Package:
    info = (
        "import collections\n"
        "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n"
    )
    files = {"tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": info}
    return Package("tensorflow-cpu", version, files, (), {"tensorflow/python/_pywrap_tensorflow_internal.so": Library()})


def torch(version: str, cuda: str | None) -> Package:
    """A PyTorch with torch/version.py as its build writes it."""
    text = (
        "from typing import Optional\n\n"
        f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\ngit_version = '0'\nhip: Optional[str] = None\n"
    )
    cuda_files = cuda_libraries(cuda, ("cudart",)) if cuda else {}
    kernels, folders = "libtorch_cuda.so" if cuda else "libtorch_cpu.so", f"$ORIGIN:{_named(cuda_files, '../../')}"
    needs = tuple(library.soname for library in cuda_files.values())
    own = {
        "torch/lib/libtorch_global_deps.so": Library("libtorch_global_deps.so", needs, rpath=folders),
        f"torch/lib/{kernels}": Library(kernels, needs, rpath=folders),
        "torch/_C.cpython-311-x86_64-linux-gnu.so": Library(needs=(kernels,), rpath="$ORIGIN/lib"),
    }
    files = {"torch/__init__.py": TORCH_INIT.read_text(), "torch/version.py": text}
    return Package("torch", version.partition("+")[0], files, (), own | cuda_files)


def jax_plugin(version: str) -> Package:
    """JAX's plugin for CUDA 12 with its client, which has the library."""
    cuda_files = cuda_libraries("12", (*TENSORFLOW_OPENS, "cusolver"), "9")
    library = Library("xla_cuda_plugin.so", rpath=_named(cuda_files, "../../"))
    return Package("jax_cuda12_plugin", version, {}, (), {"jax_plugins/xla_cuda12/xla_cuda_plugin.so": library} | cuda_files)


def environment(place: Path, packages: tuple[Package, ...]) -> Path:
    """A new virtual environment with `packages`, and empty modules for what they require; returns its folder."""
    venv.create(place, symlinks=True)
    site = next(place.glob("lib/python*/site-packages"))
    for package in packages:
        package.install(site)
    required = {Requirement(line).name.replace("-", "_") for package in packages for line in package.requires}
    for name in required - {package.name.replace("-", "_") for package in packages}:
        if not name.startswith("nvidia_"):  # a machine without NVIDIA's libraries lacks them on purpose
            (site / f"{name}.py").touch()
    return place
