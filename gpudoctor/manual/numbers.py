"""Explains NVIDIA's numbers: Xids, SXids and CUDA errors."""

from __future__ import annotations

import re

from gpudoctor.codes import CudaError
from gpudoctor.derive.xids import GSP_FAILURES, NO_POWER, NVLINK_ERRORS, OFF_THE_BUS, ROW_REMAP_FAILED, ROW_REMAPPED, UNCORRECTABLE
from gpudoctor.diagnose.advice.cuda_errors import CUDA_CANDIDATES
from gpudoctor.diagnose.advice.xids import in_words
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.signs import first_sign, rules_named
from gpudoctor.matrix import Matrix

_XID = re.compile(r"\b(s?)xids?\b(?:\s*\([^)]{0,120}\))?[\s:#=]*(\d{1,6})\b", re.IGNORECASE)
_ERROR = re.compile(
    r"(?:(?:cuda|cuinit|cudart|driver|runtime|api|error|err|code|status|returned|result)|[\s:=#()-]){1,16}(\d{1,3})\)?", re.IGNORECASE
)
"""An error's number with no more than words like "CUDA error" before it."""
_RULE_OF_XID = {
    NO_POWER: "power-cable-missing",
    OFF_THE_BUS: "gpu-fell-off-bus",
    ROW_REMAPPED: "row-remap-pending",
    ROW_REMAP_FAILED: "row-remap-failed",
    **dict.fromkeys(UNCORRECTABLE, "ecc-hardware-error"),
    **dict.fromkeys(GSP_FAILURES, "gsp-firmware-failure"),
    **dict.fromkeys(NVLINK_ERRORS, "nvlink-errors"),
}
_FAILURES = ("cuda-init-fails", "smoke-crashed")
"""The rules that report a CUDA error with no single cause."""
_UNSIGNED: dict[int, tuple[str, str]] = {
    CudaError.NOT_INITIALIZED: ("nvidia_uvm fails to start although the driver is loaded", "uvm-hmm-init-failure"),
    CudaError.DEVICE_NOT_LICENSED: ("the virtual GPU has no licence", "vgpu-unlicensed"),
}
"""Errors with one cause that no framework logs."""
_OTHER_XIDS, _FATAL_SXIDS = "gpu-errors-logged", "nvswitch-fatal-error"
_FATAL = {"fatal", "always-fatal"}
_CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/"


def explain_number(text: str, matrix: Matrix) -> ManualAnswer:
    """Return what a bare number is: a rule's code (203), a CUDA error (803), an Xid (79), or several of them."""
    number = text.strip()
    if not (number.isascii() and number.isdigit() and len(number) < 7):
        return ManualAnswer()
    coded = ManualAnswer(rules=tuple(rule for rule in RULES if rule.code[2:] == number))
    return coded + _cuda(int(number)) + _xid(int(number), matrix)


def explain_xids(text: str, matrix: Matrix) -> ManualAnswer:
    """Return what the Xids and SXids in `text` mean, and the rules that check them. UsageError if NVIDIA's tables lack all of them."""
    asked = dict.fromkeys((bool(switch), int(code)) for switch, code in _XID.findall(text))
    answer = ManualAnswer()
    for switch, code in asked:
        answer += _sxid(code, matrix) if switch else _xid(code, matrix)
    if asked and not answer:
        unknown = ", ".join(f"{'SXid' if switch else 'Xid'} {code}" for switch, code in asked)
        raise UsageError(f"{unknown} is not in gpudoctor's copy of NVIDIA's catalogue; look it up at {_CATALOGUE}.")
    return answer


def explain_cuda_error(text: str) -> ManualAnswer:
    """Return what "CUDA error 803" means, if `text` is just that."""
    found = _ERROR.fullmatch(text.strip())
    return _cuda(int(found.group(1))) if found else ManualAnswer()


def _xid(code: int, matrix: Matrix) -> ManualAnswer:
    row = matrix.xid(code)
    if row is None:
        return ManualAnswer()
    action = f" NVIDIA's recommended action: {in_words(row.action)} ({row.action}; {_CATALOGUE})." if row.action else ""
    meaning = f"Xid {code} ({row.mnemonic}): {row.meaning}.{action}"
    return ManualAnswer((meaning,), rules_named(_RULE_OF_XID.get(code, _OTHER_XIDS)))


def _sxid(code: int, matrix: Matrix) -> ManualAnswer:
    row = matrix.sxid(code)
    if row is None:
        return ManualAnswer()
    meaning = f"SXid {code} ({row.severity}): {row.meaning}."
    if row.severity in _FATAL:
        return ManualAnswer((meaning,), rules_named(_FATAL_SXIDS))
    return ManualAnswer((f"{meaning} gpudoctor reports only fatal SXids.",))


def _cuda(number: int) -> ManualAnswer:
    """Return what a CUDA error is a sign of, by its number or by its name in the driver's header."""
    name = next((f"CUDA_ERROR_{error.name}" for error in CudaError if error == number), "")
    sign = first_sign(f"? Error {number}: ") or first_sign(name)
    subject = f"CUDA error {number}{f' ({name})' if name else ''}"
    if sign is not None:
        return ManualAnswer((f"{subject}: {sign.meaning}.",), rules_named(*sign.causes))
    if number in _UNSIGNED:
        meaning, rule = _UNSIGNED[number]
        return ManualAnswer((f"{subject}: {meaning}.",), rules_named(rule))
    causes = "; ".join(cause.cause for cause in CUDA_CANDIDATES.get(number, ()))
    possible = f" Possible causes: {causes}." if causes else ""
    return ManualAnswer((f"{subject} has no single cause.{possible}",), rules_named(*_FAILURES)) if name else ManualAnswer()
