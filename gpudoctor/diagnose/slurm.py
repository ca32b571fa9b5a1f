"""What the lines of a text show of a Slurm job: whether it requests a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.text_evidence import TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.signatures.phrases import ABOUT_SLURM

UNDER_SLURM = expression(ABOUT_SLURM)
_GPU_REQUEST = r"(?:--gres[= ]\S{0,20}gpu\S{0,12}|--gpus\S{0,20}[= ]\S{1,12}|\s-G ?\d|nvidia\.com/gpu)"
_REQUESTS_GPU = expression(_GPU_REQUEST)
_CURING_REQUEST = expression(
    rf"(?i)\b(?:with|adding|using|setting|specifying|after|only) [^\n]{{0,40}}{_GPU_REQUEST}[^\n]{{0,60}}\b(?:works?|worked|visible|fine|fix\w{{0,2}}|solv\w{{1,2}}|detected|found|sees|true|there)\b|{_GPU_REQUEST}[^\n]{{0,40}}\b(?:recommend|suggest|should i|solve|fixe|help)|\b(?:fixed|solved|works?|worked|helps?|helped|missing|forgot|forgotten|needs?|instead|should|must|without|unless)\b[^\n.]{{0,30}}{_GPU_REQUEST}"
    rf"|\bsrun\b[^\n]{{0,40}}{_GPU_REQUEST}[^\n]{{0,60}}\b(?:works?|worked|helps?|helped|is fine|sees)\b"
)
"""A request that would cure a job, so the job made none."""
_JOB_STEP = expression(r"\bsrun\b")
"""A step of a job may need a request of its own: https://slurm.schedmd.com/srun.html"""
_ON_LOGIN_NODE = expression(r"(?i)\blogin[ -]?node\b|@\w{0,20}login\d{0,3}\b")


def missing_request_evidence(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the line that shows a Slurm job, if no line requests a GPU."""
    lines = text.splitlines()
    found = next((line for line in reversed(lines) if UNDER_SLURM.search(line)), "")
    helped = any(_JOB_STEP.search(line) and _CURING_REQUEST.search(line) for line in lines)
    requested = any(_REQUESTS_GPU.search(line) and not _CURING_REQUEST.search(line) for line in lines)
    if found and (not requested or helped or _ON_LOGIN_NODE.search(text)):
        yield TextEvidence("Slurm without a request for a GPU", found.strip(), "the log")


_STARTED_WITH_REQUEST = expression(rf"\b(?:srun|salloc|sbatch) [^\n]{{0,160}}{_GPU_REQUEST}")


def requests_gpu(machine: MachineView) -> bool:
    """Return whether the command that starts a job requests a GPU, and no line says that a request helped."""
    lines = [line.value for line in machine.log.lines]
    started = any(_STARTED_WITH_REQUEST.search(line) for line in lines)
    return started and not any(_CURING_REQUEST.search(line) or _ON_LOGIN_NODE.search(line) for line in lines)


_REQUESTED_GPUS = expression(
    r"(?:--gres[= ]\S{0,20}?gpu(?::[a-z][\w.-]{0,20})?|--gpus(?:-per-\w{3,8})?[= ](?:[a-z][\w.-]{0,20}:)?):?(?P<count>\d{1,2})\b"
)
_VISIBLE_GPUS = expression(r"your machine only has: \[(?P<numbers>\d{1,2}(?:, \d{1,2}){0,15})\]")
"""lightning/fabric/utilities/device_parser.py, of a program that asks for more"""


def too_small_request_evidence(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how many GPUs a Slurm job requests, if the program sees as many and asks for more."""
    granted, seen = _REQUESTED_GPUS.search(text), _VISIBLE_GPUS.search(text)
    if granted and seen and UNDER_SLURM.search(text) and int(granted["count"]) == len(seen["numbers"].split(",")):
        yield TextEvidence("GPUs that the job requests", granted["count"], "the job script")
