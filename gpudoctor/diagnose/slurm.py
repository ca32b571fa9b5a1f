"""What the lines of a text show of a Slurm job: whether it requests a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.text_facts import Words
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.signatures.phrases import SLURM

UNDER_SLURM = expression(SLURM)
_REQUEST = r"(?:--gres[= ]\S{0,20}gpu\S{0,12}|--gpus\S{0,20}[= ]\S{1,12}|\s-G ?\d|nvidia\.com/gpu)"
_REQUESTS_GPU = expression(_REQUEST)
_WOULD_REQUEST = expression(
    rf"(?i)\b(?:with|adding|using|setting|specifying|after|only) [^\n]{{0,40}}{_REQUEST}[^\n]{{0,60}}\b(?:works?|worked|visible|fine|fix\w{{0,2}}|solv\w{{1,2}}|detected|found|sees|true|there)\b|{_REQUEST}[^\n]{{0,40}}\b(?:recommend|suggest|should i|solve|fixe|help)|\b(?:fixed|solved|works?|worked|helps?|helped|missing|forgot|forgotten|needs?|instead|should|must|without|unless)\b[^\n.]{{0,30}}{_REQUEST}"
    rf"|\bsrun\b[^\n]{{0,40}}{_REQUEST}[^\n]{{0,60}}\b(?:works?|worked|helps?|helped|is fine|sees)\b"
)
"""A request that would cure a job, so the job made none."""
_OF_STEP = expression(r"\bsrun\b")
"""A step of a job may need a request of its own: https://slurm.schedmd.com/srun.html"""
_NOT_ON_A_NODE = expression(r"(?i)\blogin[ -]?node\b|@\w{0,20}login\d{0,3}\b")


def requests_none(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the line that shows a Slurm job, if no line requests a GPU."""
    lines = text.splitlines()
    found = next((line for line in reversed(lines) if UNDER_SLURM.search(line)), "")
    helped = any(_OF_STEP.search(line) and _WOULD_REQUEST.search(line) for line in lines)
    requested = any(_REQUESTS_GPU.search(line) and not _WOULD_REQUEST.search(line) for line in lines)
    if found and (not requested or helped or _NOT_ON_A_NODE.search(text)):
        yield Words("Slurm without a request for a GPU", found.strip(), "the log")


_STARTED_WITH = expression(rf"\b(?:srun|salloc|sbatch) [^\n]{{0,160}}{_REQUEST}")


def requests_one(machine: MachineView) -> bool:
    """Return whether the command that starts a job requests a GPU, and no line says that a request helped."""
    lines = [line.value for line in machine.log.lines]
    started = any(_STARTED_WITH.search(line) for line in lines)
    return started and not any(_WOULD_REQUEST.search(line) or _NOT_ON_A_NODE.search(line) for line in lines)


_GRANTED = expression(
    r"(?:--gres[= ]\S{0,20}?gpu(?::[a-z][\w.-]{0,20})?|--gpus(?:-per-\w{3,8})?[= ](?:[a-z][\w.-]{0,20}:)?):?(?P<count>\d{1,2})\b"
)
_SEEN = expression(r"your machine only has: \[(?P<numbers>\d{1,2}(?:, \d{1,2}){0,15})\]")
"""lightning/fabric/utilities/device_parser.py, of a program that asks for more"""


def requests_fewer(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield how many GPUs a Slurm job requests, if the program sees as many and asks for more."""
    granted, seen = _GRANTED.search(text), _SEEN.search(text)
    if granted and seen and UNDER_SLURM.search(text) and int(granted["count"]) == len(seen["numbers"].split(",")):
        yield Words("GPUs that the job requests", granted["count"], "the job script")
