from __future__ import annotations

from typing import Any

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Compiler, Missing, Snapshot
from tests.builders import bare, torch
from tests.diagnose.rules.examined import environment, only, outcome

RULE = "c-compiler-missing"


def with_triton(**changes: Any) -> Snapshot:
    return environment(framework=torch(), wheels="triton 3.2.0", **changes)


def test_gcc_is_installed_by_the_distributions_own_tool() -> None:
    found = only(with_triton(), RULE)
    assert found.fixes[0].command == "sudo apt install gcc"
    assert found.fixes[1].command == "export TORCHDYNAMO_DISABLE=1"


def test_a_cpp_compiler_alone_will_not_do() -> None:
    assert outcome(with_triton(compilers=(Compiler("g++", "/usr/bin/g++"),)), RULE) is OutcomeKind.FOUND


def test_other_outcomes() -> None:
    assert outcome(with_triton(compilers=(Compiler("CC", "/opt/cc"),)), RULE) is OutcomeKind.PASSED
    assert outcome(with_triton(compilers=Missing(Cause.TIMED_OUT, "no answer")), RULE) is OutcomeKind.COULD_NOT_TELL
    assert outcome(environment(framework=torch()), RULE) is OutcomeKind.NOT_APPLICABLE
    assert outcome(environment(wheels="triton 3.2.0"), RULE) is OutcomeKind.NOT_APPLICABLE
    without = with_triton()
    assert outcome(bare(frameworks=without.frameworks, packages=without.packages, compilers=()), RULE) is OutcomeKind.NOT_APPLICABLE
