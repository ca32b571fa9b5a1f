"""Packages with real but empty ELF files, in the published wheels' folders and linked like them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.elf.test_fatbin import PTX, SASS, entry, fat
from tests.machines import packages
from tests.machines.elf_library import Library
from tests.machines.packages import Package

BESIDE = "../../../../"
"""From site-packages to the folder of the environment and the machine's root."""
SYSTEM = f"{BESIDE}root/usr/lib/x86_64-linux-gnu"
OTHER = f"{BESIDE}toolkit/lib64"
"""A toolkit's folder that only LD_LIBRARY_PATH points to."""
CODE = fat(entry(SASS, 60), entry(SASS, 80), entry(SASS, 90), entry(PTX, 90))
FOLDERS = {
    "cuda_runtime": "libcudart.so.12", "cublas": "libcublas.so.12", "cufft": "libcufft.so.11", "curand": "libcurand.so.10",
    "cusolver": "libcusolver.so.11", "cusparse": "libcusparse.so.12", "cudnn": "libcudnn.so.9", "nccl": "libnccl.so.2",
}  # fmt: skip
"""Folders of nvidia/, each with its library."""
VERSIONS = {
    "cuda_runtime": "12.5.82", "cublas": "12.5.3.2", "cufft": "11.2.3.61", "curand": "10.3.6.82", "cusolver": "11.6.3.83",
    "cusparse": "12.5.1.3", "cudnn": "9.3.0.75", "nccl": "2.21.5", "cuda_nvcc": "12.5.82",
}  # fmt: skip
"""TensorFlow 2.18's minimum."""


PARTS = {
    "cublas": {"libcublasLt.so.12": Library("libcublasLt.so.12")},
    "cudnn": {
        "libcudnn_ops.so.9": Library("libcudnn_ops.so.9", code=CODE),
        "libcudnn_cnn.so.9": Library("libcudnn_cnn.so.9", code=CODE),
        "libcudnn_graph.so.9": Library("libcudnn_graph.so.9"),
    },
}
"""What is beside a folder's library."""


@dataclass(frozen=True)
class Files(Package):
    """Libraries and other files that belong to no distribution."""

    name: str = ""
    version: str = ""
    programs: tuple[str, ...] = ()
    links: dict[str, str] = field(default_factory=dict)

    def install(self, site: Path) -> None:
        for path, text in {**self.files, **dict.fromkeys(self.programs, "")}.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
            (site / path).chmod(0o755 if path in self.programs else 0o644)
        for path, library in self.libraries.items():
            library.put(site / path)
        for path, target in self.links.items():
            (site / path).symlink_to(target)


def released(folder: str, soname: str, release: str) -> Files:
    """A library outside the environment whose file name has its version, with the link by its soname."""
    stem = soname.rpartition(".so.")[0]
    name = f"{stem}.so.{release}"
    return Files(libraries={f"{folder}/{name}": Library(soname)}, links={f"{folder}/{soname}": name})


def header(stem: str, words: str, version: str) -> str:
    """A C header that defines a version, like cudnn_version.h and nccl.h."""
    lines = (f"#define {stem}_{word} {number}\n" for word, number in zip(words.split(), version.split("."), strict=False))
    return "".join(lines)


def cudnn_header(version: str) -> str:
    return header("CUDNN", "MAJOR MINOR PATCHLEVEL", version)


def nccl_header(version: str) -> str:
    return header("NCCL", "MAJOR MINOR PATCH", version)


def nvidia(folder: str, version: str = "", *, cuda: str = "12") -> Package:
    """One of NVIDIA's packages of libraries, in the layout before CUDA 13."""
    version = version or VERSIONS[folder]
    name = f"nvidia_{folder}_cu{cuda}"
    if folder == "cuda_nvcc":
        return Package(name, version, {f"nvidia/{folder}/bin/ptxas": "", f"nvidia/{folder}/nvvm/libdevice/libdevice.10.bc": "BC"})
    libraries = {f"nvidia/{folder}/lib/{FOLDERS[folder]}": Library(FOLDERS[folder], rpath="$ORIGIN")}
    libraries |= {f"nvidia/{folder}/lib/{name}": library for name, library in PARTS.get(folder, {}).items()}
    headers = {"cudnn": ("cudnn_version.h", cudnn_header), "nccl": ("nccl.h", nccl_header)}
    files = {f"nvidia/{folder}/include/{headers[folder][0]}": headers[folder][1](version)} if folder in headers else {}
    return Package(name, version, files, (), libraries)


def cuda_wheels(*without: str) -> tuple[Package, ...]:
    """Everything that TensorFlow's extra and-cuda requires, without some."""
    return tuple(nvidia(folder) for folder in (*FOLDERS, "cuda_nvcc") if folder not in without)


def tensorflow(*, looks_into: tuple[str, ...] = tuple(FOLDERS), requires: tuple[str, ...] = ()) -> Package:
    """TensorFlow 2.18 with CUDA, whose framework library searches these NVIDIA packages."""
    plain = packages.tensorflow("2.18.0", "12.5.1", "9")
    runpath = ":".join(f"$ORIGIN/../nvidia/{folder}/lib" for folder in looks_into)
    framework = "libtensorflow_framework.so.2"
    libraries = {
        f"tensorflow/{framework}": Library(framework, runpath=runpath),
        "tensorflow/libtensorflow_cc.so.2": Library("libtensorflow_cc.so.2", needs=(framework,), runpath="$ORIGIN", code=CODE),
        "tensorflow/python/_pywrap_tensorflow_internal.so": Library(
            needs=(framework, "libtensorflow_cc.so.2"), runpath="$ORIGIN/..:$ORIGIN"
        ),
    }
    asks = tuple(f"nvidia-{name.replace('_', '-')}-cu12>={VERSIONS[name]}; extra == 'and-cuda'" for name in ("cudnn", "nccl", "cublas"))
    return Package(plain.name, plain.version, plain.files, requires or asks, libraries)


TORCH_NEEDS = {"cuda_runtime": "libcudart.so.12", "cublas": "libcublas.so.12", "cudnn": "libcudnn.so.9", "nccl": "libnccl.so.2"}


def torch(*, rpath: bool = True, requires: tuple[str, ...] = ("nvidia-nccl-cu12==2.21.5",)) -> Package:
    """PyTorch 2.6 for CUDA 12.4; since 2.1 its wheels have an RPATH, which precedes LD_LIBRARY_PATH, while local builds have a RUNPATH."""
    plain = packages.torch("2.6.0+cu124", "12.4")
    folders = "$ORIGIN:" + ":".join(f"$ORIGIN/../../nvidia/{folder}/lib" for folder in TORCH_NEEDS)
    kernels = Library(
        "libtorch_cuda.so", tuple(TORCH_NEEDS.values()), runpath="" if rpath else folders, rpath=folders if rpath else "", code=CODE
    )
    libraries = {
        "torch/lib/libtorch_global_deps.so": Library("libtorch_global_deps.so", ("libcudart.so.12",), rpath=folders),
        "torch/lib/libtorch_cuda.so": kernels,
        "torch/_C.cpython-311-x86_64-linux-gnu.so": Library(needs=("libtorch_cuda.so",), runpath="$ORIGIN/lib"),
    }
    return Package(plain.name, plain.version, plain.files, requires, libraries)


def extension(name: str, version: str, library: Library) -> Package:
    """A compiled add-on of PyTorch whose file is in a folder of its name."""
    return Package(name, version, {f"{name}/__init__.py": ""}, (), {f"{name}/_C.so": library})
