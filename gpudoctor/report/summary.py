"""The summary in one line: GPUs, driver and the CUDA it supports, frameworks with their CUDA and cuDNN, Python and its environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpudoctor.findings.summary import FrameworkBuild, Summary
from gpudoctor.findings.wording import count_list

_PLATFORM_NAMES = {"wsl1": "WSL 1", "wsl2": "WSL 2", "jetson": "Jetson", "windows": "Windows", "macos": "macOS"}
"""Platforms on which a GPU is reached in a way of their own."""


def summary_parts(summary: Summary) -> list[str]:
    """Return the parts of the summary line, in order, without unknown ones."""
    return [*_gpu_part(summary), *_driver_part(summary), *_framework_parts(summary), *_python_part(summary), *_surrounding_parts(summary)]


def _gpu_part(summary: Summary) -> Iterator[str]:
    if summary.gpus is None:
        return
    models: Counter[str] = Counter()
    for one in summary.gpus:
        models[one.model or "NVIDIA GPU"] += one.count
    yield count_list((count, model) for model, count in models.items()) or "no NVIDIA GPU"


def _driver_part(summary: Summary) -> Iterator[str]:
    if summary.driver:
        yield f"driver {summary.driver}" + (f" (CUDA {_short_version(summary.cuda)})" if summary.cuda else "")
    elif summary.driver is not None:
        yield "no NVIDIA driver loaded"


def _framework_parts(summary: Summary) -> Iterator[str]:
    if summary.frameworks is None:
        return
    yield from map(framework_text, summary.frameworks)
    if not summary.frameworks:
        yield "no framework"


def framework_text(build: FrameworkBuild) -> str:
    """Return a framework with its CUDA and cuDNN."""
    name = f"{build.name} {build.version or ''}".rstrip()
    if build.rocm:
        return f"{name} (ROCm)"
    if build.cuda == "":
        return f"{name} (no CUDA)"
    libraries = [f"{title} {_short_version(version)}" for title, version in (("CUDA", build.cuda), ("cuDNN", build.cudnn)) if version]
    return f"{name} ({', '.join(libraries)})" if libraries else name


def _python_part(summary: Summary) -> Iterator[str]:
    if summary.python:
        yield f"Python {_short_version(summary.python)}" + (f" ({summary.environment})" if summary.environment else "")


def _surrounding_parts(summary: Summary) -> Iterator[str]:
    if summary.platform in _PLATFORM_NAMES:
        yield _PLATFORM_NAMES[summary.platform]
    if summary.container:
        yield f"in {summary.container}"


def _short_version(version: str) -> str:
    """Return the major and minor part of a version."""
    return ".".join(version.split(".")[:2])
