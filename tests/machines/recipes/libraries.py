"""Machines whose frameworks find their libraries, do not, or find others: the X-ray read real ELF files laid out like the wheels."""

from __future__ import annotations

from dataclasses import replace

from tests.elf.test_fatbin import SASS, entry, fat
from tests.machines.elf_library import Library
from tests.machines.packages import Package
from tests.machines.recipes.base import Recipe, healthy
from tests.machines.wheels import (
    BESIDE,
    CODE,
    FOLDERS,
    OTHER,
    PARTS,
    SYSTEM,
    Files,
    cuda_wheels,
    cudnn_header,
    extension,
    nvidia,
    released,
    tensorflow,
    torch,
)

ON_PATH = {"LD_LIBRARY_PATH": "/opt/tools/lib:{place}/toolkit/lib64"}
CUDA = f"{BESIDE}root/usr/local/cuda"
TORCH_WHEELS = (nvidia("cuda_runtime", "12.4.127"), nvidia("cublas", "12.4.5.8"), nvidia("cudnn", "9.1.0.70"), nvidia("nccl", "2.21.5"))
SYSTEM_CUDNN = Files(
    files={f"{BESIDE}root/usr/include/cudnn_version.h": cudnn_header("9.1.0")},
    libraries={f"{SYSTEM}/{name}": Library(name) for name in ("libcudnn.so.9", *PARTS["cudnn"])},
)
TOOLKIT = Files(
    files={f"{CUDA}/nvvm/libdevice/libdevice.10.bc": "BC", f"{CUDA}/version.json": '{"cuda": {"version": "12.5.1"}}'},
    libraries={f"{CUDA}/lib64/{name}": Library(name) for name in (*FOLDERS.values(), "libcublasLt.so.12", *PARTS["cudnn"])},
    programs=(f"{CUDA}/bin/nvcc", f"{CUDA}/bin/ptxas"),
)


def having(
    about: str,
    *packages: Package,
    roots: tuple[str, ...] = (),
    folded: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    verdict: str = "",
) -> Recipe:
    """A healthy server with these packages; a root is an error unless a verdict is given."""
    verdict = verdict or ("broken" if roots else "ready")
    return healthy(about=about, packages=packages, roots=roots, folded=folded, notes=notes, verdict=verdict)


def other_cudnn(release: str) -> tuple[Files, ...]:
    return (released(OTHER, "libcudnn.so.9", release), *(released(OTHER, name, release) for name in PARTS["cudnn"]))


def toolkit(release: str, gcc: str) -> Files:
    """A toolkit with its compiler, and a host compiler."""
    home = f"{BESIDE}root/usr/local/cuda"
    return Files(
        files={
            f"{home}/version.json": f'{{"cuda": {{"version": "{release}"}}}}',
            f"{BESIDE}root/usr/lib/gcc/x86_64-linux-gnu/{gcc}/cc1plus": "",
        },
        programs=(f"{home}/bin/nvcc", f"{BESIDE}root/usr/bin/g++"),
    )


def torch_with(about: str, *packages: Package, roots: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Recipe:
    """The same with PyTorch; a root is a warning."""
    return having(about, torch(), *TORCH_WHEELS, *packages, roots=roots, notes=notes, verdict="degraded" if roots else "ready")


RECIPES: dict[str, Recipe] = {
    "libraries-in-order": having("TensorFlow 2.18 with all of NVIDIA's packages", tensorflow(), *cuda_wheels()),
    "cuda-libraries-nowhere": having(
        "TensorFlow 2.18 alone, without NVIDIA's packages and without a toolkit",
        tensorflow(),
        roots=("cuda-library-missing",),
        folded=("cudnn-missing", "libdevice-not-found", "ptxas-not-found"),
    ),
    "two-frameworks-both-without-cublas": having(
        "TensorFlow and PyTorch in one environment, cuBLAS uninstalled: neither can stand in for the other",
        tensorflow(),
        torch(),
        *cuda_wheels("cublas"),
        roots=("cuda-library-missing", "cuda-library-missing"),
    ),
    "cudnn-nowhere": having("NVIDIA's packages without cuDNN's", tensorflow(), *cuda_wheels("cudnn"), roots=("cudnn-missing",)),
    "library-is-a-git-lfs-pointer": having(
        "libcublas.so.12 is a Git LFS pointer: the environment was cloned without Git LFS",
        tensorflow(),
        *cuda_wheels(),
        Files(files={"nvidia/cublas/lib/libcublas.so.12": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 116388640\n"}),
        roots=("cuda-library-damaged",),
    ),
    "framework-library-is-empty": having(
        "libtorch_cuda.so is an empty file, as a full disk leaves it",
        torch(),
        *TORCH_WHEELS,
        Files(files={"torch/lib/libtorch_cuda.so": ""}),
        roots=("framework-files-damaged",),
    ),
    "logs-of-an-unknown-name": replace(
        having(
            "TORCH_LOGS names a log that this release of PyTorch does not have",
            torch(),
            *TORCH_WHEELS,
            Files(
                files={"torch/_logging/_registrations.py": 'register_log("dynamo", ["torch._dynamo"])\nregister_artifact("guards", "")\n'}
            ),
            roots=("variable-stops-import",),
        ),
        environment={"TORCH_LOGS": "+dynamo,graphs"},
    ),
    "logs-of-known-names": replace(
        having(
            "TORCH_LOGS names logs, a module and everything",
            torch(),
            *TORCH_WHEELS,
            Files(
                files={"torch/_logging/_registrations.py": 'register_log("dynamo", ["torch._dynamo"])\nregister_artifact("guards", "")\n'}
            ),
        ),
        environment={"TORCH_LOGS": "+dynamo, -guards,torch,all"},
    ),
    "cuda-beside-the-loaders-path": having(
        "the toolkit that TensorFlow wants in /usr/local/cuda, where the loader does not look",
        tensorflow(),
        TOOLKIT,
        roots=("cuda-libs-not-on-loader-path",),
    ),
    "packages-that-nothing-looks-into": having(
        "all of NVIDIA's packages, and a TensorFlow that does not look into cuSOLVER's, as 2.21 does",
        tensorflow(looks_into=tuple(name for name in FOLDERS if name != "cusolver")),
        *cuda_wheels(),
        roots=("pip-nvidia-libs-not-on-path",),
    ),
    "older-cudnn-on-the-path": replace(
        having(
            "LD_LIBRARY_PATH names a folder with an older cuDNN than TensorFlow's own",
            tensorflow(),
            *cuda_wheels(),
            *other_cudnn("9.1.0"),
            roots=("ld-library-path-shadowing",),
            folded=("cudnn-version-mismatch",),
        ),
        environment=ON_PATH,
    ),
    "newer-cudnn-on-the-path": replace(
        having(
            "the same with a newer cuDNN",
            tensorflow(),
            *cuda_wheels(),
            *other_cudnn("9.8.0"),
            roots=("ld-library-path-shadowing",),
            verdict="degraded",
        ),
        environment=ON_PATH,
    ),
    "same-cudnn-on-the-path": replace(
        having(
            "the same with cuDNN of the same release",
            tensorflow(),
            *cuda_wheels(),
            *other_cudnn("9.3.0"),
            notes=("ld-library-path-shadowing",),
        ),
        environment=ON_PATH,
    ),
    "nothing-of-cuda-on-the-path": replace(
        having("LD_LIBRARY_PATH names a folder without any of CUDA's libraries", tensorflow(), *cuda_wheels()), environment=ON_PATH
    ),
    "cudnn-of-the-system-first": having(
        "an older cuDNN of the system, and a TensorFlow that does not look into the package",
        tensorflow(looks_into=tuple(name for name in FOLDERS if name != "cudnn")),
        *cuda_wheels(),
        SYSTEM_CUDNN,
        roots=("cudnn-shadowed-by-system",),
        folded=("cudnn-version-mismatch",),
    ),
    "cudnn-of-the-system-behind": having("the same cuDNN of the system behind the package", tensorflow(), *cuda_wheels(), SYSTEM_CUDNN),
    "no-device-library": having(
        "all of NVIDIA's packages but the compiler's",
        tensorflow(),
        *cuda_wheels("cuda_nvcc"),
        roots=("libdevice-not-found",),
        folded=("ptxas-not-found",),
    ),
    "no-assembler": having(
        "the compiler's package has lost its ptxas",
        tensorflow(),
        *cuda_wheels("cuda_nvcc"),
        Package("nvidia_cuda_nvcc_cu12", "12.5.82", {"nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc": "BC"}),
        roots=("ptxas-not-found",),
    ),
    "old-assembler-first": having(
        "the ptxas of CUDA 11.2 in /usr/local/cuda, before that of the package",
        tensorflow(),
        *cuda_wheels(),
        Files(files={f"{CUDA}/bin/ptxas": "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 11.2, V11.2.152\n"}),
        roots=("ptxas-too-old",),
        verdict="degraded",
    ),
    "older-nccl-on-the-path": replace(
        having(
            "a PyTorch with a RUNPATH, and an older NCCL on LD_LIBRARY_PATH",
            torch(rpath=False),
            *TORCH_WHEELS,
            released(OTHER, "libnccl.so.2", "2.18.3"),
            roots=("ld-library-path-shadowing",),
            folded=("nccl-version-conflict",),
        ),
        environment=ON_PATH,
    ),
    "older-nccl-behind-the-rpath": replace(
        torch_with("the same under the published PyTorch, whose RPATH comes first", released(OTHER, "libnccl.so.2", "2.18.3")),
        environment=ON_PATH,
    ),
    "nothing-to-build-with": replace(
        torch_with("CUDA_HOME names a folder without nvcc", notes=("nvcc-toolkit-missing",)),
        environment={"CUDA_HOME": "/usr/local/cuda-12.4"},
    ),
    "toolkit-of-another-major": torch_with(
        "PyTorch for CUDA 12.4 and nvcc 11.8", toolkit("11.8.0", "11"), notes=("nvcc-framework-cuda-mismatch",)
    ),
    "gcc-newer-than-nvcc-knows": torch_with("nvcc 12.4 and gcc 14", toolkit("12.4.1", "14"), notes=("host-compiler-unsupported",)),
    "toolkit-and-gcc-that-fit": torch_with("nvcc 12.4 and gcc 13", toolkit("12.4.1", "13")),
    "add-on-that-fits": torch_with(
        "a torchvision for this PyTorch", extension("torchvision", "0.21.0", Library(needs=("libcudart.so.12",), code=CODE))
    ),
    "add-on-for-another-cuda": torch_with(
        "a torchvision that links CUDA 11's runtime",
        extension("torchvision", "0.21.0", Library(needs=("libcudart.so.11.0",), code=CODE)),
        roots=("extension-built-for-other-cuda",),
    ),
    "add-on-for-another-torch": torch_with(
        "a torchvision that calls a function of c10 which this PyTorch has not",
        extension("torchvision", "0.21.0", Library(needs=("libcudart.so.12",), code=CODE, undefined="_ZN3c1011gone_foreverEv")),
        roots=("extension-abi-mismatch",),
    ),
    "add-on-without-code-for-the-gpu": torch_with(
        "a torchvision with code for Hopper alone on an A100",
        extension("torchvision", "0.21.0", Library(needs=("libcudart.so.12",), code=fat(entry(SASS, 90)))),
        roots=("extension-missing-arch",),
    ),
}
