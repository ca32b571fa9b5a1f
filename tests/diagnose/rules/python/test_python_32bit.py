"""GD648 python-32bit."""

from __future__ import annotations

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Python, Snapshot
from tests.builders import machine


def messages(snapshot: Snapshot, matrix: Matrix) -> list[str]:
    """What the rule says of this machine."""
    return [finding.message for finding in diagnose(snapshot, matrix, Policy()).findings if finding.name == "python-32bit"]


def with_python(bits: int) -> Snapshot:
    return machine(python=Python("C:/Python38-32/python.exe", "the active environment", version="3.8.10", bits=bits))


def test_a_32_bit_python_is_found(matrix: Matrix) -> None:
    assert messages(with_python(32), matrix) == ["Python 3.8.10 is a 32-bit build; TensorFlow, PyTorch and JAX publish 64-bit wheels only."]


def test_a_64_bit_python_has_no_such_finding(matrix: Matrix) -> None:
    assert messages(with_python(64), matrix) == []
    assert messages(machine(), matrix) == []
