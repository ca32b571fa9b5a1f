"""Rebuilds the rows of compat/others.csv of packages that compute on the GPU beside a framework or for one: vLLM, xFormers, cuDF and others."""

from __future__ import annotations

import email.parser
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any, NamedTuple

from packaging.requirements import Requirement

from gpudoctor import versions
from gpudoctor.matrix.tables import OTHER_RELEASES
from gpudoctor.versions import Version
from scripts.refresh.common import SourceArchive, Wheel, refresh
from scripts.refresh.compilers import compiler_of
from scripts.refresh.fatbin import order, read_code, read_ptx_versions
from scripts.refresh.metadata import requires
from scripts.refresh.tensorflow import Watched


class Package(NamedTuple):
    """What of a package the table has, and where its GPU code is."""

    oldest: tuple[int, ...]
    kernels: str = ""
    """A pattern for the libraries whose architectures decide; empty for a package without GPU code of its own."""
    requires_kernels: str = ""
    """The start of the name of the required package that has these libraries instead."""
    opencl: str = ""
    """The library that may use GPUs through OpenCL."""
    opens_cudnn: bool = False
    """Whether these libraries may open the system's cuDNN."""
    of_name: bool = False
    """Whether it calls CUDA, of the version in its name, and has no GPU code of its own."""
    installs_components: bool = False
    """Whether it has no files and each of its extras installs a component: the row has what they require on Linux on x86_64."""
    without_extras: bool = False
    """Whether its extras are left out: Unsloth has 150, one for each torch, CUDA and GPU generation, of 18 kB a release."""


class Library(NamedTuple):
    """A library with kernels: its architectures, and the major versions of the CUDA libraries that it names."""

    code: tuple[str, ...]
    cuda: tuple[str, ...]


_NAMED = re.compile(rb"(?:cudart|cublas|cublasLt)(?:\.so\.(\d\d)|64_(\d\d)\d*\.dll)")
_FOR_OTHERS = re.compile(
    r'extra=="(?:(?:dev|docs?|test|benchmark|readthedocs|1bit|autotuning|sd|triton-bench)\b|[^"]*(?:hip|xpu|hpu|cpu|npu|musa|rocm|mps|tests?|dev)")'
)
"""Requirements of extras for developers and for other accelerators."""
_EVERYTHING = re.compile(r'extra=="all"')
"""Requirements of cuda-toolkit that repeat those of its components."""
_CUDNN = re.compile(rb"cudnn(?:-[0-9a-f]+)?(?:\.so\.(\d+)|64_(\d+)\.dll)")
_BITSANDBYTES = r"bitsandbytes/libbitsandbytes_cuda(\d+)(?:_nocublaslt)?\.(?:so|dll)"
"""Up to 0.42 it loads the second kind on GPUs before 7.5, which have no integer tensor cores."""
_BUILD = re.compile(_BITSANDBYTES)
_FAISS = r"faiss(?:_gpu[^/]*)?/(?:libfaiss|_swigfaiss)[^/]*\.so|faiss_gpu[^/]*\.libs/libfaiss[^/]*"
_TRANSFORMER_ENGINE = Package((1, 9), r"transformer_engine/(?:wheel_lib/)?libtransformer_engine\.so")
_COMPILED_HERE = {
    "causal-conv1d": (1,),
    "cupy": (7,),
    "gptqmodel": (1,),
    "horovod": (0, 18),
    "mamba-ssm": (1,),
    "minkowskiengine": (0, 4),
    "mmcv": (1,),
    "mmcv-full": (1,),
    "natten": (0, 14),
    "pycuda": (2019,),
    "pytorch3d": (0, 2),
    "torch-cluster": (1, 4),
    "torch-scatter": (1, 4),
    "torch-sparse": (0, 5),
    "torch-spline-conv": (1, 1),
}
"""Packages whose GPU code is compiled during installation, since the index has only their source, by name the oldest release."""
PACKAGES = {
    "vllm": Package((0, 2, 6), r"vllm/_C(?:_stable_libtorch)?\.(?:abi3|cpython-\d+-x86_64-linux-gnu)\.so"),
    "sglang": Package((0, 1)),
    "sgl-kernel": Package((0, 0), r"sgl_kernel/(?:sm\d+/)?(?:common_)?ops\.abi3\.so"),
    "sglang-kernel": Package((0, 0), r"sgl_kernel/(?:sm\d+/)?common_ops\.abi3\.so"),
    "flash-attn": Package((2,)),
    "flashinfer-python": Package((0, 2)),
    "xformers": Package((0, 0, 13), r"xformers/_C\.(?:so|pyd)"),
    "bitsandbytes": Package((0, 35), _BITSANDBYTES),
    "triton": Package((1,)),
    "triton-windows": Package((3,)),
    "deepspeed": Package((0, 3), r"deepspeed/(?:ops|inference)/.*\.pyd"),
    "transformer-engine": Package((1, 9)),
    "transformer-engine-cu12": _TRANSFORMER_ENGINE,
    "transformer-engine-cu13": _TRANSFORMER_ENGINE,
    "transformer-engine-torch": Package((1, 9)),
    "transformer-engine-jax": Package((1, 9)),
    "liger-kernel": Package((0, 0)),
    "megatron-core": Package((0, 2)),
    "spacy": Package((3,)),
    "thinc": Package((8,)),
    "torch-tensorrt": Package((1, 4)),
    "unsloth": Package((2024,), without_extras=True),
    "unsloth-zoo": Package((2024,)),
    **{name: Package(oldest) for name, oldest in _COMPILED_HERE.items()},
    "auto-gptq": Package((0, 2), r"autogptq_cuda_64\.[^/]*\.(?:so|pyd)"),
    "autoawq": Package((0, 1)),
    "catboost": Package((1,), r"catboost/_catboost\.(?:so|pyd)"),
    "dgl": Package((0, 4), r"dgl/(?:lib)?dgl\.(?:so|dll|dylib)"),
    "exllamav2": Package((0, 0, 5)),
    "fbgemm-gpu": Package((0, 4), r"fbgemm_gpu/fbgemm_gpu_py\.so"),
    "gsplat": Package((0, 1)),
    "lmdeploy": Package((0, 9), r"lmdeploy/(?:lib|turbomind)/_turbomind[^/]*\.(?:so|pyd)"),
    "open3d": Package((0, 9), r"open3d/(?:cuda/pybind[^/]*\.(?:so|pyd)|libOpen3D\.so[.\d]*)"),
    "openmm": Package((8, 1), opencl=r"OpenMM\.libs/lib/plugins/(?:lib)?OpenMMOpenCL\.(?:so|dll|dylib)"),
    "pyopencl": Package((2023,), opencl=r"pyopencl/_cl[^/]*\.(?:so|pyd)|pyopencl\.libs/libOpenCL[^/]*"),
    **{f"spconv-cu{number}": Package((2, 1), r"spconv/core_cc[^/]*\.(?:so|pyd)") for number in (113, 114, 117, 118, 120, 121, 124, 126)},
    **{f"nvidia-dali-cuda{major}0": Package((1, 45), r"nvidia/dali/libdali_kernels\.so") for major in (11, 12, 13)},
    "faiss-gpu": Package((1, 6), _FAISS),
    "faiss-gpu-cu11": Package((1, 7), _FAISS),
    "faiss-gpu-cu12": Package((1, 7), _FAISS),
    **{f"cudf-cu{major}": Package((24,), r"libcudf/lib64/libcudf\.so", "libcudf-") for major in (12, 13)},
    **{f"cuml-cu{major}": Package((24,), r"libcuml/lib64/libcuml(?:\+\+)?\.so", "libcuml-") for major in (12, 13)},
    **{f"pylibcudf-cu{major}": Package((24, 12), r"libcudf/lib64/libcudf\.so", "libcudf-") for major in (12, 13)},
    **{f"pylibraft-cu{major}": Package((25, 2), r"libraft/lib64/libraft\.so", "libraft-") for major in (12, 13)},
    **{f"cugraph-cu{major}": Package((24,), r"libcugraph/lib64/libcugraph\.so", "libcugraph-") for major in (12, 13)},
    **{f"pylibcugraph-cu{major}": Package((24,), r"libcugraph/lib64/libcugraph\.so", "libcugraph-") for major in (12, 13)},
    **{f"cuvs-cu{major}": Package((24, 6), r"libcuvs/lib64/libcuvs\.so", "libcuvs-") for major in (12, 13)},
    **{f"{name}-cu{major}": Package((24,), of_name=True) for name in ("rmm", "cucim", "raft-dask") for major in (12, 13)},
    "cuspatial-cu12": Package((24,)),
    **{f"nvidia-nccl-cu{major}": Package((2,), r"nvidia/nccl/lib/libnccl\.so\.2") for major in (11, 12, 13)},
    "cuda-toolkit": Package((12, 6), installs_components=True),
    "numba-cuda": Package((0, 0)),
    "llama-cpp-python": Package((0, 2, 60)),
    "ctranslate2": Package((2,), r"ctranslate2(?:\.libs/libctranslate2[^/]*|/(?:lib)?ctranslate2\.(?:dll|dylib))", opens_cudnn=True),
    "lightgbm": Package((4, 0), opencl=r"lightgbm/(?:lib/|bin/)?lib_lightgbm\.(?:so|dll|dylib)"),
    **{name: Package((1,), r"xgboost/lib/(?:lib)?xgboost\.(?:so|dll|dylib)") for name in ("xgboost", "xgboost-cpu", "xgboost-cu12")},
    "warp-lang": Package((1, 5), r"warp/bin/warp\.(?:so|dll)"),
    "tensorrt": Package((8, 5), r"tensorrt/(?:lib)?nvinfer[^/]*\.(?:so[.\d]*|dll)"),
    "tensorrt-cu12": Package((10, 0)),
    "tensorrt-cu13": Package((10, 0)),
}
_FBGEMM = {
    "0.4": "2.0",
    "0.5": "2.1",
    "0.6": "2.2",
    "0.7": "2.3",
    "0.8": "2.4",
    "1.0": "2.5",
    "1.1": "2.6",
    "1.2": "2.7",
    "1.3": "2.8",
    "1.4": "2.9",
    "1.5": "2.10",
    "1.6": "2.11",
}
_DOCUMENTED = {("fbgemm-gpu", series): f"torch=={torch}.*" for series, torch in _FBGEMM.items()}
"""What the documentation of a series requires beside its METADATA."""


def wanted(distribution: str, release: Version) -> bool:
    """Return whether the table has this release."""
    package = PACKAGES.get(distribution)
    return package is not None and release >= package.oldest and release > (0, 0, 0)


def read(wheel: Wheel) -> dict[str, Any]:
    """Return the fields that one wheel or source archive gives."""
    name, platform = wheel.release.distribution, wheel.release.platform
    package = PACKAGES[name]
    others = _EVERYTHING if package.installs_components else _FOR_OTHERS
    components_of = "linux_x86_64" if package.installs_components else platform
    required = tuple(text for text in requires(wheel.metadata(), components_of) if not others.search(text))
    if package.without_extras:
        required = tuple(text for text in required if "extra==" not in text)
    row: dict[str, Any] = {"requires": required, "source": (f"{name}-wheels",)}
    if documented := _DOCUMENTED.get((name, wheel.release.release.short)):
        row = {"requires": (*required, documented), "source": (f"{name}-wheels", f"{name}-releases")}
    if isinstance(wheel, SourceArchive):
        return {**row, "accelerator": "sdist", "built_with_cuda": _cuda_in(name)}
    if package.of_name:
        return {**row, "accelerator": "cuda", "built_with_cuda": _cuda_in(name)}
    if not package.kernels:
        return {**row, "accelerator": "opencl" if package.opencl and _opens_opencl(wheel, package.opencl) else "none"}
    try:
        holder = _holder(wheel, package)
    except ValueError:  # of libcugraph 26.8 the index has only the source, which fetches the library
        return {**row, "accelerator": "sdist", "built_with_cuda": _cuda_in(name)}
    found = kernels(holder, package.kernels)
    code = architectures(found.values())
    if not any(code.values()):
        return {**row, "accelerator": "cpu"}
    return {
        **row,
        "accelerator": "cuda",
        "built_with_cuda": _stated(wheel) or _cuda_in(name) or _named_cuda(found.values(), required) or compiled_with(holder, found),
        "cudnn": _cudnn(wheel, found) if package.opens_cudnn else None,
        **code,
        "builds": tuple(sorted({f"cu{build[1]}" for build in map(_BUILD.fullmatch, found) if build}, key=lambda tag: int(tag[2:]))),
    }


def _holder(wheel: Wheel, package: Package) -> Wheel:
    """Return the wheel with the kernels: this one, or one that it requires."""
    if not package.requires_kernels:
        return wheel
    lines = email.parser.HeaderParser().parsestr(wheel.metadata()).get_all("Requires-Dist", [])
    return wheel.required(next(Requirement(text) for text in lines if text.startswith(package.requires_kernels)))


def kernels(wheel: Wheel, pattern: str) -> dict[str, Library]:
    """Return the libraries whose path matches the pattern, by path, each read once from end to end."""
    names: list[str] = wheel.learn(
        f"members like {pattern}", lambda: [name for name in wheel.zip.namelist() if re.fullmatch(pattern, name)]
    )
    return {name: Library(*wheel.learn_of(f"/{name}", "code and CUDA", read_library)) for name in names}


def compiled_with(wheel: Wheel, libraries: Mapping[str, Library]) -> Version | None:
    """Return the CUDA version that compiled a wheel's libraries, by their PTX; None if they have none or were built for several."""
    if len({tuple(library.cuda) for library in libraries.values()}) > 1:
        return None
    return compiler_of(one for name in libraries for one in wheel.learn_of(f"/{name}", "PTX versions", read_ptx_versions))


def architectures(libraries: Iterable[Library]) -> dict[str, tuple[str, ...]]:
    """Return the columns for the GPU code of these libraries together."""
    code = sorted(without_default({word for library in libraries for word in library.code}), key=order)
    return {
        "sass": tuple(word for word in code if word.startswith("sm_")),
        "ptx": tuple(word for word in code if word.startswith("compute_")),
    }


def _opens_opencl(wheel: Wheel, pattern: str) -> bool:
    """Return whether a library names OpenCL."""

    def read() -> bool:
        return any(b"OpenCL" in wheel.zip.read(name) for name in wheel.zip.namelist() if re.fullmatch(pattern, name))

    return bool(wheel.learn("names OpenCL", read))


def without_default(code: set[str]) -> set[str]:
    """Return architectures without nvcc's default of CUDA 11 and 12, 5.2, unless there are others for GPUs before 7.0.

    Alone it comes from a source file that was compiled without naming architectures, as in vLLM, and the other kernels do not run there.
    """
    default = {"sm_52", "compute_52"}
    return code if any(order(word) < (70, "") for word in code - default) else code - default


def read_library(library: IO[bytes]) -> Library:
    """Read the architectures in a library and the CUDA libraries that it names, once from end to end."""
    watched = Watched(library, lambda piece: (match[1] or match[2] for match in _NAMED.finditer(piece)))
    code = read_code(watched)
    return Library((*code.sass, *code.ptx), tuple(sorted(major.decode() for major in watched.found)))


def _cudnn(wheel: Wheel, libraries: Iterable[str]) -> Version | None:
    """Return the major version of cuDNN that the libraries name; None if they name none, or several."""

    def read(library: IO[bytes]) -> list[str]:
        watched = Watched(library, lambda piece: (match[1] or match[2] for match in _CUDNN.finditer(piece)))
        while watched.read(1 << 20):
            pass
        return sorted(major.decode() for major in watched.found)

    named = {major for name in libraries for major in wheel.learn_of(f"/{name}", "cuDNN", read)}
    return versions.parse_version(named.pop()) if len(named) == 1 else None


def _stated(wheel: Wheel) -> Version | None:
    """Return the CUDA version that the wheel states: xFormers in cpp_lib.json (1208 is 12.8), vLLM in envs.py since 0.8."""
    if wheel.release.distribution == "xformers":
        told = json.loads(wheel.text("/xformers/cpp_lib.json") or "{}").get("version", {}).get("cuda")
        return versions.parse_version(f"{told // 100}.{told % 100}") if told else None
    if wheel.release.distribution == "vllm":
        told = re.search(r'VLLM_MAIN_CUDA_VERSION: str = "([\d.]+)"', wheel.text("/vllm/envs.py") or "")
        return versions.parse_version(told[1]) if told else None
    return None


def _named_cuda(libraries: Iterable[Library], required: Iterable[str]) -> Version | None:
    """Return the CUDA version that the libraries name, or the NVIDIA packages that the wheel requires; None if they name several."""
    named = {major for library in libraries for major in library.cuda} or set(
        re.findall(r"^nvidia-[\w-]+-cu(\d\d)\b", "\n".join(required), re.MULTILINE)
    )
    return versions.parse_version(named.pop()) if len(named) == 1 else None


def _cuda_in(distribution: str) -> Version | None:
    named = re.search(r"-cu(\d\d)(\d?)$", distribution)
    return versions.parse_version(".".join(filter(None, named.groups()))) if named else None


if __name__ == "__main__":
    sys.exit(refresh(OTHER_RELEASES, tuple(PACKAGES), wanted, read, PACKAGES))
