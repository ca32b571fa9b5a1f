from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Distribution, Missing, Packages, Python
from tests.builders import machine
from tests.diagnose.rules.packaged import live, outcome

CONDA = Python("/conda/bin/python", "the active conda environment", version="3.11.4", kind="conda", prefix="/conda")


def by(name: str, version: str, installer: str) -> Distribution:
    return Distribution(name, version, "/conda/site", installer=installer)


@pytest.mark.parametrize(
    ("packages", "condas", "kind"),
    [
        ((by("torch", "2.6.0", "pip"),), ("pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0",), OutcomeKind.FOUND),
        ((by("torch", "2.6.0", "conda"), by("torchvision", "0.21.0", "pip")), ("pytorch-2.6.0-py3.11_0",), OutcomeKind.FOUND),
        ((by("numpy", "2.0.2", "uv"),), ("numpy-1.26.4-py311_0",), OutcomeKind.FOUND),
        (
            (by("torch", "2.6.0", "pip"), by("numpy", "1.26.4", "conda")),
            ("numpy-1.26.4-py311_0", "cudnn-8.9.2.26-cuda11_0"),
            OutcomeKind.PASSED,
        ),
        ((by("torch", "2.6.0", "conda"),), ("pytorch-2.6.0-py3.11_0",), OutcomeKind.PASSED),
        ((by("certifi", "2024.8.30", "pip"),), ("certifi-2024.7.4-py311_0",), OutcomeKind.PASSED),
        ((by("zipp", "3.21.0", "pip"),), ("zipp-3.20.1-py311_0",), OutcomeKind.PASSED),
        ((by("torch", "2.6.0", ""),), ("pytorch-2.5.1-py3.11_0",), OutcomeKind.PASSED),
    ],
)
def test_conda_and_pip_are_seen_by_who_installed_what(
    packages: tuple[Distribution, ...], condas: tuple[str, ...], kind: OutcomeKind
) -> None:
    mixed = machine(1, python=CONDA, packages=Packages(packages, conda=condas))
    assert outcome(mixed, "mixed-conda-pip") is kind


def test_outside_conda_nothing_is_mixed() -> None:
    assert outcome(live(by("torch", "2.6.0", "pip")), "mixed-conda-pip") is OutcomeKind.NOT_APPLICABLE
    unread = machine(1, python=CONDA, packages=Packages((), conda=Missing(Cause.DENIED, "conda-meta: Permission denied")))
    assert outcome(unread, "mixed-conda-pip") is OutcomeKind.COULD_NOT_TELL
