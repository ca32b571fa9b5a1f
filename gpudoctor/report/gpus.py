"""What a finding is about, in few words: GPUs by number, frameworks by name."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.findings.wording import gpu_name_list
from gpudoctor.report.model import CouldNotTell, Finding, LadderRow, Report, Subject


def gpu_label(rows: Iterable[LadderRow]) -> str:
    """Return the name of several GPUs: GPUs 0-3, GPU 0000:3b:00.0."""
    return gpu_name_list((row.index, row.subject.key) for row in rows)


def subject_names(report: Report, items: Iterable[Finding | CouldNotTell]) -> str:
    """Return the names of what findings are about, GPUs by number if the report knows it; the machine is not worth a word."""
    about = [item.subject for item in items]
    gpus = [(gpu_index(report, subject), subject.key) for subject in about if subject.kind == "gpu"]
    frameworks = [subject.key for subject in about if subject.kind == "framework"]
    return ", ".join([gpu_name_list(gpus)] * bool(gpus) + frameworks)


def gpu_index(report: Report, gpu: Subject) -> int | None:
    """Return the number of a GPU as nvidia-smi shows it; None if that is not known."""
    for row in report.ladder:
        if row.subject == gpu:
            return row.index
    number = gpu.key.removeprefix("nvml:")  # a GPU that has no address
    return int(number) if number != gpu.key and number.isdigit() else None
