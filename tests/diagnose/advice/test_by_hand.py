"""The command that checks a candidate is for the framework that a text is about."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose.advice.by_hand import manual_check, only_framework_named


@pytest.mark.parametrize(
    ("cause", "frameworks", "has"),
    [
        ("cpu-only-build", (), "import torch"),
        ("cpu-only-build", ("torch",), "import torch"),
        ("cpu-only-build", ("jax",), "jaxlib"),
        ("cpu-only-build", ("tensorflow",), "import tensorflow"),
        ("cpu-only-build", ("tensorflow", "torch"), "import torch"),
        ("package-not-installable", ("jax",), "pip index versions jax"),
        ("driver-too-old", ("jax",), "nvidia-smi"),
    ],
)
def test_a_check_is_for_the_framework(cause: str, frameworks: tuple[str, ...], has: str) -> None:
    assert has in manual_check(cause, frameworks)


def test_what_only_one_framework_has_is_asked_of_no_other() -> None:
    assert "torch" in manual_check("smoke-crashed")
    assert manual_check("smoke-crashed", ("jax",)) == ""


@pytest.mark.parametrize(
    ("command", "name"),
    [("pip show torch", "torch"), ("pip list | grep -E 'jax|torch'", ""), ("nvidia-smi", ""), ("pip show torchvision", "")],
)
def test_the_framework_of_a_command(command: str, name: str) -> None:
    assert only_framework_named(command) == name
