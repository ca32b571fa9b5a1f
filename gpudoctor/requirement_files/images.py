"""What the name of a container image tells of CUDA, cuDNN, Python and the framework in it."""

from __future__ import annotations

import re

from gpudoctor.frameworks import CATALOGUE, FrameworkSpec
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.model import BaseImage, FileLine

_IMAGE_NAME = re.compile(
    r"(?:docker\.io/|index\.docker\.io/|registry-1\.docker\.io/)?(?:library/)?(?P<path>[^:@\s]+)(?::(?P<tag>[^@\s]+))?(?:@\S+)?"
)
_CUDA_TAG = re.compile(r"(?P<cuda>\d+\.\d+(?:\.\d+)?)-(?:cudnn(?P<cudnn>\d*)-)?(?P<kind>base|runtime|devel)?-?(?:[a-z]+[\d.]*)?")
_PYTHON_TAG = re.compile(r"(?:python)?(?P<python>3\.\d+)(?:\.\d+)?\b")


def distribution_names(name: str) -> tuple[str, ...]:
    """What an image's name may call its Linux distribution: the words of its tag, those of its path with the tag, and these alone."""
    found = _IMAGE_NAME.fullmatch(name)
    if found is None:
        return ()
    tag, path = (found["tag"] or "").split("-"), found["path"].split("/")
    return tuple(filter(None, (*reversed(tag), *(f"{part}{tag[0]}" for part in reversed(path)), *reversed(path))))


def add_image(name: str, place: FileLine, into: StatementCollector) -> None:
    """Take what an image's name tells; what it does not tell is noted."""
    found = _IMAGE_NAME.fullmatch(name)
    path, tag = (found["path"], found["tag"] or "latest") if found else (name, "")
    if path in {"nvidia/cuda", "nvcr.io/nvidia/cuda", "nvcr.io/nvidia/cuda-dl-base"}:
        _add_cuda_image(name, path, tag, place, into)
    elif (own := next((spec for spec in CATALOGUE if spec.image == path != ""), None)) is not None:
        _add_framework_image(own, name, tag, place, into)
    elif path.startswith("nvcr.io/nvidia/"):
        into.image = BaseImage(name=name, place=place)
        holds = next((spec.distributions[0] for spec in CATALOGUE if spec.vendor_image == path), path.rpartition("/")[2])
        into.not_read(name, "the image has NVIDIA's own build of it", place, name=holds)
    elif path == "scratch":
        return
    else:
        into.image = BaseImage(name=name, place=place)
        python = _PYTHON_TAG.match(tag) if re.search(r"(?:^|/)(?:python|uv)$", path) else None
        if python is not None:
            into.python(f"=={python['python']}.*", place)
        elif not re.fullmatch(r"(?:ubuntu|debian|fedora|rockylinux|almalinux|centos|alpine|redhat/ubi\d.*|python|.*/uv)", path):
            into.not_read(f"FROM {name}", "what this image holds is not known", place, package=False)


def _add_cuda_image(name: str, path: str, tag: str, place: FileLine, into: StatementCollector) -> None:
    found = _CUDA_TAG.fullmatch(tag.partition("-cuda")[2] if path.endswith("dl-base") else tag)
    if found is None:
        into.not_read(f"FROM {name}", "its tag does not tell the CUDA version", place, package=False)
        return
    into.image = BaseImage(name=name, place=place, cuda=found["cuda"] if found["kind"] != "base" else "", cudnn=found["cudnn"] or "")


def _add_framework_image(spec: FrameworkSpec, name: str, tag: str, place: FileLine, into: StatementCollector) -> None:
    """Take the release, CUDA and cuDNN that the tag of a framework's own image states."""
    found = re.fullmatch(spec.image_tag, tag)
    if found is None:
        into.image = BaseImage(name=name, place=place)
        into.not_read(f"FROM {name}", f"its tag does not tell the release of {spec.title}", place, name=spec.name)
        return
    said = found.groupdict()
    if "cuda" in said:
        into.image = BaseImage(name=name, place=place, cuda=said["cuda"], cudnn=said["cudnn"])
        into.text(f"{spec.name}=={said['release']}+cu{said['cuda'].replace('.', '')}", place)
        return
    into.image = BaseImage(name=name, place=place, framework_cuda=spec.name if said["gpu"] else "")
    into.text(f"{spec.name if said['gpu'] else spec.without_cuda}=={said['release']}", place)
