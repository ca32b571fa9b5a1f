"""CUDA toolkits on the system."""

from __future__ import annotations

from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.snapshot import Fact, Missing, Toolkit
from tests.builders import ABSENT


def test_a_toolkit_without_a_readable_version_is_left_out() -> None:
    told: tuple[Fact | Missing, ...] = (Fact("12.4", "version.json"), Fact("unreadable", "version.json"), ABSENT)
    found = system_cudas(tuple(Toolkit(f"/usr/local/{number}", toolkit_cuda=cuda) for number, cuda in enumerate(told)))
    assert [(str(version), folder) for version, folder in found] == [("12.4", "/usr/local/0")]
