"""Changes to recorded machines by conda, another environment or a stray file; and assumed machines."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.plan.model import Combination
from gpudoctor.snapshot import Distribution, Packages, Python, ScriptFolder, Snapshot
from tests.shipped import shared_matrix

_replace = msgspec.structs.replace


def _in_conda(snapshot: Snapshot, installer: str, *condas: str) -> Snapshot:
    assert isinstance(snapshot.python, Python)
    assert isinstance(snapshot.packages, Packages)
    installed = tuple(_replace(distribution, installer=installer) for distribution in snapshot.packages.distributions)
    return _replace(snapshot, python=_replace(snapshot.python, kind="conda"), packages=Packages(installed, conda=condas))


def overwritten_by_pip(snapshot: Snapshot) -> Snapshot:
    return _in_conda(snapshot, "pip", "numpy-1.26.4-py311h64a7726_0", "pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0")


def by_conda(snapshot: Snapshot) -> Snapshot:
    return _in_conda(snapshot, "conda", "pytorch-2.6.0-py3.11_cuda12.4_cudnn9.1.0_0", "torchvision-0.21.0-py311_cu124")


def hidden_by_a_file(snapshot: Snapshot) -> Snapshot:
    assert isinstance(snapshot.frameworks, tuple)
    return _replace(snapshot, frameworks=(_replace(snapshot.frameworks[0], shadow="/recorded/project/torch.py"), *snapshot.frameworks[1:]))


def beside_a_torch_py(snapshot: Snapshot) -> Snapshot:
    return _replace(snapshot, script_folder=ScriptFolder("/recorded/project", ("/recorded/project/torch.py",)))


def beside_nothing(snapshot: Snapshot) -> Snapshot:
    return _replace(snapshot, script_folder=ScriptFolder("/recorded/project"))


def _elsewhere(snapshot: Snapshot, *others: Distribution) -> Snapshot:
    assert isinstance(snapshot.python, Python)
    return _replace(snapshot, python=_replace(snapshot.python, elsewhere=others))


def torch_is_elsewhere(snapshot: Snapshot) -> Snapshot:
    return _elsewhere(snapshot, Distribution("torch", "2.6.0", "/recorded/training/lib/python3.11/site-packages"))


def nothing_elsewhere(snapshot: Snapshot) -> Snapshot:
    return _elsewhere(snapshot)


def supposed(*requirements: str, **options: Any) -> Snapshot:
    """The snapshot of `gpudoctor compat` for these requirements and options, with an A100."""
    gpus = () if options.get("os") == "macos" else ("A100",)
    return snapshot_of_combination(Combination(requirements=requirements, gpus=gpus, **options), shared_matrix(), "2026-11-21T09:00:00Z")
