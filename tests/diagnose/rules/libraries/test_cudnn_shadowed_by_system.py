from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import FoundBy, Place
from tests.diagnose.rules.examined import SITE, environment, only, outcome, use


@pytest.mark.parametrize("owner", ["conda", "toolkit", "system"])
def test_condas_cudnn_before_the_package(owner: str) -> None:
    name = "libcudnn.so.9"
    wheel = (Place(f"{SITE}/nvidia/cudnn/lib/{name}", "wheel", FoundBy.WHEEL),)
    conda = use("cudnn", name, f"/conda/lib/{name}", version="9.3.0", owner=owner, why="DT_RPATH of python3.12", elsewhere=wheel)
    snapshot = environment(conda, wheels="nvidia-cudnn-cu12 9.3.0.75")
    assert only(snapshot, "cudnn-shadowed-by-system").severity is Severity.NOTE
    without = environment(msgspec.structs.replace(conda, elsewhere=()))
    assert outcome(without, "cudnn-shadowed-by-system") is OutcomeKind.PASSED


@pytest.mark.parametrize(("version", "severity"), [("9.3.0", Severity.NOTE), ("9.3.1", Severity.WARNING), ("9.4.0", Severity.WARNING)])
def test_a_copy_of_another_patch_is_no_copy_of_the_same_version(version: str, severity: Severity) -> None:
    name = "libcudnn.so.9"
    wheel = (Place(f"{SITE}/nvidia/cudnn/lib/{name}", "wheel", FoundBy.WHEEL),)
    system = use("cudnn", name, f"/usr/lib/{name}", version=version, owner="system", why="LD_LIBRARY_PATH", elsewhere=wheel)
    assert only(environment(system, wheels="nvidia-cudnn-cu12 9.3.0.75"), "cudnn-shadowed-by-system").severity is severity
