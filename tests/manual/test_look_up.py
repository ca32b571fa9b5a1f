"""What `gpudoctor explain` finds: by code, name, number, pasted line and words."""

from __future__ import annotations

import re

import pytest

from gpudoctor.derive import xids
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.exit_meanings import EXIT_CODES
from gpudoctor.manual.look_up import look_up
from gpudoctor.matrix.tables import SXIDS, XIDS
from gpudoctor.rule_pages import read_rule_page
from gpudoctor.signatures.table import SIGNATURES
from gpudoctor.status_codes import CudaError
from tests.seams.every import every
from tests.shipped import shared_matrix

MATRIX = shared_matrix()


def found(text: str) -> list[str]:
    return [rule.name for rule in look_up(text, MATRIX).rules]


def quoted(rule: Rule) -> list[str]:
    """The lines that the symptoms on a rule's page quote, but for short ones."""
    return re.findall(r"`([^`\n]{20,})`", read_rule_page(rule).partition("\n## Symptoms\n")[2].partition("\n## ")[0])


@every("rule", RULES)
def test_every_line_that_a_page_quotes_as_a_symptom_finds_the_page(rule: Rule) -> None:
    for line in quoted(rule):
        answer = look_up(line, MATRIX)
        assert rule in answer.rules + answer.also, line


@every("rule", RULES)
def test_every_rule_by_code_number_name_and_title(rule: object) -> None:
    code, name, title = rule.code, rule.name, rule.title  # type: ignore[attr-defined]
    for text in (code, code.lower(), name, name.upper(), name.replace("-", "_"), name.replace("-", " ")):
        assert found(text) == [name]
    assert found(code[2:])[0] == name
    assert name in found(title)


@every("sign", SIGNATURES)
def test_every_known_log_line_finds_what_it_is_a_sign_of(sign: object) -> None:
    for line in sign.lines:  # type: ignore[attr-defined]
        assert set(found(line)) & set(sign.causes)  # type: ignore[attr-defined]
        assert set(found(f"[rank0]: RuntimeError: {line.lower()}")) & set(sign.causes)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("203", ["driver-too-old"]),
        ("gd203", ["driver-too-old"]),
        ("CUDA error 803", ["driver-library-mismatch", "cuda-compat-lib-conflict"]),
        ("cudaError: 803", ["driver-library-mismatch", "cuda-compat-lib-conflict"]),
        ("803", ["nvlink-inactive", "driver-library-mismatch", "cuda-compat-lib-conflict"]),
        ("undefined symbol: ncclCommRegister", ["nccl-version-conflict"]),
        ("CUDA error 700", ["cuda-init-fails", "smoke-crashed"]),
        ("79", ["gpu-fell-off-bus"]),
        ("Xid 79", ["gpu-fell-off-bus"]),
        ("NVRM: Xid (PCI:0000:1f:00): 79, pid=1, GPU has fallen off the bus.", ["gpu-fell-off-bus"]),
        ("NVRM: Xid (PCI:0000:1f:00): 31, pid=1, Ch 00000010", ["gpu-errors-logged"]),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 10003, Fatal", ["nvswitch-fatal-error"]),
        ("SXid 10001", []),
        ("nouveau", ["nouveau-loaded"]),
        ("secure boot", ["secure-boot-unsigned-module"]),
        ("gpu too hot", ["thermal-throttled"]),
        ("cuda version mismatch", ["cuda-version-mismatch"]),
        ("MIG", ["mig-one-instance-per-process", "mig-no-instances", "mig-change-pending"]),
    ],
)
def test_by_number_line_and_word(text: str, rules: list[str]) -> None:
    assert found(text) == rules


def test_a_line_of_another_machine_finds_the_page_that_quotes_it() -> None:
    line = "[  12.3] NVRM: Xid (PCI:0000:c4:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    answer = look_up(line, MATRIX)
    assert "gpu-requires-reset" in [rule.name for rule in (*answer.rules, *answer.also)]


def test_a_missing_libcuda_is_no_missing_cuda_library() -> None:
    assert found("OSError: libcuda.so.1: cannot open shared object file: No such file or directory")[0] == "libcuda-not-on-loader-path"


def test_the_first_cause_of_a_missing_device_is_the_likeliest() -> None:
    assert found("CUDA_ERROR_NO_DEVICE")[0] == "cuda-init-fails"


def test_a_log_with_several_errors_finds_them_all() -> None:
    log = "ok\nRuntimeError: CUDA_ERROR_STUB_LIBRARY\nok\nundefined symbol: ncclCommRegister\n"
    assert found(log) == ["libcuda-is-stub", "nccl-version-conflict"]


@pytest.mark.parametrize("code", sorted(xids.NAMED_XIDS))
def test_an_xid_that_a_rule_checks_by_number_finds_that_rule(code: int) -> None:
    (name,) = found(f"Xid {code}")
    module = next(rule.body.__module__ for rule in RULES if rule.name == name)
    constants = [value for key, value in vars(xids).items() if key.isupper() and key != "NAMED"]
    holding = [value for value in constants if value == code or (isinstance(value, tuple) and code in value)]
    assert any(getattr(__import__(module, fromlist=["_"]), key, None) in holding for key in vars(xids) if key.isupper())


def test_every_xid_and_sxid_of_the_tables_has_a_meaning() -> None:
    for row in MATRIX.rows(XIDS):
        assert f"Xid {row.code} " in look_up(f"Xid {row.code}", MATRIX).meaning[0]
    for switch_row in MATRIX.rows(SXIDS):
        assert f"SXid {switch_row.code} " in look_up(f"SXid {switch_row.code}", MATRIX).meaning[0]


@pytest.mark.parametrize("error", CudaError)
def test_every_cuda_error_is_explained_by_its_number(error: CudaError) -> None:
    assert f"CUDA error {error.value} (CUDA_ERROR_{error.name})" in look_up(f"CUDA error {error.value}", MATRIX).meaning[0]


@pytest.mark.parametrize("one", EXIT_CODES, ids=lambda one: one.name)
def test_exit_codes(one: object) -> None:
    for code in one.codes:  # type: ignore[attr-defined]
        for text in (f"exit-{code}", f"exit code {code}", f"Exit code: {code}", f"exited with code {code}"):
            assert look_up(text, MATRIX).codes == (one,)
    assert look_up("exit-codes", MATRIX).codes == EXIT_CODES


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("driver-to-old", "did you mean driver-too-old?"),
        ("zzzz", "`gpudoctor rules`"),
        ("weather tomorrow in Paris", "`gpudoctor rules`"),
        ("Xid 9999", "https://docs.nvidia.com"),
        ("", "`gpudoctor rules`"),
        ("()", "`gpudoctor rules`"),
    ],
)
def test_what_nothing_explains_names_the_next_step(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=r"^(No|Xid 9999)") as raised:
        look_up(text, MATRIX)
    assert hint in str(raised.value)


def test_a_line_that_only_says_that_there_is_no_gpu_has_its_usual_causes_first() -> None:
    assert found("GPUs: []")[0] == "cpu-only-build"
