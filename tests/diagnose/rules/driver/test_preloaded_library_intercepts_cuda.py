from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Preload
from tests.builders import TIMED_OUT, bare, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "preloaded-library-intercepts-cuda"
SHARING = Preload("/usr/local/vgpu/libvgpu.so", "/etc/ld.so.preload", exports=("cuInit", "nvmlInit_v2"))


def test_it_is_an_error_where_cuda_fails() -> None:
    (note,) = findings_of(RULE, machine(1, preloads=(SHARING,)))
    assert note.severity is Severity.NOTE
    (error,) = findings_of(RULE, machine(1, preloads=(SHARING,), libcuda=libcuda(0, 201, "CUDA_ERROR_INVALID_CONTEXT")))
    assert error.severity is Severity.ERROR
    assert error.message.endswith("intercepts cuInit and nvmlInit_v2; cuInit returns 201.")
    assert error.fixes[0].command == "sudo sed -i '\\|/usr/local/vgpu/libvgpu.so|d' /etc/ld.so.preload"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, preloads=())) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, preloads=(Preload("/x.so", "LD_PRELOAD", exports=()),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, preloads=(Preload("/x.so", "LD_PRELOAD", exports=TIMED_OUT),))) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, bare(preloads=(SHARING,))) == [OutcomeKind.NOT_APPLICABLE]


def test_a_variable_is_unset_and_most_functions_are_only_counted() -> None:
    many = Preload("/opt/trace.so", "LD_PRELOAD", exports=tuple(f"cuCall{number}" for number in range(8)))
    (finding,) = findings_of(RULE, machine(1, preloads=(many,)))
    assert finding.message.endswith("intercepts cuCall0, cuCall1, cuCall2 and 5 more.")
    assert [evidence.value for evidence in finding.evidence if evidence.what == "intercepted functions"] == [
        "cuCall0, cuCall1, cuCall2 and 5 more"
    ]
    assert finding.fixes[0].command == "unset LD_PRELOAD"
