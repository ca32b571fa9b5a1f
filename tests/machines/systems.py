"""Changes to recorded machines: their distribution, and what installed the examined environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gpudoctor.snapshot import Container, Fact, Host, Packages, Python, Snapshot

_replace = msgspec.structs.replace


def _on(distribution: str, version: str, like: str) -> Callable[[Snapshot], Snapshot]:
    def change(snapshot: Snapshot) -> Snapshot:
        assert isinstance(snapshot.host, Host)
        host = _replace(snapshot.host, distribution=distribution, distribution_version=version, distribution_like=like)
        return _replace(snapshot, host=host)

    return change


def _under(**changes: Any) -> Callable[[Snapshot], Snapshot]:
    def change(snapshot: Snapshot) -> Snapshot:
        assert isinstance(snapshot.python, Python)
        return _replace(snapshot, python=_replace(snapshot.python, **changes))

    return change


def _from_conda(snapshot: Snapshot) -> Snapshot:
    assert isinstance(snapshot.packages, Packages)
    installed = tuple(_replace(distribution, installer="conda") for distribution in snapshot.packages.distributions)
    packages = Packages(installed, conda=("pytorch-2.8.0-cuda128_mkl_py311_300",))
    return _replace(_under(kind="conda", pip=True)(snapshot), packages=packages)


def _of_image(name: str) -> Callable[[Snapshot], Snapshot]:
    def change(snapshot: Snapshot) -> Snapshot:
        assert isinstance(snapshot.container, Container)
        return _replace(snapshot, container=_replace(snapshot.container, image=Fact(name, "/run/.containerenv")))

    return change


_CPU_ONLY: dict[str, Any] = {"base": "tensorflow-cpu-installed", "level": "look", "verdict": "broken", "roots": ("cpu-only-build",)}
_TOO_OLD: dict[str, Any] = {"base": "driver-470-tensorflow-cuda-12", "level": "look", "verdict": "broken", "roots": ("driver-too-old",)}
CASES: dict[str, dict[str, Any]] = {
    "tensorflow-cpu-in-an-environment-of-uv": {
        **_CPU_ONLY,
        "about": "an environment that uv made, which holds no pip",
        "change": _under(pip=False, maker="uv"),
    },
    "tensorflow-cpu-in-a-home-folder": {
        **_CPU_ONLY,
        "about": "an environment in the user's home folder, as a report without names has it",
        "change": _under(executable="~/my env/bin/python", pip=True),
    },
    "tensorflow-cpu-of-the-system": {
        **_CPU_ONLY,
        "about": "the distribution's own Python, into which pip may not install",
        "change": _under(executable="/usr/bin/python3", kind="system", pip=True, managed=True),
    },
    "torch-from-conda-dropped-the-gpu": {
        "about": "torch 2.8 from conda, which has no kernels for a GTX 1080",
        "base": "torch-dropped-the-gpu",
        "change": _from_conda,
        "level": "look",
        "verdict": "broken",
        "roots": ("gpu-too-old-for-build",),
        "notes": ("gpu-lacks-bf16",),
    },
    "driver-470-on-ubuntu": {
        **_TOO_OLD,
        "about": "Ubuntu 22.04 has newer drivers in packages named after their branch",
        "change": _on("ubuntu", "22.04", "debian"),
    },
    "driver-470-on-debian-11": {
        **_TOO_OLD,
        "about": "the driver of Debian 11 is too old as well, and NVIDIA has no repository for it",
        "change": _on("debian", "11", ""),
    },
    "driver-470-on-rocky": {**_TOO_OLD, "about": "a rebuild of RHEL 9", "change": _on("rocky", "9.4", "rhel centos fedora")},
    "pascal-on-ubuntu-under-driver-590": {
        "about": "Ubuntu 24.04 still has branch 580, the last that drives Pascal",
        "base": "pascal-under-driver-590",
        "change": _on("ubuntu", "24.04", "debian"),
        "level": "look",
        "verdict": "broken",
        "roots": ("driver-too-new-for-gpu",),
        "folded": ("no-driver", "cuda-init-fails"),
    },
    "container-of-a-known-image-without-gpu": {
        "about": "podman says inside the container which image it is",
        "base": "container-asks-for-none",
        "change": _of_image("localhost/train:1"),
        "level": "look",
        "verdict": "broken",
        "roots": ("container-no-gpu-access",),
    },
}
