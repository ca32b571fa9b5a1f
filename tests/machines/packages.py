"""Environments with the files by which a framework's build is told, laid out as the published wheels lay them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """A distribution in site-packages: its metadata folder and a few of its files."""

    name: str
    version: str
    files: dict[str, str] = field(default_factory=dict)
    requires: tuple[str, ...] = ()

    def install(self, site: Path) -> None:
        metadata = site / f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        metadata.mkdir()
        requires = "".join(f"Requires-Dist: {one}\n" for one in self.requires)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n{requires}\nA description.\n"
        )
        for path, text in self.files.items():
            place = site / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)


def tensorflow(version: str, cuda: str, cudnn: str, *, distribution: str = "tensorflow") -> Package:
    """A TensorFlow with CUDA; build_info.py as TensorFlow 2.5 and later write it."""
    info = (
        "import collections\n"
        f"build_info = collections.OrderedDict([('cuda_version', '{cuda}'), ('cudnn_version', '{cudnn}'), "
        "('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', True)])\n"
    )
    return Package(distribution, version, {"tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": info})


def tensorflow_1(version: str, distribution: str = "tensorflow-gpu") -> Package:
    """A TensorFlow 1.14 or 1.15 with CUDA: its build_info.py names the majors only."""
    info = "is_cuda_build = True\n\ncuda_version_number = '10'\ncudnn_version_number = '7'\n"
    return Package(distribution, version, {"tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": info})


def tensorflow_cpu(version: str) -> Package:
    info = (
        "import collections\n"
        "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n"
    )
    return Package("tensorflow-cpu", version, {"tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": info})


def torch(version: str, cuda: str | None) -> Package:
    """A PyTorch; torch/version.py as its build writes it."""
    text = (
        "from typing import Optional\n\n"
        f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\ngit_version = '0'\nhip: Optional[str] = None\n"
    )
    return Package("torch", version.partition("+")[0], {"torch/__init__.py": "", "torch/version.py": text})


def environment(place: Path, packages: tuple[Package, ...]) -> Path:
    """A new virtual environment that holds `packages` and nothing else; returns its folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(place)], check=True)
    site = next(place.glob("lib/python*/site-packages"))
    for package in packages:
        package.install(site)
    return place
