from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Distribution, Extension, FrameworkLibraries, GpuCode, Libraries, Packages, Snapshot
from tests.builders import machine, torch
from tests.diagnose.rules.examined import SITE, add_on, findings, outcome, with_add_ons


def test_portable_code_will_do() -> None:
    code = GpuCode(sass=(), ptx=("compute_70",))
    snapshot = with_add_ons(add_on(code=code))
    assert outcome(snapshot, "extension-missing-arch") is OutcomeKind.PASSED


def test_no_add_on() -> None:
    assert outcome(with_add_ons(), "extension-missing-arch") is OutcomeKind.NOT_APPLICABLE


def vllm(*parts: tuple[str, GpuCode]) -> Snapshot:
    extensions = tuple(
        Extension("vllm", "0.11.0", "torch", f"{SITE}/vllm/{file}", code=code, wanted=(), undefined=()) for file, code in parts
    )
    seen = Libraries(frameworks=(FrameworkLibraries("torch", uses=(), code=GpuCode(("sm_80",), ())),), extensions=extensions)
    return machine(1, frameworks=(torch(),), libraries=seen, packages=Packages((Distribution("vllm", "0.11.0", SITE),)))


HOPPER, ALL = GpuCode(("sm_90a",), ()), GpuCode(("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"), ("compute_120",))


def test_a_library_for_one_kind_of_gpu_does_not_stand_for_the_add_on() -> None:
    (found,) = findings(vllm(("_C.abi3.so", ALL), ("_flashmla_C.abi3.so", HOPPER)), "extension-missing-arch")
    assert found.severity is Severity.NOTE
    assert "_flashmla_C.abi3.so" in found.message


def test_the_main_library_does() -> None:
    (found,) = findings(vllm(("_C.abi3.so", HOPPER), ("_flashmla_C.abi3.so", HOPPER)), "extension-missing-arch")
    assert found.severity is Severity.WARNING
    assert "vllm 0.11.0 has no kernels for" in found.message
