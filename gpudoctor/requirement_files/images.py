"""What the name of a container image tells of CUDA, cuDNN, Python and the framework in it."""

from __future__ import annotations

import re

from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.model import Image, Place

_PATHS = re.compile(
    r"(?:docker\.io/|index\.docker\.io/|registry-1\.docker\.io/)?(?:library/)?(?P<path>[^:@\s]+)(?::(?P<tag>[^@\s]+))?(?:@\S+)?"
)
_CUDA = re.compile(r"(?P<cuda>\d+\.\d+(?:\.\d+)?)-(?:cudnn(?P<cudnn>\d*)-)?(?P<kind>base|runtime|devel)?-?(?P<system>[a-z]+[\d.]*)?")
_PYTORCH = re.compile(r"(?P<release>\d+\.\d+(?:\.\d+)?)-cuda(?P<cuda>\d+\.\d+)-cudnn(?P<cudnn>\d+)-(?P<kind>runtime|devel)")
_TENSORFLOW = re.compile(r"(?P<release>\d+\.\d+\.\d+(?:rc\d+)?)?(?:latest)?(?P<gpu>-gpu)?(?:-jupyter)?")
_PYTHON = re.compile(r"(?:python)?(?P<python>3\.\d+)(?:\.\d+)?\b")
_NVIDIA = re.compile(r"nvcr\.io/nvidia/(?P<framework>pytorch|tensorflow|jax|tritonserver|nemo|paddlepaddle)")
_DISTRIBUTIONS = {"pytorch": "torch", "tensorflow": "tensorflow", "jax": "jax", "paddlepaddle": "paddlepaddle-gpu"}


def take(name: str, place: Place, into: Collector) -> None:
    """Take what an image's name tells; what it does not tell is noted."""
    found = _PATHS.fullmatch(name)
    path, tag = (found["path"], found["tag"] or "latest") if found else (name, "")
    if path in {"nvidia/cuda", "nvcr.io/nvidia/cuda", "nvcr.io/nvidia/cuda-dl-base"}:
        _cuda(name, path, tag, place, into)
    elif path == "pytorch/pytorch":
        _pytorch(name, tag, place, into)
    elif path == "tensorflow/tensorflow":
        _tensorflow(name, tag, place, into)
    elif (vendor := _NVIDIA.fullmatch(path)) is not None:
        into.image = Image(name=name, place=place, vendor_build=True)
        package = _DISTRIBUTIONS.get(vendor["framework"], vendor["framework"])
        into.not_read(name, "it has NVIDIA's own build of the framework", place, name=package)
    elif path == "scratch":
        return
    else:
        into.image = Image(name=name, place=place)
        python = _PYTHON.match(tag) if re.search(r"(?:^|/)(?:python|uv)$", path) else None
        if python is not None:
            into.python(f"=={python['python']}.*", place)
        elif not re.fullmatch(r"(?:ubuntu|debian|fedora|rockylinux|almalinux|centos|alpine|redhat/ubi\d.*|python|.*/uv)", path):
            into.not_read(f"FROM {name}", "what this image holds is not known", place, package=False)


def _cuda(name: str, path: str, tag: str, place: Place, into: Collector) -> None:
    found = None if path.endswith("dl-base") else _CUDA.fullmatch(tag)
    if found is None:
        into.not_read(f"FROM {name}", "its tag does not tell the CUDA version", place, package=False)
        return
    with_cudnn = "-cudnn" in tag
    into.image = Image(
        name=name,
        place=place,
        cuda=found["cuda"] if found["kind"] != "base" else "",
        cudnn=(found["cudnn"] or "") if with_cudnn else "",
        with_cudnn=with_cudnn,
        system=found["system"] or "",
        toolkit=found["kind"] == "devel",
    )


def _pytorch(name: str, tag: str, place: Place, into: Collector) -> None:
    found = _PYTORCH.fullmatch(tag)
    into.image = Image(name=name, place=place, toolkit=tag.endswith("-devel"))
    if found is None:
        into.not_read(f"FROM {name}", "its tag does not tell the release of PyTorch", place, name="torch")
        return
    into.image = Image(name=name, place=place, cuda=found["cuda"], cudnn=found["cudnn"], with_cudnn=True, toolkit=found["kind"] == "devel")
    into.text(f"torch=={found['release']}+cu{found['cuda'].replace('.', '')}", place)


def _tensorflow(name: str, tag: str, place: Place, into: Collector) -> None:
    found = _TENSORFLOW.fullmatch(tag)
    into.image = Image(name=name, place=place, framework_cuda="tensorflow" if found and found["gpu"] else "")
    if found is None or not found["release"]:
        into.not_read(f"FROM {name}", "its tag does not tell the release of TensorFlow", place, name="tensorflow")
        return
    into.text(f"tensorflow{'' if found['gpu'] else '-cpu'}=={found['release']}", place)
