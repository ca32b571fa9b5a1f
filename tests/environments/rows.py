"""The environments to test, and how each is made."""

from __future__ import annotations

import sys
from dataclasses import dataclass

TOOLKIT = "/usr/local/cuda-13.0/lib64"
"""A toolkit that does not affect these tests: it has cudart and CUPTI of CUDA 13."""
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
STUBS = "STUBS"
"""Placeholder for a folder with a libcuda.so.1 like a toolkit's stub."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One environment. Rows with one `place` follow each other: each changes what the previous one left there."""

    name: str
    about: str
    place: str
    frameworks: tuple[str, ...]
    pip: tuple[tuple[str, ...], ...] = ()
    """pip's arguments, one command after the other."""
    python: str = "3.12"
    library_path: tuple[str, ...] = ()
    """Folders of LD_LIBRARY_PATH before the driver's own."""
    megabytes: int = 6300
    """The environment's size on disk by then."""


def _install(*words: str) -> tuple[str, ...]:
    return ("install", *words)


def _alone(*words: str) -> tuple[str, ...]:
    return ("install", "--no-deps", *words)


TF = ("tensorflow",)
ROWS: tuple[Row, ...] = (
    Row(
        name="tensorflow",
        about="`tensorflow` alone, without NVIDIA's wheels",
        place="tensorflow",
        frameworks=TF,
        pip=(_install("tensorflow==2.21.*"),),
        megabytes=2100,
    ),
    Row(
        name="tensorflow-2.21",
        about="`tensorflow[and-cuda]` 2.21; its cuDNN is newer than the one it was built with",
        place="tensorflow",
        frameworks=TF,
        pip=(_install("tensorflow[and-cuda]==2.21.*"),),
    ),
    Row(
        name="tensorflow-2.21-mended",
        about="the same, LD_LIBRARY_PATH as gpudoctor's fix has it",
        place="tensorflow",
        frameworks=TF,
        library_path=("SITE/nvidia/cusolver/lib",),
    ),
    Row(
        name="tensorflow-2.20",
        about="`tensorflow[and-cuda]` 2.20; cuDNN is newer than the 9.3 that it was built with",
        place="tensorflow-2.20",
        frameworks=TF,
        pip=(_install("tensorflow[and-cuda]==2.20.*"),),
    ),
    Row(
        name="toolkit-first",
        about="the same, LD_LIBRARY_PATH at the system's CUDA 13.0 toolkit",
        place="tensorflow-2.20",
        frameworks=TF,
        library_path=(TOOLKIT,),
    ),
    Row(
        name="stub-first",
        about="the same, a toolkit's stub of libcuda first on LD_LIBRARY_PATH",
        place="tensorflow-2.20",
        frameworks=TF,
        library_path=(STUBS,),
    ),
    Row(
        name="cudnn-older",
        about="the same with cuDNN 9.1, older than it was built with",
        place="tensorflow-2.20",
        frameworks=TF,
        pip=(_alone("nvidia-cudnn-cu12==9.1.1.17"),),
    ),
    Row(
        name="cudnn-8",
        about="the same with cuDNN 8.9",
        place="tensorflow-2.20",
        frameworks=TF,
        pip=(_alone("nvidia-cudnn-cu12==8.9.7.29"),),
    ),
    Row(
        name="cu12-and-cu13",
        about="the same, cuDNN and NCCL of CUDA 13 installed over those of 12",
        place="tensorflow-2.20",
        frameworks=TF,
        pip=(_alone("nvidia-cudnn-cu12>=9.28,<10"), _alone("nvidia-cudnn-cu13", "nvidia-nccl-cu13", "nvidia-cuda-runtime>=13")),
    ),
    Row(
        name="tensorflow-and-torch",
        about="`tensorflow[and-cuda]` 2.20, then the newest `torch`, in one environment",
        place="tensorflow-2.20",
        frameworks=("tensorflow", "torch"),
        pip=(_install("torch==2.15.*"),),
        megabytes=11000,
    ),
    Row(
        name="tensorflow-2.19",
        about="`tensorflow[and-cuda]` 2.19",
        place="tensorflow-2.19",
        frameworks=TF,
        pip=(_install("tensorflow[and-cuda]==2.19.*"),),
    ),
    Row(
        name="torch",
        about="the newest `torch`, as pip brings it",
        place="torch",
        frameworks=("torch",),
        pip=(_install("torch==2.15.*", "numpy"),),
        megabytes=5400,
    ),
    Row(
        name="torch-toolkit-first",
        about="the same, LD_LIBRARY_PATH at the system's CUDA 13.0 toolkit",
        place="torch",
        frameworks=("torch",),
        library_path=(TOOLKIT,),
        megabytes=5400,
    ),
    Row(
        name="torch-cudnn-gone",
        about="the same without its cuDNN wheel",
        place="torch",
        frameworks=("torch",),
        pip=(("uninstall", "--yes", "nvidia-cudnn-cu13"),),
        megabytes=4500,
    ),
    Row(
        name="jax-bare-plugin",
        about="`jax` and its CUDA 12 plugin without NVIDIA's wheels",
        place="jax-cuda12",
        frameworks=("jax",),
        pip=(_install("jax==0.10.2"), _alone("jax-cuda12-plugin==0.10.2", "jax-cuda12-pjrt==0.10.2")),
        megabytes=700,
    ),
    Row(
        name="jax-cuda12",
        about="`jax[cuda12]`",
        place="jax-cuda12",
        frameworks=("jax",),
        pip=(_install("jax[cuda12]==0.10.2"),),
        megabytes=5000,
    ),
    Row(
        name="jax-cudnn-older",
        about="the same with cuDNN 9.1, older than it was built with",
        place="jax-cuda12",
        frameworks=("jax",),
        pip=(_alone("nvidia-cudnn-cu12==9.1.1.17"),),
        megabytes=5000,
    ),
    Row(
        name="jax-cuda13",
        about="`jax[cuda13]`",
        place="jax-cuda13",
        frameworks=("jax",),
        pip=(_install("jax[cuda13]"),),
        megabytes=4500,
    ),
    Row(
        name="tensorflow-1.15",
        about="TensorFlow 1.15 on Python 3.7, no CUDA 10.0 anywhere",
        place="tensorflow-1.15",
        frameworks=TF,
        python="3.7",
        pip=(_install("tensorflow-gpu==1.15.5", "protobuf<3.21"),),
        megabytes=1300,
    ),
)


FEW = ("nvidia-cuda-runtime-cu12==12.9.*", "nvidia-nvjitlink-cu12==12.9.*")
"""Small NVIDIA wheels; the first is the one that every framework requests first."""
SMALL = (
    Row(
        name="tensorflow-few",
        about="`tensorflow` with CUDA's runtime and without the rest of NVIDIA's wheels",
        place="tensorflow-few",
        frameworks=TF,
        pip=(_install("tensorflow==2.20.*"), _alone(*FEW)),
        python=RUNNING,
        megabytes=2200,
    ),
    Row(
        name="jax-few",
        about="`jax` and its CUDA 12 plugin in the same way",
        place="jax-few",
        frameworks=("jax",),
        pip=(_install("jax==0.6.*"), _alone("jax-cuda12-plugin==0.6.*", "jax-cuda12-pjrt==0.6.*", *FEW)),
        python=RUNNING,
        megabytes=1100,
    ),
)
"""What the tests use: each place in one state, to be kept."""


def chosen(names: list[str]) -> tuple[Row, ...]:
    """The rows of those names in the order of the table; all without names. Raises KeyError for an unknown one."""
    known = {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            raise KeyError(name)
    return tuple(row for row in ROWS if not names or row.name in names)


def steps(row: Row) -> tuple[tuple[str, ...], ...]:
    """Every pip command that leads to a row, including those of earlier rows in its place."""
    before = ROWS[: ROWS.index(row)] if row in ROWS else ()
    return tuple(command for one in (*(other for other in before if other.place == row.place), row) for command in one.pip)
