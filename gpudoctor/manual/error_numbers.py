"""Explains NVIDIA's numbers: Xids, SXids and CUDA errors."""

from __future__ import annotations

import re

from gpudoctor.derive.xids import GSP_FAILURES, NO_POWER, NVLINK_ERRORS, OFF_THE_BUS, ROW_REMAP_FAILED, ROW_REMAPPED, UNCORRECTABLE_ERRORS
from gpudoctor.diagnose.advice.cuda_errors import CUDA_CANDIDATES
from gpudoctor.diagnose.advice.xids import action_text
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.log_lines import first_sign, rules_by_name
from gpudoctor.matrix import Matrix
from gpudoctor.status_codes import CudaError

_XID_NUMBER = re.compile(r"\b(s?)xids?\b(?:\s*\([^)]{0,120}\))?[\s:#=]*(\d{1,6})\b", re.IGNORECASE)
_CUDA_ERROR = re.compile(
    r"(?:(?:cuda|cuinit|cudart|driver|runtime|api|error|err|code|status|returned|result)|[\s:=#()-]){1,16}(\d{1,3})\)?", re.IGNORECASE
)
"""An error's number with no more than words like "CUDA error" before it."""
_RULE_BY_XID = {
    NO_POWER: "power-cable-missing",
    OFF_THE_BUS: "gpu-fell-off-bus",
    ROW_REMAPPED: "row-remap-pending",
    ROW_REMAP_FAILED: "row-remap-failed",
    **dict.fromkeys(UNCORRECTABLE_ERRORS, "ecc-hardware-error"),
    **dict.fromkeys(GSP_FAILURES, "gsp-firmware-failure"),
    **dict.fromkeys(NVLINK_ERRORS, "nvlink-errors"),
}
_FAILURE_RULES = ("cuda-init-fails", "smoke-crashed")
"""The rules that report a CUDA error with no single cause."""
_EXPLAINED_ERRORS: dict[int, tuple[str, str]] = {
    CudaError.NOT_INITIALIZED: ("nvidia_uvm fails to start although the driver is loaded", "uvm-hmm-init-failure"),
    CudaError.DEVICE_NOT_LICENSED: ("the virtual GPU has no licence", "vgpu-unlicensed"),
}
"""Errors with one cause that no framework logs."""
_OTHER_XIDS_RULE, _FATAL_SXIDS_RULE = "gpu-errors-logged", "nvswitch-fatal-error"
_FATAL_SEVERITIES = {"fatal", "always-fatal"}
_XID_CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/"


def explain_number(text: str, matrix: Matrix) -> ManualAnswer:
    """Return what a bare number is: a rule's code (203), a CUDA error (803), an Xid (79), or several of them."""
    number = text.strip()
    if not (number.isascii() and number.isdigit() and len(number) < 7):
        return ManualAnswer()
    coded = ManualAnswer(rules=tuple(rule for rule in RULES if rule.code[2:] == number))
    return coded + _cuda_error_answer(int(number)) + _xid_answer(int(number), matrix)


def explain_xids(text: str, matrix: Matrix) -> ManualAnswer:
    """Return what the Xids and SXids in `text` mean, and the rules that check them. UsageError if NVIDIA's tables lack all of them."""
    asked = dict.fromkeys((bool(switch), int(code)) for switch, code in _XID_NUMBER.findall(text))
    answer = ManualAnswer()
    for switch, code in asked:
        answer += _sxid_answer(code, matrix) if switch else _xid_answer(code, matrix)
    if asked and not answer:
        unknown = ", ".join(f"{'SXid' if switch else 'Xid'} {code}" for switch, code in asked)
        raise UsageError(f"{unknown} is not in gpudoctor's copy of NVIDIA's catalogue; look it up at {_XID_CATALOGUE}.")
    return answer


def explain_cuda_error(text: str) -> ManualAnswer:
    """Return what "CUDA error 803" means, if `text` is just that."""
    found = _CUDA_ERROR.fullmatch(text.strip())
    return _cuda_error_answer(int(found.group(1))) if found else ManualAnswer()


def _xid_answer(code: int, matrix: Matrix) -> ManualAnswer:
    row = matrix.xid(code)
    if row is None:
        return ManualAnswer()
    action = f" NVIDIA's recommended action: {action_text(row.action)} ({row.action}; {_XID_CATALOGUE})." if row.action else ""
    meaning = f"Xid {code} ({row.mnemonic}): {row.meaning}.{action}"
    return ManualAnswer((meaning,), rules_by_name(_RULE_BY_XID.get(code, _OTHER_XIDS_RULE)))


def _sxid_answer(code: int, matrix: Matrix) -> ManualAnswer:
    row = matrix.sxid(code)
    if row is None:
        return ManualAnswer()
    meaning = f"SXid {code} ({row.severity}): {row.meaning}."
    if row.severity in _FATAL_SEVERITIES:
        return ManualAnswer((meaning,), rules_by_name(_FATAL_SXIDS_RULE))
    return ManualAnswer((f"{meaning} gpudoctor reports only fatal SXids.",))


def _cuda_error_answer(number: int) -> ManualAnswer:
    """Return what a CUDA error is a sign of, by its number or by its name in the driver's header."""
    name = next((f"CUDA_ERROR_{error.name}" for error in CudaError if error == number), "")
    sign = first_sign(f"? Error {number}: ") or first_sign(name)
    subject = f"CUDA error {number}{f' ({name})' if name else ''}"
    if sign is not None:
        return ManualAnswer((f"{subject}: {sign.meaning}.",), rules_by_name(*sign.causes))
    if number in _EXPLAINED_ERRORS:
        meaning, rule = _EXPLAINED_ERRORS[number]
        return ManualAnswer((f"{subject}: {meaning}.",), rules_by_name(rule))
    causes = "; ".join(cause.cause for cause in CUDA_CANDIDATES.get(number, ()))
    possible = f" Possible causes: {causes}." if causes else ""
    return ManualAnswer((f"{subject} has no single cause.{possible}",), rules_by_name(*_FAILURE_RULES)) if name else ManualAnswer()
