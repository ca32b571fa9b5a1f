from __future__ import annotations

from tests.diagnose.rules.planned import only, outcome, stack

CODE = "GD409"


def test_the_required_major_version_is_installed() -> None:
    found = only(stack("8.9.7.29", gpus=("8.0",)), "cudnn-wrong-major")
    assert found.message == "tensorflow 2.18.0 is built with cuDNN 9.3.0.75 and cannot use cuDNN 8.9.7.29 (a different major version)."
    assert found.fixes[0].command == "python3.11 -m pip install 'nvidia-cudnn-cu12<10.0,>=9.3.0.75'"


def test_other_outcomes() -> None:
    assert outcome(stack("9.10.2.21", gpus=("8.0",)), CODE) == "passed"
    assert outcome(stack("9.10.2.21", gpus=()), CODE) == "not-applicable"
