from __future__ import annotations

from typing import Any

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cpu, Details, Distribution, Host, Memory, Packages, Platform, Snapshot
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "cpu-lacks-avx"


def on(flags: Any, *, version: str = "2.21.0", architecture: str = "x86_64") -> Snapshot:
    """TensorFlow on a CPU with these instructions."""
    host = Host(platform=Platform.LINUX, architecture=architecture)
    details = Details(cpu=Cpu(model="Old CPU", flags=flags), memory=Memory())
    return machine(host=host, details=details, packages=Packages((Distribution("tensorflow", version, "/site"),)))


def test_a_virtual_machine_may_hide_the_instructions() -> None:
    (finding,) = findings_of(RULE, on(("sse4_2", "hypervisor")))
    assert finding.message.startswith("tensorflow 2.21.0 needs AVX")
    assert "host-passthrough" in finding.fixes[0].title
    (real,) = findings_of(RULE, on(("sse4_2",)))
    assert [fix.title for fix in real.fixes] == ["Train on a machine whose CPU has these instructions."]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, on(("avx", "avx2", "fma"))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, on(("sse4_2",), architecture="aarch64")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, on(("sse4_2",), version="1.5.0")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, on(TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
